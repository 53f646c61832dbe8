import Hummingbird

/// The controls of account linking, under `/control/google/linking`.
struct LinkingControl: Sendable {
    let linking: GoogleLinking
    let runner: LinkingRunner

    func add(to group: RouterGroup<SandboxContext>) {
        group.post("linking") { request, _ in
            let settings = try await request.body { LinkingSettings($0, origin: request.origin) }
            linking.configure(settings)
            return Response.json(settings.json)
        }
        group.get("linking") { _, _ in Response.json(try linking.settings().json) }
        group.get("linking/report") { _, _ in Response.json(linking.current.json) }
        group.post("linking/browser") { request, _ in
            try await request.emptyBody()
            return Response.json(["url": try runner.beginBrowser()])
        }
        group.post("linking/flip") { request, _ in
            try await request.emptyBody()
            return Response.json(["url": try runner.beginFlip()])
        }
        run("checks", in: group) { request in
            try await request.emptyBody()
            try await runner.checkEndpoints()
        }
        run("flip/answer", in: group) { request in
            try await runner.takeFlip(try await request.body { $0.text("url") })
        }
        run("streamlined", in: group) { request in
            let (person, isNew) = try await request.body { ($0.text("person"), $0.flag("create")) }
            try await runner.runStreamlined(person, isNew: isNew)
        }
        run("unlink", in: group) { request in
            try await request.emptyBody()
            try await runner.unlink()
        }
    }

    /// A run is answered with the report.
    private func run(
        _ path: String, in group: RouterGroup<SandboxContext>,
        _ run: @escaping @Sendable (Request) async throws -> Void
    ) {
        group.post("linking/\(path)") { request, _ in
            try await run(request)
            return Response.json(linking.current.json)
        }
    }
}

extension GoogleLinking.State {
    /// The report, with the link if there is one.
    fileprivate var json: JSONObject {
        var json = report.json
        let link = link.map { link -> JSONObject in
            [
                "way": link.way.rawValue, "subject": link.subject,
                "accessTokens": link.accessTokens.map(Redaction.fingerprint),
                "refreshToken": link.refreshToken.map(Redaction.fingerprint),
            ]
        }
        json.set("link", link)
        return json
    }
}
