package import Accounts
package import Postgres
import Primitives

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
///
/// What is drawn of one allowance at once in this process, and put back, shares a statement.
package struct RateLimitStore: Sendable {
    private typealias Batcher = StatementBatcher<AllowanceUse, AllowanceUse.Outcome>

    private let database: Database
    /// Each use would wait for the commit of the one before it, and with it what is sent behind it on its connection: so one
    /// statement at a time is at an allowance, for all that came meanwhile.
    private let batchers: KeyedValues<Allowance, Batcher>

    package init(database: Database) {
        self.database = database
        batchers = KeyedValues { allowance in
            Batcher(concurrency: 1, timeout: database.configuration.acquireTimeout, endsWithTask: true) {
                (uses, _) throws(PostgresError) in await allowance.carryOut(uses, in: database)
            }
        }
    }

    /// The number of draws and returns that wait or run.
    var useCount: Int { batchers.userCount }

    /// Draws from the allowance.
    ///
    /// - Parameters:
    ///   - key: an HMAC of what the allowance is for, and of its period.
    ///   - isRehearsal: whether nothing is drawn, by the same work.
    /// - Returns: `nil` when there was one, else the seconds after which there is one again.
    package func draw(
        _ key: [UInt8], isRehearsal: Bool = false, count: Int, seconds: Int, by call: Call
    ) async throws(PostgresError) -> Int64? {
        try await answer(
            isRehearsal ? .rehearsal(at: call.now) : .draw(at: call.now),
            of: Allowance(key: key, count: count, seconds: seconds))
    }

    /// Whether the allowance is used up.
    package func isUsedUp(_ key: [UInt8], count: Int, seconds: Int, by call: Call) async throws(PostgresError) -> Bool {
        try await Allowance(key: key, count: count, seconds: seconds).rest(at: call.now, in: database).number < 1
    }

    /// Puts one draw back.
    package func putBack(_ key: [UInt8], count: Int, seconds: Int) async throws(PostgresError) {
        _ = try await answer(.putBack, of: Allowance(key: key, count: count, seconds: seconds))
    }

    private func answer(_ use: AllowanceUse, of allowance: Allowance) async throws(PostgresError) -> Int64? {
        try await batchers.use(allowance) { batcher throws(PostgresError) in try await batcher.answer(use).get() }
    }

    /// Deletes the rows of allowances that are full again.
    package func deleteFull(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.delete(from: "rate_limits", where: "full_at < \(time)", limit: limit)
    }
}

private enum AllowanceUse: Sendable {
    /// What it is answered with: the seconds after which there is one again, where there was none.
    typealias Outcome = Result<Int64?, PostgresError>

    case draw(at: Timestamp)
    case rehearsal(at: Timestamp)
    case putBack

    var drawTime: Timestamp? { if case .draw(let time) = self { time } else { nil } }
    var rehearsalTime: Timestamp? { if case .rehearsal(let time) = self { time } else { nil } }
    var isPutBack: Bool { if case .putBack = self { true } else { false } }
}

private struct Allowance: Hashable, Sendable {
    let key: [UInt8]
    let count: Int
    let seconds: Int

    /// In microseconds, as all that follow.
    private var period: Int64 { Int64(seconds) * 1_000_000 }

    /// The cost of one draw, rounded down, so that `count` draws always fit into the period.
    private var interval: Int64 { max(1, period / Int64(max(1, count))) }

    private static func now(_ time: Timestamp) -> SQL { "LEAST(\(time), clock_timestamp())" }

    /// A row whose `full_at` is later has not as many left.
    private func latest(for number: Int, at time: Timestamp) -> SQL {
        "\(Allowance.now(time)) + \(period - Int64(number) * interval) * interval '1 microsecond'"
    }

