package import Accounts
package import Postgres

/// `rate_limits`: allowances that all processes draw on.
///
/// A row holds one moment, `full_at`: when the whole allowance is there again. Each draw puts it off by the allowance's
/// period divided by its count; a draw that would put it off further than the period from now is refused. So a whole
/// allowance may be drawn at once, and what was drawn comes back evenly (the generic cell rate algorithm).
package struct RateLimitStore: Sendable {
    private let database: Database

    package init(database: Database) {
        self.database = database
    }

    /// Draws one from the allowance.
    ///
    /// - Parameter key: SHA-256 of whose allowance it is.
    /// - Returns: `nil` when there was one, else the seconds after which there is one again.
    package func draw(
        _ key: [UInt8], count: Int, seconds: Int, at now: Timestamp
    ) async throws(PostgresError) -> Int64? {
        let (interval, period) = RateLimitStore.microseconds(count, seconds)
        let drawn = try await database.execute(
            """
            INSERT INTO rate_limits (limit_key, full_at, created_at)
            VALUES (\(key), \(now) + make_interval(secs => \(interval) / 1000000.0), \(now))
            ON CONFLICT (limit_key) DO UPDATE
            SET full_at = GREATEST(rate_limits.full_at, \(now)) + make_interval(secs => \(interval) / 1000000.0)
            WHERE GREATEST(rate_limits.full_at, \(now)) + make_interval(secs => \(interval) / 1000000.0)
                <= \(now) + make_interval(secs => \(period) / 1000000.0)
            """)
        guard drawn == 0 else { return nil }
        let rows = try await database.query("SELECT full_at FROM rate_limits WHERE limit_key = \(key)") {
            row throws(PostgresError) in try row.decode(Timestamp.self)
        }
        // Given back or swept since: then the next draw succeeds.
        guard let fullAt = rows.first else { return 1 }
        let wait = fullAt.microseconds - now.microseconds + interval - period
        return max(1, (wait + 999_999) / 1_000_000)
    }

    /// Puts one back that was drawn.
    package func putBack(_ key: [UInt8], count: Int, seconds: Int) async throws(PostgresError) {
        let (interval, _) = RateLimitStore.microseconds(count, seconds)
        _ = try await database.execute(
            """
            UPDATE rate_limits
            SET full_at = full_at - make_interval(secs => \(interval) / 1000000.0)
            WHERE limit_key = \(key)
            """)
    }

    /// Deletes rows of allowances that are whole again.
    ///
    /// - Returns: how many.
    package func deleteFull(before moment: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.execute(
            """
            DELETE FROM rate_limits
            WHERE limit_key IN (
                SELECT limit_key
                FROM rate_limits
                WHERE full_at < \(moment)
                LIMIT \(limit)
                FOR UPDATE SKIP LOCKED)
            """)
    }

    /// What one draw costs, and all that can be drawn, in microseconds. The interval is rounded down, so that `count` draws
    /// always fit into the period.
    private static func microseconds(_ count: Int, _ seconds: Int) -> (interval: Int64, period: Int64) {
        let period = Int64(clamping: seconds) * 1_000_000
        return (max(1, period / Int64(clamping: max(1, count))), period)
    }
}
