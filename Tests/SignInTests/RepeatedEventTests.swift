import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// What one subject does again and again, which reaches the trail as sums.
@Suite struct RepeatedEventTests {
    private static let home: Network = "192.0.2.0/24"

    private static func post(
        _ token: String, as request: String = "r1", from network: Network = home, _ fixture: SignInFixture,
        at service: SignInService? = nil
    ) async throws -> SignInAnswer {
        return try await (service ?? fixture.service).providers.signIn(
            with: .apple, .init(token: token),
            by: fixture.call(by: Caller(requestID: request, address: nil, network: network, device: nil)))
    }

    /// Runs `body` with a token of a person who has an account.
    private static func run(_ body: (SignInFixture, String) async throws -> Void) async throws {
        try await SignInFixture.run { fixture in
            let token = try fixture.apple("a-1")
            _ = try await fixture.create(try await fixture.ticket(.apple, token))
            try await body(fixture, token)
        }
    }

    /// One line a row: reason, network, request, how often; an account, an identity and a session as A, I and S where they
    /// are named. Those by a provider's token, without that of the session that *create* opens.
    private static func rows(_ fixture: SignInFixture, of type: String = "signed_in") async throws -> [String] {
        try await fixture.database.query(
            """
            SELECT concat_ws(' ', COALESCE(reason, '-'), COALESCE(network, '-'), COALESCE(request_id, '-'), occurrences,
                CASE WHEN account_id IS NOT NULL THEN 'A' END, CASE WHEN identity_id IS NOT NULL THEN 'I' END,
                CASE WHEN session_id IS NOT NULL THEN 'S' END)
            FROM audit_events
            WHERE type = \(type) AND (provider = 'apple' OR provider IS NULL) AND network IS NOT NULL
            ORDER BY transaction_id, network
            """, as: String.self)
    }

