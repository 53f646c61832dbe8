package import Accounts
import OpenSSL
package import Postgres

/// A stored event, as an operator sees it.
package struct StoredProviderEvent: Sendable {
    package let id: ProviderEventID
    package let provider: Provider
    package let tokenID: String
    package let type: String
    package let subject: String?
    package let detail: String?
    package let status: String
    package let occurredAt: Timestamp
    package let receivedAt: Timestamp
    package let processedAt: Timestamp?
}

/// `provider_events`: stored once, acted on afterwards.
///
/// ```
///   insert ──▶ pending ──process──▶ done
///      │          ▲                 outdated          a newer consent or event counts
///      │          └──replay──────   unknown_subject   nobody here
///      └── known jti: nothing       unknown_type
/// ```
package struct ProviderEventStore: Sendable {
    let database: Database
    private let keyRing: KeyRing

    package init(database: Database, keyRing: KeyRing) {
        self.database = database
        self.keyRing = keyRing
    }

    /// Stores the events of one token.
    ///
    /// - Returns: whether they are new.
    package func insert(_ events: [ProviderEvent], at now: Timestamp) async throws -> Bool {
        let fingerprints = try events.map { event in try self.fingerprints(of: event.subject) }
        return try await database.transaction { transaction in
            var isNew = false
            for (event, fingerprints) in zip(events, fingerprints) {
                var subject: ProviderSubject?
                if case .person(let person) = event.subject { subject = person }
                let inserted = try await transaction.execute(
                    """
                    INSERT INTO provider_events (event_id, provider, jti, position, type, kind, realm, subject, detail,
                        token_fingerprints, occurred_at, received_at)
                    VALUES (\(ProviderEventID(now: now)), \(event.provider.rawValue), \(event.tokenID),
                        \(Int32(clamping: event.position)), \(event.type), \(event.kind?.rawValue),
                        \(event.realm.text), \(subject?.text), \(event.detail), \(fingerprints), \(event.occurredAt),
                        \(now))
                    ON CONFLICT ON CONSTRAINT provider_events_token_key DO NOTHING
                    """)
                isNew = isNew || inserted == 1
            }
            return isNew
        }
    }

    /// What the grants' rows hold for the token that is meant, under each key of the ring.
    private func fingerprints(of subject: ProviderEvent.Subject) throws(OpenSSLError) -> [[UInt8]]? {
        switch subject {
        case .person, .none: nil
        case .tokenPrefix(let prefix):
            try keyRing.all(for: .grants).map { (key) throws(OpenSSLError) in
                try RefreshTokenFingerprints.prefix(prefix, key: key)
            }
        case .tokenDigest(let digest):
            try keyRing.all(for: .grants).map { (key) throws(OpenSSLError) in
                try RefreshTokenFingerprints.digest(digest, key: key)
            }
        }
    }

    /// Events that nobody has acted on yet, the oldest first, without `postponed`.
    package func pending(
        limit: Int, except postponed: [ProviderEventID] = []
    ) async throws(PostgresError) -> [ProviderEventID] {
        try await database.query(
            """
            SELECT event_id
            FROM provider_events
            WHERE status = 'pending' AND event_id <> ALL (\(postponed))
            ORDER BY received_at, event_id
            LIMIT \(limit)
            """
        ) { row throws(PostgresError) in try row.decode(ProviderEventID.self) }
    }

    // MARK: - Operators

    /// The newest first.
    package func list(
        provider: Provider?, status: String?, limit: Int
    ) async throws(PostgresError) -> [StoredProviderEvent] {
        try await database.query(
            """
            SELECT \(ProviderEventStore.columns)
            FROM provider_events
            WHERE (\(provider?.rawValue)::text IS NULL OR provider = \(provider?.rawValue))
                AND (\(status)::text IS NULL OR status = \(status))
            ORDER BY received_at DESC, event_id DESC
            LIMIT \(limit)
            """, as: ProviderEventStore.event)
    }

    package func event(_ id: ProviderEventID) async throws(PostgresError) -> StoredProviderEvent? {
        let events = try await database.query(
            "SELECT \(ProviderEventStore.columns) FROM provider_events WHERE event_id = \(id)",
            as: ProviderEventStore.event)
        return events.first
    }

    /// Has the event acted on once more.
    ///
    /// - Returns: whether there is such an event.
    package func replay(_ id: ProviderEventID) async throws(PostgresError) -> Bool {
        try await database.execute(
            "UPDATE provider_events SET status = 'pending', processed_at = NULL WHERE event_id = \(id)") == 1
    }

    /// Deletes events that were acted on before `time`; a token that comes again after that is a new one.
    package func deleteProcessed(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.execute(
            """
            DELETE FROM provider_events
            WHERE event_id IN (
                SELECT event_id
                FROM provider_events
                WHERE received_at < \(time) AND status <> 'pending'
                LIMIT \(limit)
                FOR UPDATE SKIP LOCKED)
            """)
    }

    private static let columns: SQL = """
        event_id, provider, jti, type, subject, detail, status, occurred_at, received_at, processed_at
        """

    private static func event(_ row: PostgresRow) throws(PostgresError) -> StoredProviderEvent {
        let (id, provider, tokenID, type, subject, detail, status, occurredAt, receivedAt, processedAt) =
            try row.decode(
                ProviderEventID.self, String.self, String.self, String.self, String?.self, String?.self, String.self,
                Timestamp.self, Timestamp.self, Timestamp?.self)
        return StoredProviderEvent(
            id: id, provider: Provider(rawValue: provider) ?? .apple, tokenID: tokenID, type: type, subject: subject,
            detail: detail, status: status, occurredAt: occurredAt, receivedAt: receivedAt, processedAt: processedAt)
    }
}