    /// Carries out what came at once: of the draws as many of the first ones as there are. It throws nothing, since what
    /// is done by then would be done again; an error is the outcome of those that it is about.
    func carryOut(_ uses: [AllowanceUse], in database: Database) async -> [AllowanceUse.Outcome] {
        var outcomes = [AllowanceUse.Outcome](repeating: .success(nil), count: uses.count)
        let returns = uses.indices.filter { uses[$0].isPutBack }
        if !returns.isEmpty {
            do throws(PostgresError) {
                try await putBack(returns.count, in: database)
            } catch {
                for index in returns { outcomes[index] = .failure(error) }
            }
        }
        guard let latest = uses.compactMap(\.drawTime).max() else {
            // Beside a draw it is that one's work.
            guard let time = uses.compactMap(\.rehearsalTime).max() else { return outcomes }
            do throws(PostgresError) {
                _ = try await draw(0, at: time, in: database)
            } catch {
                for index in uses.indices where !uses[index].isPutBack { outcomes[index] = .failure(error) }
            }
            return outcomes
        }
        var draws = ArraySlice(uses.indices.filter { uses[$0].drawTime != nil })
        do throws(PostgresError) {
            let wait = try await draw(&draws, at: latest, in: database)
            for index in draws { outcomes[index] = .success(wait) }
        } catch {
            for index in draws { outcomes[index] = .failure(error) }
        }
        return outcomes
    }

    /// Draws for the first of them, and removes those for which there was one.
    ///
    /// - Returns: the seconds after which there is one for the others.
    private func draw(
        _ draws: inout ArraySlice<Int>, at time: Timestamp, in database: Database
    ) async throws(PostgresError) -> Int64? {
        var number = draws.count
        while !draws.isEmpty {
            // More than that is not in a whole allowance.
            number = min(number, draws.count, max(1, Int(clamping: period / interval)))
            if try await draw(number, at: time, in: database) {
                draws.removeFirst(number)
                continue
            }
            let (rest, wait) = try await rest(at: time, in: database)
            // Another process may have drawn or put back since: each try is of fewer.
            number = min(rest, number - 1)
            guard number > 0 else { return wait }
        }
        return nil
    }

    /// - Returns: whether there were as many; else none is drawn.
    private func draw(_ number: Int, at time: Timestamp, in database: Database) async throws(PostgresError) -> Bool {
        let now = Allowance.now(time)
        let cost: SQL = "\(Int64(number) * interval) * interval '1 microsecond'"
        let latest = latest(for: number, at: time)
        return try await database.execute(
            """
            INSERT INTO rate_limits (limit_key, full_at, created_at)
            SELECT \(key), \(now) + \(cost), \(now)
            -- A draw that is refused does not wait for the row's lock.
            WHERE NOT EXISTS (SELECT FROM rate_limits WHERE limit_key = \(key) AND full_at > \(latest))
            ON CONFLICT (limit_key) DO UPDATE
            SET full_at = GREATEST(rate_limits.full_at, \(now)) + \(cost)
            WHERE rate_limits.full_at <= \(latest)
            """) == 1
    }

    /// How many are left, and the seconds after which there is one more.
    func rest(
        at time: Timestamp, in database: Database
    ) async throws(PostgresError) -> (number: Int, wait: Int64) {
        let furthest: SQL = "clock_timestamp() + \(period) * interval '1 microsecond'"
        let rooms = try await database.query(
            """
            WITH cut AS (
                UPDATE rate_limits
                SET full_at = \(furthest)
                WHERE limit_key = \(key) AND full_at > \(furthest)
            )
            SELECT (extract(epoch FROM \(latest(for: 0, at: time)) - LEAST(full_at, \(furthest))) * 1000000)::bigint
            FROM rate_limits
            WHERE limit_key = \(key)
            """, as: Int64.self)
        // Put back or deleted since: the next draw succeeds.
        guard let room = rooms.first else { return (count, 1) }
        return (Int(clamping: room / interval), max(1, (interval - room + 999_999) / 1_000_000))
    }

    private func putBack(_ number: Int, in database: Database) async throws(PostgresError) {
        _ = try await database.execute(
            """
            UPDATE rate_limits
            SET full_at = full_at - \(Int64(number) * interval) * interval '1 microsecond'
            WHERE limit_key = \(key)
            """)
    }
}
