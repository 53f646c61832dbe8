import Accounts
import Postgres
import Storage
import TestSupport
import Testing

private typealias World = OAuthGrantWorld

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
        #expect(try await world.announced() == [])
        #expect(try await world.sweep(at: 1_601) == 1)
        #expect(try await database.count("oauth_grants") == 0)
        #expect(try await world.announced() == ["client.unlinked csc_test policy"])
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
