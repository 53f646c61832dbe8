import JSON

/// Google's part in account linking, played against a service.
extension Sandbox {
    /// What the sandbox has found out about a service.
    package struct LinkingReport: Sendable {
        package struct Check: Sendable, Equatable, CustomStringConvertible {
            package let way: String
            package let name: String
            /// `passed`, `failed` or `open`.
            package let result: String
            package let detail: String?

            package var description: String { "\(way) \(name): \(result), \(detail ?? "no detail")" }
        }

        package let checks: [Check]
        /// The `sub` of what is linked; nil when nothing is.
        package let subject: String?
        package let isLinked: Bool

        package func all(_ result: String, way: String? = nil) -> [Check] {
            checks.filter { $0.result == result && (way == nil || $0.way == way) }
        }

        package func result(_ way: String, _ name: String) -> String? {
            checks.first { $0.way == way && $0.name == name }?.result
        }
    }

    /// Where the sandbox takes the answer to a browser.
    package func linkingRedirectURI(project: String) -> String { "\(url)/google/r/\(project)" }

    /// Names the service to link with; forgets what was linked and found before.
    package func configureLinking(
        server: String, clientID: String, clientSecret: String, project: String, scopes: [String] = [],
        audience: String? = nil, basicAuth: Bool = false, pkce: Bool = false
    ) async throws {
        try await control("google/linking") { writer in
            writer.member("server", server)
            writer.member("clientId", clientID)
            writer.member("clientSecret", clientSecret)
            writer.member("project", project)
            writer.member("scopes", scopes)
            writer.member("audience", audience)
            writer.member("basicAuth", basicAuth)
            writer.member("pkce", pkce)
        }
    }

    package func linkingReport() async throws -> LinkingReport {
        Self.report(try await control("google/linking/report"))
    }

    package func checkLinkingEndpoints() async throws -> LinkingReport {
        Self.report(try await control("google/linking/checks", "{}"))
    }

    /// Begins a link in a browser. Returns where to send it.
    package func beginBrowserLink() async throws -> String {
        try Self.text(try await control("google/linking/browser", "{}"), "url")
    }

    /// Begins a link by App Flip. Returns the link that opens the vendor's app.
    package func beginFlip() async throws -> String {
        try Self.text(try await control("google/linking/flip", "{}"), "url")
    }

    /// - Parameter url: what the vendor's app has opened.
    package func answerFlip(_ url: String) async throws -> LinkingReport {
        Self.report(try await control("google/linking/flip/answer") { $0.member("url", url) })
    }

    /// - Parameter create: whether an account may be made for a person whom the service doesn't know.
    package func linkStreamlined(_ person: String, create: Bool = false) async throws -> LinkingReport {
        Self.report(
            try await control("google/linking/streamlined") { writer in
                writer.member("person", person)
                writer.member("create", create)
            })
    }

    package func unlink() async throws -> LinkingReport {
        Self.report(try await control("google/linking/unlink", "{}"))
    }

    private static func report(_ answer: JSONValue) -> LinkingReport {
        LinkingReport(
            checks: (answer["checks"]?.elements ?? []).map { check in
                LinkingReport.Check(
                    way: check["way"]?.string ?? "", name: check["name"]?.string ?? "",
                    result: check["result"]?.string ?? "", detail: check["detail"]?.string)
            },
            subject: answer["link"]?["subject"]?.string, isLinked: answer["link"] != nil)
    }
}
