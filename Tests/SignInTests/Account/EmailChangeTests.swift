import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// The change of an account's address: nothing changes until the new mailbox is proven.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct EmailChangeTests {
    var fixture: SignInFixture { .current }

    private static let old = "kim@example.com"
    private static let new = "kim@new.example"

    /// Requests the change, and reads the code.
    private func code(_ fixture: SignInFixture, to email: String = new, of signedIn: SignedIn) async throws -> String {
        try await fixture.requestEmail(email, of: signedIn)
        return try await fixture.digits(.verifyEmail, of: email)
    }

    @Test func `a deleted account's code to the awaited address is not sent, and other mail to it is`() async throws {
        let member = try await fixture.member(Self.old)
        let holder = try await fixture.member(Self.new)
        try await fixture.forgetMails()
        // Of the one who has the address.
        try await fixture.mailCode(.resetPassword, to: Self.new)
        try await fixture.requestEmail(Self.new, of: member)
        let before = try await fixture.mails(.resetPasswordCode, .verifyEmailCode).map(\.template)
        #expect(before == ["reset_password_code", "verify_email_code"])
        try await fixture.deleteAccount(member)
        let after = try await fixture.mails(.resetPasswordCode, .verifyEmailCode).map(\.template)
        #expect(after == ["reset_password_code"])
        #expect(try await fixture.account(holder).email?.text == Self.new)
    }

    /// Otherwise an account that is made and deleted for it would take a code out of its owner's hands.
    @Test func `a deletion leaves a code good by which another account proves the address`() async throws {
        let owner = try await fixture.register(Self.new)
        let code = try await fixture.code(.verifyEmail, for: Self.new)
        let member = try await fixture.member(Self.old)
        try await fixture.requestEmail(Self.new, of: member)
        try await fixture.deleteAccount(member)
        try await fixture.verifyEmail(code, of: owner)
        #expect(try await fixture.account(owner).emailProof == .proven)
    }

    @Test func `an address changes when the new one is proven, and the old one is notified of both steps`() async throws
    {
        let member = try await fixture.member(Self.old)
        try await fixture.forgetMails()
        let code = try await code(fixture, to: "Kim@New.Example", of: member)
        #expect(try await fixture.mails(.verifyEmailCode).map(\.recipient) == [Self.new])
        #expect(try await fixture.mails() == [QueuedMail(template: "email_change_requested", recipient: Self.old)])
        // Not yet.
        #expect(try await fixture.account(member).email?.text == Self.old)
        _ = try await fixture.signIn(Self.old)
        try await expectFailure("invalidCredentials") { try await fixture.signIn(Self.new) }
        let early = try await fixture.code(.signIn, for: Self.new)
        try await expectFailure("invalidCredentials") { try await fixture.signIn(Self.new, code: early) }

        try await fixture.forgetMails()
        try await fixture.verifyEmail(code, of: member)
        let account = try await fixture.account(member)
        #expect(account.email?.text == Self.new)
        #expect(account.isEmailVerified)
        #expect(try await fixture.mails() == [QueuedMail(template: "email_changed", recipient: Self.old)])
        _ = try await fixture.signIn(Self.new)
        try await expectFailure("invalidCredentials") { try await fixture.signIn(Self.old) }
        #expect(try await fixture.isLive(member))
        #expect(try await fixture.recorded(of: member).contains("email_changed"))
        try await expectFailure("invalidCredentials") { try await fixture.verifyEmail(code, of: member) }
    }

    /// An attacker who had the account for a moment must not regain it by a change that its owner has forgotten.
    @Test func `a change of address ends after a day, whatever code is asked for then`() async throws {
        let member = try await fixture.member(Self.old)
        let session = try await fixture.opened(member)
        try await fixture.requestEmail(Self.new, of: member)
        fixture.clock.advance(by: 86_400 - 60)
        let code = try await fixture.code(.verifyEmail, for: Self.new)
        fixture.clock.advance(by: 60)
        try await expectFailure("invalidCredentials") {
            try await fixture.service.emailCodes.verifyEmail(code: code, of: session, by: fixture.call)
        }
        fixture.clock.advance(by: 3_601)
        _ = try await fixture.storage.sweeper(clock: fixture.clock).sweep()
        #expect(try await fixture.count("accounts WHERE pending_email IS NOT NULL") == 0)
        #expect(try await fixture.account(member).email?.text == Self.old)
    }

    @Test func `a new password ends a change of address that is under way`() async throws {
        let member = try await fixture.member(Self.old)
        let code = try await code(fixture, of: member)
        try await fixture.changePassword(of: member)
        try await expectFailure("invalidCredentials") { try await fixture.verifyEmail(code, of: member) }
    }

    @Test func `a change needs fresh authentication`() async throws {
        let member = try await fixture.member(Self.old)
        let session = try await fixture.opened(member)
        fixture.clock.advance(by: 601)
        try await fixture.expectRefusal("reauthenticationRequired") {
            try await fixture.requestEmail(Self.new, of: member)
        }
        // But the proof does not: a client that has the code reads the mailbox.
        let fresh = try await fixture.signIn(Self.old)
        let code = try await code(fixture, of: fresh)
        fixture.clock.advance(by: 599)
        try await fixture.service.emailCodes.verifyEmail(code: code, of: session, by: fixture.call)
        #expect(try await fixture.account(member).email?.text == Self.new)
    }

    @Test func `an account without an address gets one`() async throws {
        let nameless = try await fixture.signUp(.apple("a-1"))
        try await expectFailure("invalidCredentials") { try await fixture.verifyEmail("000000", of: nameless) }
        try await fixture.verifyEmail(try await code(fixture, of: nameless), of: nameless)
        #expect(try await fixture.account(nameless).email?.text == Self.new)
        #expect(try await fixture.mails() == [])
    }

    @Test func `the address that it has already is proven again, and replaces a pending change`() async throws {
        let registered = try await fixture.register(Self.old)
        let change = try await code(fixture, of: registered)
        let own = try await code(fixture, to: "KIM@example.com", of: registered)
        try await expectFailure("invalidCredentials") { try await fixture.verifyEmail(change, of: registered) }
        try await fixture.verifyEmail(own, of: registered)
        let account = try await fixture.account(registered)
        #expect(account.email?.text == Self.old)
        #expect(account.isEmailVerified)
        #expect(try await fixture.mails() == [])
    }

    @Test func `of two addresses that are to be proven each code proves its own`() async throws {
        let registered = try await fixture.register(Self.old)
        let change = try await code(fixture, of: registered)
        try await fixture.forgetMails()
        try await fixture.verifyEmail(try await fixture.code(.verifyEmail, for: Self.old), of: registered)
        #expect(try await fixture.account(registered).email?.text == Self.old)
        #expect(try await fixture.account(registered).emailProof == .proven)
        #expect(try await fixture.recorded(of: registered).contains("email_verified"))
        // The change goes on, and that code was no wrong try at it.
        #expect(try await fixture.texts("SELECT pending_email FROM accounts") == [Self.new])
        #expect(try await fixture.texts("SELECT tries::text FROM mailed_codes") == ["0"])
        // Its reader hears of the change now, and not only when it is made.
        #expect(try await fixture.mails() == [QueuedMail(template: "email_change_requested", recipient: Self.old)])
        try await fixture.forgetMails()

        try await fixture.verifyEmail(change, of: registered)
        #expect(try await fixture.account(registered).email?.text == Self.new)
        #expect(try await fixture.texts("SELECT pending_email FROM accounts") == [nil])
        #expect(try await fixture.mails() == [QueuedMail(template: "email_changed", recipient: Self.old)])
    }

    @Test func `a code that is of neither address is a wrong try at both`() async throws {
        let registered = try await fixture.register(Self.old)
        let codes = [try await code(fixture, of: registered), try await fixture.code(.verifyEmail, for: Self.old)]
        for _ in 0..<5 {
            try await expectFailure("invalidCredentials") {
                try await fixture.verifyEmail(SignInFixture.wrong(codes[0]), of: registered)
            }
        }
        #expect(try await fixture.texts("SELECT tries::text FROM mailed_codes") == ["5", "5"])
        for code in codes {
            try await expectFailure("invalidCredentials") { try await fixture.verifyEmail(code, of: registered) }
        }
        #expect(try await fixture.account(registered).emailProof == .claimed)
    }

    @Test func `the last change that was asked for counts`() async throws {
        let member = try await fixture.member(Self.old)
        let first = try await code(fixture, to: "first@example.com", of: member)
        let second = try await code(fixture, to: "second@example.com", of: member)
        try await expectFailure("invalidCredentials") { try await fixture.verifyEmail(first, of: member) }
        try await fixture.verifyEmail(second, of: member)
        #expect(try await fixture.account(member).email?.text == "second@example.com")
    }

    @Test func `another code for the new address can be had`() async throws {
        let member = try await fixture.member(Self.old)
        try await fixture.requestEmail(Self.new, of: member)
        try await fixture.verifyEmail(try await fixture.code(.verifyEmail, for: Self.new), of: member)
        #expect(try await fixture.account(member).email?.text == Self.new)
    }

    @Test func `whether somebody has the address shows only when it is proven`() async throws {
        let owner = try await fixture.member(Self.new)
        let member = try await fixture.member(Self.old)
        let code = try await code(fixture, of: member)
        try await fixture.expectRefusal("emailTaken") { try await fixture.verifyEmail(code, of: member) }
        #expect(try await fixture.account(owner).email?.text == Self.new)
        #expect(try await fixture.account(member).email?.text == Self.old)
    }

    @Test(arguments: [false, true]) func `an address that somebody only claimed is taken from them`(
        hasIdentity: Bool
    ) async throws {
        let squatter = try await fixture.register(Self.new)
        if hasIdentity {
            _ = try await fixture.bind(.google("1"), squatter.session.credential)
        }
        let member = try await fixture.member(Self.old)
        try await fixture.verifyEmail(try await code(fixture, of: member), of: member)
        #expect(try await fixture.account(member).email?.text == Self.new)
        let loser = try await fixture.account(squatter)
        #expect(loser.email == nil)
        #expect(!loser.hasPassword)
        #expect(loser.status == (hasIdentity ? .active : .disabled))
        #expect(try await !fixture.isLive(squatter))
        #expect(try await fixture.recorded(of: squatter).contains("email_reclaimed"))
    }

    @Test func `a reset and a first proof end a change that is under way`() async throws {
        for isProven in [true, false] {
            let email = isProven ? Self.old : "ada@example.com"
            let signedIn = isProven ? try await fixture.member(email) : try await fixture.register(email)
            let change = try await code(fixture, of: signedIn)
            try await fixture.reset(email, code: try await fixture.code(.resetPassword, for: email))
            try await expectFailure("invalidSession") { try await fixture.verifyEmail(change, of: signedIn) }
            let owner = try await fixture.signIn(email, password: "another long password")
            try await expectFailure("invalidCredentials") { try await fixture.verifyEmail(change, of: owner) }
            #expect(try await fixture.account(owner).email?.text == email)
        }
    }

    @Test func `a session that ends while it proves an address proves nothing`() async throws {
        let member = try await fixture.member(Self.old)
        let code = try await code(fixture, of: member)
        try await fixture.expectEndedMeanwhile { try await fixture.verifyEmail(code, of: member) }
        #expect(try await fixture.account(member).email?.text == Self.old)
        #expect(try await fixture.count("mailed_codes WHERE email = 'kim@new.example'") == 1)
    }

    @Test func `of many accounts that prove one address at once one gets it`() async throws {
        var members: [SignedIn] = []
        for number in 0..<6 { members.append(try await fixture.member("member\(number)@example.com")) }
        for member in members { try await fixture.requestEmail(Self.new, of: member) }
        let code = try await fixture.digits(.verifyEmail, of: Self.new)
        let sessions = members
        let outcomes = try await race(6) { try await fixture.verifyEmail(code, of: sessions[$0]) }
        #expect(outcomes["won"] == 1)
        #expect(Set(outcomes.keys).isSubset(of: ["won", "invalidCredentials"]))
        #expect(try await fixture.count("accounts WHERE email = 'kim@new.example'") == 1)
    }

    @Test func `an address that is registered while it is proven goes to who proves it`() async throws {
        let member = try await fixture.member(Self.old)
        let code = try await code(fixture, of: member)
        let verifying = try await fixture.interleave { transaction in
            try await transaction.execute(
                """
                INSERT INTO accounts (account_id, email, password_hash, created_at)
                VALUES (gen_random_uuid(), 'kim@new.example', 'x', now())
                """)
        } with: {
            try await fixture.verifyEmail(code, of: member)
        }
        try await verifying.value
        #expect(try await fixture.account(member).email?.text == Self.new)
        #expect(try await fixture.count("accounts WHERE disabled_reason = 'email_reclaimed'") == 1)
    }

    @Test func `two accounts that swap their addresses at once both end`() async throws {
        for round in 1...5 {
            let emails = ["a\(round)@example.com", "b\(round)@example.com"]
            let accounts = try await [fixture.register(emails[0]), fixture.register(emails[1])]
            let codes = try await [
                code(fixture, to: emails[1], of: accounts[0]), code(fixture, to: emails[0], of: accounts[1]),
            ]
            let outcomes = try await race(2) { try await fixture.verifyEmail(codes[$0], of: accounts[$0]) }
            // The second one has lost its session together with the address that it only claimed: by then, or already
            // when the address to prove was looked up.
            let lost = outcomes["invalidSession", default: 0] + outcomes["invalidCredentials", default: 0]
            #expect(outcomes["won"] == 1 && lost == 1, "\(outcomes)")
        }
    }

    @Test(.fixture { try await SignInFixture.withMail(limits: [.mailPerAddress: .limit(count: 5, seconds: 3600)], $0) })
    func `an account has five changes mailed in an hour, whatever the addresses`() async throws {
        let member = try await fixture.register(Self.old)
        for number in 0..<5 { try await fixture.requestEmail("other\(number)@example.com", of: member) }
        await expectFailure(.rateLimited(.mailPerAddress, retryAfter: 720)) {
            try await fixture.requestEmail("other5@example.com", of: member)
        }
        #expect(try await fixture.mails(.verifyEmailCode).count == 5)
        // The limits of the addresses themselves are not used up.
        try await fixture.mailCode(.signIn, to: "other5@example.com")
    }

    @Test(.fixture { try await SignInFixture.withMail(limits: [.mailPerAddress: .limit(count: 2, seconds: 3600)], $0) })
    func `to ask for the same change again mails its code at most, and counts as none`() async throws {
        let member = try await fixture.member(Self.old)
        try await fixture.forgetMails()
        for _ in 0..<8 { try await fixture.requestEmail(Self.new, of: member) }
        fixture.clock.advance(by: 60)
        try await fixture.requestEmail("KIM@new.example", of: member)
        #expect(try await fixture.mails(.verifyEmailCode).map(\.recipient) == [Self.new, Self.new])
        #expect(try await fixture.mails() == [QueuedMail(template: "email_change_requested", recipient: Self.old)])
        #expect(try await fixture.recorded(of: member).count(where: { $0 == "email_change_requested" }) == 1)
        // Another one counts, and its notice is sent.
        try await fixture.requestEmail("ada@new.example", of: member)
        #expect(try await fixture.mails().count == 2)
        try await expectFailure("rateLimited") { try await fixture.requestEmail("lee@new.example", of: member) }
    }

    @Test(.fixture { try await SignInFixture.withMail(limits: [.mailPerAddress: .limit(count: 4, seconds: 3600)], $0) })
    func `of several that ask for the same change at once one counts`() async throws {
        let member = try await fixture.member(Self.old)
        try await fixture.forgetMails()
        #expect(try await race(4) { _ in try await fixture.requestEmail(Self.new, of: member) } == ["won": 4])
        #expect(try await fixture.mails() == [QueuedMail(template: "email_change_requested", recipient: Self.old)])
        for number in 0..<3 { try await fixture.requestEmail("other\(number)@example.com", of: member) }
        try await expectFailure("rateLimited") { try await fixture.requestEmail("other3@example.com", of: member) }
    }

    @Test func `a change that another one has replaced is asked for as the first time`() async throws {
        let member = try await fixture.member(Self.old)
        try await fixture.forgetMails()
        for name in ["first", "second", "first"] { try await fixture.requestEmail("\(name)@example.com", of: member) }
        #expect(try await fixture.mails().count == 3)
        #expect(try await fixture.texts("SELECT pending_email FROM accounts") == ["first@example.com"])
    }

    @Test(
        .fixture { try await SignInFixture.withMail(limits: [.mailPerAddress: .limit(count: 5, seconds: 3600)], $0) },
        arguments: [false, true])
    func `an address that was mailed codes enough has to wait, and nothing shows whether one is live`(
        isLive: Bool
    ) async throws {
        let member = try await fixture.register(Self.old)
        for purpose in [EmailCodePurpose.signIn, isLive ? .verifyEmail : .resetPassword] {
            try await fixture.mailCode(purpose, to: Self.new)
        }
        for number in 0..<3 {
            let ticket = try await fixture.ticket(.google("\(number)"))
            try await fixture.mailCode(.bind, to: Self.new, for: ticket)
        }
        try await fixture.forgetMails()
        let session = try await fixture.opened(member)
        #expect(
            try await fixture.service.accounts.requestEmail("KIM@new.example", of: session, by: fixture.call))
        #expect(try await fixture.mails(.verifyEmailCode) == [])
        #expect(try await fixture.texts("SELECT pending_email FROM accounts") == [Self.new])
        try await fixture.service.refusals.flush()
        #expect(try await fixture.count("audit_events WHERE type = 'rate_limited'") == (isLive ? 0 : 1))
        // There is one again.
        fixture.clock.advance(by: 720)
        let fresh = try await fixture.signIn(Self.old)
        try await fixture.verifyEmail(try await code(fixture, of: fresh), of: fresh)
        #expect(try await fixture.account(fresh).email?.text == Self.new)
    }

    @Test(.fixture { try await SignInFixture.withMail(limits: [.mailPerNetwork: .limit(count: 2, seconds: 3600)], $0) })
    func `a change counts among the codes that its network asks for, whatever the address`() async throws {
        let client = Caller(requestID: "test", address: nil, network: "192.0.2.0/24", device: nil)
        let members = try await [fixture.register(Self.old), fixture.register("ada@example.com")]
        @Sendable func request(_ email: String, of signedIn: SignedIn) async throws {
            try await fixture.service.accounts.requestEmail(
                email, of: try await fixture.opened(signedIn), by: fixture.call(by: client))
        }
        try await request(Self.new, of: members[0])
        try await fixture.service.emailCodes.mailCode(to: "lee@example.com", for: .signIn, by: fixture.call(by: client))
        await expectFailure(.rateLimited(.mailPerNetwork, retryAfter: 1800)) {
            try await request("ada@new.example", of: members[1])
        }
        #expect(try await fixture.mails(.verifyEmailCode).map(\.recipient) == [Self.new])
    }
}
