import Hummingbird
import JSON

/// The controls of account linking, under `/control/google/linking`.
struct LinkingControl: Sendable {
    let linking: GoogleLinking
    let runner: LinkingRunner

    func add(to group: RouterGroup<SandboxContext>) {
        group.post("linking") { request, _ in
            let members = try await request.members(LinkingSettings.memberNames)
            let settings = try LinkingSettings(members, origin: request.origin)
            linking.configure(settings)
            return Response.json { settings.write(&$0) }
        }
        group.get("linking") { _, _ in
            let settings = try linking.settings()
            return Response.json { settings.write(&$0) }
        }
        group.get("linking/report") { _, _ in report() }
        group.post("linking/checks") { request, _ in
            _ = try await request.members([])
            try await runner.checkEndpoints()
            return report()
        }
        group.post("linking/browser") { request, _ in
            _ = try await request.members([])
            return Self.opened(try runner.beginBrowser())
        }
        group.post("linking/flip") { request, _ in
            _ = try await request.members([])
            return Self.opened(try runner.beginFlip())
        }
        group.post("linking/flip/answer") { request, _ in
            try await runner.takeFlip(request.members(["url"]).text("url"))
            return report()
        }
        group.post("linking/streamlined") { request, _ in
            let members = try await request.members(["person", "create"])
            try await runner.runStreamlined(members.text("person"), isNew: members.flag("create"))
            return report()
        }
        group.post("linking/unlink") { request, _ in
            _ = try await request.members([])
            try await runner.unlink()
            return report()
        }
    }

    private static func opened(_ url: String) -> Response {
        .json { writer in
            writer.member("url", url)
        }
    }

    private func report() -> Response {
        let current = linking.current
        return .json { writer in
            current.report.write(&writer)
            if let link = current.link {
                writer.object("link") { writer in
                    writer.member("way", link.way.rawValue)
                    writer.member("subject", link.subject)
                    writer.member("accessTokens", link.accessTokens.map(Redaction.fingerprint))
                    writer.member("refreshToken", link.refreshToken.map(Redaction.fingerprint))
                }
            }
        }
    }
}
