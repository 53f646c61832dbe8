import Accounts
import Administration
import Postgres
import SignIn
import TestSupport
import Testing

/// An account whose address a provider verified once, for somebody who reads the mailbox no longer, against each road
/// by which its present owner may come.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct StatedAddressTests {
    var fixture: SignInFixture { .current }

    private static let address = StatedAddress.text

    // MARK: By a mailed code

    @Test func `a mailed code opens no account that its person has not seen`() async throws {
        let former = try await fixture.formerReader()
        try await fixture.bringIn(former.account.id)
        let code = try await fixture.code(.signIn, for: Self.address)
        let ticket = try await fixture.answer(toCode: code, for: Self.address).ticket
        #expect(ticket.choices == [.bind, .create])
        // The account is no longer its import's alone.
        #expect(try await fixture.count("imported_rows WHERE is_touched") == 1)
        #expect(ticket.identity == nil)
        #expect(ticket.person.email?.text == Self.address)
        let holder = try #require(ticket.holder)
        #expect(holder.account.id == former.account.id)
        #expect(holder.showsIdentities)
        #expect(holder.account.identities.map(\.key.subject.text) == ["former"])
        try await fixture.expectUntouched(former)
        #expect(try await fixture.count("sessions") == 1)
        // The code is used up: what counts is the ticket.
        try await expectFailure("invalidCredentials") { try await fixture.answer(toCode: code, for: Self.address) }
    }

    @Test func `who comes by a mailed code and makes an account gets the address`() async throws {
        let former = try await fixture.formerReader()
        let owner = try await fixture.create(try await fixture.ownersAnswer().ticket)
        #expect(owner.account.id != former.account.id)
        #expect(owner.account.email?.text == Self.address)
        #expect(owner.account.emailProof == .proven)
        #expect(owner.account.identities.isEmpty)
        try await fixture.expectOusted(former)
        #expect(try await fixture.recorded(of: former).contains("email_reclaimed"))
        // By the next code they are in their own account.
        #expect(try await fixture.ownersAnswer().session.account.id == owner.account.id)
    }

    // MARK: By a reset of the password

    @Test func `a code for a new password is good for nothing while the address is only stated`() async throws {
        let former = try await fixture.formerReader()
        let code = try await fixture.code(.resetPassword, for: Self.address)
        try await fixture.expectRefusal("invalidCredentials") { try await fixture.reset(Self.address, code: code) }
        try await fixture.expectUntouched(former)
        _ = try await fixture.signIn(Self.address)
        // Once the owner has proven the mailbox, it resets.
        _ = try await fixture.bind(try await fixture.ownersAnswer().ticket, .ticket)
        try await fixture.reset(Self.address, code: code, to: "the owner's password")
        _ = try await fixture.signIn(Self.address, password: "the owner's password")
    }

    // MARK: With the provider that runs the mailbox

    @Test func `with the provider that runs the mailbox, who has the address is shown`() async throws {
        let former = try await fixture.formerReader()
        let ticket = try await fixture.ownersTicket()
        #expect(ticket.choices == [.bind, .create])
        let holder = try #require(ticket.holder)
        #expect(holder.account.id == former.account.id)
        #expect(holder.showsIdentities)
        #expect(holder.account.identities.map(\.key.subject.text) == ["former"])
        try await fixture.expectUntouched(former)
    }

    @Test func `the owner who makes an account takes the address, and the former reader hears of it elsewhere`()
        async throws
    {
        let former = try await fixture.formerReader()
        let elsewhere = try fixture.google("former", SignInFixture.email("former@gmail.com"))
        _ = try await fixture.bind(try await fixture.ticket(.google, elsewhere), former.session.credential)
        let ticket = try await fixture.ownersTicket()
        try await fixture.forgetMails()
        fixture.clock.advance(by: 5)
        let owner = try await fixture.create(ticket)
        #expect(owner.account.id != former.account.id)
        #expect(owner.account.email?.text == Self.address)
        #expect(owner.account.emailProof == .proven)
        #expect(owner.identity?.key.subject.text == "owner")
        // Not at the address itself, which is the owner's: that one hears of their own account.
        let notices = [
            QueuedMail(template: "account_created", recipient: Self.address, provider: "google"),
            QueuedMail(template: "email_taken", recipient: "former@gmail.com"),
        ]
        #expect(try await fixture.mails() == notices)
        #expect(try await fixture.account(former).identities.count == 2)
        try await fixture.expectOusted(former)
    }

    @Test func `an account that has no identity is disabled with its address, and an administrator can restore it`()
        async throws
    {
        let former = try await fixture.formerReader()
        try await fixture.unlink(former.identity, of: try await fixture.signIn(Self.address))
        let live = try await fixture.signIn(Self.address)
        _ = try await fixture.create(try await fixture.ownersTicket())
        #expect(try await fixture.account(former).status == .disabled)
        #expect(try await !fixture.isLive(live))
        let admin = try await fixture.administered()
        #expect(try await admin.administration.account(former.account.id).disabledReason == "email_reclaimed")
        try await admin.enable(former.account.id, email: "former@example.org", reason: "he wrote")
        let restored = try await fixture.account(former)
        #expect(restored.status == .active)
        #expect(restored.emailProof == .proven)
        #expect(restored.emailTakenAt == nil)
        // The password was theirs, and is again.
        _ = try await fixture.signIn("former@example.org")
    }

    @Test func `the owner who takes the account over has it alone`() async throws {
        let former = try await fixture.formerReader()
        try await fixture.requestEmail("former@example.org", of: former)
        let early = try fixture.apple("former")
        fixture.clock.advance(by: 10)
        let ticket = try await fixture.ownersTicket()
        try await fixture.forgetMails()
        let owner = try await fixture.bind(ticket, .ticket)
        try await fixture.expectTakenOver(former, by: owner)
        #expect(try await fixture.opened(owner).methods == [.google])
        #expect(try await fixture.texts("SELECT pending_email FROM accounts") == [nil])
        #expect(try await fixture.recorded(of: owner).contains("email_proven"))
        let notice = QueuedMail(template: "identity_linked", recipient: Self.address, provider: "google")
        #expect(try await fixture.mails() == [notice])

        try await fixture.expectEnded(former.session)
        try await expectFailure("invalidCredentials") { try await fixture.signIn(Self.address) }
        try await expectFailure("expired") { try await fixture.session(.apple, early) }
    }

    @Test func `the next sign-in by what was in the account is mailed to the owner, once`() async throws {
        _ = try await fixture.formerReader()
        let owner = try await fixture.bind(try await fixture.ownersTicket(), .ticket)
        try await fixture.forgetMails()
        fixture.clock.advance(by: 5)
        // The owner has seen the identity, and let it in.
        let late = try await fixture.session(.apple("former"))
        #expect(late.account.id == owner.account.id)
        let notice = QueuedMail(template: "signed_in", recipient: Self.address, provider: "apple")
        #expect(try await fixture.mails() == [notice])
        _ = try await fixture.session(.apple("former"))
        _ = try await fixture.session(.google("owner"))
        #expect(try await fixture.mails() == [notice])
        // And may put it out.
        try await fixture.unlink(late.identity, of: owner)
        #expect(try await fixture.account(owner).identities.map(\.key.subject.text) == ["owner"])
    }

    @Test func `while mail is switched off the notice of that sign-in waits for another one`() async throws {
        _ = try await fixture.formerReader()
        _ = try await fixture.bind(try await fixture.ownersTicket(), .ticket)
        fixture.clock.advance(by: 1)
        try await fixture.forgetMails()
        let silent = try fixture.service { $0.mailLanguages = [] }
        _ = try await silent.providers.signIn(
            with: .apple, .init(token: try fixture.apple("former")), by: silent.calls.begin(by: fixture.client))
        #expect(try await fixture.mails().isEmpty)
        _ = try await fixture.session(.apple("former"))
        let notice = QueuedMail(template: "signed_in", recipient: Self.address, provider: "apple")
        #expect(try await fixture.mails() == [notice])
    }

    @Test func `a take-over asks before it replaces an identity, and is none if it is refused`() async throws {
        let former = try await fixture.signUp(.google("former", SignInFixture.email(Self.address)))
        let ticket = try await fixture.ownersTicket()
        #expect(ticket.choices == [.bind, .create])
        try await fixture.expectRefusal("providerAlreadyLinked") { try await fixture.bind(ticket, .ticket) }
        #expect(try await fixture.isLive(former))
        let owner = try await fixture.bind(ticket, .ticket, replacing: true)
        try await fixture.expectTakenOver(former, by: owner, with: ["owner"])
    }

    // MARK: Under automatic

    @Test(.fixture { try await SignInFixture.withMail(policy: .automatic, $0) })
    func `automatic linking binds to no stated account, and asks`() async throws {
        let former = try await fixture.formerReader()
        let ticket = try await fixture.ownersTicket()
        #expect(ticket.choices == [.bind, .create])
        #expect(ticket.holder?.showsIdentities == true)
        try await fixture.expectUntouched(former)
    }

    @Test(.fixture { try await SignInFixture.withMail(policy: .automatic, $0) })
    func `an account that becomes stated while it is bound automatically is not`() async throws {
        let member = try await fixture.member("kim@gmail.com")
        let token = try fixture.google("kim", SignInFixture.email("kim@gmail.com"))
        let signingIn = try await fixture.interleave { transaction in
            try await transaction.execute("UPDATE accounts SET email_proof = 'stated'")
        } with: {
            try await fixture.signIn(.google, token)
        }
        _ = try await signingIn.value.ticket
        #expect(try await fixture.account(member).identities.isEmpty)
        #expect(try await fixture.ticket(.google, token).choices == [.bind, .create])
    }

    // MARK: From an owner who has registered

    @Test func `a stated address takes nothing from an owner who has yet to type the code`() async throws {
        let owner = try await fixture.register(Self.address)
        let ticket = try await fixture.ticket(.apple("former", SignInFixture.email(Self.address)))
        #expect(ticket.choices == [.create, .bind])
        #expect(ticket.holder == nil)
        let former = try await fixture.create(ticket)
        #expect(former.account.id != owner.account.id)
        #expect(former.account.email == nil)
        #expect(try await fixture.account(owner).email?.text == Self.address)
        #expect(try await fixture.account(owner).status == .active)
        #expect(try await fixture.isLive(owner))
        _ = try await fixture.signIn(Self.address)
        try await fixture.verify(owner)
        #expect(try await fixture.account(owner).emailProof == .proven)
    }

    // MARK: Two who state the same

    @Test
    func `who states the address too sees which providers are in the account, and gets nothing by it`() async throws {
        let former = try await fixture.formerReader()
        let ticket = try await fixture.ticket(.google("other", SignInFixture.email(Self.address)))
        #expect(ticket.choices == [.bind, .create])
        let holder = try #require(ticket.holder)
        #expect(holder.account.identities.map(\.key.provider) == [.apple])
        #expect(!holder.showsIdentities)
        await expectFailure(.missingCredential("password")) { try await fixture.bind(ticket, .ticket) }
        #expect(try await fixture.create(ticket).account.email == nil)
        try await fixture.expectUntouched(former)
    }
}
