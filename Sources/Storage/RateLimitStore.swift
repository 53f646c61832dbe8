package import Accounts
package import Postgres

/// `rate_limits`: allowances that all processes share.
///
/// A row holds one time, `full_at`: when the whole allowance is available again. Each draw postpones it by the
/// allowance's period divided by its count; a draw that would postpone it beyond now plus the period is refused. So a
/// whole allowance may be drawn at once and is replenished evenly (the generic cell rate algorithm).
package struct RateLimitStore: Sendable {
    let database: Database

    /// Draws one from the allowance.
    ///
    /// - Parameter key: an HMAC of what the allowance is for.
    /// - Returns: `nil` when there was one, else the seconds after which there is one again.
    package func draw(_ key: [UInt8], count: Int, seconds: Int, by call: Call) async throws(PostgresError) -> Int64? {
        let interval = RateLimitStore.interval(count, seconds)
        // A row whose `full_at` is later has nothing left.
        let latest = Timestamp(microseconds: call.now.advanced(bySeconds: Int64(seconds)).microseconds - interval)
        let drawn = try await database.execute(
            """
            INSERT INTO rate_limits (limit_key, full_at, created_at)
            SELECT \(key), \(call.now) + \(interval) * interval '1 microsecond', \(call.now)
            -- A draw that is refused does not wait for the row's lock.
            WHERE NOT EXISTS (SELECT FROM rate_limits WHERE limit_key = \(key) AND full_at > \(latest))
            ON CONFLICT (limit_key) DO UPDATE
            SET full_at = GREATEST(rate_limits.full_at, \(call.now)) + \(interval) * interval '1 microsecond'
            WHERE rate_limits.full_at <= \(latest)
            """)
        guard drawn == 0 else { return nil }
        let rows = try await database.query(
            "SELECT full_at FROM rate_limits WHERE limit_key = \(key)", as: Timestamp.self)
        // Put back or deleted since: the next draw succeeds.
        guard let fullAt = rows.first else { return 1 }
        return max(1, (fullAt.microseconds - latest.microseconds + 999_999) / 1_000_000)
    }

    /// Whether the allowance is used up.
    package func isUsedUp(_ key: [UInt8], count: Int, seconds: Int, by call: Call) async throws(PostgresError) -> Bool {
        let latest = Timestamp(
            microseconds: call.now.advanced(bySeconds: Int64(seconds)).microseconds
                - RateLimitStore.interval(count, seconds))
        return try await database.execute(
            "SELECT FROM rate_limits WHERE limit_key = \(key) AND full_at > \(latest)") == 1
    }

    /// Puts one draw back.
    package func putBack(_ key: [UInt8], count: Int, seconds: Int) async throws(PostgresError) {
        _ = try await database.execute(
            """
            UPDATE rate_limits
            SET full_at = full_at - \(RateLimitStore.interval(count, seconds)) * interval '1 microsecond'
            WHERE limit_key = \(key)
            """)
    }

    /// Deletes the rows of allowances that are full again.
    package func deleteFull(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.delete(from: "rate_limits", where: "full_at < \(time)", limit: limit)
    }

    /// The cost of one draw in microseconds, rounded down, so that `count` draws always fit into the period.
    private static func interval(_ count: Int, _ seconds: Int) -> Int64 {
        max(1, Int64(seconds) * 1_000_000 / Int64(max(1, count)))
    }
}
