import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

@Suite(.fixture(SignInFixture.self)) struct SessionSweepingTests {
    var fixture: SignInFixture { .current }

    private static let day: Int64 = 86_400
    private static let refreshLifetime: Int64 = 60 * day

    /// Adds live sessions of the account, the first a second before the second and so on, and returns their ids.
    @discardableResult
    private func add(
        _ count: Int, to account: Account, openedAt start: Timestamp, expiringAfter lifetime: Int64 = refreshLifetime
    ) async throws -> [SessionID] {
        let ids = (0..<count).map { SessionID(now: start.advanced(bySeconds: Int64($0))) }
        let times = (0..<count).map { start.advanced(bySeconds: Int64($0)) }
        let ends = times.map { $0.advanced(bySeconds: lifetime) }
        _ = try await fixture.database.execute(
            """
            INSERT INTO sessions (session_id, account_id, rotated_at, auth_time, amr, created_at, last_used_at, expires_at)
            SELECT s.id, \(account.id), s.opened, s.opened, '{pwd}', s.opened, s.opened, s.ends
            FROM unnest(\(ids), \(times), \(ends)) AS s (id, opened, ends)
            """)
        return ids
    }

    @Test func `an ended session is kept for seven days, an expired one as long after its end`() async throws {
        _ = try await fixture.signUp(.apple("a-1"))
        let signedOut = try await fixture.session(.apple("a-1")).session
        try await fixture.service.sessions.end(signedOut.id, in: try await fixture.opened(signedOut), by: fixture.call)
        let sweeper = fixture.storage.sweeper(clock: fixture.clock)
        func left() async throws -> Int64 {
            _ = try await sweeper.sweep()
            return try await fixture.count("sessions")
        }
        fixture.clock.advance(by: 7 * Self.day)
        #expect(try await left() == 2)
        fixture.clock.advance(by: 1)
        #expect(try await left() == 1)
        // The other one expires sixty days after it was opened.
        fixture.clock.advance(by: 60 * Self.day - 1)
        #expect(try await left() == 1)
        fixture.clock.advance(by: 1)
        #expect(try await left() == 0)
    }

    @Test func `a session that is refreshed is never swept, however old`() async throws {
        let created = try await fixture.signUp(.apple("a-1"))
        var session = created.session
        let sweeper = fixture.storage.sweeper(clock: fixture.clock)
        for _ in 0..<12 {
            fixture.clock.advance(by: 59 * Self.day)
            session = try await fixture.refresh(session.refreshToken)
            _ = try await sweeper.sweep()
        }
        _ = try await fixture.opened(session)
    }

    @Test
    func `the walk finds every expired session among the live ones, page after page, and begins again`() async throws {
        let account = try await fixture.signUp(.apple("a-1")).account
        let start = fixture.clock.now()
        // Pages of sessions that are still in use, with a few among them that are not.
        try await add(3_000, to: account, openedAt: start, expiringAfter: 400 * Self.day)
        let expired = try await add(50, to: account, openedAt: start.advanced(bySeconds: 3_000))
        try await add(3_000, to: account, openedAt: start.advanced(bySeconds: 3_050), expiringAfter: 400 * Self.day)
        fixture.clock.advance(by: 68 * Self.day)
        let sweeper = fixture.storage.sweeper(clock: fixture.clock)
        var swept: [Int] = []
        for _ in 0..<4 { swept.append(try await sweeper.sweep()) }
        // The account's own session is the oldest; its ticket goes as well.
        #expect(swept == [2, 50, 0, 0])
        #expect(try await fixture.count("sessions WHERE session_id = ANY (\(expired))") == 0)
        #expect(try await fixture.count("sessions") == 6_000)
        // What expires behind the walk is found by the next one.
        fixture.clock.advance(by: 340 * Self.day)
        var left = 6_000
        for _ in 0..<10 where left > 0 { left -= try await sweeper.sweep() }
        #expect(left == 0)
    }

    @Test func `a session that another transaction has locked is left for later`() async throws {
        let account = try await fixture.signUp(.apple("a-1")).account
        let ids = try await add(3, to: account, openedAt: fixture.clock.now())
        fixture.clock.advance(by: 68 * Self.day)
        let sweeper = fixture.storage.sweeper(clock: fixture.clock)
        try await fixture.database.transaction { transaction in
            _ = try await transaction.execute("SELECT FROM sessions WHERE session_id = \(ids[1]) FOR SHARE")
            _ = try await sweeper.sweep()
        }
        #expect(try await fixture.count("sessions WHERE session_id = \(ids[1])") == 1)
        #expect(try await fixture.count("sessions") == 1)
        _ = try await sweeper.sweep()
        #expect(try await fixture.count("sessions") == 0)
    }

    @Test func `several processes sweep one pile without getting in each other's way`() async throws {
        let account = try await fixture.signUp(.apple("a-1")).account
        try await add(900, to: account, openedAt: fixture.clock.now())
        _ = try await fixture.database.execute("UPDATE sessions SET ended_at = created_at, end_reason = 'signed_out'")
        let live = try await fixture.session(.apple("a-1"))
        fixture.clock.advance(by: 8 * Self.day)
        let processes = (0..<4).map { _ in fixture.storage.sweeper(clock: fixture.clock) }
        let swept = try await concurrently(processes) { process -> Int in
            var swept = 0
            while true {
                let count = try await process.sweep()
                guard count > 0 else { return swept }
                swept += count
            }
        }
        // A process that found all rows locked by others has stopped before the work was done.
        var rest = 0
        while case let count = try await processes[0].sweep(), count > 0 { rest += count }
        // The account's first session and its ticket too.
        #expect(swept.reduce(rest, +) == 902)
        _ = try await fixture.refresh(live.session.refreshToken)
    }

    // MARK: The clock

    /// The clock of one machine must not delete what is live for all others. The tests' clock stands still while the
    /// database's goes on, so there is room for a slow machine.
    @Test(arguments: [600_000_000, 1_200, -360] as [Int64])
    func `a process whose clock and the database's differ sweeps nothing, and goes on when they agree`(_ ahead: Int64)
        async throws
    {
        let log = RecordingLog()
        let sweeper = fixture.storage.sweeper(clock: fixture.clock, logger: log.logger)
        let present = try await fixture.storage.databaseTime()
        fixture.clock.set(to: present.seconds)
        let created = try await fixture.signUp(.apple("a-1"))
        // Expired by each of these clocks.
        let account = created.account
        try await add(1, to: account, openedAt: present.advanced(bySeconds: -100 * Self.day))

        fixture.clock.set(to: present.seconds + ahead)
        for _ in 0..<3 { #expect(try await sweeper.round() == false) }
        #expect(try await fixture.count("sessions") == 2)
        #expect(log.lines.count == 1)
        #expect(log.lines.first?.contains("retention sweep paused") == true)
        #expect(log.lines.first?.contains("clock_differs") == true)

        fixture.clock.set(to: try await fixture.storage.databaseTime().seconds)
        #expect(try await sweeper.round() == false)
        #expect(try await fixture.count("sessions") == 1)
        #expect(log.lines.count == 2)
        #expect(log.lines.last?.contains("retention sweep resumed") == true)
        _ = try await fixture.refresh(created.session.refreshToken)
    }

    @Test(arguments: [240, -60] as [Int64]) func `clocks that differ by less sweep on`(_ ahead: Int64) async throws {
        let present = try await fixture.storage.databaseTime()
        fixture.clock.set(to: present.seconds + ahead)
        let account = try await fixture.signUp(.apple("a-1")).account
        try await add(1, to: account, openedAt: present.advanced(bySeconds: -100 * Self.day))
        #expect(try await fixture.storage.sweeper(clock: fixture.clock).round() == false)
        #expect(try await fixture.count("sessions") == 1)
    }

    @Test func `mailed codes go an hour after their end, and link tickets as before`() async throws {
        let service = try fixture.service { $0.mailLanguages = ["en"] }
        try await service.emailCodes.mailCode(
            to: "nobody@example.com", for: .signIn, by: service.calls.begin(by: fixture.client))
        _ = try await fixture.ticket(.apple("a-1"))
        let sweeper = fixture.storage.sweeper(clock: fixture.clock)
        fixture.clock.advance(by: 4_200)
        #expect(try await sweeper.sweep() == 0)
        fixture.clock.advance(by: 1)
        // The code with its copy for the release before and its mail, which nobody sends, and the ticket.
        #expect(try await sweeper.sweep() == 4)
        #expect(try await fixture.count("mailed_codes") == 0)
        #expect(try await fixture.count("email_codes") == 0)
        #expect(try await fixture.count("link_tickets") == 0)
    }
}
