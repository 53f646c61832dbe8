package import Accounts
import KeyRing
import OpenSSL
package import Postgres

/// `provider_events`: stored once, processed afterwards.
///
/// ```
///   insert ──▶ pending ──process──▶ done
///      │          ▲                 outdated          a newer consent or event exists
///      │          └──replay──────   unknown_subject   no such identity
///      └── known jti: nothing       unknown_type
/// ```
package struct ProviderEventStore: Sendable {
    let database: Database
    let keyRing: KeyRing

    /// Stores the events of one token.
    ///
    /// - Returns: whether any of them is new.
    package func insert(_ events: [ProviderEvent], by call: Call) async throws -> Bool {
        let fingerprints = try events.map { event in try self.fingerprints(of: event.subject) }
        return try await database.change(by: call) { change in
            var isNew = false
            for (event, fingerprints) in zip(events, fingerprints) {
                var subject: ProviderSubject?
                if case .person(let person) = event.subject { subject = person }
                let inserted = try await change.execute(
                    """
                    INSERT INTO provider_events (event_id, provider, jti, position, type, kind, realm, subject, detail,
                        token_fingerprints, occurred_at, received_at)
                    VALUES (\(ProviderEventID(now: call.now)), \(event.provider.rawValue), \(event.tokenID),
                        \(Int32(clamping: event.position)), \(event.type), \(event.kind?.rawValue),
                        \(event.realm.text), \(subject?.text), \(event.detail), \(fingerprints), \(event.occurredAt),
                        \(call.now))
                    ON CONFLICT ON CONSTRAINT provider_events_token_key DO NOTHING
                    """)
                isNew = isNew || inserted == 1
            }
            return isNew
        }
    }

    /// The fingerprints that a grant of the named token has, one under each key of the ring.
    private func fingerprints(of subject: ProviderEvent.Subject) throws(OpenSSLError) -> [[UInt8]]? {
        switch subject {
        case .person, .none: nil
        case .tokenPrefix(let prefix):
            try keyRing.all(for: .grants).map { (key) throws(OpenSSLError) in
                try ProviderTokenFingerprints.prefix(prefix, key: key)
            }
        case .tokenDigest(let digest):
            try keyRing.all(for: .grants).map { (key) throws(OpenSSLError) in
                try ProviderTokenFingerprints.digest(digest, key: key)
            }
        }
    }

    /// The pending events, the oldest first, without `postponed`.
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
            """, as: ProviderEventID.self)
    }

    /// The events as operators see them.
    package var records: ProviderEventRecords { ProviderEventRecords(database: database) }

    /// Forgets the subjects that no identity has, of events whose row refuses no token any more.
    package func forgetUnknownSubjects(by call: Call, limit: Int) async throws(PostgresError) {
        _ = try await database.execute(
            """
            UPDATE provider_events
            SET kept_until = NULL, subject = CASE WHEN \(ProviderEventStore.isOfLinkedIdentity) THEN subject END
            WHERE event_id IN (
                SELECT event_id
                FROM provider_events
                WHERE kept_until < \(call.now)
                LIMIT \(limit)
                FOR NO KEY UPDATE SKIP LOCKED)
            """)
    }

    /// Deletes processed events that were received before `time`. A token that is delivered again after that counts as
    /// new.
    package func deleteProcessed(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.delete(
            from: "provider_events", where: "received_at < \(time) AND status <> 'pending'", limit: limit)
    }
}

extension Change.ProviderEvents {
    /// Forgets a subject that has no identity any more: of all events that were acted on, but for those by which tokens from
    /// before them are refused yet.
    func forgetSubject(of key: IdentityKey, keepingRefusals: Bool = true) async throws(PostgresError) {
        let refusesNothing: SQL = keepingRefusals ? "kept_until IS NULL" : "true"
        _ = try await change.execute(
            """
            UPDATE provider_events
            SET subject = NULL
            WHERE \(key.condition) AND status <> 'pending' AND \(refusesNothing)
            """)
    }
}
