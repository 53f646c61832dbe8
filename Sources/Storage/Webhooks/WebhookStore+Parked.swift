package import Accounts
package import Foundation
package import Postgres

/// The accounts that go on by themselves: an event failed, there are many of them, or others were ahead when a pusher ended.
extension WebhookStore {
    package func parkedAccounts(of stream: WebhookStreamID) async throws(PostgresError) -> [AccountID] {
        try await database.query(
            "SELECT account_id FROM webhook_parked WHERE stream_id = \(stream)", as: AccountID.self)
    }

    /// What is to be tried again now, the longest due first, with its event. One whose event the feed has no more has none.
    package func due(
        of stream: WebhookStreamID, at now: Timestamp, except accounts: [AccountID], limit: Int
    ) async throws(PostgresError) -> [ParkedEvent] {
        try await database.query(
            """
            SELECT p.account_id, p.position, p.attempts, \(FeedStore.columns)
            FROM (
                SELECT * FROM webhook_parked
                WHERE stream_id = \(stream) AND next_attempt_at <= \(now) AND account_id <> ALL (\(accounts))
                ORDER BY next_attempt_at
                LIMIT \(limit)
            ) p
            LEFT JOIN account_events e ON e.position = p.position
            ORDER BY p.next_attempt_at
            """
        ) { row throws(PostgresError) in
            let isKept = try Int64?(from: row[3]) != nil
            let event: FeedEvent? = if isKept { try FeedStore.event(row, from: 3) } else { nil }
            return ParkedEvent(
                accountID: try AccountID(from: row[0]), position: FeedPosition(try Int64(from: row[1])),
                attempts: try Int(from: row[2]), event: event)
        }
    }

    /// The account's next events behind a position.
    package func events(
        of account: AccountID, after start: FeedPosition, upTo end: FeedPosition, types: Set<AccountEvent.Kind>,
        limit: Int
    ) async throws(PostgresError) -> [FeedEvent] {
        try await database.query(
            """
            SELECT \(FeedStore.columns)
            FROM account_events e
            WHERE e.account_id = \(account) AND e.position > \(start.number) AND e.position <= \(end.number)
                AND e.type = ANY (\(types.map(\.rawValue)))
            ORDER BY e.position
            LIMIT \(limit)
            """, as: FeedStore.event)
    }

    /// Parks an account at an event, or keeps it parked for another try.
    package func park(
        _ parked: ParkedEvent, until nextAttempt: Timestamp, error: String?, in stream: WebhookStreamID,
        under lease: WebhookLease
    ) async throws {
        try await write(
            """
            INSERT INTO webhook_parked (stream_id, account_id, position, attempts, next_attempt_at, last_error)
            VALUES (\(stream), \(parked.accountID), \(parked.position.number), \(Int32(clamping: parked.attempts)),
                \(nextAttempt), \(error))
            ON CONFLICT (stream_id, account_id) DO UPDATE
            SET position = EXCLUDED.position, attempts = EXCLUDED.attempts,
                next_attempt_at = EXCLUDED.next_attempt_at, last_error = EXCLUDED.last_error
            """, under: lease)
    }

    /// Lets an account go on with the others.
    package func unpark(_ account: AccountID, in stream: WebhookStreamID, under lease: WebhookLease) async throws {
        try await write(
            "DELETE FROM webhook_parked WHERE stream_id = \(stream) AND account_id = \(account)", under: lease)
    }

    /// Keeps an event that is tried no more.
    package func giveUp(
        _ event: FeedEvent, attempts: Int, error: String, under lease: WebhookLease, at now: Timestamp
    ) async throws {
        try await write(
            """
            INSERT INTO webhook_failures (endpoint, event_id, position, type, account_id, external_id, sequence,
                members, happened_at, attempts, last_error, given_up_at)
            VALUES (\(lease.endpoint), \(event.id), \(event.position.number), \(event.type), \(event.accountID),
                \(event.externalID), \(event.sequence), \(event.members), \(event.happenedAt),
                \(Int32(clamping: attempts)), \(error), \(now))
            ON CONFLICT (endpoint, event_id) DO UPDATE
            SET attempts = EXCLUDED.attempts, last_error = EXCLUDED.last_error, given_up_at = EXCLUDED.given_up_at
            """, under: lease)
    }

    /// An event that the feed has, or that the endpoint did not take.
    package func event(_ id: AccountEventID, of name: String) async throws(PostgresError) -> FeedEvent? {
        try await database.query(
            """
            SELECT \(FeedStore.columns) FROM account_events e WHERE e.event_id = \(id)
            UNION ALL
            SELECT \(FeedStore.columns) FROM webhook_failures e WHERE e.endpoint = \(name) AND e.event_id = \(id)
            LIMIT 1
            """, as: FeedStore.event
        ).first
    }

    /// The event at a position that the endpoint did not take.
    package func failedEvent(at position: FeedPosition, of name: String) async throws(PostgresError) -> FeedEvent? {
        try await database.query(
            """
            SELECT \(FeedStore.columns)
            FROM webhook_failures e
            WHERE e.endpoint = \(name) AND e.position = \(position.number)
            """, as: FeedStore.event
        ).first
    }

    /// Deletes what was given up before `time`, but for what a replay is sending.
    package func deleteFailures(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.delete(
            from: "webhook_failures",
            where: """
                given_up_at < \(time) AND NOT EXISTS (
                    SELECT FROM webhook_streams s
                    JOIN webhook_parked p ON p.stream_id = s.stream_id AND p.position = webhook_failures.position
                    WHERE s.endpoint = webhook_failures.endpoint AND s.until_position IS NOT NULL)
                """, limit: limit)
    }
}

/// The lease under which a process writes for an endpoint.
package struct WebhookLease: Sendable {
    package let endpoint: String
    package let holder: UUID

    package init(endpoint: String, holder: UUID) {
        self.endpoint = endpoint
        self.holder = holder
    }

    /// Another process has the endpoint by now.
    package struct Lost: Error {
        package init() {}
    }

    func require(in session: some PostgresSession) async throws {
        let held = try await session.execute(
            """
            SELECT FROM webhook_endpoints
            WHERE name = \(endpoint) AND leased_by = \(holder) AND leased_until > clock_timestamp()
            FOR SHARE
            """)
        guard held == 1 else { throw Lost() }
    }
}
