import Accounts
import Administration
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// Requests of administrators to replace the address of a person who has lost their mailbox, and who can stop one.
@Suite(.fixture(EmailReplacementFixture.self)) struct EmailReplacementTests {
    var fixture: EmailReplacementFixture { .current }
    private var people: SignInFixture { fixture.people }

    private typealias Fixture = EmailReplacementFixture

    private func cancel(in session: Session) async throws {
        try await people.service.accounts.cancelEmailReplacement(of: session, by: people.call)
    }

    @Test func `every mailbox of the account is notified, and nothing changes for a day`() async throws {
        let kim = try await fixture.member()
        let before = try await people.account(kim)
        let replacement = try await fixture.request("Kim@New.Example", for: kim)
        #expect(replacement.email.text == Fixture.new)
        #expect(replacement.requestedAt == people.clock.now())
        #expect(replacement.dueAt == people.clock.now().advanced(bySeconds: Fixture.day))
        #expect(replacement.requestedBy == AdministrationFixture.keyName)
        let mails = [Fixture.old, Fixture.work].map {
            QueuedMail(template: "email_replacement_requested", recipient: $0)
        }
        #expect(try await people.mails() == mails)
        let pending = Account.Replacement(email: replacement.email, dueAt: replacement.dueAt)
        #expect(try await people.account(kim).emailReplacement == pending)
        #expect(try await people.signIn(Fixture.old).account.emailReplacement == pending)
        #expect(try await fixture.admin.administration.account(kim.account.id).emailReplacement == replacement)
        #expect(try await fixture.recorded(of: kim) == [Fixture.requested])

        people.clock.advance(by: Fixture.day - 1)
        try await fixture.sweep()
        let account = try await people.account(kim)
        #expect(account.email == before.email && account.emailProof == before.emailProof)
        #expect(account.hasPassword == before.hasPassword && account.identities == before.identities)
        #expect(account.displayName == before.displayName && account.status == before.status)
        #expect(try await people.isLive(kim))
        #expect(try await fixture.isPending())
    }

    @Test func `a day is one of the database's where the clock of the request is behind`() async throws {
        let kim = try await fixture.member()
        let present = try await people.storage.databaseTime()
        people.clock.set(to: present.seconds - 12 * 3_600)
        let replacement = try await fixture.request(for: kim)
        #expect(replacement.dueAt >= present.advanced(bySeconds: Fixture.day))
        #expect(try await people.account(kim).emailReplacement?.dueAt == replacement.dueAt)
        people.clock.set(to: present.seconds + Fixture.day - 1)
        try await fixture.sweep()
        #expect(try await fixture.isPending())
    }

    @Test func `an address that was only claimed is not notified, for it may be anybody's`() async throws {
        let kim = try await people.register(Fixture.old)
        _ = try await people.bind(.google("g-1", SignInFixture.email(Fixture.work)), kim.session.credential)
        try await people.forgetMails()
        try await fixture.request(for: kim)
        #expect(try await people.mails().map(\.recipient) == [Fixture.work])
    }

    @Test func `an address that another account has is refused, however well it is known, and so is the own one`()
        async throws
    {
        let kim = try await fixture.member()
        let holders = [
            EmailProof.claimed: try await people.register("claimed@example.com"),
            .stated: try await people.signUp(.google("g-2", SignInFixture.email("stated@example.com"))),
            .proven: try await people.member("proven@example.com"),
        ]
        try await people.forgetMails()
        for (proof, holder) in holders {
            let account = try await people.account(holder)
            #expect(account.emailProof == proof)
            let taken = try #require(account.email?.text)
            await #expect(throws: AdministrationFailure.emailTaken, "\(proof)") {
                try await fixture.request(taken, for: kim)
            }
        }
        await #expect(throws: AdministrationFailure.emailUnchanged) {
            try await fixture.request("KIM@example.com", for: kim)
        }
        #expect(try await !fixture.isPending())
        #expect(try await people.mails() == [])
        #expect(try await fixture.recorded(of: kim) == [])
    }

    @Test func `a disabled account, whose owner could not stop it, is refused, and so is none`() async throws {
        let kim = try await fixture.member()
        try await fixture.admin.disable(kim.account.id, reason: "case 16")
        await #expect(throws: AdministrationFailure.accountDisabled) { try await fixture.request(for: kim) }
        let nobody = AccountID(now: people.clock.now())
        await #expect(throws: AdministrationFailure.notFound) { try await fixture.request(for: nobody) }
        await #expect(throws: AdministrationFailure.notFound) {
            try await fixture.admin.administration.cancelEmailReplacement(
                of: nobody, reason: nil, by: fixture.admin.administrator)
        }
        #expect(try await !fixture.isPending())
    }

    @Test(.noFixture(EmailReplacementFixture.self), .fixture(SignInFixture.self))
    func `where no mail is sent nobody could be notified, so every request is refused`() async throws {
        let people = SignInFixture.current
        let admin = try await people.administered()
        let kim = try await people.register(Fixture.old)
        let email = try #require(EmailAddress(Fixture.new))
        let refused = [
            (kim.account.id, AdministrationFailure.mailUnavailable),
            (AccountID(now: people.clock.now()), .notFound),
        ]
        for (id, failure) in refused {
            await #expect(throws: failure) {
                try await admin.administration.replaceEmail(of: id, by: email, reason: "x", by: admin.administrator)
            }
        }
        #expect(try await people.count("email_replacements") == 0)
    }

    @Test func `any live session of the account stops it, however long ago its person authenticated`() async throws {
        let kim = try await fixture.member()
        let session = try await people.opened(kim)
        try await fixture.request(for: kim)
        people.clock.advance(by: Fixture.day - 1)
        for _ in 0..<2 { try await cancel(in: session) }
        #expect(try await people.account(kim).emailReplacement == nil)
        #expect(try await fixture.admin.administration.account(kim.account.id).emailReplacement == nil)
        try await fixture.sweepInADay()
        #expect(try await fixture.address(kim) == Fixture.old)
        #expect(try await people.isLive(kim))
        #expect(try await fixture.recorded(of: kim) == ["email_replacement_cancelled person", Fixture.requested])
        let stopping = try await people.texts(
            "SELECT session_id::text FROM audit_events WHERE type = 'email_replacement_cancelled'")
        #expect(stopping == [session.id.description])
    }

    @Test func `a session that has ended, and one of another account, stop nothing`() async throws {
        let kim = try await fixture.member()
        let ended = try await people.opened(try await people.signIn(Fixture.old))
        try await people.service.sessions.revoke(.current, of: ended, by: people.call)
        let other = try await people.opened(try await people.register("ada@example.com"))
        try await fixture.request(for: kim)
        try await expectFailure("invalidSession") { try await cancel(in: ended) }
        try await cancel(in: other)
        #expect(try await fixture.isPending())
    }

    @Test func `an administrator stops it, with a reason`() async throws {
        let kim = try await fixture.requested()
        for isPending in [true, false] {
            let isStopped = try await fixture.admin.administration.cancelEmailReplacement(
                of: kim.account.id, reason: "not her", by: fixture.admin.administrator)
            #expect(isStopped == isPending)
        }
        try await fixture.sweepInADay()
        #expect(try await fixture.address(kim) == Fixture.old)
        let records = ["email_replacement_cancelled not her A", "email_replacement_requested case 17 A"]
        #expect(try await fixture.admin.recorded() == records)
    }

    @Test func `another request takes the place of the one before, and the day begins again`() async throws {
        let kim = try await fixture.member()
        try await fixture.request("first@new.example", for: kim)
        people.clock.advance(by: Fixture.day - 1)
        try await fixture.request(for: kim)
        #expect(try await people.mails(.emailReplacementRequested).count == 4)
        people.clock.advance(by: Fixture.day - 1)
        try await fixture.sweep()
        #expect(try await fixture.address(kim) == Fixture.old)
        people.clock.advance(by: 1)
        try await fixture.sweep()
        #expect(try await fixture.address(kim) == Fixture.new)
    }

    @Test func `it goes with the account`() async throws {
        try await people.deleteAccount(try await fixture.requested())
        #expect(try await !fixture.isPending())
        try await fixture.sweepInADay()
        #expect(try await people.count("accounts WHERE email IS NOT NULL") == 0)
    }
}
