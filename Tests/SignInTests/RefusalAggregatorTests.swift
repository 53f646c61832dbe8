import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// Refusals, which reach the trail as sums and cost the refused request nothing.
@Suite(.fixture(SignInFixture.self)) struct RefusalAggregatorTests {
    var fixture: SignInFixture { .current }

    private func rows() async throws -> [String] {
        try await fixture.database.query(
            """
            SELECT concat_ws(' ', type, COALESCE(provider, '-'), reason, COALESCE(network, '-'),
                COALESCE(request_id, '-'), occurrences)
            FROM audit_events
            WHERE type IN ('credential_rejected', 'guess_rejected', 'rate_limited', 'code_requested')
            ORDER BY type, reason, network, occurrences
            """, as: String.self)
    }

    private static func client(_ id: String, _ network: Network = "192.0.2.0/24") -> Caller {
        Caller(requestID: id, address: "192.0.2.7", network: network, device: nil)
    }

    private static func refuse(_ token: String, _ client: Caller, by service: SignInService) async throws {
        let credential = ProviderCredential(token: token)
        await #expect(throws: SignInFailure.self) {
            try await service.providers.signIn(with: .apple, credential, by: service.calls.begin(by: client))
        }
    }

    @Test func `a refused token is written down at the next flush, and many as one`() async throws {
        let foreign = try fixture.apple("a-1", [("aud", "com.example.other")])
        try await Self.refuse("junk", Self.client("r1"), by: fixture.service)
        for number in 2...4 { try await Self.refuse(foreign, Self.client("r\(number)"), by: fixture.service) }
        try await Self.refuse(foreign, Self.client("r5", "198.51.100.0/24"), by: fixture.service)
        #expect(try await rows() == [])
        #expect(try await fixture.service.refusals.flush() == 3)
        #expect(
            try await rows() == [
                "credential_rejected apple audience_rejected 192.0.2.0/24 r2 3",
                "credential_rejected apple audience_rejected 198.51.100.0/24 r5 1",
                "credential_rejected apple malformed 192.0.2.0/24 r1 1",
            ])
        #expect(try await fixture.service.refusals.flush() == 0)
        #expect(try await rows().count == 3)
    }

    @Test(.fixture { try await SignInFixture.withMail($0) })
    func `a right proof of a disabled account is in its story, however often it comes in one row`() async throws {
        let email = "kim@example.com"
        let kim = try await fixture.member(email)
        let signIn = try await fixture.code(.signIn, for: email)
        let reset = try await fixture.code(.resetPassword, for: email)
        let ticket = try await fixture.ticket(.google("g-1"))
        let bind = try await fixture.code(.bind, for: email, ticket: ticket)
        try await fixture.service.refusals.flush()
        try await fixture.disable(kim)
        let proofs: [@Sendable () async throws -> Void] = [
            { _ = try await fixture.signIn(email, by: Self.client("r1")) },
            { _ = try await fixture.signIn(email, code: signIn) },
            { try await fixture.reset(email, code: reset) },
            { _ = try await fixture.bind(ticket, .emailCode(email: email, code: bind)) },
        ]
        for proof in proofs {
            for _ in 0..<2 { try await expectFailure("accountDisabled") { try await proof() } }
            #expect(try await fixture.service.refusals.flush() == 1)
        }
        #expect(
            try await fixture.count(
                """
                audit_events
                WHERE type = 'credential_rejected' AND reason = 'account_disabled' AND actor = 'person'
                    AND provider IS NULL AND account_id = \(kim.account.id) AND occurrences = 2
                """) == 4)
        #expect(try await rows().contains("credential_rejected - account_disabled 192.0.2.0/24 r1 2"))
        // A wrong one is a guess, as of any account.
        try await expectFailure("invalidCredentials") { try await fixture.signIn(email, password: "a wrong one") }
        try await fixture.service.refusals.flush()
        #expect(try await fixture.count("audit_events WHERE type = 'credential_rejected'") == 4)
    }

    @Test
    func `a wrong guess is in the story of the account that it was at, and nothing that was typed`() async throws {
        let service = fixture.service
        let kim = try await fixture.register("kim@example.com")
        for email in ["kim@example.com", "nobody@example.com", "nonsense"] {
            await #expect(throws: SignInFailure.self) {
                try await fixture.signIn(email, password: "a wrong one", by: Self.client("r1"))
            }
        }
        await #expect(throws: SignInFailure.self) {
            try await service.emailCodes.signIn(
                email: "kim@example.com", code: "123456", by: service.calls.begin(by: Self.client("r2")))
        }
        try await service.refusals.flush()
        #expect(
            try await rows() == [
                "guess_rejected - email_code 192.0.2.0/24 r2 1", "guess_rejected - password 192.0.2.0/24 r1 1",
                "guess_rejected - password 192.0.2.0/24 r1 2",
            ])
        #expect(
            try await fixture.count(
                "audit_events WHERE type = 'guess_rejected' AND account_id = \(kim.account.id) AND occurrences = 1")
                == 2)
        #expect(
            try await fixture.count(
                "audit_events e WHERE strpos(e::text, 'nobody') + strpos(e::text, 'nonsense') > 0") == 0)
    }

    @Test(.fixture { try await SignInFixture.withMail(limits: [.mailPerAddress: .limit(count: 1, seconds: 3600)], $0) })
    func `a limit that is reached is recorded by its kind, and a request for a code by its purpose`() async throws {
        let service = fixture.service
        try await service.emailCodes.mailCode(
            to: "kim@example.com", for: .signIn, by: service.calls.begin(by: Self.client("r1")))
        // Which no answer says.
        for _ in 0..<2 {
            try await service.emailCodes.mailCode(
                to: "kim@example.com", for: .resetPassword, by: service.calls.begin(by: Self.client("r2")))
        }
        #expect(try await fixture.count("mailed_codes") == 1)
        try await service.refusals.flush()
        #expect(
            try await rows() == [
                "code_requested - resetPassword 192.0.2.0/24 r2 2",
                "code_requested - signIn 192.0.2.0/24 r1 1",
                "rate_limited - mailPerAddress 192.0.2.0/24 r2 2",
            ])
    }

    @Test(.fixture { try await SignInFixture.withMail(limits: [.mailPerNetwork: .limit(count: 2, seconds: 3600)], $0) })
    func `one network asks for a limited number of codes, whichever addresses they are for`() async throws {
        for name in ["kim", "ada"] {
            try await fixture.service.emailCodes.mailCode(
                to: "\(name)@example.com", for: .signIn, by: fixture.call(by: Self.client("r1")))
        }
        await expectFailure(.rateLimited(.mailPerNetwork, retryAfter: 1800)) {
            try await fixture.service.emailCodes.mailCode(
                to: "lee@example.com", for: .signIn, by: fixture.call(by: Self.client("r2")))
        }
        #expect(try await fixture.count("mailed_codes") == 2)
    }

    @Test(.fixture { try await SignInFixture.withMail(limits: [.mailPerNetwork: .limit(count: 1, seconds: 3600)], $0) })
    func `the networks of a wide one ask for twenty times as many codes between them`() async throws {
        @Sendable func ask(_ index: Int) async throws {
            let client = Caller(
                requestID: "r\(index)", address: nil, network: "2001:db8:1:\(index)::/64",
                wideNetwork: "2001:db8:1::/48", device: nil)
            try await fixture.service.emailCodes.mailCode(
                to: "person\(index)@example.com", for: .signIn, by: fixture.call(by: client))
        }
        for index in 0..<20 { try await ask(index) }
        await expectFailure(.rateLimited(.mailPerNetwork, retryAfter: 180)) { try await ask(20) }
        #expect(try await fixture.count("mailed_codes") == 20)
    }

    @Test func `beyond its bound the aggregator forgets the networks and no refusal`() async throws {
        let aggregator = fixture.service.refusals
        for number in 0..<1000 {
            aggregator.note(
                .credentialRejected, provider: .apple, reason: "expired",
                by: fixture.call(by: Self.client("r\(number)", "10.0.\(number).0/24")))
            aggregator.note(
                .guessRejected, reason: "password",
                by: fixture.call(by: Self.client("g\(number)", "10.1.\(number).0/24")))
        }
        #expect(try await aggregator.flush() == RefusalAggregator.limit + 2)
        let rows = try await rows()
        let rest = 1000 - RefusalAggregator.limit / 2
        // Of the first that had no sum of its own network.
        let first = RefusalAggregator.limit / 2
        #expect(rows.contains("credential_rejected apple expired - r\(first) \(rest)"))
        #expect(rows.contains("guess_rejected - password - g\(first) \(rest)"))
        #expect(try await fixture.count("audit_events WHERE occurrences = 1") == Int64(RefusalAggregator.limit))
    }

    @Test func `beyond their bound the aggregator forgets the addresses and no guess`() async throws {
        let service = fixture.service
        let kim = try await fixture.register("kim@example.com")
        let event = AuditEvent(.guessRejected, by: .person, reason: "password")
        let count = RefusalAggregator.addressLimit * 2
        service.refusals.note(event, of: EmailAddress("kim@example.com"), at: fixture.call.now)
        for number in 1..<count {
            service.refusals.note(event, of: EmailAddress("n\(number)@example.com"), at: fixture.call.now)
        }
        // One for the account, one for all who have none.
        #expect(try await service.refusals.flush() == 2)
        let sum: SQL = "SELECT sum(occurrences) FROM audit_events WHERE type = 'guess_rejected'"
        #expect(try await fixture.database.number(sum) == Int64(count))
        #expect(
            try await fixture.count(
                "audit_events WHERE account_id = \(kim.account.id) AND occurrences = 1 AND type = 'guess_rejected'")
                == 1)
    }

    @Test func `a sum of several addresses has the request of its first`() async throws {
        for number in (0..<20).reversed() {
            let event = AuditEvent(.guessRejected, by: .person, reason: "password", requestID: "r\(number)")
            fixture.service.refusals.note(
                event, of: EmailAddress("n\(number)@example.com"),
                at: fixture.call.now.advanced(bySeconds: Int64(number)))
        }
        let count = try await fixture.service.refusals.flush()
        let rows = try await rows()
        #expect(count == 1)
        #expect(rows == ["guess_rejected - password - r0 20"])
    }

    @Test(
        .fixture {
            try await SignInFixture.withMail(limits: [.passwordPerAccount: .limit(count: 1, seconds: 3600)], $0)
        })
    func `a password that is refused for the number of guesses is in the story of the account`() async throws {
        let service = fixture.service
        let kim = try await fixture.register("kim@example.com")
        for number in 1...3 {
            await #expect(throws: SignInFailure.self) {
                try await fixture.signIn("kim@example.com", password: "a wrong one", by: Self.client("r\(number)"))
            }
        }
        try await service.refusals.flush()
        #expect(
            try await fixture.count(
                "audit_events WHERE type = 'rate_limited' AND account_id = \(kim.account.id) AND occurrences = 2")
                == 1)
    }

    @Test func `what can't be written is kept, within the same bound`() async throws {
        let aggregator = fixture.service.refusals
        func note(_ reason: String, by client: Caller) {
            aggregator.note(.guessRejected, reason: reason, by: fixture.call(by: client))
        }
        note("password", by: Self.client("r1", "10.0.0.0/24"))
        try await fixture.database.execute("ALTER TABLE audit_events RENAME TO audit_events_away")
        await #expect(throws: PostgresError.self) { try await aggregator.flush() }
        note("password", by: Self.client("r2", "10.0.0.0/24"))
        for number in 0..<RefusalAggregator.limit { note("email_code", by: Self.client("r3", "n\(number)")) }
        await #expect(throws: PostgresError.self) { try await aggregator.flush() }
        try await fixture.database.execute("ALTER TABLE audit_events_away RENAME TO audit_events")
        #expect(try await aggregator.flush() == RefusalAggregator.limit + 1)
        #expect(try await rows().contains("guess_rejected - password 10.0.0.0/24 r1 2"))
        #expect(try await fixture.count("audit_events") == Int64(RefusalAggregator.limit) + 1)
    }
}
