import Accounts
import Postgres
import Storage
import TestSupport

/// An account that has linked a client.
struct OAuthGrantWorld: TestFixture {
    static let start = Timestamp(seconds: 1_767_225_600)

    let database: Database
    let account = AccountID(now: OAuthGrantWorld.start)
    let grant = OAuthGrantID(now: OAuthGrantWorld.start)

    static func run(_ body: (OAuthGrantWorld) async throws -> Void) async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let world = OAuthGrantWorld(database: database)
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

    /// The events in the feed, in their order: type, client and cause.
    func announced() async throws -> [String?] {
        try await database.texts(
            """
            SELECT concat_ws(' ', type, members::jsonb ->> 'clientId', members::jsonb ->> 'by')
            FROM unstamped_events
            ORDER BY arrival
            """)
    }
}
