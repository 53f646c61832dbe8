import TestSupport
import Testing

/// A world whose console has staff.
enum StaffWorld {
    static let client = "console-client"

    static func run(_ body: (World) async throws -> Void) async throws {
        try await World.run(try settings(secretFile: "console-secret"), addresses) { world in
            try await register(at: world)
            try await body(world)
        }
    }

    static func settings(secretFile: String) throws -> Countersign.Settings {
        var settings = try Fixtures.file("console-staff.json").decoded(as: Countersign.Settings.self)
        settings["console.google.clientSecretPath"] = try World.privateFile(secretFile, "console-web-secret\n")
        return settings
    }

    /// The lines of a configuration file.
    static func yaml(_ people: [String], keys: Bool = true) throws -> String {
        let secret = try World.privateFile("console-secret-reloaded", "console-web-secret\n")
        return """
            console:
              google: {clientId: \(client), clientSecretPath: \(secret), hostedDomain: lamp.example}
              staff: [\(people.joined(separator: ", "))]
              keySignIn: \(keys)
            """ + people.map { "\nconsole.person.\($0): {email: \($0)@lamp.example, scopes: [read]}" }.joined() + "\n"
    }

    static func addresses(_ sandbox: Sandbox) -> Countersign.Settings {
        ["google.authorizeUrl": sandbox.url + "/google/o/oauth2/v2/auth"]
    }

    static func register(at world: World) async throws {
        try await world.sandbox.registerWebClient(
            .google, client, redirectURIs: [world.service.privateURL + "/console/callback/google"],
            secret: "console-web-secret")
    }

    /// The whole way of a person to Google and back.
    ///
    /// - Parameters:
    ///   - other: the browser that comes back, if it is another.
    ///   - changes: of the parameters of Google's answer.
    static func signIn(
        _ person: String, _ visit: ConsoleVisit, action: String = "continue", returningBy other: ConsoleVisit? = nil,
        changes: [String: String] = [:], meanwhile: () async throws -> Void = {}
    ) async throws -> Browser.Page {
        let begun = try await visit.browser.open(visit.origin + "/console/sign-in/google", following: false)
        let url = try #require(begun.answer["Location"], "\(begun.answer.body)")
        let answer = try await visit.world.sandbox.authorize(at: url, person: person, action: action)
        try await meanwhile()
        let parameters = answer.parameters.map { name, value in (name: name, value: changes[name] ?? value) }
        let target = try #require(answer.target, "\(answer.page)")
        return try await (other ?? visit).browser.open(target + "?" + FormEncoding.encode(parameters))
    }
}

extension Trait where Self == FixtureTrait<World> {
    static func staffWorld() -> Self { sharedFixture { try await StaffWorld.run($0) } }
}
