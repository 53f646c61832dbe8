package import Accounts
package import Postgres

/// `web_sessions`: the cookies of browser sessions. Such a session is a row of `sessions` as any other, whose end moves
/// with each use, and whatever ends sessions ends it.
package struct WebSessionStore: Sendable {
    let database: Database

    /// Makes a session that was just opened one of a browser: it ends when it is not used.
    ///
    /// - Parameter hash: the SHA-256 of the cookie.
    /// - Returns: `false` when it has ended meanwhile.
    package func open(_ hash: SecretHash, for id: SessionID, by call: Call) async throws(PostgresError) -> Bool {
        try await database.execute(
            """
            WITH idle AS (
                UPDATE sessions s
                SET expires_at = LEAST(s.expires_at, \(call.now.advanced(bySeconds: Lifetimes.webSessionIdleSeconds)))
                WHERE s.session_id = \(id) AND s.ended_at IS NULL
                RETURNING s.session_id
            )
            INSERT INTO web_sessions (session_hash, session_id, created_at)
            SELECT \(hash), session_id, \(call.now)
            FROM idle
            """) == 1
    }

    /// The account of a cookie's session, also of one that has ended.
    package func account(of hash: SecretHash) async throws(PostgresError) -> AccountID? {
        try await database.query(
            """
            SELECT s.account_id
            FROM web_sessions w
            JOIN sessions s ON s.session_id = w.session_id
            WHERE w.session_hash = \(hash)
            """, as: AccountID.self
        ).first
    }

    /// The live session of a cookie with its account, which is used by this. A second use within ``useSeconds`` writes
    /// nothing.
    ///
    /// The commit isn't waited for: a crash that takes the note back ends an unused session so much earlier.
    package func use(
        _ hash: SecretHash, by call: Call, lifetimes: SessionLifetimes
    ) async throws(PostgresError) -> LiveAccount? {
        let idleEnd = call.now.advanced(bySeconds: Lifetimes.webSessionIdleSeconds)
        let end: SQL =
            if let absolute = lifetimes.absolute {
                "LEAST(\(idleEnd), t.created_at + \(absolute) * interval '1 second')"
            } else {
                "\(idleEnd)"
            }
        let session = { (use: SQL) async throws(PostgresError) in
            let rows = try await database.query(
                """
                WITH s AS (
                    SELECT \(WebSessionStore.usedColumns)
                    FROM web_sessions w
                    JOIN sessions t ON t.session_id = w.session_id
                    WHERE w.session_hash = \(hash) AND t.ended_at IS NULL AND t.expires_at > \(call.now)
                )\(use)
                SELECT \(LiveAccount.columns)
                FROM s
                JOIN accounts a ON a.account_id = s.account_id
                LEFT JOIN identities i ON i.account_id = a.account_id
                ORDER BY i.created_at, i.identity_id
                """
            ) { row throws(PostgresError) in try LiveAccount.row(row) }
            return LiveAccount(rows)
        }
        let touch = { () async throws(PostgresError) in
            try await session(
                """
                , used AS (
                    UPDATE sessions t
                    SET last_used_at = GREATEST(t.last_used_at, \(call.now)), expires_at = GREATEST(t.expires_at, \(end))
                    FROM s
                    WHERE t.session_id = s.session_id AND t.ended_at IS NULL
                        AND s.last_used_at <= \(call.now.advanced(bySeconds: -Self.useSeconds))
                    RETURNING set_config('synchronous_commit', 'off', true)
                )
                """)
        }
        let read = { () async throws(PostgresError) in try await session("") }
        return try await database.touching(touch, orReading: read)
    }

    private static let useSeconds: Int64 = 30

    private static let usedColumns: SQL = """
        t.session_id, t.account_id, t.identity_id, t.auth_time, t.amr, t.created_at, t.expires_at, t.last_used_at,
        t.generation
        """
}
