package import Accounts
package import Postgres

/// `audit_events`: written in the transaction of the change that it records, or alone when nothing else is written.
/// A row is never changed. Partitions go by month, when an operator drops one.
package struct AuditTrail: Sendable {
    let database: Database

    package init(database: Database) { self.database = database }

    package func record(_ event: AuditEvent, by call: Call) async throws(PostgresError) {
        try await AuditTrail.record(event, by: call, in: database)
    }

    /// Records all of the events, each with its own time, in one statement, or none.
    package func record(_ events: [(event: AuditEvent, time: Timestamp)]) async throws(PostgresError) {
        try await AuditTrail.record(events, in: database)
    }

    /// Whose addresses they are.
    package func accounts(with addresses: [EmailAddress]) async throws(PostgresError) -> [EmailAddress: AccountID] {
        let rows = try await database.query(
            "SELECT account_id, email FROM accounts WHERE email = ANY (\(addresses.map(\.text)))",
            as: AccountID.self, String.self)
        return Dictionary(
            rows.compactMap { id, email in EmailAddress.existing(email).map { ($0, id) } },
            uniquingKeysWith: { first, _ in first })
    }

    static func record(
        _ events: [(event: AuditEvent, time: Timestamp)], in session: some PostgresSession
    ) async throws(PostgresError) {
        guard !events.isEmpty else { return }
        let times = events.map(\.time)
        let events = events.map(\.event)
        _ = try await session.execute(
            """
            INSERT INTO audit_events (\(columns))
            SELECT *
            FROM unnest(\(times.map { Identifier<AuditEvent>(now: $0) }), \(events.map(\.kind.rawValue)),
                \(events.map(\.actor.rawValue)), \(events.map(\.accountID)), \(events.map(\.identityID)),
                \(events.map(\.revocationID)), \(events.map(\.sessionID)), \(events.map(\.provider?.rawValue)),
                \(events.map(\.tokenID)), \(events.map(\.reason)), \(events.map(\.requestID)),
                \(events.map(\.network)), \(events.map(\.occurrences)), \(events.map(\.actorName)), \(times))
            """)
    }

    static func record(
        _ event: AuditEvent, by call: Call, in session: some PostgresSession
    ) async throws(PostgresError) {
        _ = try await session.execute(insertion(event, by: call))
    }

    /// `INSERT INTO audit_events … SELECT …`, complete, or to be followed by a `FROM` or `WHERE` that decides whether
    /// there is anything to record.
    static func insertion(_ event: AuditEvent, by call: Call) -> SQL {
        """
        INSERT INTO audit_events (\(columns))
        SELECT \(Identifier<AuditEvent>(now: call.now)), \(event.kind.rawValue), \(event.actor.rawValue), \(event.accountID),
            \(event.identityID), \(event.revocationID), \(event.sessionID), \(event.provider?.rawValue),
            \(event.tokenID), \(event.reason), \(event.requestID), \(event.network), \(event.occurrences), \(event.actorName),
            \(call.now)
        """
    }

    private static let columns: SQL = """
        event_id, type, actor, account_id, identity_id, revocation_id, session_id, provider, jti, reason, request_id,
            network, occurrences, actor_name, created_at
        """
}
