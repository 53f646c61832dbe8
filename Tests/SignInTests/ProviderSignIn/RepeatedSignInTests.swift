import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// What one subject does again and again, which reaches the trail as sums.
@Suite struct RepeatedSignInTests {
    private static let home = "192.0.2.0/24"

    private static func post(
        _ token: String, as request: String = "r1", from network: String = home, _ fixture: SignInFixture,
        at service: SignInService? = nil
    ) async throws -> SignInAnswer {
        let credential = ProviderCredential(token: token, code: nil, nonce: nil, clientID: nil, fullName: nil)
        return try await (service ?? fixture.service).providers.signIn(
            with: .apple, credential, client: Client(requestID: request, address: nil, network: network, device: nil))
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
            WHERE type = \(type) AND provider = 'apple' AND network IS NOT NULL
            ORDER BY transaction_id, network
            """
        ) { row throws(PostgresError) in try row.decode(String.self) }
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
                    "apple 192.0.2.0/24 r1 1 A I S", "apple 192.0.2.0/24 - 299 A I",
                ])
            #expect(try await fixture.count("sessions") == 301)
        }
    }

    @Test func `a sum has a network, and one of a single sign-in its request and session`() async throws {
        try await Self.run { (fixture, token) async throws in
            _ = try await Self.post(token, fixture)
            let other = try await Self.post(token, as: "r2", from: "198.51.100.0/24", fixture).session
            for _ in 0..<2 { _ = try await Self.post(token, as: "r3", fixture) }
            // Written later, it has the time of the sign-in.
            fixture.clock.advance(by: 10)
            #expect(try await fixture.service.refusals.flush() == 2)
            #expect(
                try await Self.rows(fixture) == [
                    "apple 192.0.2.0/24 r1 1 A I S", "apple 192.0.2.0/24 - 2 A I",
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
            #expect(try await Self.rows(fixture).last == "apple 192.0.2.0/24 - 66 A I")
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
            #expect(
                try await Self.rows(fixture).suffix(4)
                    == Array(repeating: "apple 192.0.2.0/24 - 2 A I", count: 4))
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
                    "account_disabled 192.0.2.0/24 r1 1 A I", "account_disabled 192.0.2.0/24 - 19 A I",
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
                    "- 192.0.2.0/24 r1 1", "- 192.0.2.0/24 r2 1", "- 192.0.2.0/24 - 19",
                ])
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
