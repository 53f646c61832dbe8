package import Accounts
package import Postgres

/// The endpoints as administrators see them.
extension WebhookStore {
    /// Whether an account waits since an event of it failed; others have only many of them.
    static let hasFailed: SQL = "p.stream_id = s.stream_id AND p.last_error IS NOT NULL"

    /// How old its oldest event is, is looked for among the next 10,000. Where none of these is of its types, the last one
    /// stands for it: it may be older, and is not younger by much.
    ///
    /// - Parameter types: what an endpoint gets.
    package func record(of name: String, types: Set<AccountEvent.Kind>) async throws(PostgresError) -> WebhookRecord? {
        try await Database.planningEachTime { () async throws(PostgresError) in
            try await database.query(
                """
                SELECT w.status, w.reason, w.last_success_at, w.last_error,
                    (SELECT count(*) FROM webhook_failures f WHERE f.endpoint = w.name),
                    (SELECT max(f.given_up_at) FROM webhook_failures f WHERE f.endpoint = w.name),
                    (SELECT count(*) FROM webhook_parked p WHERE \(WebhookStore.hasFailed)),
                    (SELECT min(p.next_attempt_at) FROM webhook_parked p WHERE \(WebhookStore.hasFailed)),
                    LEAST(
                        (
                            SELECT min(e.happened_at)
                            FROM webhook_parked p
                            JOIN account_events e ON e.position = p.position
                            WHERE p.stream_id = s.stream_id
                        ),
                        (
                            SELECT COALESCE(
                                (array_agg(n.happened_at ORDER BY n.position)
                                    FILTER (WHERE n.type = ANY (\(types.map(\.rawValue)))))[1],
                                CASE WHEN count(*) = 10000 THEN max(n.happened_at) END)
                            FROM (
                                SELECT e.position, e.type, e.happened_at
                                FROM account_events e
                                WHERE e.position > s.position
                                ORDER BY e.position
                                LIMIT 10000
                            ) n
                        ))
                FROM webhook_endpoints w
                JOIN webhook_streams s ON s.endpoint = w.name AND s.until_position IS NULL
                WHERE w.name = \(name)
                """
            ) { row throws(PostgresError) in
                let (status, reason, success, error, failures, givenUp, parked, next, oldest) = try row.decode(
                    WebhookStatus.self, String?.self, Timestamp?.self, String?.self, Int.self, Timestamp?.self,
                    Int.self, Timestamp?.self, Timestamp?.self)
                return WebhookRecord(
                    name: name, status: status, reason: reason, oldest: oldest, failures: failures,
                    lastGivenUpAt: givenUp, parkedAccounts: parked, nextAttemptAt: next, lastSuccessAt: success,
                    lastError: error)
            }.first
        }
    }

    /// The events that were given up, the newest event first.
    package func failures(
        of name: String, before cursor: AccountEventID?, limit: Int
    ) async throws(PostgresError) -> Page<WebhookFailure, AccountEventID> {
        let isBefore: SQL = if let cursor { "e.event_id < \(cursor)" } else { "true" }
        let failures = try await database.query(
            """
            SELECT e.attempts, e.last_error, e.given_up_at, \(FeedStore.columns)
            FROM webhook_failures e
            WHERE e.endpoint = \(name) AND \(isBefore)
            ORDER BY e.event_id DESC
            LIMIT \(limit + 1)
            """
        ) { row throws(PostgresError) in
            WebhookFailure(
                event: try FeedStore.event(row, from: 3), attempts: try Int(from: row[0]),
                lastError: try String(from: row[1]), givenUpAt: try Timestamp(from: row[2]))
        }
        return Page(failures, limit: limit, cursor: \.event.id)
    }

    /// The oldest position of which a delivery may yet need the event. What was given up is kept by itself.
    package func oldestNeeded() async throws(PostgresError) -> FeedPosition? {
        try await database.query(
            """
            SELECT LEAST(
                (SELECT min(position) FROM webhook_parked),
                (
                    SELECT min(s.position)
                    FROM webhook_streams s JOIN webhook_endpoints w ON w.name = s.endpoint
                    WHERE w.status = 'active' AND s.position < (SELECT last_position FROM feed_head)
                ))
            """, as: Int64?.self
        ).first?.map(FeedPosition.init)
    }
}
