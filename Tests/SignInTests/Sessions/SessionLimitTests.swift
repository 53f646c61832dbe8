import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The live sessions that an account may have, which the worker sees to.
@Suite(.fixture(SignInFixture.self)) struct SessionLimitTests {
    var fixture: SignInFixture { .current }

    private func limiter() -> SessionLimiter { SessionLimiter(store: fixture.storage.sessions, clock: fixture.clock) }

    /// A round of a look that is due.
    private func look(_ limiter: SessionLimiter, limit: Int) async throws -> Bool {
        fixture.clock.advance(by: SessionLimiter.pauseSeconds)
        return try await limiter.round(limit: limit)
    }

    /// Signs a person in, a second after whatever was before.
    private func open(_ subject: String = "a-1") async throws -> SignedIn {
        fixture.clock.advance(by: 1)
        switch try await fixture.signIn(.apple(subject)) {
        case .signedIn(let signedIn): return signedIn
        case .linkRequired(let ticket): return try await fixture.create(ticket)
        }
    }

    private func open(_ count: Int, _ subject: String = "a-1") async throws -> [SignedIn] {
        var opened: [SignedIn] = []
        for _ in 0..<count { opened.append(try await open(subject)) }
        return opened
    }

    /// Adds live sessions of the account that were opened at once, a millisecond apart.
    private func add(_ count: Int, to account: Account, openedAt start: Timestamp, device: String? = nil) async throws {
        let times = (0..<count).map { Timestamp(microseconds: start.microseconds + Int64($0) * 1_000) }
        _ = try await fixture.database.execute(
            """
            INSERT INTO sessions (session_id, account_id, rotated_at, auth_time, amr, device_name, created_at,
                last_used_at, expires_at)
            SELECT s.id, \(account.id), s.opened, s.opened, '{pwd}', \(device), s.opened, s.opened,
                s.opened + interval '60 days'
            FROM unnest(\(times.map { SessionID(now: $0) }), \(times)) AS s (id, opened)
            """)
    }

    private func live(of account: Account) async throws -> Int64 {
        try await fixture.count("sessions WHERE account_id = \(account.id) AND ended_at IS NULL")
    }

    /// How many sessions each row of the trail says that the limit has ended.
    private func recorded(of account: Account) async throws -> [Int32] {
        try await fixture.database.query(
            """
            SELECT occurrences
            FROM audit_events
            WHERE type = 'sessions_ended' AND actor = 'service' AND reason = 'session_limit'
                AND account_id = \(account.id)
            ORDER BY transaction_id
            """, as: Int32.self)
    }

    @Test func `of too many sessions those that were used last stay, and one row says how many ended`() async throws {
        let opened = try await open(12)
        let account = opened[0].account
        fixture.clock.advance(by: 1)
        let refreshed = try await fixture.refresh(opened[1].session.refreshToken)
        let limiter = limiter()
        #expect(try await limiter.round(limit: 5) == false)

        let kept = try await fixture.service.sessions.list(of: account.id, by: fixture.call).map(\.id)
        #expect(kept == opened.suffix(4).reversed().map(\.session.id) + [opened[1].session.id])
        #expect(try await fixture.count("sessions WHERE end_reason = 'session_limit'") == 5)
        #expect(try await recorded(of: account) == [7])
        _ = try await fixture.opened(refreshed)
        for ended in [opened[0], opened[7]] { try await fixture.expectEnded(ended.session) }
        // There is nothing left to do, nor to record.
        #expect(try await look(limiter, limit: 5) == false)
        #expect(try await recorded(of: account) == [7])
    }

    @Test func `the limit is that of each account, and 0 is none`() async throws {
        let kim = try await open(6)[0].account
        let ada = try await open(5, "a-2")[0].account
        let limiter = limiter()
        #expect(try await limiter.round(limit: 0) == false)
        #expect(try await live(of: kim) == 6)
        // Switched on, it looks at what was opened while it was off.
        #expect(try await limiter.round(limit: 5) == false)
        #expect(try await live(of: kim) == 5)
        #expect(try await live(of: ada) == 5)
        #expect(try await recorded(of: ada) == [])
    }

    @Test func `sessions that ended or expired don't count`() async throws {
        let account = try await open(3)[0].account
        fixture.clock.advance(by: 5_184_000)
        let opened = try await open(3)
        try await fixture.service.sessions.end(
            opened[0].session.id, in: try await fixture.opened(opened[1]), by: fixture.call)
        #expect(try await limiter().round(limit: 2) == false)
        #expect(
            try await fixture.service.sessions.list(of: account.id, by: fixture.call).map(\.id)
                == [opened[2], opened[1]].map(\.session.id))
        #expect(try await recorded(of: account) == [])
        // The one that ended and the one that expired last.
        #expect(try await fixture.count("sessions WHERE ended_at IS NOT NULL") == 1)
        #expect(try await fixture.count("sessions") == 4)
    }

    @Test func `what the limit has ended is not kept without end`() async throws {
        let limiter = limiter()
        for _ in 0..<4 {
            _ = try await open(10)
            _ = try await look(limiter, limit: 5)
            #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 5)
            #expect(try await fixture.count("sessions WHERE ended_at IS NOT NULL") == 5)
        }
    }

    @Test func `of what its owner signs out again and again the last is kept, as much as may be live`() async throws {
        let limiter = limiter()
        for _ in 0..<4 {
            let opened = try await open(8)
            try await fixture.signOut(.others, of: opened[7])
            #expect(try await look(limiter, limit: 5) == false)
            let ended = try await fixture.database.query(
                "SELECT session_id FROM sessions WHERE ended_at IS NOT NULL ORDER BY session_id", as: SessionID.self)
            #expect(ended == opened[2..<7].map(\.session.id))
            _ = try await fixture.opened(opened[7])
        }
        #expect(try await fixture.count("sessions") == 6)
        #expect(try await fixture.count("sessions WHERE end_reason <> 'signed_out'") == 0)
    }

    @Test(arguments: ["signed_out", "password_reset", "session_limit", nil] as [String?])
    func `a pile of sessions that are over goes batch after batch, whatever ended them, and live ones stay`(
        reason: String?
    ) async throws {
        let account = try await open().account
        let start = fixture.clock.now()
        try await add(2_300, to: account, openedAt: start, device: "old")
        let over: SQL =
            if let reason { "ended_at = created_at, end_reason = \(reason)" } else { "expires_at = created_at" }
        _ = try await fixture.database.execute("UPDATE sessions SET \(over) WHERE device_name = 'old'")
        fixture.clock.advance(by: 10)
        try await add(99, to: account, openedAt: fixture.clock.now())
        let limiter = limiter()
        var rounds = 1
        while try await limiter.round(limit: 100) { rounds += 1 }
        #expect(rounds == 3)
        let last = Timestamp(microseconds: start.microseconds + 2_200_000)
        #expect(try await fixture.count("sessions WHERE device_name = 'old' AND created_at >= \(last)") == 100)
        #expect(try await fixture.count("sessions WHERE device_name = 'old'") == 100)
        #expect(try await fixture.count("sessions") == 200)
        #expect(try await recorded(of: account) == [])
    }

    @Test func `a pile of sessions ends batch after batch, without a pause between them`() async throws {
        let account = try await open().account
        fixture.clock.advance(by: 10)
        try await add(2_300, to: account, openedAt: fixture.clock.now())
        let limiter = limiter()
        var rounds = 1
        while try await limiter.round(limit: 100) { rounds += 1 }
        #expect(rounds == 3)
        #expect(try await live(of: account) == 100)
        #expect(try await recorded(of: account) == [1_000, 1_000, 201])
    }

    @Test func `several processes that look at once end each session once, and none too many`() async throws {
        let account = try await open().account
        try await add(300, to: account, openedAt: fixture.clock.now())
        let processes = (0..<4).map { _ in limiter() }
        try await concurrently(processes) { _ = try await $0.round(limit: 20) }
        #expect(try await live(of: account) == 20)
        #expect(try await recorded(of: account).reduce(0, +) == 281)
    }

    @Test func `a session that is in use at the moment stays`() async throws {
        let opened = try await open(5)
        try await fixture.database.transaction { transaction in
            _ = try await transaction.execute(
                "SELECT FROM sessions WHERE session_id = \(opened[0].session.id) FOR SHARE")
            _ = try await limiter().round(limit: 2)
        }
        _ = try await fixture.opened(opened[0])
        #expect(try await live(of: opened[0].account) == 3)
        #expect(try await recorded(of: opened[0].account) == [2])
    }

    @Test func `a session whose commit came late is seen by the next look, an account from before at its next sign-in`()
        async throws
    {
        let account = try await open().account
        let limiter = limiter()
        _ = try await limiter.round(limit: 3)
        let opened = fixture.clock.now().advanced(bySeconds: -SessionLimiter.commitSeconds)
        try await add(5, to: account, openedAt: opened)
        _ = try await look(limiter, limit: 3)
        #expect(try await live(of: account) == 3)

        // Opened long before the look, as before an upgrade.
        try await add(5, to: account, openedAt: opened.advanced(bySeconds: -5_000))
        _ = try await look(limiter, limit: 3)
        #expect(try await live(of: account) == 8)
        _ = try await open()
        _ = try await look(limiter, limit: 3)
        #expect(try await live(of: account) == 3)
    }

    @Test func `a look is one process's at a time, and the next one begins where it ended`() async throws {
        let (first, second) = (limiter(), limiter())
        let account = try await open(5)[0].account
        _ = try await first.round(limit: 4)
        #expect(try await live(of: account) == 4)
        // Not due yet.
        fixture.clock.advance(by: SessionLimiter.pauseSeconds - 5)
        _ = try await open(3)
        _ = try await second.round(limit: 4)
        #expect(try await live(of: account) == 7)
        _ = try await look(second, limit: 4)
        #expect(try await live(of: account) == 4)
        // One that died leaves its look to the others.
        let now = fixture.clock.now()
        fixture.clock.advance(by: SessionLimiter.pauseSeconds)
        let call = fixture.call
        _ = try await fixture.storage.sessions.claimLook(
            from: SessionID(now: now), to: SessionID(now: call.now), by: call,
            claimedUntil: call.now.advanced(bySeconds: SessionLimiter.lease))
        _ = try await open(3)
        fixture.clock.advance(by: SessionLimiter.lease - 10)
        _ = try await first.round(limit: 4)
        #expect(try await live(of: account) == 7)
        fixture.clock.advance(by: 1_000)
        _ = try await first.round(limit: 4)
        #expect(try await live(of: account) == 4)
    }

    @Test func `a clock that was ahead and is set back leaves no session out`() async throws {
        let limiter = limiter()
        fixture.clock.advance(by: 86_400)
        _ = try await limiter.round(limit: 3)
        fixture.clock.advance(by: -86_400)
        let account = try await open(6)[0].account
        _ = try await limiter.round(limit: 3)
        #expect(try await live(of: account) == 3)
    }

    @Test func `a failure at one account holds up no other, and is tried again`() async throws {
        let kim = try await open().account
        let ada = try await open("a-2").account
        try await add(5, to: kim, openedAt: fixture.clock.now(), device: "faulty")
        try await add(5, to: ada, openedAt: fixture.clock.now())
        try await fixture.database.execute(
            """
            ALTER TABLE sessions ADD CONSTRAINT sessions_fault
                CHECK (end_reason IS DISTINCT FROM 'session_limit' OR device_name IS DISTINCT FROM 'faulty')
            """)
        let limiter = limiter()
        await #expect(throws: PostgresError.self) { try await limiter.round(limit: 3) }
        #expect(try await live(of: ada) == 3)
        #expect(try await live(of: kim) == 6)
        try await fixture.database.execute("ALTER TABLE sessions DROP CONSTRAINT sessions_fault")
        _ = try await limiter.round(limit: 3)
        #expect(try await live(of: kim) == 3)
    }
}
