import Accounts
import Postgres
import Storage
import TestSupport
import Testing

/// Refreshes that share a statement: each has its own answer.
@Suite(.timeLimit(.minutes(2))) struct OAuthRefreshTests {
    private static let now = Timestamp(seconds: 1_767_225_600)
    private static let client = OAuthClientID("csc_test")

    private struct World: Sendable {
        let database: Database
        let refreshes: OAuthRefreshes

        /// So many accounts with a refresh token each, of the scopes `profile` and `email`.
        static func run(_ count: Int, poolSize: Int = 4, _ body: (World) async throws -> Void) async throws {
            try await ScratchDatabase.withMigratedPool {
                $0.poolSize = poolSize
            } _: { database in
                for octet in 1...count { try await insert(octet, into: database) }
                try await body(World(database: database, refreshes: OAuthRefreshes(database: database)))
            }
        }

        private static func insert(_ number: Int, into database: Database) async throws {
            let (account, grant, chain) = (AccountID(now: now), OAuthGrantID(now: now), OAuthChainID(now: now))
            let created = now.advanced(bySeconds: -3_600)
            for statement: SQL in [
                "INSERT INTO accounts (account_id, created_at) VALUES (\(account), \(created))",
                """
                INSERT INTO oauth_clients (client_id, name, redirect_uris, assertion_audiences, require_pkce,
                    rotate_refresh, streamlined_create, introspect, status, secret_hash, created_at)
                VALUES ('csc_test', 'Test', '{}', '{}', false, false, false, false, 'active', \(hash(0)), \(created))
                ON CONFLICT DO NOTHING
                """,
                """
                INSERT INTO oauth_grants (grant_id, account_id, client_id, scopes, linked_at)
                VALUES (\(grant), \(account), 'csc_test', '{profile,email}', \(created))
                """,
                """
                INSERT INTO oauth_chains (chain_id, grant_id, origin, scopes, created_at)
                VALUES (\(chain), \(grant), 'web', '{profile,email}', \(created))
                """,
                """
                INSERT INTO oauth_refresh_tokens (token_hash, chain_id, fingerprint, created_at)
                VALUES (\(hash(number)), \(chain), \([UInt8](repeating: UInt8(number), count: 64)), \(created))
                """,
            ] { try await database.execute(statement) }
        }

        static func hash(_ number: Int) -> SecretHash {
            SecretHash([UInt8](repeating: 0, count: 24) + (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) })
        }

        /// - Parameter access: the number of the access token, among those of the refresh token.
        func refresh(
            _ number: Int, access: Int, scopes: [OAuthScope]? = nil, within allowed: [OAuthScope] = [.email, .profile],
            of client: OAuthClientID? = OAuthRefreshTests.client, seconds: Int64 = 0
        ) async throws -> OAuthRefresh {
            let time = now.advanced(bySeconds: seconds)
            return try await refreshes.refresh(
                OAuthRefreshRequest(
                    hash: Self.hash(number), clientID: try #require(client), scopes: scopes.map { OAuthScopes($0) },
                    within: OAuthScopes(allowed), accessHash: Self.hash(256 * access + number),
                    accessExpiresAt: time.advanced(bySeconds: 3_600), by: .at(time)))
        }
    }

    private static func text(_ outcome: OAuthRefresh) -> String {
        switch outcome {
        case .issued(let scopes, _): "issued \(scopes)"
        case .scopeExceeded: "scope exceeded"
        case .rejected: "rejected"
        case .reused: "reused"
        }
    }

    @Test func `of those that come at once each gets its own scopes or its own refusal`() async throws {
        try await World.run(40) { world in
            try await world.database.execute(
                """
                UPDATE accounts SET status = 'disabled'
                WHERE account_id = (
                    SELECT g.account_id FROM oauth_grants g JOIN oauth_chains USING (grant_id)
                    JOIN oauth_refresh_tokens r USING (chain_id) WHERE r.token_hash = \(World.hash(8)))
                """)
            let outcomes = try await concurrently(1...44) { number in
                let outcome =
                    switch number % 4 {
                    case 0: try await world.refresh(number, access: 1, scopes: [.email])
                    case 1: try await world.refresh(number, access: 1)
                    case 2: try await world.refresh(number, access: 1, scopes: [.email], within: [.profile])
                    default: try await world.refresh(number, access: 1, of: OAuthClientID("csc_other"))
                    }
                return Self.text(outcome)
            }
            for (number, outcome) in zip(1..., outcomes) {
                let expected =
                    switch number {
                    // Of a disabled account; and tokens that are not there.
                    case 8, 41...: "rejected"
                    case _ where number % 4 == 0: "issued email"
                    // In the order in which they were granted.
                    case _ where number % 4 == 1: "issued profile email"
                    case _ where number % 4 == 2: "scope exceeded"
                    default: "rejected"
                    }
                #expect(outcome == expected, "\(number)")
            }
            #expect(
                try await world.database.texts(
                    """
                    SELECT array_to_string(t.scopes, ' ') || ' ' || count(*)
                    FROM oauth_access_tokens t JOIN oauth_refresh_tokens r USING (chain_id)
                    GROUP BY t.scopes ORDER BY 1
                    """) == ["email 9", "profile email 10"])
            // Nothing was used whose request was rejected.
            #expect(try await world.database.count("oauth_grants WHERE last_used_at IS NOT NULL") == 29)
        }
    }

    @Test func `a token that is used many times at once is noted once a minute`() async throws {
        try await World.run(1) { world in
            let notes = { try await world.database.texts("SELECT xmin::text FROM oauth_grants") }
            var former = try await notes()
            for seconds: Int64 in [0, 59, 60] {
                try await concurrently(0..<40) { access in
                    let outcome = try await world.refresh(1, access: Int(seconds) * 40 + access + 1, seconds: seconds)
                    #expect(Self.text(outcome) == "issued profile email")
                }
                // All that ran before the first had noted it may note it too; but not a second time.
                let latest = try await notes()
                #expect((latest == former) == (seconds == 59))
                former = latest
                let noted = Self.now.advanced(bySeconds: seconds == 59 ? 0 : seconds)
                #expect(
                    try await world.database.texts("SELECT (last_used_at = \(noted))::text FROM oauth_grants") == [
                        "true"
                    ])
            }
            #expect(try await world.database.count("oauth_access_tokens") == 120)
        }
    }

    @Test func `one whose link is being ended waits for that, the others do not`() async throws {
        try await World.run(32) { world in
            let ended = try await world.database.transaction { transaction in
                _ = try await transaction.execute(
                    """
                    DELETE FROM oauth_chains
                    WHERE chain_id = (SELECT chain_id FROM oauth_refresh_tokens WHERE token_hash = \(World.hash(1)))
                    """)
                let alone = Task { Self.text(try await world.refresh(1, access: 1)) }
                try await transaction.awaitWaiters()
                let amongOthers = Task { Self.text(try await world.refresh(1, access: 2)) }
                try await concurrently(2...32) { number in
                    let outcome = try await world.refresh(number, access: 1)
                    #expect(Self.text(outcome) == "issued profile email")
                }
                return [alone, amongOthers]
            }
            for task in ended { #expect(try await task.value == "rejected") }
        }
    }

    @Test func `the statement is planned once, and finds each row by an index`() async throws {
        try await World.run(1, poolSize: 1) { world in
            for access in 1...8 { _ = try await world.refresh(1, access: access, seconds: 60 * Int64(access)) }
            #expect(
                try await world.database.texts(
                    """
                    SELECT generic_plans || ' ' || custom_plans FROM pg_prepared_statements
                    WHERE statement LIKE 'WITH posted%INSERT INTO oauth_access_tokens%'
                    """) == ["7 0"])
            let scans = try await KeptPlans.scans(of: "INSERT INTO oauth_access_tokens", in: world.database)
            #expect(scans == [])
        }
    }
}
