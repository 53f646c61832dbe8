import JSON
import Postgres
import TestSupport
import Testing

/// Apps of two Google projects at one service: each project's codes belong to its own server client.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct GoogleProjectTests {
    struct Project: Sendable {
        /// An iOS app, which is the audience of its tokens.
        let app: String
        let server: String
        let secret: String
    }

    static let main = Project(
        app: "lamp-ios.apps.googleusercontent.com", server: Countersign.googleClient, secret: World.googleSecret)
    static let beta = Project(
        app: "beta-ios.apps.googleusercontent.com", server: "beta-web.apps.googleusercontent.com",
        secret: "beta-server-secret")

    private static let settings: Countersign.Settings = [
        "google.clientIds": "\(main.server),\(main.app)", "google.projects": "beta",
        "google.project.beta.clientIds": "\(beta.server),\(beta.app)",
        "google.project.beta.serverClientId": beta.server, "google.project.beta.serverClientSecret": beta.secret,
    ]

    /// A world whose Google has both projects; each client's secret is good for its own codes alone.
    private static func run(_ body: (World) async throws -> Void) async throws {
        try await World.run(
            settings,
            prepare: { sandbox in try await sandbox.registerGoogleClient(beta.server, secret: beta.secret) }, body)
    }

    private static func authorize(
        _ person: String, by project: Project, _ world: World
    ) async throws -> Sandbox.GoogleCredential {
        try await world.sandbox.authorizeGoogle(
            person, clientID: project.app, serverClientID: project.server, forceConsent: true)
    }

    private static func signIn(_ members: TokenMint.Members, _ world: World) async throws -> Answer {
        try await world.service.signIn(.google, members)
    }

    /// Signs in with a code alone, which names its client.
    private static func signIn(_ person: String, by project: Project, _ world: World) async throws -> Answer {
        let code = try await authorize(person, by: project, world).serverAuthCode
        return try await signIn(["serverAuthCode": .string(code), "clientId": .string(project.server)], world)
    }

    private static func grants(_ person: String, of project: Project, _ world: World) async throws -> [Sandbox.Grant] {
        try await world.sandbox.authorization(.google, person, clientID: project.server)?.grants ?? []
    }

    /// The clients as which a code was sent.
    private static func clients(of code: String, _ world: World) async throws -> [String?] {
        try await world.sandbox.history(path: Sandbox.Provider.google.tokenPath)
            .filter { $0.field("code") == Sandbox.fingerprint(code) }.map { $0.field("client_id") }
    }

    @Test func `who comes by both projects is one identity with two grants, and both are revoked`() async throws {
        try await Self.run { world in
            try await world.newPerson("kim")
            let created = try await world.create(of: try await Self.signIn("kim", by: Self.main, world))
            #expect(try created.text("identity.authorization") == "active")
            let again = try await Self.signIn("kim", by: Self.beta, world)
            #expect(try again.text("status") == "signedIn")
            #expect(try again.accountID() == created.accountID())
            #expect(try again.identityID() == created.identityID())
            #expect(try again.text("identity.authorization") == "active")

            #expect(try await world.count("SELECT count(*) FROM identities WHERE realm = 'main'") == 1)
            for project in [Self.main, Self.beta] {
                let kept = try await world.count(
                    "SELECT count(*) FROM provider_grants WHERE client_id = \(project.server)")
                #expect(kept == 1, "\(project.server)")
                #expect(try await Self.grants("kim", of: project, world).map(\.isLive) == [true])
            }

            try await world.service.delete("/v1/account", bearer: try again.bearer()).expecting(202)
            try await eventually("the end of the revocation") {
                try await world.count("SELECT count(*) FROM outbox WHERE status = 'done'") == 1
            }
            let ended = try await Self.grants("kim", of: Self.main, world) + Self.grants("kim", of: Self.beta, world)
            #expect(ended.map(\.endedBy) == [.revoke, .revoke])
            #expect(try await world.revokedTokens(.google).sorted() == ended.map(\.refreshToken).sorted())
            #expect(try await world.count("SELECT count(*) FROM provider_grants") == 0)
        }
    }

    @Test func `a code alone has to come with its own server client`() async throws {
        try await Self.run { world in
            try await world.newPerson("zoe")
            let code = try await Self.authorize("zoe", by: Self.beta, world).serverAuthCode
            let members: TokenMint.Members = ["serverAuthCode": .string(code)]
            let unnamed = try await Self.signIn(members, world).expecting(400)
            #expect(unnamed.json?["errors"]?.elements?.first?["field"]?.string == "clientId")
            for client in [Self.beta.app, "another"] {
                let refused = try await Self.signIn(members.with("clientId", .string(client)), world)
                refused.expectRefusal(401, "invalid_token")
            }
            #expect(try await Self.clients(of: code, world) == [])
            // Google says of another client's code that the client is at fault, and the code stays good.
            let other = try await Self.signIn(members.with("clientId", .string(Self.main.server)), world)
            other.expectRefusal(503, "provider_unavailable")
            let own = try await Self.signIn(members.with("clientId", .string(Self.beta.server)), world)
            #expect(try own.text("status") == "linkRequired")
            #expect(try await Self.clients(of: code, world) == [Self.main.server, Self.beta.server])
            // Beside a token the app may be named, which is the audience of its tokens.
            let beside = try await Self.authorize("zoe", by: Self.beta, world)
            let named = try await Self.signIn(
                [
                    "idToken": "a.b.c", "serverAuthCode": .string(beside.serverAuthCode),
                    "clientId": .string(Self.beta.app),
                ], world)
            #expect(try named.text("status") == "linkRequired")
            #expect(try await Self.clients(of: beside.serverAuthCode, world) == [Self.beta.server])
            let alone = try await Self.signIn(["idToken": .string(beside.idToken)], world)
            #expect(try alone.text("status") == "linkRequired")
        }
    }
}
