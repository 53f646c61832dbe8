package import Accounts
package import Postgres

/// `audit_events`. Written in the transaction of what it tells of, or by itself when nothing else is written.
package struct AuditTrail: Sendable {
    private let database: Database

    package init(database: Database) {
        self.database = database
    }

    package func record(_ event: AuditEvent, at now: Timestamp) async throws(PostgresError) {
        try await AuditTrail.record(event, at: now, in: database)
    }

    static func record(
        _ event: AuditEvent, at now: Timestamp, in session: some PostgresSession
    ) async throws(PostgresError) {
        let id = Identifier<AuditEvent>(now: now)
        _ = try await session.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, account_id, identity_id, revocation_id, session_id, provider,
                jti, reason, request_id, network, occurrences, created_at)
            VALUES (\(id), \(event.kind.rawValue), \(event.actor.rawValue), \(event.accountID),
                \(event.identityID), \(event.revocationID), \(event.sessionID), \(event.provider?.rawValue),
                \(event.tokenID), \(event.reason), \(event.requestID), \(event.network), \(event.occurrences), \(now))
            """)
    }
}
