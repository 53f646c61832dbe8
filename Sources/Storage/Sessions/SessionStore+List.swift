package import Accounts
package import Postgres

/// The sessions of an account, as its owner and administrators see them.
extension SessionStore {
    /// The most sessions that their owner sees.
    private static let listed = 200

    /// The live ones: first the given one, however many were opened since, then the newest.
    package func live(
        of accountID: AccountID, first: SessionID?, by call: Call
    ) async throws(PostgresError) -> [SessionSummary] {
        try await database.query(
            """
            SELECT \(SessionStore.summaryColumns)
            FROM \(SessionStore.live(of: accountID, by: call))
            ORDER BY session_id = \(first) DESC, session_id DESC
            LIMIT \(SessionStore.listed)
            """, as: SessionStore.summary)
    }

    /// A page of the live ones, the newest first, as their ids begin with the time.
    package func live(
        of accountID: AccountID, before cursor: SessionID?, limit: Int, by call: Call
    ) async throws(PostgresError) -> Page<SessionSummary, SessionID> {
        let sessions = try await database.query(
            SessionStore.statement(of: accountID, before: cursor, limit: limit, by: call), as: SessionStore.summary)
        return Page(sessions, limit: limit, cursor: \.id)
    }

    /// A `FROM` item: all of them, found by their index. For the newest of an account that has many ended ones, too, the planner
    /// would go through the ids of everybody's sessions.
    private static func live(of accountID: AccountID, by call: Call) -> SQL {
        """
        (
            SELECT *
            FROM sessions
            WHERE account_id = \(accountID) AND ended_at IS NULL AND expires_at > \(call.now)
            OFFSET 0
        ) s
        """
    }

    /// One that is live.
    package func summary(of id: SessionID, by call: Call) async throws(PostgresError) -> SessionSummary? {
        try await database.query(
            """
            SELECT \(SessionStore.summaryColumns)
            FROM sessions
            WHERE session_id = \(id) AND ended_at IS NULL AND expires_at > \(call.now)
            """, as: SessionStore.summary
        ).first
    }

    /// The address of the last use is that of the sign-in in the first generation.
    private static let summaryColumns: SQL = """
        session_id, device_name, device_platform, ip,
            CASE WHEN generation = 1 THEN ip ELSE last_used_ip END,
            created_at, last_used_at, amr
        """

    private static func summary(_ row: PostgresRow) throws(PostgresError) -> SessionSummary {
        let (id, name, platform, address, lastUsedAddress, createdAt, lastUsedAt, amr) = try row.decode(
            SessionID.self, String?.self, String?.self, String?.self, String?.self, Timestamp.self, Timestamp.self,
            [String].self)
        return SessionSummary(
            id: id, device: Device(stated: name, platform: platform), address: address,
            lastUsedAddress: lastUsedAddress, createdAt: createdAt, lastUsedAt: lastUsedAt,
            methods: amr.compactMap(AuthenticationMethod.init))
    }

    package static func statement(
        of accountID: AccountID, before cursor: SessionID?, limit: Int, by call: Call
    ) -> SQL {
        let isBefore: SQL = if let cursor { "session_id < \(cursor)" } else { "true" }
        return """
            SELECT \(SessionStore.summaryColumns)
            FROM \(SessionStore.live(of: accountID, by: call))
            WHERE \(isBefore)
            ORDER BY session_id DESC
            LIMIT \(limit + 1)
            """
    }

    /// The status of the account of a session, also of one that has ended.
    package func accountStatus(of id: SessionID) async throws(PostgresError) -> Account.Status? {
        try await database.query(
            """
            SELECT a.status
            FROM sessions s
            JOIN accounts a ON a.account_id = s.account_id
            WHERE s.session_id = \(id)
            """, as: Account.Status.self
        ).first
    }

    /// Ends a live session of the account that `session` belongs to.
    ///
    /// - Returns: whether there was such a session.
    /// - Throws: `Refusal.sessionGone` when `session` was to end another one and has ended itself.
    package func end(
        _ id: SessionID, in session: Session, recording event: AuditEvent?, by call: Call
    ) async throws -> Bool {
        try await database.change(by: call) { change in
            if id != session.id { try await change.sessions.beginEndingOthers(in: session) }
            return try await change.sessions.end(
                .live(id, of: session.accountID), because: .signedOut, recording: event)
        }
    }
}
