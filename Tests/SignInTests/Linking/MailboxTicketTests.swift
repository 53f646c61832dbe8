import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// The ticket of a reader of a mailbox, whose code leads into an account that they have yet to see.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct MailboxTicketTests {
    var fixture: SignInFixture { .current }

    private static let address = StatedAddress.text

    private func create(_ ticket: LinkRequired, password: String) async throws -> SignedIn {
        try await fixture.service.tickets.create(
            linkTicket: ticket.linkTicket, name: .ofProvider, password: password, by: fixture.call)
    }

    /// The account of the former reader, and the ticket by which its owner has been shown it.
    private func shown() async throws -> (former: SignedIn, ticket: LinkRequired) {
        let former = try await fixture.formerReader()
        return (former, try await fixture.ownersAnswer().ticket)
    }

    // MARK: Create

    @Test func `it makes an account, whose session counts from the code`() async throws {
        let (_, ticket) = try await shown()
        fixture.clock.advance(by: 120)
        let nameless = Caller(requestID: "test", address: "192.0.2.1", device: nil)
        let owner = try await fixture.service.tickets.create(
            linkTicket: ticket.linkTicket, name: NewAccountName(DisplayName("Kim")), by: fixture.call(by: nameless))
        #expect(owner.account.displayName?.text == "Kim")
        #expect(!owner.account.hasPassword)
        #expect(owner.identity == nil)
        let session = try await fixture.opened(owner)
        #expect(session.methods == [.oneTimeCode])
        #expect(session.authenticatedAt.seconds == SignInFixture.start)
        // The device is that of the sign-in.
        let named: SQL = "sessions WHERE account_id = \(owner.account.id) AND device_name = 'Kim''s phone'"
        #expect(try await fixture.count(named) == 1)
        #expect(try await fixture.recorded(of: owner).sorted() == ["account_created", "signed_in"])
        #expect(try await fixture.count("mailbox_tickets") == 0)
    }

    @Test func `it makes an account with a password`() async throws {
        let (former, ticket) = try await shown()
        let owner = try await create(ticket, password: "the owner's password")
        #expect(owner.account.hasPassword)
        #expect(try await fixture.signIn(Self.address, password: "the owner's password").account.id == owner.account.id)
        try await fixture.expectOusted(former)
    }

    @Test(arguments: ["short", "password", StatedAddress.text])
    func `a weak password makes no account, and leaves the ticket good`(password: String) async throws {
        let (former, ticket) = try await shown()
        try await expectFailure("weakPassword") { try await create(ticket, password: password) }
        try await fixture.expectUntouched(former)
        _ = try await create(ticket, password: "the owner's password")
    }

    @Test func `a ticket of a provider's identity takes no password`() async throws {
        let ticket = try await fixture.ticket(.google("1"))
        await expectFailure(.memberNotAllowed("password")) {
            try await create(ticket, password: "a long enough password")
        }
        #expect(try await fixture.count("accounts") == 0)
        _ = try await fixture.create(ticket)
    }

    // MARK: Bind

    @Test func `it takes over the account that it has shown`() async throws {
        let former = try await fixture.formerReader()
        _ = try await fixture.service.accounts.rename(
            accountOf: try await fixture.opened(former), to: DisplayName("Call +1 555 0100 to unlock"),
            by: fixture.call)
        let early = try fixture.apple("former")
        fixture.clock.advance(by: 5)
        let owner = try await fixture.bind(try await fixture.ownersAnswer().ticket, .ticket)
        try await fixture.expectTakenOver(former, by: owner, with: ["former"])
        #expect(owner.account.displayName == nil)
        #expect(owner.identity == nil)
        try await expectFailure("invalidCredentials") { try await fixture.signIn(Self.address) }
        try await expectFailure("expired") { try await fixture.session(.apple, early) }
        try await fixture.forgetMails()
        _ = try await fixture.session(.apple("former"))
        let notice = QueuedMail(template: "signed_in", recipient: Self.address, provider: "apple")
        #expect(try await fixture.mails() == [notice])
        #expect(try await fixture.recorded(of: owner).contains("email_proven"))
    }

    @Test func `it takes no proof of another account`() async throws {
        let former = try await fixture.formerReader()
        let member = try await fixture.member("kim@example.com")
        let ticket = try await fixture.ownersAnswer().ticket
        let credentials: [BindCredential] = [
            member.session.credential, .password(email: "kim@example.com", password: SignInFixture.password),
            .emailCode(email: "kim@example.com", code: "000000"),
        ]
        for credential in credentials {
            await expectFailure(.memberNotAllowed("linkTicket")) { try await fixture.bind(ticket, credential) }
        }
        // Nor is a code mailed for it.
        await expectFailure(.memberNotAllowed("linkTicket")) {
            try await fixture.mailCode(.bind, to: "kim@example.com", for: ticket)
        }
        try await fixture.expectUntouched(former)
        _ = try await fixture.bind(ticket, .ticket)
    }

    // MARK: Its life

    @Test func `it lives ten minutes, and is swept an hour later`() async throws {
        let (former, ticket) = try await shown()
        #expect(ticket.expiresAt.seconds == SignInFixture.start + 600)
        fixture.clock.advance(by: 600)
        try await expectFailure("linkTicketExpired") { try await fixture.create(ticket) }
        try await expectFailure("linkTicketExpired") { try await fixture.bind(ticket, .ticket) }
        try await fixture.expectUntouched(former)
        let sweeper = fixture.storage.sweeper(clock: fixture.clock)
        _ = try await sweeper.sweep()
        #expect(try await fixture.count("mailbox_tickets") == 1)
        fixture.clock.advance(by: 3_601)
        _ = try await sweeper.sweep()
        #expect(try await fixture.count("mailbox_tickets") == 0)
    }

    @Test func `until then it is good`() async throws {
        let (_, ticket) = try await shown()
        fixture.clock.advance(by: 599)
        _ = try await fixture.bind(ticket, .ticket)
        try await expectFailure("linkTicketExpired") { try await fixture.create(ticket) }
    }

    @Test func `a cancelled one is gone, and that is recorded once`() async throws {
        let (former, ticket) = try await shown()
        for _ in 0..<2 { try await fixture.cancel(ticket) }
        try await expectFailure("linkTicketExpired") { try await fixture.create(ticket) }
        try await expectFailure("linkTicketExpired") { try await fixture.bind(ticket, .ticket) }
        #expect(try await fixture.count("audit_events WHERE type = 'link_cancelled'") == 1)
        #expect(try await fixture.count("mailbox_tickets") == 0)
        try await fixture.expectUntouched(former)
    }

    @Test func `it is recorded with the account that it has shown, and is not in the database`() async throws {
        let (former, ticket) = try await shown()
        #expect(try await fixture.recorded(of: former).contains("link_required"))
        let holding: SQL = "mailbox_tickets t WHERE t::text LIKE '%' || \(ticket.linkTicket) || '%'"
        #expect(try await fixture.count(holding) == 0)
        #expect(try await fixture.count("mailbox_tickets") == 1)
    }

    @Test(arguments: [true, false])
    func `of fifty tries with one ticket one wins`(isBinding: Bool) async throws {
        let (_, ticket) = try await shown()
        let outcomes = try await race(50) { number in
            isBinding && number % 2 == 0 ? try await fixture.bind(ticket, .ticket) : try await fixture.create(ticket)
        }
        #expect(outcomes["won"] == 1)
        // Those that had found it open before it was spent lose, too.
        #expect(outcomes["linkTicketExpired"] == 49)
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL AND 'otp' = ANY (amr)") == 1)
        #expect(try await fixture.count("accounts WHERE email = \(Self.address)") == 1)
    }

    @Test func `of two tickets one makes an account, and the other finds it`() async throws {
        let former = try await fixture.formerReader()
        let first = try await fixture.ownersAnswer().ticket
        let second = try await fixture.ownersAnswer().ticket
        let owner = try await fixture.create(first)
        try await expectFailure("emailTaken") { try await fixture.create(second) }
        try await expectFailure("invalidCredentials") { try await fixture.bind(second, .ticket) }
        try await fixture.expectOusted(former)
        #expect(try await fixture.isLive(owner))
    }

    // MARK: What has changed since it was shown

    @Test func `an address that its holder has given up meanwhile goes to who asks for it`() async throws {
        let (former, ticket) = try await shown()
        try await fixture.requestEmail("former@example.org", of: former)
        try await fixture.verify(former, "former@example.org")
        try await expectFailure("invalidCredentials") { try await fixture.bind(ticket, .ticket) }
        let owner = try await fixture.create(ticket)
        #expect(owner.account.email?.text == Self.address)
        #expect(owner.account.emailProof == .proven)
        let account = try await fixture.account(former)
        #expect(account.email?.text == "former@example.org")
        #expect(account.emailTakenAt == nil)
        #expect(try await fixture.isLive(former))
    }

    @Test func `an address that is registered while the account is made is taken all the same`() async throws {
        let (former, ticket) = try await shown()
        let creating = try await fixture.interleave { transaction in
            try await transaction.execute(
                "UPDATE accounts SET email = NULL, email_verified = false WHERE account_id = \(former.account.id)")
            try await transaction.execute(
                """
                INSERT INTO accounts (account_id, email, password_hash, created_at)
                VALUES (gen_random_uuid(), \(Self.address), 'x', now())
                """)
        } with: {
            try await fixture.create(ticket)
        }
        #expect(try await creating.value.account.email?.text == Self.address)
        #expect(try await fixture.count("accounts WHERE disabled_reason = 'email_reclaimed'") == 1)
    }

    @Test func `it opens no account whose owner has proven the address and changed the password since`() async throws {
        let (former, ticket) = try await shown()
        let token = try fixture.apple("former")
        try await fixture.verify(former)
        fixture.clock.advance(by: 1)
        try await fixture.changePassword(of: former)
        try await expectFailure("invalidCredentials") { try await fixture.bind(ticket, .ticket) }
        try await expectFailure("emailTaken") { try await fixture.create(ticket) }
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 1)
        // The session that changed it stays, and the identity of the account signs in, by an earlier token too.
        #expect(try await fixture.isLive(former))
        #expect(try await fixture.session(.apple, token).account.id == former.account.id)
        // Who reads the mailbox now comes in by a code of now.
        let code = try await fixture.code(.signIn, for: Self.address)
        #expect(try await fixture.signIn(Self.address, code: code).account.id == former.account.id)
    }

    @Test func `it goes with the account that it has shown`() async throws {
        let (former, ticket) = try await shown()
        try await fixture.deleteAccount(former)
        #expect(try await fixture.count("mailbox_tickets") == 0)
        try await expectFailure("linkTicketExpired") { try await fixture.create(ticket) }
    }

    @Test func `a deletion does not wait for a transaction that spends it`() async throws {
        let former = try await fixture.opened(try await fixture.formerReader())
        _ = try await fixture.ownersAnswer().ticket
        try await fixture.database.transaction { transaction in
            _ = try await transaction.execute("SELECT FROM mailbox_tickets FOR UPDATE")
            try await fixture.service.accounts.delete(accountOf: former, by: fixture.call)
        }
        #expect(try await fixture.count("accounts") == 0)
    }
}
