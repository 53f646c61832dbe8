package import Accounts
package import Postgres

/// `console_sessions`: the cookies of administrators at the console. Those of staff are ``ConsoleStaffStore``'s.
///
/// Times are the database's: one process notes a use, another judges the idle end minutes later
/// (docs/decisions/0003-one-clock.md).
package struct ConsoleSessionStore: Sendable {
    private let database: Database

    package init(database: Database) { self.database = database }

    /// - Parameters:
    ///   - hash: the SHA-256 of the cookie's random bits.
    ///   - event: written in the same transaction.
    /// - Returns: `false` when the key has been revoked meanwhile.
    package func open(_ hash: SecretHash, for id: AdminKeyID, recording event: AuditEvent, by call: Call) async throws
        -> Bool
    {
        try await database.change(by: call) { change in
            let opened = try await change.execute(
                """
                INSERT INTO console_sessions (session_hash, key_id)
                SELECT \(hash), key_id
                FROM admin_keys
                WHERE key_id = \(id) AND revoked_at IS NULL
                """)
            guard opened == 1 else { return false }
            try await change.record(event)
            return true
        }
    }

    /// The key of a live session.
    ///
    /// - Parameters:
    ///   - keyID: that the cookie names. A row of another key is none of this session.
    ///   - isActivity: whether this use puts off the idle end, and counts as a use of the key. A page that loads itself
    ///     again is none.
    /// - Returns: `nil` when the session has ended or the key was revoked.
    package func use(_ hash: SecretHash, of keyID: AdminKeyID, isActivity: Bool) async throws(PostgresError)
        -> AdminKey?
    {
        let isLive: SQL = """
            c.session_hash = \(hash) AND c.key_id = \(keyID) AND k.key_id = c.key_id AND k.revoked_at IS NULL
                AND c.last_used_at > now() - \(Lifetimes.consoleIdleSeconds) * interval '1 second'
                AND c.created_at > now() - \(Lifetimes.consoleSessionSeconds) * interval '1 second'
            """
        let read = { () async throws(PostgresError) in
            try await database.query(
                "SELECT \(AdminKeyStore.columns) FROM console_sessions c, admin_keys k WHERE \(isLive)",
                as: AdminKeyStore.key
            ).first
        }
        guard isActivity else { return try await read() }
        let touch = { () async throws(PostgresError) in
            try await database.query(
                """
                WITH noted AS (
                    UPDATE admin_keys k
                    SET last_used_at = now()
                    FROM console_sessions c
                    WHERE \(isLive) AND (k.last_used_at IS NULL OR k.last_used_at <= now() - interval '1 minute')
                )
                UPDATE console_sessions c
                SET last_used_at = now()
                FROM admin_keys k
                WHERE \(isLive)
                RETURNING \(AdminKeyStore.columns)
                """, as: AdminKeyStore.key
            ).first
        }
        return try await database.touching(touch, orReading: read)
    }

    package func end(_ hash: SecretHash) async throws(PostgresError) {
        _ = try await database.execute("DELETE FROM console_sessions WHERE session_hash = \(hash)")
    }

    /// Of a row of the table alone.
    static var isLive: SQL {
        """
        last_used_at > now() - \(Lifetimes.consoleIdleSeconds) * interval '1 second'
            AND created_at > now() - \(Lifetimes.consoleSessionSeconds) * interval '1 second'
        """
    }

    /// Deletes sessions that have ended by themselves.
    package func deleteEnded() async throws(PostgresError) -> Int {
        try await database.execute("DELETE FROM console_sessions WHERE NOT (\(ConsoleSessionStore.isLive))")
    }
}
