package import Accounts
package import Postgres

/// `rate_limits`: allowances that all processes share.
///
/// A row holds one time, `full_at`: when the whole allowance is available again. Each draw postpones it by the
/// allowance's period divided by its count; a draw that would postpone it beyond now plus the period is refused. So a
/// whole allowance may be drawn at once and is replenished evenly (the generic cell rate algorithm).
///
/// No draw is later than the database's time, so a process whose clock is ahead uses up nothing that the others share.
/// What lies further ahead than a period of the database's time is read as being there: it is of a clock that was ahead
/// and was set back. Each key has one period: of two, a refused draw of the shorter one would give back what was drawn by
/// the longer one.
package struct RateLimitStore: Sendable {
    let database: Database

    /// Draws from the allowance.
    ///
    /// - Parameters:
    ///   - key: an HMAC of what the allowance is for, and of its period.
    ///   - uses: one; or none, which is the same work.
    /// - Returns: `nil` when there was one, else the seconds after which there is one again.
    package func draw(
        _ key: [UInt8], _ uses: Int = 1, count: Int, seconds: Int, by call: Call
    ) async throws(PostgresError) -> Int64? {
        let drawn = Int64(uses) * RateLimitStore.interval(count, seconds)
        let now = RateLimitStore.now(call)
        let latest = RateLimitStore.latest(count, seconds, by: call)
        let rows = try await database.execute(
            """
            INSERT INTO rate_limits (limit_key, full_at, created_at)
            SELECT \(key), \(now) + \(drawn) * interval '1 microsecond', \(now)
            -- A draw that is refused does not wait for the row's lock.
            WHERE NOT EXISTS (SELECT FROM rate_limits WHERE limit_key = \(key) AND full_at > \(latest))
            ON CONFLICT (limit_key) DO UPDATE
            SET full_at = GREATEST(rate_limits.full_at, \(now)) + \(drawn) * interval '1 microsecond'
            WHERE rate_limits.full_at <= \(latest)
            """)
        guard rows == 0 else { return nil }
        let furthest: SQL = "clock_timestamp() + \(Int64(seconds)) * interval '1 second'"
        let waits = try await database.query(
            """
            WITH cut AS (
                UPDATE rate_limits
                SET full_at = \(furthest)
                WHERE limit_key = \(key) AND full_at > \(furthest)
            )
            SELECT ceil(extract(epoch FROM LEAST(full_at, \(furthest)) - (\(latest))))::bigint
            FROM rate_limits
            WHERE limit_key = \(key)
            """, as: Int64.self)
        // Put back or deleted since: the next draw succeeds.
        return max(1, waits.first ?? 1)
    }

    /// Whether the allowance is used up.
    package func isUsedUp(_ key: [UInt8], count: Int, seconds: Int, by call: Call) async throws(PostgresError) -> Bool {
        let latest = RateLimitStore.latest(count, seconds, by: call)
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

    private static func now(_ call: Call) -> SQL { "LEAST(\(call.now), clock_timestamp())" }

    /// A row whose `full_at` is later has nothing left.
    private static func latest(_ count: Int, _ seconds: Int, by call: Call) -> SQL {
        "\(now(call)) + \(Int64(seconds) * 1_000_000 - interval(count, seconds)) * interval '1 microsecond'"
    }
}
