import Logging
import Postgres
import TestSupport
import Testing

/// A service, the sandbox whose keys it trusts, and the database they share: all real, all in processes of their own.
struct World: TestFixture {
    let service: Countersign
    let sandbox: Sandbox
    let scratch: ScratchDatabase

    static func run(_ body: (World) async throws -> Void) async throws { try await run([:]) { try await body($0) } }

    /// Runs one on a migrated database for as long as the closure runs.
    ///
    /// - Parameter sandboxSettings: those that name addresses of the sandbox.
    static func run<Result: Sendable>(
        _ settings: Countersign.Settings = [:], _ sandboxSettings: (Sandbox) -> Countersign.Settings = { _ in [:] },
        prepare: (Sandbox) async throws -> Void = { _ in }, _ body: (World) async throws -> Result
    ) async throws -> Result {
        try await ScratchDatabase.withMigrated { scratch in
            try await Sandbox.run { sandbox in
                try await registerClients(at: sandbox)
                try await prepare(sandbox)
                let all = sandboxSettings(sandbox).merging(settings) { _, asked in asked }
                return try await serve(scratch, sandbox, all, body)
            }
        }
    }

    /// Runs a service for as long as the closure runs, and expects that it neither ended by itself nor met an error that
    /// it doesn't know.
    ///
    /// - Parameter settings: in place of the ones that the database and the sandbox ask for.
    static func serve<Result: Sendable>(
        _ scratch: ScratchDatabase, _ sandbox: Sandbox, _ settings: Countersign.Settings = [:],
        arguments: [String] = [], launcher: [String] = [], _ body: (World) async throws -> Result
    ) async throws -> Result {
        let all = try Self.settings(scratch, sandbox).merging(settings) { _, asked in asked }
        return try await Countersign.serve(all, arguments: arguments, launcher: launcher) { service in
            let result = try await body(World(service: service, sandbox: sandbox, scratch: scratch))
            #expect(!service.endedByItself)
            // Whatever a test provokes is answered by a refusal that the service knows.
            let unexpected = service.log.split(separator: "\n").filter { $0.contains("request failed unexpectedly") }
            #expect(unexpected.isEmpty)
            return result
        }
    }

    /// Runs one on a cluster of its own, which the closure may stop.
    static func onCluster(
        diskMegabytes: Int? = nil, _ settings: Countersign.Settings = [:],
        _ body: (PrivateCluster, World) async throws -> Void
    ) async throws {
        try await Sandbox.run { sandbox in
            try await registerClients(at: sandbox)
            try await PrivateCluster.run(diskMegabytes: diskMegabytes) { cluster, url in
                try await serve(ScratchDatabase(url: url), sandbox, settings, arguments: ["--migrate"]) { world in
                    try await body(cluster, world)
                }
            }
        }
    }

    static func settings(_ scratch: ScratchDatabase, _ sandbox: Sandbox) throws -> Countersign.Settings {
        [
            "postgres.url": scratch.url, "postgres.poolSize": "4",
            "apple.keysUrl": sandbox.appleKeysURL, "google.keysUrl": sandbox.googleKeysURL,
            "web.apps": "lamp", "web.app.lamp.redirectUris": "https://app.example.com/signed-in",
        ].merging(try codeSettings(sandbox)) { _, code in code }
    }

    // MARK: People

    /// Adds a person with an account at both providers, whom no other test uses.
    func newPerson(_ name: String, email: String? = nil) async throws {
        let members: TokenMint.Members = ["email": .string(email ?? "\(name)@example.com")]
        try await sandbox.addApplePerson(name, members.text)
        try await sandbox.addGooglePerson(name, members.text)
    }

    /// What Apple's SDK gives the app; the email comes every time.
    func appleToken(
        _ person: String, nonce: String? = nil, _ changes: Sandbox.TokenChanges = .init()
    ) async throws -> String {
        try await sandbox.authorizeApple(
            person, clientID: Countersign.appleClient, nonce: nonce, repeatEmail: true, token: changes
        ).identityToken
    }

    func googleToken(
        _ person: String, nonce: String? = nil, _ changes: Sandbox.TokenChanges = .init()
    ) async throws -> String {
        try await sandbox.authorizeGoogle(
            person, clientID: Countersign.googleClient, nonce: nonce, token: changes
        ).idToken
    }

    /// Creates an account of a new person by Apple's token, and returns the answer.
    func newAccount(_ name: String) async throws -> Answer {
        try await newPerson(name)
        let token = try await appleToken(name)
        return try await create(of: try await retryWhenLate { try await service.signInWithApple(token) })
    }

    // MARK: The database

    func count(_ query: SQL) async throws -> Int64 { try await scratch.count(query) }

    /// Makes the authentication of an account's sessions this old; by default, too old for what needs a fresh one.
    ///
    /// - Parameter account: its identifier or its address.
    func age(sessionsOf account: String, minutes: Int32 = 11) async throws {
        try await scratch.execute(
            """
            UPDATE sessions SET auth_time = now() - make_interval(mins => \(minutes))
            WHERE account_id IN (
                SELECT account_id FROM accounts WHERE account_id::text = \(account) OR email = \(account))
            """)
    }

    /// Every row of the tables that a request could write to, with its content.
    func rows() async throws -> [String] {
        let tables: [SQL] = [
            "accounts", "identities", "sessions", "link_tickets", "mailed_codes", "oauth_clients", "oauth_grants",
            "oauth_chains", "oauth_codes", "oauth_refresh_tokens", "oauth_access_tokens",
        ]
        return try await scratch.withPool(.test(poolSize: 1)) { database in
            var rows: [String] = []
            for table in tables {
                rows += try await database.query("SELECT row_to_json(t)::text FROM \(table) t", as: String.self)
            }
            return rows.sorted()
        }
    }
}

/// A suite each test of which has a world, by the suite's trait or its own.
protocol WorldSuite {}

extension WorldSuite {
    var world: World { .current }
    var service: Countersign { world.service }
    var scratch: ScratchDatabase { world.scratch }
}

extension Trait where Self == FixtureTrait<World> {
    /// A world for a test, or one for all tests of a suite, where they don't interfere with each other.
    static func world(_ settings: Countersign.Settings) -> Self {
        sharedFixture { body in try await World.run(settings) { try await body($0) } }
    }

    static var world: Self { world([:]) }
}

struct TimedOut: Error, CustomStringConvertible { let description: String }

/// Waits until a condition holds, for as long as a busy machine may take. A look and the pause behind it count for a second
/// at most: a machine that stood still has not waited.
func eventually(_ what: String, within limit: Duration = .seconds(60), _ isTrue: () async throws -> Bool) async throws {
    var left = limit
    while true {
        let turn = ContinuousClock.now
        if try await isTrue() { return }
        guard left > .zero else { throw TimedOut(description: "\(what) did not happen") }
        try await Task.sleep(for: .milliseconds(10))
        left -= min(turn.duration(to: .now), .seconds(1))
    }
}
