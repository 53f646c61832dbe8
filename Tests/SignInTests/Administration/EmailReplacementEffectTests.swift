import Accounts
import Administration
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// What becomes of the replacement of an address when it is due.
@Suite(.fixture(EmailReplacementFixture.self)) struct EmailReplacementEffectTests {
    var fixture: EmailReplacementFixture { .current }
    private var people: SignInFixture { fixture.people }

    private typealias Fixture = EmailReplacementFixture

    private static let lapsed = "email_replacement_cancelled service kim@support"
    private static let replaced = "email_replaced service kim@support"

    @Test func `when it is due the account has the new address, and nothing opens it as before`() async throws {
        let kim = try await fixture.requested()
        people.clock.advance(by: Fixture.day - 1)
        let byPassword = try await people.signIn(Fixture.old)
        let token = try people.google("g-1", SignInFixture.email(Fixture.work))
        let byGoogle = try await people.session(.google, token)
        let code = try await people.code(.signIn, for: Fixture.old)
        try await people.forgetMails()
        people.clock.advance(by: 1)
        try await fixture.sweep()

        let account = try await people.account(kim)
        #expect(account.email?.text == Fixture.new)
        #expect(account.emailProof == .proven)
        #expect(try await people.texts("SELECT email_proof_source FROM accounts") == ["administrator"])
        #expect(!account.hasPassword)
        #expect(account.identities.map(\.isSignInNoticed) == [true])
        for session in [kim, byPassword, byGoogle] { #expect(try await !people.isLive(session)) }
        #expect(try await people.texts("SELECT DISTINCT end_reason FROM sessions") == ["email_replaced"])
        let mails = [Fixture.old, Fixture.work].map { QueuedMail(template: "email_changed", recipient: $0) }
        #expect(try await people.mails() == mails)
        #expect(try await fixture.recorded(of: kim) == [Self.replaced, Fixture.requested])
        #expect(try await !fixture.isPending())

        for email in [Fixture.old, Fixture.new] {
            try await expectFailure("invalidCredentials") { try await people.signIn(email) }
        }
        try await expectFailure("invalidCredentials") { try await people.signIn(Fixture.old, code: code) }
        try await expectFailure("expired") { try await people.session(.google, token) }
    }

    @Test func `its owner enters by a code to the new address, and every first sign-in of an identity is mailed there`()
        async throws
    {
        let kim = try await fixture.requested()
        try await fixture.sweepInADay()
        try await people.forgetMails()
        let entered = try await people.signIn(Fixture.new, code: try await people.code(.signIn, for: Fixture.new))
        #expect(entered.account.id == kim.account.id)
        for _ in 0..<2 {
            people.clock.advance(by: 1)
            let token = try people.google("g-1", SignInFixture.email(Fixture.work))
            #expect(try await people.session(.google, token).account.id == kim.account.id)
        }
        let notice = QueuedMail(template: "signed_in", recipient: Fixture.new, provider: "google")
        #expect(try await people.mails() == [notice])
    }

    @Test func `a change of address that is under way ends with it`() async throws {
        let kim = try await fixture.requested()
        people.clock.advance(by: Fixture.day - 1)
        let session = try await people.opened(try await people.signIn(Fixture.old))
        try await people.service.accounts.requestEmail("kim@third.example", of: session, by: people.call)
        let code = try await people.digits(.verifyEmail, of: "kim@third.example")
        people.clock.advance(by: 1)
        try await fixture.sweep()
        #expect(try await people.texts("SELECT pending_email FROM accounts") == [nil])
        try await expectFailure("invalidCredentials") {
            try await people.service.emailCodes.verifyEmail(code: code, of: session, by: people.call)
        }
        #expect(try await fixture.address(kim) == Fixture.new)
    }

    /// What shows that somebody reads a mailbox of the account, or is on guard in it.
    enum Proof: CaseIterable {
        case changeOfAddress, verification, reset, newPassword, firstProof, takeOver

        var reason: String {
            switch self {
            case .changeOfAddress, .verification, .firstProof, .takeOver: "email_proven"
            case .reset: "password_reset"
            case .newPassword: "password_changed"
            }
        }
    }

    private func account(for proof: Proof) async throws -> SignedIn {
        switch proof {
        case .changeOfAddress, .reset, .newPassword: try await people.member(Fixture.old)
        case .verification, .firstProof: try await people.register(Fixture.old)
        case .takeOver: try await people.signUp(.google("g-9", SignInFixture.email(Fixture.old)))
        }
    }

    private func prove(_ proof: Proof, of kim: SignedIn) async throws {
        switch proof {
        case .changeOfAddress:
            try await people.requestEmail("kim@third.example", of: kim)
            try await people.verifyEmail(try await people.digits(.verifyEmail, of: "kim@third.example"), of: kim)
        case .verification: try await people.verify(kim, Fixture.old)
        case .reset: try await people.reset(Fixture.old, code: try await people.code(.resetPassword, for: Fixture.old))
        case .newPassword: try await people.changePassword(of: kim)
        case .firstProof:
            _ = try await people.signIn(Fixture.old, code: try await people.code(.signIn, for: Fixture.old))
        case .takeOver:
            let answer = try await people.answer(
                toCode: try await people.code(.signIn, for: Fixture.old), for: Fixture.old)
            _ = try await people.bind(try answer.ticket, .ticket)
        }
    }

    /// Otherwise who was in the account before its owner came, or has deceived an administrator, would get it back.
    @Test(arguments: Proof.allCases)
    func `who proves a mailbox of the account or sets its password meanwhile ends it`(_ proof: Proof) async throws {
        let kim = try await account(for: proof)
        try await fixture.request(for: kim)
        try await prove(proof, of: kim)
        #expect(try await !fixture.isPending())
        let cancelled = "email_replacement_cancelled person \(proof.reason)"
        #expect(try await fixture.recorded(of: kim) == [cancelled, Fixture.requested])
        let address = try await fixture.address(kim)
        #expect(address == (proof == .changeOfAddress ? "kim@third.example" : Fixture.old))
        try await fixture.sweepInADay()
        #expect(try await fixture.address(kim) == address)
    }

    @Test func `it lapses when another account has the address by then, and everything stays as it is`() async throws {
        let (kim, ada) = (try await fixture.member(), try await people.member("ada@example.com"))
        let before = try await people.account(ada)
        for member in [kim, ada] { try await fixture.request(for: member) }
        // Of two accounts that are to have one address the first one has it.
        people.clock.advance(by: 1)
        try await fixture.request(for: ada)
        people.clock.advance(by: Fixture.day)
        try await people.forgetMails()
        try await fixture.sweep()
        #expect(try await fixture.address(kim) == Fixture.new)
        #expect(try await people.account(ada) == before)
        #expect(try await people.isLive(ada))
        let taken = "\(Self.lapsed) email_taken"
        #expect(try await fixture.recorded(of: ada) == [taken, Fixture.requested, Fixture.requested])
        #expect(try await people.mails().map(\.recipient) == [Fixture.old, Fixture.work])
        #expect(try await !fixture.isPending())
    }

    @Test func `it lapses when another account takes the address in the same moment`() async throws {
        let kim = try await fixture.requested()
        people.clock.advance(by: Fixture.day)
        let sweeping = try await people.interleave { transaction in
            try await transaction.execute(
                """
                INSERT INTO accounts (account_id, email, password_hash, created_at)
                VALUES (gen_random_uuid(), \(Fixture.new), 'x', now())
                """)
        } with: {
            try await fixture.sweep()
        }
        try await sweeping.value
        #expect(try await fixture.address(kim) == Fixture.old)
        #expect(try await people.isLive(kim))
        #expect(try await fixture.recorded(of: kim) == ["\(Self.lapsed) email_taken", Fixture.requested])
    }

    @Test func `it lapses when the account is disabled, and is not revived by enabling it`() async throws {
        let kim = try await fixture.requested()
        try await fixture.admin.disable(kim.account.id, reason: "looked into")
        try await fixture.sweepInADay()
        try await fixture.admin.enable(kim.account.id, reason: "all is well")
        try await fixture.sweepInADay()
        #expect(try await fixture.address(kim) == Fixture.old)
        #expect(try await fixture.recorded(of: kim) == ["\(Self.lapsed) account_disabled", Fixture.requested])
    }

    @Test func `it ends when an administrator gives the account an address to enable it`() async throws {
        let kim = try await people.register(Fixture.old)
        try await fixture.request(for: kim)
        _ = try await people.signUp(.google("g-2", SignInFixture.hosted(Fixture.old)))
        try await fixture.admin.enable(kim.account.id, email: "kim@third.example", reason: "case 18")
        try await fixture.sweepInADay()
        #expect(try await fixture.address(kim) == "kim@third.example")
        let cancelled = "email_replacement_cancelled administrator kim@support account_enabled"
        #expect(try await fixture.recorded(of: kim) == [cancelled, Fixture.requested])
    }

    @Test func `of two processes that carry it out at once one does`() async throws {
        for round in 1...5 {
            let member = try await people.member("kim\(round)@example.com")
            try await people.forgetMails()
            try await fixture.request("kim\(round)@new.example", for: member)
            people.clock.advance(by: Fixture.day)
            async let first = fixture.sweepers[0].sweep()
            async let second = fixture.sweepers[1].sweep()
            _ = try await (first, second)
            #expect(try await fixture.address(member) == "kim\(round)@new.example")
            #expect(try await fixture.recorded(of: member) == [Self.replaced, Fixture.requested])
            #expect(try await people.mails(.emailChanged).map(\.recipient) == ["kim\(round)@example.com"])
        }
    }

    @Test func `of its effect and of stopping it at once one comes first, and the other finds that`() async throws {
        for round in 1...10 {
            let member = try await people.member("kim\(round)@example.com")
            let session = try await people.opened(member)
            try await fixture.request("kim\(round)@new.example", for: member)
            people.clock.advance(by: Fixture.day)
            async let swept: Void = fixture.sweep()
            let outcomes = try await race(1) { _ in
                try await people.service.accounts.cancelEmailReplacement(of: session, by: people.call)
            }
            try await swept
            #expect(outcomes == ["won": 1] || outcomes == ["invalidSession": 1], "\(outcomes)")
            let isStopped = outcomes["won"] == 1
            #expect(try await fixture.address(member) == "kim\(round)@\(isStopped ? "example.com" : "new.example")")
            #expect(try await people.isLive(member) == isStopped)
            #expect(try await fixture.recorded(of: member).contains(Self.replaced) == !isStopped)
            #expect(try await !fixture.isPending())
        }
    }

    @Test func `an effect that waits for its stopping finds nothing to do`() async throws {
        let kim = try await fixture.requested()
        people.clock.advance(by: Fixture.day)
        let sweeping = try await people.interleave { transaction in
            // What stopping it does.
            try await transaction.execute("SELECT FROM accounts FOR UPDATE")
            try await transaction.execute("DELETE FROM email_replacements")
        } with: {
            try await fixture.sweep()
        }
        try await sweeping.value
        #expect(try await fixture.address(kim) == Fixture.old)
        #expect(try await people.isLive(kim))
        #expect(try await fixture.recorded(of: kim) == [Fixture.requested])
    }

    @Test func `a process whose clock is ahead of the database's leaves the owner their day`() async throws {
        let present = try await people.storage.databaseTime()
        people.clock.set(to: present.seconds)
        let kim = try await fixture.requested()
        people.clock.set(to: present.seconds + Fixture.day + 60)
        #expect(try await fixture.sweepers[0].round() == false)
        #expect(try await fixture.address(kim) == Fixture.old)

        people.clock.set(to: try await people.storage.databaseTime().seconds)
        try await people.database.execute(
            "UPDATE email_replacements SET due_at = \(people.clock.now().advanced(bySeconds: -1))")
        #expect(try await fixture.sweepers[0].round() == false)
        #expect(try await fixture.address(kim) == Fixture.new)
    }
}
