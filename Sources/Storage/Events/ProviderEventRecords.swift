package import Accounts
package import Postgres

/// The stored events as an operator sees them. Reading them needs no key ring.
package struct ProviderEventRecords: Sendable {
    private let database: Database

    package init(database: Database) { self.database = database }

    /// A page, the newest first, in the order of their arrival.
    package func page(
        of provider: Provider? = nil, in status: StoredProviderEvent.Status? = nil, before cursor: ProviderEventID?,
        limit: Int
    ) async throws(PostgresError) -> Page<StoredProviderEvent, ProviderEventID> {
        try await database.page(
            ProviderEventRecords.statement(of: provider, in: status, before: cursor, limit: limit), limit: limit,
            cursor: \.id, as: ProviderEventRecords.event)
    }

    package static func statement(
        of provider: Provider? = nil, in status: StoredProviderEvent.Status? = nil, before cursor: ProviderEventID?,
        limit: Int
    ) -> SQL {
        let ofProvider: SQL = if let provider { "provider = \(provider.rawValue)" } else { "true" }
        let inStatus: SQL = if let status { "status = \(status.rawValue)" } else { "true" }
        let isBefore: SQL = if let cursor { "event_id < \(cursor)" } else { "true" }
        return """
            SELECT \(columns)
            FROM provider_events
            WHERE \(ofProvider) AND \(inStatus) AND \(isBefore)
            ORDER BY event_id DESC
            LIMIT \(limit + 1)
            """
    }

    /// The events that have not taken effect yet.
    package func backlog() async throws(PostgresError) -> OutboxBacklog {
        try await database.query(
            "SELECT count(*), min(received_at) FROM provider_events WHERE status = 'pending'", as: Int.self,
            Timestamp?.self
        ).first.map { OutboxBacklog(pending: $0, oldest: $1) } ?? OutboxBacklog(pending: 0, oldest: nil)
    }

    package func event(_ id: ProviderEventID) async throws(PostgresError) -> StoredProviderEvent? {
        try await database.query(
            "SELECT \(ProviderEventRecords.columns) FROM provider_events WHERE event_id = \(id)",
            as: ProviderEventRecords.event
        ).first
    }

    /// Makes the event pending again, and records who asked for that.
    ///
    /// - Returns: the event, pending again, if there is one.
    package func replay(
        _ id: ProviderEventID, recording event: AuditEvent, by call: Call
    ) async throws -> StoredProviderEvent? {
        try await database.change(by: call) { change in
            let replayed = try await change.query(
                """
                UPDATE provider_events
                SET status = 'pending', processed_at = NULL
                WHERE event_id = \(id)
                RETURNING \(ProviderEventRecords.columns)
                """, as: ProviderEventRecords.event)
            guard let stored = replayed.first else { return nil }
            var event = event
            event.provider = Provider(rawValue: stored.provider)
            event.tokenID = stored.tokenID
            try await change.record(event)
            return stored
        }
    }

    private static let columns: SQL =
        "event_id, provider, jti, type, subject, detail, status, occurred_at, received_at, processed_at"

    private static func event(_ row: PostgresRow) throws(PostgresError) -> StoredProviderEvent {
        let (id, provider, tokenID, type, subject, detail, status, occurredAt, receivedAt, processedAt) =
            try row.decode(
                ProviderEventID.self, String.self, String.self, String.self, String?.self, String?.self, String.self,
                Timestamp.self, Timestamp.self, Timestamp?.self)
        return StoredProviderEvent(
            id: id, provider: provider, tokenID: tokenID, type: type, subject: subject,
            detail: detail, status: status, occurredAt: occurredAt, receivedAt: receivedAt, processedAt: processedAt)
    }
}
