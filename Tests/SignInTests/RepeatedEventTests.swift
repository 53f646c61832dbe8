import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// A person who has an account, and the token that they come with.
private struct KnownPerson: TestFixture {
    let people: SignInFixture
    let token: String

    static func run(_ body: (KnownPerson) async throws -> Void) async throws { try await run(limits: [:], body) }

    static func run(limits: [LimitKind: RateLimit], _ body: (KnownPerson) async throws -> Void) async throws {
        try await SignInFixture.run {
            $0.limits = limits
        } _: { people in
            let token = try people.apple("a-1")
            _ = try await people.create(try await people.ticket(.apple, token))
            try await body(KnownPerson(people: people, token: token))
        }
    }
}

/// What one subject does again and again, which reaches the trail as sums.
@Suite(.fixture(KnownPerson.self)) struct RepeatedEventTests {
    var fixture: SignInFixture { KnownPerson.current.people }
    var token: String { KnownPerson.current.token }

    private func call(as request: String, from network: Network = "192.0.2.0/24") -> Call {
        fixture.call(by: Caller(requestID: request, address: nil, network: network, device: nil))
    }

    @discardableResult
    private func post(
        _ token: String? = nil, as request: String = "r1", from network: Network = "192.0.2.0/24",
        at service: SignInService? = nil
    ) async throws -> SignInAnswer {
        try await (service ?? fixture.service).providers.signIn(
            with: .apple, .init(token: token ?? self.token), by: call(as: request, from: network))
    }

    /// One line a row: reason, network, request, how often; an account, an identity and a session as A, I and S where they
    /// are named. Those by a provider's token, without that of the session that *create* opens.
    private func rows(of type: String = "signed_in") async throws -> [String] {
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

    @Test
    func `of three hundred sign-ins in a second one has a row of its own, and a sum has the others`() async throws {
        #expect(try await race(300) { _ in try await post() } == ["won": 300])
        #expect(try await rows() == ["apple 192.0.2.0/24 r1 1 A I S"])
        #expect(try await fixture.service.refusals.flush() == 1)
        #expect(try await rows() == ["apple 192.0.2.0/24 r1 1 A I S", "apple 192.0.2.0/24 r1 299 A I"])
        #expect(try await fixture.count("sessions") == 301)
    }

    @Test func `a sum has a network and its first request, and one of a single sign-in its session`() async throws {
        try await post()
        let other = try await post(as: "r2", from: "198.51.100.0/24").session
        for number in 3...4 { try await post(as: "r\(number)") }
        // Written later, it has the time of the sign-in.
        fixture.clock.advance(by: 10)
        #expect(try await fixture.service.refusals.flush() == 2)
        #expect(
            try await rows() == [
                "apple 192.0.2.0/24 r1 1 A I S", "apple 192.0.2.0/24 r3 2 A I",
                "apple 198.51.100.0/24 r2 1 A I S",
            ])
        #expect(
            try await fixture.count(
                "audit_events WHERE session_id = \(other.session.id) AND account_id = \(other.account.id)") == 1)
        let start = Timestamp(seconds: SignInFixture.start)
        #expect(try await fixture.count("audit_events WHERE created_at > \(start)") == 0)
    }

    @Test func `a sign-in a second after the one before has a row of its own, and so has one a minute`() async throws {
        try await post()
        fixture.clock.advance(by: 1)
        try await post()
        #expect(try await rows().count == 2)
        for _ in 0..<66 {
            fixture.clock.advance(byMilliseconds: 900)
            try await post()
        }
        #expect(try await rows().count == 2)
        fixture.clock.advance(byMilliseconds: 900)
        try await post()
        #expect(try await rows().count == 3)
        #expect(try await fixture.service.refusals.flush() == 1)
        #expect(try await rows().last == "apple 192.0.2.0/24 r1 66 A I")
    }

    @Test func `each person and each process has a row of its own`() async throws {
        let ada = try fixture.apple("a-2")
        _ = try await fixture.create(try await fixture.ticket(.apple, ada))
        let other = try fixture.service()
        for token in [token, ada] {
            for service in [fixture.service, other] {
                for _ in 0..<3 { try await post(token, at: service) }
            }
        }
        #expect(try await rows().count == 4)
        for service in [fixture.service, other] { #expect(try await service.refusals.flush() == 2) }
        #expect(try await rows().suffix(4) == Array(repeating: "apple 192.0.2.0/24 r1 2 A I", count: 4))
    }

    @Test func `refusals of a known person are counted in the same way, with whom they are about`() async throws {
        try await fixture.database.execute("UPDATE accounts SET status = 'disabled'")
        for _ in 0..<20 { try await expectFailure("accountDisabled") { try await post() } }
        #expect(try await fixture.service.refusals.flush() == 1)
        #expect(
            try await rows(of: "credential_rejected") == [
                "account_disabled 192.0.2.0/24 r1 1 A I", "account_disabled 192.0.2.0/24 r1 19 A I",
            ])
    }

    @Test func `the tickets of one person are counted in the same way`() async throws {
        let (kim, ada) = (try fixture.apple("a-3"), try fixture.apple("a-2"))
        for _ in 0..<20 { _ = try await post(kim).ticket }
        _ = try await post(ada, as: "r2").ticket
        #expect(try await fixture.service.refusals.flush() == 1)
        #expect(
            try await rows(of: "link_required") == [
                "- 192.0.2.0/24 r1 1", "- 192.0.2.0/24 r2 1", "- 192.0.2.0/24 r1 19",
            ])
    }

    @Test func `the cancelled tickets of one person are counted in the same way`() async throws {
        let token = try fixture.apple("a-2")
        for number in 1...20 {
            let ticket = try await post(token).ticket
            for _ in 0..<2 {
                try await fixture.service.tickets.cancel(linkTicket: ticket.linkTicket, by: call(as: "r\(number)"))
            }
        }
        try await fixture.service.refusals.flush()
        #expect(try await rows(of: "link_cancelled") == ["- 192.0.2.0/24 r1 1", "- 192.0.2.0/24 r2 19"])
        #expect(try await fixture.count("link_tickets WHERE consumed_at IS NULL") == 0)
    }

    @Test
    func `the sign-outs of one account are counted by what they end, and the first of each has a row`() async throws {
        for number in 1...10 {
            let (one, other) = try await (post().session, post().session)
            let session = try await fixture.opened(one)
            try await fixture.service.sessions.end(other.session.id, in: session, by: call(as: "l\(number)"))
            for _ in 0..<2 {
                try await fixture.service.sessions.revoke(.current, of: session, by: call(as: "c\(number)"))
            }
        }
        let last = try await fixture.opened(post().session)
        try await fixture.service.sessions.revoke(.all, of: last, by: call(as: "a1"))
        #expect(
            try await rows(of: "signed_out") == [
                "- 192.0.2.0/24 l1 1 A S", "current 192.0.2.0/24 c1 1 A S", "all 192.0.2.0/24 a1 1 A S",
            ])
        try await fixture.service.refusals.flush()
        #expect(
            Set(try await rows(of: "signed_out").suffix(2)) == ["- 192.0.2.0/24 l2 9 A", "current 192.0.2.0/24 c2 9 A"])
        #expect(try await fixture.count("sessions WHERE end_reason = 'signed_out'") == 22)
    }

    @Test func `the changes of a name are counted in the same way, and the name is the last one`() async throws {
        let session = try await fixture.opened(post().session)
        for number in 1...20 {
            let account = try await fixture.service.accounts.rename(
                accountOf: session, to: DisplayName("Kim \(number)"), by: call(as: "r\(number)"))
            #expect(account.displayName?.text == "Kim \(number)")
        }
        try await fixture.service.refusals.flush()
        #expect(try await rows(of: "display_name_changed") == ["- 192.0.2.0/24 r1 1 A", "- 192.0.2.0/24 r2 19 A"])
    }

    @Test(.fixture { try await KnownPerson.run(limits: [.renamePerAccount: .limit(count: 2, seconds: 3_600)], $0) })
    func `an account changes its name as often as it may, and another account too`() async throws {
        for person in ["a-2", "a-3"] {
            let session = try await fixture.opened(try await fixture.signUp(.apple(person)))
            @Sendable func rename(_ name: String) async throws(SignInFailure) -> Account {
                try await fixture.service.accounts.rename(accountOf: session, to: DisplayName(name), by: call(as: "r1"))
            }
            for name in ["Kim", "Ada"] { _ = try await rename(name) }
            await expectFailure(.rateLimited(.renamePerAccount, retryAfter: 1_800)) { try await rename("Lee") }
            #expect(try await fixture.service.accounts.account(of: session).displayName?.text == "Ada")
        }
    }

    @Test(.noFixture(KnownPerson.self), .fixture(LifeCycleFixture.self))
    func `the codes that a provider refuses beside the token of one person are counted in the same way`() async throws {
        let fixture = LifeCycleFixture.current
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

    @Test func `a sign-in that could not be recorded does not let the next one go without a row`() async throws {
        try await fixture.database.execute("ALTER TABLE audit_events RENAME TO audit_events_away")
        for _ in 0..<2 { try await expectFailure("fault") { try await post() } }
        try await fixture.database.execute("ALTER TABLE audit_events_away RENAME TO audit_events")
        try await post()
        #expect(try await fixture.service.refusals.flush() == 0)
        #expect(try await rows() == ["apple 192.0.2.0/24 r1 1 A I S"])
    }

    @Test func `beyond the bound of sums the networks are left out, and no sign-in`() async throws {
        for number in 0..<100 { try await post(from: "10.0.\(number).0/24") }
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
