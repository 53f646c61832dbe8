import Accounts
import Postgres
import TestSupport
import Testing

@testable import Storage

/// An account that has linked a client.
private struct World: TestFixture {
    static let start = Timestamp(seconds: 1_767_225_600)

    let database: Database
    let account = AccountID(now: World.start)
    let grant = OAuthGrantID(now: World.start)

    static func run(_ body: (World) async throws -> Void) async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let world = World(database: database)
            try await database.execute(
                "INSERT INTO accounts (account_id, created_at) VALUES (\(world.account), \(start))")
            try await database.execute(
                """
                INSERT INTO oauth_clients (client_id, name, redirect_uris, assertion_audiences, require_pkce,
                    rotate_refresh, streamlined_create, introspect, status, secret_hash, created_at)
                VALUES ('csc_test', 'Test', '{}', '{}', false, false, false, false, 'active', \(hash(0)), \(start))
                """)
            try await database.execute(
                """
                INSERT INTO oauth_grants (grant_id, account_id, client_id, scopes, linked_at)
                VALUES (\(world.grant), \(world.account), 'csc_test', '{profile}', \(start))
                """)
            try await body(world)
        }
    }

    static func hash(_ octet: UInt8) -> SecretHash { SecretHash([UInt8](repeating: octet, count: 32)) }

    /// A chain with a code that is good for ten minutes.
    func link(_ octet: UInt8, at seconds: Int64, in session: some PostgresSession) async throws {
        let now = Self.start.advanced(bySeconds: seconds)
        let chain = OAuthChainID(now: now)
        _ = try await session.execute("SELECT FROM oauth_grants WHERE grant_id = \(grant) FOR UPDATE")
        _ = try await session.execute(
            """
            INSERT INTO oauth_chains (chain_id, grant_id, origin, scopes, created_at)
            VALUES (\(chain), \(grant), 'web', '{profile}', \(now))
            """)
        _ = try await session.execute(
            """
            INSERT INTO oauth_codes (code_hash, chain_id, redirect_uri, expires_at)
            VALUES (\(Self.hash(octet)), \(chain), 'https://a.example/', \(now.advanced(bySeconds: 600)))
            """)
    }

    func sweep(at seconds: Int64) async throws -> Int {
        let now = Self.start.advanced(bySeconds: seconds)
        return try await OAuthGrantStore(database: database).sweep(by: .at(now), endedBefore: now, limit: 100)
    }
}

/// The sweep of links that came to nothing, beside what is linked meanwhile.
@Suite(.fixture(World.self), .timeLimit(.minutes(15))) struct OAuthGrantSweepTests {
    private var world: World { .current }
    var database: Database { world.database }

    @Test func `a code that nobody redeemed takes its chain along, and the grant that has no other`() async throws {
        try await world.link(1, at: 0, in: database)
        try await world.link(2, at: 1_000, in: database)
        #expect(try await world.sweep(at: 599) == 0)
        #expect(try await world.sweep(at: 601) == 1)
        #expect(try await database.count("oauth_chains") == 1)
        #expect(try await database.count("oauth_grants") == 1)
        #expect(try await world.sweep(at: 1_601) == 1)
        #expect(try await database.count("oauth_grants") == 0)
    }

    @Test func `a link is listed while a code or a refresh token is good, not until it is swept`() async throws {
        func isListed(at seconds: Int64) async throws -> Bool {
            let call = Call.at(World.start.advanced(bySeconds: seconds))
            let clients = try await OAuthGrantStore(database: database).linkedClients(of: world.account, by: call)
            return clients.map(\.clientID.text) == ["csc_test"]
        }
        try await world.link(1, at: 0, in: database)
        #expect(try await isListed(at: 599))
        #expect(try await !isListed(at: 600))
        try await world.link(2, at: 1_000, in: database)
        #expect(try await isListed(at: 1_001))
        // Spent, as by a wrong verifier, and nothing came of it.
        try await database.execute("UPDATE oauth_codes SET used_at = \(World.start) WHERE code_hash = \(World.hash(2))")
        #expect(try await !isListed(at: 1_001))
        #expect(try await database.count("oauth_grants") == 1)
        try await database.execute(
            """
            INSERT INTO oauth_refresh_tokens (token_hash, chain_id, fingerprint, created_at)
            SELECT \(World.hash(3)), chain_id, \([UInt8](repeating: 0, count: 64)), \(World.start)
            FROM oauth_codes
            WHERE code_hash = \(World.hash(2))
            """)
        #expect(try await isListed(at: 1_000_000))
    }

    @Test func `a link that is made while the sweep runs stays`() async throws {
        try await world.link(1, at: 0, in: database)
        let endings = Tally()
        let sweep = try await database.transaction { transaction in
            try await world.link(2, at: 1_000, in: transaction)
            let sweep = Task {
                defer { endings.add() }
                return try await world.sweep(at: 1_000)
            }
            // It leaves out what is being linked, or waits for it.
            while try await !transaction.isWaitedFor(), endings.count == 0 { try await pollingPause() }
            return sweep
        }
        _ = try await sweep.value
        #expect(try await database.count("oauth_codes WHERE code_hash = \(World.hash(2))") == 1)
        #expect(try await database.count("oauth_grants") == 1)
        // The next one takes what is over.
        _ = try await world.sweep(at: 1_000)
        #expect(try await database.count("oauth_chains") == 1)
        #expect(try await database.count("oauth_grants") == 1)
    }
}
