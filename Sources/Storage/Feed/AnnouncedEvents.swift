import Accounts
import Postgres
import Synchronization

/// The events of one change, which are written at its end: they take the last locks of the transaction, and one statement.
final class AnnouncedEvents: Sendable {
    private let events = Mutex<[AccountEvent]>([])

    func add(_ event: AccountEvent) {
        events.withLock { events in
            if case .accountDeleted = event.happening {
                // It says what became of all that the account had.
                events.removeAll { $0.accountID == event.accountID && !$0.isOfAuthorization }
            }
            if case .sessionRevoked = event.happening {
                for (index, earlier) in events.enumerated() {
                    guard let joined = earlier.joined(with: event) else { continue }
                    events[index] = joined
                    return
                }
            }
            events.append(event)
        }
    }

    /// Writes them, numbered by account.
    ///
    /// The numbers are locked in the order of the accounts. Positions come when the change is committed: ``FeedStore``.
    ///
    /// - Returns: whether there were any.
    func write(at now: Timestamp, in session: some PostgresSession) async throws(PostgresError) -> Bool {
        let events = events.withLock { $0 }
        guard !events.isEmpty else { return false }
        _ = try await session.execute(
            """
            WITH posted AS MATERIALIZED (
                SELECT *
                FROM unnest(\(events.map { _ in AccountEventID(now: now) }), \(events.map(\.happening.kind.rawValue)),
                    \(events.map(\.accountID)), \(events.map(\.externalID?.text)), \(events.map(\.happening.members)),
                    \(events.map(\.happening.isLast))
                ) WITH ORDINALITY AS p (event_id, type, account_id, external_id, members, is_last, number)
            ), numbered AS (
                INSERT INTO account_sequences AS s (account_id, last_sequence, ended_at)
                SELECT p.account_id, count(*), CASE WHEN bool_or(p.is_last) THEN \(now) END
                FROM posted p
                GROUP BY p.account_id
                ORDER BY p.account_id
                ON CONFLICT (account_id) DO UPDATE
                SET last_sequence = s.last_sequence + EXCLUDED.last_sequence,
                    ended_at = COALESCE(s.ended_at, EXCLUDED.ended_at)
                RETURNING s.account_id, s.last_sequence
            )
            INSERT INTO unstamped_events (event_id, type, account_id, external_id, sequence, members, happened_at)
            SELECT p.event_id, p.type, p.account_id,
                COALESCE(p.external_id, max(p.external_id) OVER (PARTITION BY p.account_id), a.external_id),
                n.last_sequence - count(*) OVER (PARTITION BY p.account_id)
                    + row_number() OVER (PARTITION BY p.account_id ORDER BY p.number),
                p.members, \(now)
            FROM posted p
            JOIN numbered n ON n.account_id = p.account_id
            LEFT JOIN accounts a ON a.account_id = p.account_id
            ORDER BY p.number
            """)
        return true
    }
}

extension AccountEvent {
    fileprivate var isOfAuthorization: Bool { if case .authorizationRevoked = happening { true } else { false } }
}

extension AccountEvent.Happening {
    /// Whether the account is gone with it.
    fileprivate var isLast: Bool {
        switch self {
        case .accountDeleted, .accountMerged: true
        default: false
        }
    }
}
