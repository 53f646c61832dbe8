package import Accounts
package import Postgres

/// The sessions of an account, as its owner and administrators see them.
extension SessionStore {
    /// The most sessions that their owner sees.
    private static let listed = 200

    /// The live ones, the newest first.
    package func live(of accountID: AccountID, at now: Timestamp) async throws(PostgresError) -> [SessionSummary] {
        try await live(of: accountID, before: nil, limit: SessionStore.listed, at: now).items
    }

    /// A page of the live ones, the newest first, as their ids begin with the time.
    package func live(
        of accountID: AccountID, before cursor: SessionID?, limit: Int, at now: Timestamp
    ) async throws(PostgresError) -> Page<SessionSummary, SessionID> {
        let sessions = try await database.query(
            SessionStore.statement(of: accountID, before: cursor, limit: limit, at: now)
        ) { row throws(PostgresError) in
            let (id, name, platform, address, createdAt, lastUsedAt, amr) = try row.decode(
                SessionID.self, String?.self, String?.self, String?.self, Timestamp.self, Timestamp.self, [String].self)
            let device = name == nil && platform == nil ? nil : Device(name: name, platform: platform)
            return SessionSummary(
                id: id, device: device, address: address, createdAt: createdAt, lastUsedAt: lastUsedAt,
                methods: amr.compactMap(AuthenticationMethod.init))
        }
        return Page(sessions, limit: limit, cursor: \.id)
    }

    package static func statement(
        of accountID: AccountID, before cursor: SessionID?, limit: Int, at now: Timestamp
    ) -> SQL {
        let isBefore: SQL = if let cursor { "session_id < \(cursor)" } else { "true" }
        return """
            SELECT session_id, device_name, device_platform, ip, created_at, last_used_at, amr
            FROM sessions
            WHERE account_id = \(accountID) AND ended_at IS NULL AND expires_at > \(now) AND \(isBefore)
            ORDER BY session_id DESC
            LIMIT \(limit + 1)
            """
    }

    /// Ends one of the account's live sessions.
    ///
    /// - Returns: whether there was such a session.
    package func end(
        _ id: SessionID, of accountID: AccountID, by event: AuditEvent, at now: Timestamp
    ) async throws(PostgresError) -> Bool {
        try await SessionStore.end(
            "s.session_id = \(id) AND s.account_id = \(accountID) AND s.expires_at > \(now)", reason: .signedOut,
            recording: event, at: now, in: database)
    }
}
