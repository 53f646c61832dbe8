package import Accounts
package import Foundation
package import Postgres

/// `webhook_endpoints` and what is pushed to them.
///
/// ```
///   status:  active ◀──pause, resume──▶ paused
///              ├── 410, five days of failures ──▶ stopped ──resume──▶ active
///   an event of a stream:  behind the position ──▶ delivered
///                                     └── failed: its account is parked ──tried again──▶ delivered, or given up
/// ```
/// One process at a time holds an endpoint's lease and writes here for it; a write of another finds that it doesn't.
package struct WebhookStore: Sendable {
    let database: Database

    package init(database: Database) { self.database = database }

    /// Whether no write succeeds at the moment: nothing can be pushed that could not be noted.
    package var holdsWrites: Bool { database.holdsWrites }

    /// The service has not seen an endpoint of that name in its configuration.
    package struct Unseen: Error {
        package init() {}
    }

    /// The endpoint has as many replays as it may.
    package struct ReplaysUnderWay: Error {
        /// Whether one of them is of a single event that has not failed, and is pushed now.
        package let oneEndsSoon: Bool
    }

    // MARK: Endpoints

    /// Notes which endpoints the configuration has. A new one begins behind the last event; one that has not been in any for
    /// a time is forgotten: by the database's clock, or one that is ahead would forget those of other processes.
    package func note(_ names: [String], forgettingAfter seconds: Int64, by call: Call) async throws {
        try await database.change(by: call) { change in
            _ = try await change.execute(
                """
                INSERT INTO webhook_endpoints (name, seen_at, created_at)
                SELECT n.name, clock_timestamp(), \(call.now)
                FROM unnest(\(names)) AS n (name)
                ORDER BY n.name
                ON CONFLICT (name) DO UPDATE SET seen_at = EXCLUDED.seen_at
                """)
            for name in names {
                _ = try await change.execute(
                    """
                    INSERT INTO webhook_streams (stream_id, endpoint, position, created_at)
                    SELECT \(WebhookStreamID(now: call.now)), \(name), h.last_position, \(call.now)
                    FROM feed_head h
                    ON CONFLICT (endpoint) WHERE until_position IS NULL DO NOTHING
                    """)
            }
            _ = try await change.execute(
                "DELETE FROM webhook_endpoints WHERE seen_at < clock_timestamp() - \(seconds) * interval '1 second'")
        }
    }

    /// Takes an endpoint for this process, or keeps it, for so many seconds.
    ///
    /// - Returns: its status; `nil` while another process has it.
    package func lease(_ name: String, by holder: UUID, seconds: Int) async throws -> WebhookStatus? {
        // Who writes to the row waits for those that hold it, and what is sent behind a lone statement would wait, too.
        try await database.transaction { transaction in
            try await transaction.query(
                """
                UPDATE webhook_endpoints
                SET leased_by = \(holder), leased_until = clock_timestamp() + \(Int32(clamping: seconds)) * interval '1 second'
                WHERE name = \(name) AND (leased_by = \(holder) OR leased_until IS NULL OR leased_until < clock_timestamp())
                RETURNING status
                """, as: WebhookStatus.self
            ).first
        }
    }

    /// Lets another process take it at once.
    package func release(_ name: String, by holder: UUID) async throws(PostgresError) {
        _ = try await database.execute(
            "UPDATE webhook_endpoints SET leased_until = NULL WHERE name = \(name) AND leased_by = \(holder)")
    }

    /// Notes what a delivery came to.
    ///
    /// - Returns: since when nothing has succeeded.
    package func note(_ error: String?, of name: String, at now: Timestamp) async throws -> Timestamp? {
        let assignments: SQL =
            if let error {
                "failing_since = COALESCE(failing_since, \(now)), last_error = \(error)"
            } else {
                "failing_since = NULL, last_success_at = GREATEST(last_success_at, \(now))"
            }
        return try await database.transaction { transaction in
            try await transaction.query(
                "UPDATE webhook_endpoints SET \(assignments) WHERE name = \(name) RETURNING failing_since",
                as: Timestamp?.self
            ).first ?? nil
        }
    }

    /// Stops an active endpoint.
    package func stop(_ name: String, because reason: String) async throws(PostgresError) {
        _ = try await database.execute(
            "UPDATE webhook_endpoints SET status = 'stopped', reason = \(reason) WHERE name = \(name) AND status = 'active'"
        )
    }

    /// Pauses or resumes an endpoint, and records it. At a resumption, also of one that is active, what waits for another
    /// try is due, and no failure counts any more; where nothing waits and nothing has failed that changes nothing.
    ///
    /// - Returns: whether it changed anything.
    /// - Throws: ``Unseen``.
    @discardableResult
    package func set(_ status: WebhookStatus, of name: String, reason: String?, by call: Call) async throws -> Bool {
        try await database.change(by: call) { change in
            let changed = try await change.execute(
                """
                UPDATE webhook_endpoints
                SET status = \(status.rawValue), reason = NULL,
                    failing_since = CASE WHEN \(status == .active) THEN NULL ELSE failing_since END
                WHERE name = \(name)
                    AND (status <> \(status.rawValue) OR \(status == .active) AND failing_since IS NOT NULL)
                """)
            let hastened = try await status == .active ? Self.makeDue(name, in: change) : 0
            guard changed + hastened > 0 else {
                try await Self.requireSeen(name, in: change)
                return false
            }
            try await change.record(
                status == .paused ? .webhookPaused : .webhookResumed, reason: AuditEvent.reason(of: name, reason))
            return true
        }
    }

    private static func requireSeen(_ name: String, in session: some PostgresSession) async throws {
        let isSeen = try await session.execute("SELECT FROM webhook_endpoints WHERE name = \(name)") == 1
        guard isSeen else { throw Unseen() }
    }

    /// The try is beside the schedule: when it fails the same step is waited for again, so that no number of resumptions
    /// brings an event nearer to being given up.
    private static func makeDue(_ name: String, in change: Change) async throws(PostgresError) -> Int {
        try await change.execute(
            """
            UPDATE webhook_parked p
            SET next_attempt_at = \(change.call.now), attempts = GREATEST(p.attempts - 1, 0)
            FROM webhook_streams s
            WHERE s.endpoint = \(name) AND p.stream_id = s.stream_id AND p.next_attempt_at > \(change.call.now)
            """)
    }

    // MARK: Streams

    package func streams(of name: String) async throws(PostgresError) -> [WebhookStream] {
        try await database.query(
            """
            SELECT stream_id, position, until_position, types
            FROM webhook_streams
            WHERE endpoint = \(name)
            ORDER BY until_position IS NOT NULL, created_at, stream_id
            """, as: WebhookStreamID.self, Int64.self, Int64?.self, [String]?.self
        ).map { id, position, until, types in
            WebhookStream(
                id: id, position: FeedPosition(position), end: until.map(FeedPosition.init),
                types: types.map { Set($0.compactMap(AccountEvent.Kind.init)) })
        }
    }

    /// Begins to push a stretch of the feed once more, and records it. One without an event is no replay.
    ///
    /// - Parameter start: behind which it begins.
    /// - Returns: how many events.
    /// - Throws: ``Unseen``, ``ReplaysUnderWay``.
    package func replay(
        to name: String, after start: FeedPosition, until end: FeedPosition, types: Set<AccountEvent.Kind>,
        reason: String, by call: Call
    ) async throws -> Int {
        let words = types.map(\.rawValue).sorted()
        // Before the endpoint is locked, which pushers ask for: there may be millions.
        let counts = try await Database.planningEachTime {
            try await database.query(
                """
                SELECT count(*) FROM account_events
                WHERE position > \(start.number) AND position <= \(end.number) AND type = ANY (\(words))
                """, as: Int.self)
        }
        guard let count = counts.first, count > 0 else {
            try await Self.requireSeen(name, in: database)
            return 0
        }
        _ = try await database.change(by: call) { change in
            try await Self.beginReplay(to: name, after: start, until: end, types: words, reason: reason, in: change)
        }
        return count
    }

    /// Begins to push one event once more, and records it. Its account is parked at it, so that the feed need not have it.
    ///
    /// - Parameter types: those that it may be of, all if absent.
    /// - Returns: how many events, none where it is of no such type.
    /// - Throws: ``Unseen``, ``ReplaysUnderWay``.
    package func replay(
        _ event: FeedEvent, to name: String, types: Set<AccountEvent.Kind>?, reason: String, by call: Call
    ) async throws -> Int {
        let words = types?.map(\.rawValue).sorted() ?? [event.type]
        guard words.contains(event.type) else {
            try await Self.requireSeen(name, in: database)
            return 0
        }
        try await database.change(by: call) { change in
            let stream = try await Self.beginReplay(
                to: name, after: event.position, until: event.position, types: words, reason: reason, in: change)
            _ = try await change.execute(
                """
                INSERT INTO webhook_parked (stream_id, account_id, position, attempts, next_attempt_at)
                VALUES (\(stream), \(event.accountID), \(event.position.number), 0, \(call.now))
                """)
        }
        return 1
    }

    private static func beginReplay(
        to name: String, after start: FeedPosition, until end: FeedPosition, types: [String], reason: String,
        in change: Change
    ) async throws -> WebhookStreamID {
        let statuses = try await change.query(
            "SELECT status FROM webhook_endpoints WHERE name = \(name) FOR UPDATE", as: WebhookStatus.self)
        guard let status = statuses.first else { throw Unseen() }
        let endingSoon = try await change.query(
            """
            SELECT s.position = s.until_position AND NOT EXISTS (SELECT FROM webhook_parked p WHERE \(hasFailed))
            FROM webhook_streams s
            WHERE s.endpoint = \(name) AND s.until_position IS NOT NULL
            """, as: Bool.self)
        guard endingSoon.count < WebhookStream.maximumReplays else {
            throw ReplaysUnderWay(oneEndsSoon: status == .active && endingSoon.contains(true))
        }
        let stream = WebhookStreamID(now: change.call.now)
        _ = try await change.execute(
            """
            INSERT INTO webhook_streams (stream_id, endpoint, position, until_position, types, created_at)
            VALUES (\(stream), \(name), \(start.number), \(end.number), \(types), \(change.call.now))
            """)
        try await change.record(.webhookReplayed, reason: AuditEvent.reason(of: name, reason))
        return stream
    }

    /// Ends a replay of which nothing is left.
    package func end(_ stream: WebhookStreamID, under lease: WebhookLease) async throws {
        try await write(
            """
            DELETE FROM webhook_streams s
            WHERE s.stream_id = \(stream) AND s.until_position IS NOT NULL
                AND NOT EXISTS (SELECT FROM webhook_parked p WHERE p.stream_id = s.stream_id)
            """, under: lease)
    }

    /// Notes how far a stream has come. Another process has parked what it skipped by its own position, so this one's is
    /// good under its lease alone.
    package func advance(_ stream: WebhookStreamID, to position: FeedPosition, under lease: WebhookLease) async throws {
        try await write(
            """
            UPDATE webhook_streams SET position = \(position.number)
            WHERE stream_id = \(stream) AND position < \(position.number)
            """, under: lease)
    }

    /// Runs a statement, if the lease is held still.
    func write(
        _ statement: SQL, under lease: WebhookLease, file: StaticString = #fileID, line: UInt = #line
    ) async throws {
        try await database.transaction { transaction in
            try await lease.require(in: transaction)
            _ = try await transaction.execute(statement, file: file, line: line)
        }
    }
}
