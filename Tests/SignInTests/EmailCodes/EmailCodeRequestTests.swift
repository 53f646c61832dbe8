import Accounts
import Postgres
import Primitives
import Storage
import TestSupport
import Testing

@testable import SignIn

/// Requests for a code by mail: which are answered by a new code, which by the same one, and which by nothing.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct EmailCodeRequestTests {
    var fixture: SignInFixture { .current }

    private static let email = "kim@example.com"

    @Test func `one code lives per address, purpose and ticket, and asking again mails the same`() async throws {
        _ = try await fixture.member(Self.email)
        let tickets = [try await fixture.ticket(.google("1")), try await fixture.ticket(.apple("2"))]
        try await fixture.forgetMails()
        let signIn = try await fixture.code(.signIn, for: Self.email)
        let reset = try await fixture.code(.resetPassword, for: Self.email)
        let binds = [
            try await fixture.code(.bind, for: Self.email, ticket: tickets[0]),
            try await fixture.code(.bind, for: Self.email, ticket: tickets[1]),
        ]
        #expect(try await fixture.code(.signIn, for: Self.email) == signIn)
        #expect(try await fixture.mails(.signInCode).count == 1)
        fixture.clock.advance(by: 60)
        #expect(try await fixture.code(.signIn, for: Self.email) == signIn)
        #expect(try await fixture.mails(.signInCode).count == 2)
        for (ticket, code) in zip(tickets, binds) {
            _ = try await fixture.bind(ticket, .emailCode(email: Self.email, code: code))
        }
        _ = try await fixture.signIn(Self.email, code: signIn)
        try await fixture.reset(Self.email, code: reset)
    }

    @Test func `a client is written to in its language where there is one`() async throws {
        for (wanted, written) in [
            (["de-at"], "de"), (["fr", "de"], "de"), (["fr"], "en"), ([], "en"), (["en-gb", "de"], "en"),
        ] {
            try await fixture.forgetMails()
            fixture.clock.advance(by: 600)
            let client = Caller(requestID: "test", address: nil, device: nil, languages: wanted)
            try await fixture.service.emailCodes.mailCode(to: Self.email, for: .signIn, by: fixture.call(by: client))
            let mail = QueuedMail(template: "sign_in_code", recipient: Self.email, language: written)
            #expect(try await fixture.mails(.signInCode) == [mail])
        }
    }

    @Test func `an address that is none is refused`() async throws {
        for email in ["", "kim", "kim@", "@example.com", "kim@example.com\r\nBcc: ada@example.com", "a b@example.com"] {
            try await expectFailure("malformedEmail") { try await fixture.mailCode(.signIn, to: email) }
        }
        #expect(try await fixture.count("outbox") == 0)
    }

    @Test(.fixture { try await SignInFixture.withMail(limits: [.mailPerAddress: .limit(count: 6, seconds: 3600)], $0) })
    func `an address is mailed six new codes in an hour, however it is spelled and whatever they are for`()
        async throws
    {
        func ticket(_ number: Int) async throws -> LinkRequired { try await fixture.ticket(.google("\(number)")) }
        try await fixture.forgetMails()
        try await fixture.mailCode(.signIn, to: "kim@example.com")
        try await fixture.mailCode(.resetPassword, to: "KIM@example.com")
        try await fixture.mailCode(.verifyEmail, to: "kim@EXAMPLE.com")
        for number in 0..<3 { try await fixture.mailCode(.bind, to: "kIM@eXample.com", for: ticket(number)) }
        // The seventh is answered as ever, and not made.
        try await fixture.mailCode(.bind, to: "Kim@Example.Com", for: ticket(3))
        #expect(try await fixture.count("mailed_codes") == 6)
        // One that is mailed again is no new one.
        fixture.clock.advance(by: 60)
        try await fixture.mailCode(.signIn, to: "kim@example.coM")
        #expect(try await fixture.count("outbox WHERE kind = 'mail'") == 7)
        #expect(try await fixture.count("rate_limits") == 1)
        // Other addresses are not limited, and the allowance refills evenly.
        try await fixture.mailCode(.signIn, to: "ada@example.com")
        fixture.clock.advance(by: 540)
        for purpose in [EmailCodePurpose.signIn, .resetPassword] { try await fixture.mailCode(purpose, to: Self.email) }
        #expect(try await fixture.count("outbox WHERE kind = 'mail'") == 9)
        try await fixture.service.refusals.flush()
        let refused: SQL = "audit_events WHERE type = 'rate_limited' AND reason = 'mailPerAddress' AND occurrences = 2"
        #expect(try await fixture.count(refused) == 1)
    }

    enum Asker: CaseIterable, Sendable { case person, support }

    private static func ask(_ asker: Asker, in fixture: SignInFixture) async throws {
        let client = Caller(requestID: "test", address: nil, network: "192.0.2.0/24", device: nil)
        let call = fixture.call(by: client)
        switch asker {
        case .person: try await fixture.service.emailCodes.mailCode(to: email, for: .signIn, by: call)
        case .support:
            _ = try await fixture.service.supportCodes.mail(
                to: try #require(EmailAddress(email)), recording: AuditEvent(.codeRequested, from: call.origin),
                by: call)
        }
    }

    @Test(
        .fixture { try await SignInFixture.withMail(limits: [.mailPerAddress: .limit(count: 2, seconds: 3600)], $0) },
        arguments: Asker.allCases)
    func `of two that ask for a code at once the one that makes it counts`(asker: Asker) async throws {
        let fixture = self.fixture
        try await Self.ask(asker, in: fixture)
        fixture.clock.advance(by: 600)
        let limits: SQL = "SELECT full_at::text FROM rate_limits ORDER BY limit_key"
        let before = try await fixture.texts(limits)
        #expect(!before.isEmpty)
        let second = try await fixture.interleave { transaction in
            // The first has made one, and is about to say so when the second draws its allowance.
            try await transaction.execute(
                """
                UPDATE mailed_codes
                SET mailed_at = mailed_at + interval '10 minutes', expires_at = expires_at + interval '10 minutes'
                """)
            try await transaction.execute("SELECT FROM rate_limits FOR UPDATE")
        } with: {
            try await Self.ask(asker, in: fixture)
        }
        try await second.value
        #expect(try await fixture.texts(limits) == before)
        #expect(try await fixture.mails(.signInCode).count == 1)
    }

    @Test(
        .fixture { try await SignInFixture.withMail(limits: [.mailPerAddress: .limit(count: 2, seconds: 3600)], $0) },
        arguments: Asker.allCases)
    func `a request that the database refuses does not count`(asker: Asker) async throws {
        let fixture = self.fixture
        try await fixture.database.execute(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full'; END $$
            """)
        try await fixture.database.execute(
            "CREATE TRIGGER full_disk BEFORE INSERT ON mailed_codes FOR EACH ROW EXECUTE FUNCTION refuse()")
        try await expectFailure("storageUnavailable") { try await Self.ask(asker, in: fixture) }
        #expect(try await fixture.count("rate_limits WHERE full_at > created_at") == 0)
    }

    @Test func `a code that is used while it is asked for again is gone, and is not mailed again`() async throws {
        let fixture = self.fixture
        try await fixture.mailCode(.signIn, to: Self.email)
        fixture.clock.advance(by: 60)
        let again = try await fixture.interleave { transaction in
            try await transaction.execute("DELETE FROM mailed_codes")
        } with: {
            try await fixture.mailCode(.signIn, to: Self.email)
        }
        try await again.value
        #expect(try await fixture.count("mailed_codes") == 0)
        #expect(try await fixture.mails(.signInCode).count == 1)
    }

    @Test func `requests for one address that wait for each other leave connections to others`() async throws {
        let fixture = self.fixture
        try await fixture.mailCode(.signIn, to: Self.email)
        let asking = try await fixture.database.transaction { transaction in
            _ = try await transaction.execute("SELECT FROM mailed_codes FOR UPDATE")
            let asking = (0..<12).map { _ in Task { try await fixture.mailCode(.signIn, to: Self.email) } }
            try await transaction.awaitWaiters(2)
            try await fixture.mailCode(.signIn, to: "other@example.com")
            return asking
        }
        for request in asking { try await request.value }
        #expect(try await fixture.count("mailed_codes") == 2)
    }

    @Test(arguments: [false, true])
    func `one network's requests for an address, or a wide network's, leave places to others`(
        areOfOneNetwork: Bool
    ) async throws {
        let fixture = self.fixture
        let address = try #require(EmailAddress(Self.email))
        let refusals = Tally()
        @Sendable func ask(from network: Network, of wide: Network) async throws(SignInFailure) {
            let call = fixture.call(by: HomeFixture.client(network, wide: wide))
            do throws(SignInFailure) {
                try await fixture.service.emailCodes.mailCode(to: Self.email, for: .signIn, by: call)
            } catch {
                refusals.add()
                guard case .overloaded = error else { throw error }
            }
        }
        // Until as many have a place or were refused.
        @Sendable func settle(_ count: Int) async throws {
            while true {
                let places = await fixture.service.emailCodes.requests.use(address) { $0.occupancy }
                if places.running + places.waiting + refusals.count == count { return }
                try await pollingPause()
            }
        }
        try await fixture.mailCode(.signIn, to: Self.email)
        // As many as there are places.
        let crowd: [Network] = (0..<66).map { areOfOneNetwork ? "10.0.0.0/24" : "10.0.\($0).0/24" }
        let asking = try await fixture.database.transaction { transaction in
            _ = try await transaction.execute("SELECT FROM mailed_codes FOR UPDATE")
            let asking = crowd.map { network in Task { try await ask(from: network, of: "10.0.0.0/16") } }
            try await settle(66)
            let refused = refusals.count
            let owner = Task { try await ask(from: "203.0.113.0/24", of: "203.0.0.0/16") }
            try await settle(67)
            #expect(refusals.count == refused)
            return asking + [owner]
        }
        for request in asking { try await request.value }
        #expect(refusals.count == (areOfOneNetwork ? 50 : 34))
    }

    @Test func `a code for bind, and its mail, are good no longer than the ticket`() async throws {
        _ = try await fixture.member(Self.email)
        let ticket = try await fixture.ticket(.google("1"))
        fixture.clock.advance(by: 540)
        let end = fixture.clock.now().advanced(bySeconds: 60)
        try await fixture.mailCode(.bind, to: Self.email, for: ticket)
        #expect(try await fixture.count("mailed_codes WHERE purpose = 'bind' AND expires_at = \(end)") == 1)
        #expect(try await fixture.count("outbox WHERE template = 'bind_code' AND expires_at = \(end)") == 1)
    }

    @Test func `a code for bind needs a ticket that is open`() async throws {
        let ticket = try await fixture.ticket(.google("1"))
        try await fixture.cancel(ticket)
        let old = try await fixture.ticket(.google("1"))
        try await expectFailure("linkTicketExpired") { try await fixture.mailCode(.bind, to: Self.email, for: ticket) }
        try await expectFailure("linkTicketExpired") {
            try await fixture.service.emailCodes.mailCode(
                to: Self.email, for: .bind, linkTicket: "invented", by: fixture.call)
        }
        fixture.clock.advance(by: 600)
        try await expectFailure("linkTicketExpired") { try await fixture.mailCode(.bind, to: Self.email, for: old) }
        #expect(try await fixture.count("mailed_codes") == 0)
    }
}
