package import Accounts
package import Postgres

/// The feed: the events of all accounts in one order.
///
/// ```
///   change ──▶ unstamped_events ──committed, then stamped──▶ account_events ──kept days──▶ dropped with its day
/// ```
/// One at a time gives positions, holding the row of `feed_head`, and only to what is committed. So who has read up to a
/// position has read all that will ever be before it.
package struct FeedStore: Sendable {
    private let database: Database

    package init(database: Database) { self.database = database }

    // MARK: Stamping

    /// Gives positions to the events that have none, and wakes those who wait for events.
    ///
    /// - Returns: how many.
    package func stamp(limit: Int = 10_000) async throws -> Int {
        let waiting = try await database.query("SELECT EXISTS (SELECT FROM unstamped_events)", as: Bool.self)
        guard waiting == [true] else { return 0 }
        return try await database.transaction { transaction in
            // The statement after this one sees what the one before has stamped.
            _ = try await transaction.execute("SELECT FROM feed_head FOR UPDATE")
            let stamped = try await Database.planningEachTime {
                try await transaction.query(
                    """
                    WITH taken AS (
                        DELETE FROM unstamped_events
                        WHERE arrival = ANY (ARRAY(
                            SELECT arrival FROM unstamped_events ORDER BY arrival LIMIT \(limit)))
                        RETURNING *
                    ), clock AS MATERIALIZED (
                        SELECT GREATEST(last_position, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now
                        FROM feed_head
                    ), stamped AS (
                        INSERT INTO account_events (position, event_id, type, account_id, external_id, sequence, members,
                            happened_at)
                        SELECT c.now + row_number() OVER (ORDER BY t.arrival), t.event_id, t.type, t.account_id,
                            t.external_id, t.sequence, t.members, t.happened_at
                        FROM taken t
                        CROSS JOIN clock c
                        ORDER BY t.arrival
                        RETURNING position
                    ), ends AS (
                        SELECT max(position) AS last, count(*) AS count FROM stamped
                    ), head AS (
                        UPDATE feed_head SET last_position = e.last FROM ends e WHERE e.count > 0
                    )
                    SELECT count, CASE WHEN count > 0 THEN pg_notify(\("\(FeedStore.channel)")::text, '')::text END
                    FROM ends
                    """, as: Int.self, String?.self)
            }
            return stamped.first?.0 ?? 0
        }
    }

    /// The channel of PostgreSQL's notifications that there are new events.
    package static let channel: StaticString = "feed_of_countersign"

    /// Since when the oldest event waits for its position.
    package func oldestUnstamped() async throws(PostgresError) -> Timestamp? {
        try await database.query("SELECT min(happened_at) FROM unstamped_events", as: Timestamp?.self).first ?? nil
    }

    // MARK: Reading

    /// A stretch of the feed.
    package struct Page: Sendable {
        package let events: [FeedEvent]
        /// Behind the last event that was looked at, whether it was asked for or not.
        package let next: FeedPosition
        package let hasMore: Bool
    }

    /// How many events are looked at for a page of certain types.
    private static let window = 10_000

    /// The events behind a position, in their order.
    ///
    /// - Parameter types: none for all.
    /// - Returns: `nil` when an event behind the position was dropped.
    package func page(
        after start: FeedPosition, of types: Set<AccountEvent.Kind>, limit: Int
    ) async throws(PostgresError) -> Page? {
        let found = try await Database.planningEachTime { () async throws(PostgresError) in
            if types.isEmpty { return try await page(after: start, limit: limit) }
            return try await page(after: start, filteredBy: types, limit: limit)
        }
        // Looked at afterwards: a day that is dropped meanwhile is not left out in silence.
        guard let ends = try await ends(), ends.dropped <= start else { return nil }
        return found
    }

    private func page(after start: FeedPosition, limit: Int) async throws(PostgresError) -> Page {
        let events = try await events("e.position > \(start.number)", limit: limit + 1)
        let shown = Array(events.prefix(limit))
        return Page(events: shown, next: shown.last?.position ?? start, hasMore: events.count > limit)
    }

    private func page(
        after start: FeedPosition, filteredBy types: Set<AccountEvent.Kind>, limit: Int
    ) async throws(PostgresError) -> Page {
        let looked = try await database.query(
            """
            SELECT max(w.position), count(*)
            FROM (
                SELECT position FROM account_events WHERE position > \(start.number)
                ORDER BY position
                LIMIT \(FeedStore.window)
            ) w
            """, as: Int64?.self, Int.self)
        guard let (end, count) = looked.first, let last = end else {
            return Page(events: [], next: start, hasMore: false)
        }
        let events = try await events(
            "e.position > \(start.number) AND e.position <= \(last) AND e.type = ANY (\(types.map(\.rawValue)))",
            limit: limit + 1)
        let shown = Array(events.prefix(limit))
        if events.count > limit, let shownLast = shown.last {
            return Page(events: shown, next: shownLast.position, hasMore: true)
        }
        return Page(events: shown, next: FeedPosition(last), hasMore: count == FeedStore.window)
    }

    /// - Parameter condition: on `account_events`, named `e`.
    private func events(_ condition: SQL, limit: Int) async throws(PostgresError) -> [FeedEvent] {
        try await database.query(
            """
            SELECT \(FeedStore.columns)
            FROM account_events e
            WHERE \(condition)
            ORDER BY e.position
            LIMIT \(limit)
            """, as: FeedStore.event)
    }

    /// The last position that was given, and the last that was dropped.
    package func ends() async throws(PostgresError) -> (last: FeedPosition, dropped: FeedPosition)? {
        let rows = try await database.query(
            "SELECT last_position, dropped_position FROM feed_head", as: Int64.self, Int64.self)
        return rows.first.map { (FeedPosition($0), FeedPosition($1)) }
    }

    /// Of an event that is kept, or the last one that was dropped: nothing that followed it is gone.
    package func position(of id: AccountEventID) async throws(PostgresError) -> FeedPosition? {
        let numbers = try await database.query(
            """
            SELECT position FROM account_events WHERE event_id = \(id)
            UNION ALL
            SELECT dropped_position FROM feed_head WHERE dropped_event_id = \(id)
            """, as: Int64.self)
        return numbers.first.map { FeedPosition($0) }
    }

    static let columns: SQL =
        "e.position, e.event_id, e.type, e.account_id, e.external_id, e.sequence, e.members, e.happened_at"

    static func event(_ row: PostgresRow) throws(PostgresError) -> FeedEvent { try event(row, from: 0) }

    /// - Parameter first: the first of the `columns`, which end the row.
    static func event(_ row: PostgresRow, from first: Int) throws(PostgresError) -> FeedEvent {
        let (position, id, type, account, externalID, sequence, members, happenedAt) = try row.decode(
            Int64.self, AccountEventID.self, String.self, AccountID.self, String?.self, Int64.self, String.self,
            Timestamp.self, from: first)
        return FeedEvent(
            position: FeedPosition(position), id: id, type: type, accountID: account, externalID: externalID,
            sequence: sequence, members: members, happenedAt: happenedAt)
    }

    // MARK: Days

    /// Makes the partitions of the coming days.
    package func makeDays() async throws(PostgresError) {
        _ = try await database.query("SELECT make_feed_days()::text", as: String?.self)
    }

    /// Drops the days that are older than those to keep.
    ///
    /// - Returns: the names of their tables.
    package func dropDays(keeping days: Int) async throws(PostgresError) -> [String] {
        try await database.query("SELECT drop_feed_days(\(Int32(clamping: days)))", as: String.self)
    }

    /// Forgets the numbers of accounts that are gone, and of which no event can come any more.
    package func deleteSequences(endedBefore time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.delete(
            from: "account_sequences",
            where: """
                ended_at < \(time)
                    AND NOT EXISTS (
                    SELECT FROM outbox o
                    WHERE o.kind = 'revocation' AND o.status <> 'done' AND o.account_id = account_sequences.account_id)
                """,
            limit: limit)
    }
}
