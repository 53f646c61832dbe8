package import Accounts
package import Postgres

/// The sessions of an account, as its owner sees them.
extension SessionStore {
    /// How many are listed at most.
    private static let listed = 200

    /// The live ones, the newest first.
    package func live(of accountID: AccountID, at now: Timestamp) async throws(PostgresError) -> [SessionSummary] {
        try await database.query(
            """
            SELECT session_id, device_name, device_platform, ip, created_at, last_used_at, amr
            FROM sessions
            WHERE account_id = \(accountID) AND ended_at IS NULL AND expires_at > \(now)
            ORDER BY created_at DESC, session_id DESC
            LIMIT \(SessionStore.listed)
            """
        ) { row throws(PostgresError) in
            let (id, name, platform, address, createdAt, lastUsedAt, amr) = try row.decode(
                SessionID.self, String?.self, String?.self, String?.self, Timestamp.self, Timestamp.self, [String].self)
            let device = name == nil && platform == nil ? nil : Device(name: name, platform: platform)
            return SessionSummary(
                id: id, device: device, address: address, createdAt: createdAt, lastUsedAt: lastUsedAt,
                methods: amr.compactMap(AuthenticationMethod.init))
        }
    }

    /// Ends one of the account's live sessions.
    ///
    /// - Returns: whether it was one.
    package func end(
        _ id: SessionID, of accountID: AccountID, by event: AuditEvent, at now: Timestamp
    ) async throws(PostgresError) -> Bool {
        try await SessionStore.end(
            "s.session_id = \(id) AND s.account_id = \(accountID) AND s.expires_at > \(now)", reason: .signedOut,
            recording: event, at: now, in: database)
    }
}