    @Test func `of three hundred sign-ins in a second one has a row of its own, and a sum has the others`()
        async throws
    {
        try await Self.run { (fixture, token) async throws in
            #expect(try await race(300) { _ in try await Self.post(token, fixture) } == ["won": 300])
            #expect(try await Self.rows(fixture) == ["apple 192.0.2.0/24 r1 1 A I S"])
            #expect(try await fixture.service.refusals.flush() == 1)
            #expect(
                try await Self.rows(fixture) == [
                    "apple 192.0.2.0/24 r1 1 A I S", "apple 192.0.2.0/24 r1 299 A I",
                ])
            #expect(try await fixture.count("sessions") == 301)
        }
    }

    @Test func `a sum has a network and its first request, and one of a single sign-in its session`() async throws {
        try await Self.run { (fixture, token) async throws in
            _ = try await Self.post(token, fixture)
            let other = try await Self.post(token, as: "r2", from: "198.51.100.0/24", fixture).session
            for number in 3...4 { _ = try await Self.post(token, as: "r\(number)", fixture) }
            // Written later, it has the time of the sign-in.
            fixture.clock.advance(by: 10)
            #expect(try await fixture.service.refusals.flush() == 2)
            #expect(
                try await Self.rows(fixture) == [
                    "apple 192.0.2.0/24 r1 1 A I S", "apple 192.0.2.0/24 r3 2 A I",
                    "apple 198.51.100.0/24 r2 1 A I S",
                ])
            #expect(
                try await fixture.count(
                    "audit_events WHERE session_id = \(other.session.id) AND account_id = \(other.account.id)") == 1)
            let start = Timestamp(seconds: SignInFixture.start)
            #expect(try await fixture.count("audit_events WHERE created_at > \(start)") == 0)
        }
    }

    @Test func `a sign-in a second after the one before has a row of its own, and so has one a minute`() async throws {
        try await Self.run { (fixture, token) async throws in
            _ = try await Self.post(token, fixture)
            fixture.clock.advance(by: 1)
            _ = try await Self.post(token, fixture)
            #expect(try await Self.rows(fixture).count == 2)
            for _ in 0..<66 {
                fixture.clock.advance(byMilliseconds: 900)
                _ = try await Self.post(token, fixture)
            }
            #expect(try await Self.rows(fixture).count == 2)
            fixture.clock.advance(byMilliseconds: 900)
            _ = try await Self.post(token, fixture)
            #expect(try await Self.rows(fixture).count == 3)
            #expect(try await fixture.service.refusals.flush() == 1)
            #expect(try await Self.rows(fixture).last == "apple 192.0.2.0/24 r1 66 A I")
        }
    }

    @Test func `each person and each process has a row of its own`() async throws {
        try await Self.run { (fixture, token) async throws in
            let ada = try fixture.apple("a-2")
            _ = try await fixture.create(try await fixture.ticket(.apple, ada))
            let other = try fixture.service()
            for token in [token, ada] {
                for service in [fixture.service, other] {
                    for _ in 0..<3 { _ = try await Self.post(token, fixture, at: service) }
                }
            }
            #expect(try await Self.rows(fixture).count == 4)
            for service in [fixture.service, other] { #expect(try await service.refusals.flush() == 2) }
            #expect(try await Self.rows(fixture).suffix(4) == Array(repeating: "apple 192.0.2.0/24 r1 2 A I", count: 4))
        }
    }

    @Test func `refusals of a known person are counted in the same way, with whom they are about`() async throws {
        try await Self.run { (fixture, token) async throws in
            try await fixture.database.execute("UPDATE accounts SET status = 'disabled'")
            for _ in 0..<20 {
                try await expectFailure("accountDisabled") { try await Self.post(token, fixture) }
            }
            #expect(try await fixture.service.refusals.flush() == 1)
            #expect(
                try await Self.rows(fixture, of: "credential_rejected") == [
                    "account_disabled 192.0.2.0/24 r1 1 A I", "account_disabled 192.0.2.0/24 r1 19 A I",
                ])
        }
    }

    @Test func `the tickets of one person are counted in the same way`() async throws {
        try await SignInFixture.run { fixture in
            let (kim, ada) = (try fixture.apple("a-1"), try fixture.apple("a-2"))
            for _ in 0..<20 { _ = try await Self.post(kim, fixture).ticket }
            _ = try await Self.post(ada, as: "r2", fixture).ticket
            #expect(try await fixture.service.refusals.flush() == 1)
            #expect(
                try await Self.rows(fixture, of: "link_required") == [
                    "- 192.0.2.0/24 r1 1", "- 192.0.2.0/24 r2 1", "- 192.0.2.0/24 r1 19",
                ])
        }
    }

    private static func caller(_ request: String) -> Caller {
        Caller(requestID: request, address: nil, network: home, device: nil)
    }

    @Test func `the cancelled tickets of one person are counted in the same way`() async throws {
        try await SignInFixture.run { fixture in
            let token = try fixture.apple("a-1")
            for number in 1...20 {
                let ticket = try await Self.post(token, fixture).ticket
                for _ in 0..<2 {
                    try await fixture.service.tickets.cancel(
                        linkTicket: ticket.linkTicket, by: fixture.call(by: Self.caller("r\(number)")))
                }
            }
            try await fixture.service.refusals.flush()
            #expect(
                try await Self.rows(fixture, of: "link_cancelled") == [
                    "- 192.0.2.0/24 r1 1", "- 192.0.2.0/24 r2 19",
                ])
            #expect(try await fixture.count("link_tickets WHERE consumed_at IS NULL") == 0)
        }
    }

    @Test func `the sign-outs of one account are counted by what they end, and the first of each has a row`()
        async throws
    {
        try await Self.run { (fixture, token) async throws in
            for number in 1...10 {
                let (one, other) = try await (Self.post(token, fixture).session, Self.post(token, fixture).session)
                let session = try await fixture.opened(one)
                try await fixture.service.sessions.end(
                    other.session.id, of: session.accountID,
                    by: fixture.call(by: Self.caller("l\(number)")))
                for _ in 0..<2 {
                    try await fixture.service.sessions.revoke(
                        .current, of: session, by: fixture.call(by: Self.caller("c\(number)")))
                }
            }
            let last = try await fixture.opened(Self.post(token, fixture).session)
            try await fixture.service.sessions.revoke(.all, of: last, by: fixture.call(by: Self.caller("a1")))
            #expect(
                try await Self.rows(fixture, of: "signed_out") == [
                    "- 192.0.2.0/24 l1 1 A S", "current 192.0.2.0/24 c1 1 A S", "all 192.0.2.0/24 a1 1 A S",
                ])
            try await fixture.service.refusals.flush()
            #expect(
                Set(try await Self.rows(fixture, of: "signed_out").suffix(2)) == [
                    "- 192.0.2.0/24 l2 9 A", "current 192.0.2.0/24 c2 9 A",
                ])
            #expect(try await fixture.count("sessions WHERE end_reason = 'signed_out'") == 22)
        }
    }

    @Test func `the changes of a name are counted in the same way, and the name is the last one`() async throws {
        try await Self.run { (fixture, token) async throws in
            let session = try await fixture.opened(Self.post(token, fixture).session)
            for number in 1...20 {
                let account = try await fixture.service.accounts.rename(
                    accountOf: session, to: DisplayName("Kim \(number)"),
                    by: fixture.call(by: Self.caller("r\(number)")))
                #expect(account.displayName?.text == "Kim \(number)")
            }
            try await fixture.service.refusals.flush()
            #expect(
                try await Self.rows(fixture, of: "display_name_changed") == [
                    "- 192.0.2.0/24 r1 1 A", "- 192.0.2.0/24 r2 19 A",
                ])
        }
    }

    @Test func `an account changes its name as often as it may, and another account too`() async throws {
        let limits: (inout SignInService.Configuration) -> Void = {
            $0.limits = [.renamePerAccount: .limit(count: 2, seconds: 3_600)]
        }
        try await SignInFixture.run(configure: limits) { fixture in
            for person in ["a-1", "a-2"] {
                let signedIn = try await fixture.signUp(.apple(person))
                let session = try await fixture.opened(signedIn)
                @Sendable func rename(_ name: String) async throws(SignInFailure) -> Account {
                    try await fixture.service.accounts.rename(
                        accountOf: session, to: DisplayName(name),
                        by: fixture.call(by: Self.caller("r1")))
                }
                for name in ["Kim", "Ada"] { _ = try await rename(name) }
                await expectFailure(.rateLimited(.renamePerAccount, retryAfter: 1_800)) { try await rename("Lee") }
                #expect(try await fixture.service.accounts.account(of: session).displayName?.text == "Ada")
            }
        }
    }

    @Test func `the codes that a provider refuses beside the token of one person are counted in the same way`()
        async throws
    {
        try await LifeCycleFixture.run { fixture in
            _ = try await fixture.account(.apple)
            let token = try await fixture.consent(.apple, token: .init(withoutClaims: ["c_hash"])).token
            for number in 0..<5 {
                let stale = LifeCycleFixture.Consent(provider: .apple, token: token, code: "c0ffee.stale.\(number)")
                _ = try await fixture.signIn(stale)
            }
            try await fixture.service.refusals.flush()
            #expect(
                try await fixture.texts(
                    """
                    SELECT concat_ws(' ', actor, reason, occurrences, (account_id IS NOT NULL AND identity_id IS NOT NULL))
                    FROM audit_events WHERE type = 'code_rejected' ORDER BY occurrences
                    """) == ["provider invalid_grant 1 t", "provider invalid_grant 4 t"])
        }
    }

    @Test func `a sign-in that could not be recorded does not let the next one go without a row`() async throws {
        try await Self.run { (fixture, token) async throws in
            try await fixture.database.execute("ALTER TABLE audit_events RENAME TO audit_events_away")
            for _ in 0..<2 { try await expectFailure("fault") { try await Self.post(token, fixture) } }
            try await fixture.database.execute("ALTER TABLE audit_events_away RENAME TO audit_events")
            _ = try await Self.post(token, fixture)
            #expect(try await fixture.service.refusals.flush() == 0)
            #expect(try await Self.rows(fixture) == ["apple 192.0.2.0/24 r1 1 A I S"])
        }
    }

    @Test func `beyond the bound of sums the networks are left out, and no sign-in`() async throws {
        try await Self.run { (fixture, token) async throws in
            for number in 0..<100 { _ = try await Self.post(token, from: "10.0.\(number).0/24", fixture) }
            #expect(try await fixture.service.refusals.flush() == RefusalAggregator.limit + 1)
            #expect(
                try await fixture.database.query(
                    """
                    SELECT sum(occurrences), count(*), max(occurrences) FILTER (WHERE network IS NULL)
                    FROM audit_events
                    WHERE type = 'signed_in' AND provider = 'apple'
                    """
                ) { row throws(PostgresError) in
                    let (total, rows, rest) = try row.decode(Int64.self, Int64.self, Int64.self)
                    return [total, rows, rest]
                } == [[100, Int64(RefusalAggregator.limit) + 2, 99 - Int64(RefusalAggregator.limit)]])
        }
    }
}
