import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// Setting a new password, by the old one, by fresh authentication, or by a mailed code.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct PasswordChangeTests {
    var fixture: SignInFixture { .current }

    private static let email = "kim@example.com"
    private static let new = "another long password"

    /// An account with a proven address, an identity and no password.
    private func passwordless() async throws -> SignedIn {
        try await fixture.signUp(.google("1", SignInFixture.hosted(Self.email)))
    }

    // MARK: Change

    @Test func `a change ends every session but the one that asks for it`() async throws {
        let member = try await fixture.member(Self.email)
        let other = try await fixture.signIn(Self.email)
        let bound = try await fixture.bind(.google("1"), member.session.credential)
        try await fixture.forgetMails()
        try await fixture.changePassword(of: other)
        #expect(try await fixture.isLive(other))
        for ended in [member, bound] { #expect(try await !fixture.isLive(ended)) }
        try await expectFailure("invalidCredentials") { try await fixture.signIn(Self.email) }
        _ = try await fixture.signIn(Self.email, password: Self.new)
        #expect(try await fixture.mails() == [QueuedMail(template: "password_changed", recipient: Self.email)])
        #expect(try await fixture.recorded(of: member).contains("password_changed"))
    }

    @Test func `a change of an unproven account is mailed to no address`() async throws {
        let registered = try await fixture.register(Self.email)
        try await fixture.changePassword(of: registered)
        _ = try await fixture.bind(.google("1"), registered.session.credential)
        #expect(try await fixture.mails() == [])
    }

    @Test func `the current password needs no fresh session`() async throws {
        let member = try await fixture.member(Self.email)
        fixture.clock.advance(by: 899)
        try await fixture.changePassword(of: member)
    }

    @Test func `a weak password is refused before anything is compared`() async throws {
        let member = try await fixture.member(Self.email)
        let hashed = fixture.passwordHasher.finished
        for weak in ["short", "password", Self.email, String(repeating: "x1", count: 513)] {
            try await expectFailure("weakPassword") { try await fixture.changePassword(of: member, to: weak) }
        }
        #expect(fixture.passwordHasher.finished == hashed)
    }

    @Test func `the password that a session has set is known again there, by a guess like any other`() async throws {
        let member = try await fixture.member(Self.email)
        let service = try fixture.service { $0.limits = [.passwordPerAccount: .limit(count: 2, seconds: 900)] }
        @Sendable func hasSet(_ password: String, in session: Session) async throws -> Bool {
            try await service.accounts.hasSetPassword(password, in: session, by: fixture.call)
        }
        let session = try await fixture.opened(member)
        let hashed = fixture.passwordHasher.finished
        #expect(try await !hasSet(SignInFixture.password, in: session))
        #expect(fixture.passwordHasher.finished == hashed)
        try await fixture.changePassword(of: member)
        let other = try await fixture.opened(try await fixture.signIn(Self.email, password: Self.new))
        #expect(try await !hasSet(Self.new, in: other))
        #expect(try await hasSet(Self.new, in: session))
        for _ in 0..<2 { #expect(try await !hasSet("a wrong password", in: session)) }
        try await expectFailure("rateLimited") { try await hasSet(Self.new, in: session) }
        fixture.clock.advance(by: 601)
        #expect(try await !hasSet(Self.new, in: session))
    }

    @Test func `a first password needs fresh authentication and an address`() async throws {
        let owner = try await passwordless()
        fixture.clock.advance(by: 601)
        try await expectFailure("reauthenticationRequired") { try await fixture.changePassword(of: owner, from: nil) }
        let fresh = try await fixture.session(.google("1"))
        // There is no current password to match.
        try await expectFailure("invalidCredentials") { try await fixture.changePassword(of: fresh) }
        try await fixture.changePassword(of: fresh, from: nil)
        #expect(try await !fixture.isLive(owner))
        _ = try await fixture.signIn(Self.email, password: Self.new)

        let nameless = try await fixture.signUp(.apple("a-1"))
        try await expectFailure("emailRequired") { try await fixture.changePassword(of: nameless, from: nil) }
        #expect(try await !fixture.account(nameless).hasPassword)
    }

    @Test func `of fifty changes at once one wins, and every other session is over`() async throws {
        let member = try await fixture.member(Self.email)
        let outcomes = try await race(50) { number in
            try await fixture.changePassword(of: member, to: "long password \(number)")
        }
        #expect(outcomes["won"] == 1)
        // A later call compares with another password; an earlier one lost to it; of one account two are hashed at once.
        #expect(Set(outcomes.keys).isSubset(of: ["won", "invalidCredentials", "invalidSession", "overloaded"]))
        #expect(try await fixture.isLive(member))
    }

    @Test func `a sign-in by the old password while it changes opens nothing that stays`() async throws {
        let member = try await fixture.member(Self.email)
        var password = SignInFixture.password
        for round in 1...5 {
            let (old, new) = (password, "long password \(round)")
            _ = try await race(9) { number in
                if number == 4 {
                    try await fixture.changePassword(of: member, from: old, to: new)
                } else {
                    _ = try await fixture.signIn(Self.email, password: old)
                }
            }
            #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 1)
            password = new
        }
        #expect(try await fixture.isLive(member))
    }

    // MARK: Reset

    @Test func `a reset ends every session and notifies the owner`() async throws {
        let member = try await fixture.member(Self.email)
        let bound = try await fixture.bind(.google("1"), member.session.credential)
        let code = try await fixture.code(.resetPassword, for: Self.email)
        try await fixture.forgetMails()
        try await fixture.reset(Self.email, code: code, to: Self.new)
        for ended in [member, bound] { #expect(try await !fixture.isLive(ended)) }
        try await expectFailure("invalidCredentials") { try await fixture.signIn(Self.email) }
        _ = try await fixture.signIn(Self.email, password: Self.new)
        // What was linked by its proven owner stays.
        _ = try await fixture.session(.google("1"))
        #expect(try await fixture.mails() == [QueuedMail(template: "password_changed", recipient: Self.email)])
        #expect(try await fixture.recorded(of: member).contains("password_reset"))
        try await expectFailure("invalidCredentials") { try await fixture.reset(Self.email, code: code) }
    }

    @Test func `a reset gives a first password to who has none`() async throws {
        let owner = try await passwordless()
        try await fixture.reset(Self.email, code: try await fixture.code(.resetPassword, for: Self.email))
        #expect(try await fixture.signIn(Self.email, password: Self.new).account.id == owner.account.id)
    }

    @Test func `of a reset and binds by the old password at once, no old password is left in`() async throws {
        for round in 1...5 {
            let email = "kim\(round)@example.com"
            let member = try await fixture.member(email)
            let code = try await fixture.code(.resetPassword, for: email)
            let tickets = try await [fixture.ticket(.google("\(round)")), fixture.ticket(.apple("\(round)"))]
            let outcomes = try await race(3) { number in
                if number == 1 {
                    try await fixture.reset(email, code: code)
                } else {
                    _ = try await fixture.bind(
                        tickets[number / 2], .password(email: email, password: SignInFixture.password))
                }
            }
            #expect(Set(outcomes.keys).isSubset(of: ["won", "invalidCredentials"]))
            let live = try await fixture.count("sessions WHERE account_id = \(member.account.id) AND ended_at IS NULL")
            #expect(live == 0)
        }
    }

    @Test func `a bind by the old password while the reset commits binds nothing`() async throws {
        let member = try await fixture.member(Self.email)
        let ticket = try await fixture.ticket(.google("1"))
        let binding = try await fixture.interleave { transaction in
            try await transaction.execute("UPDATE accounts SET password_hash = 'another'")
        } with: {
            try await fixture.bind(ticket, .password(email: Self.email, password: SignInFixture.password))
        }
        try await expectFailure("invalidCredentials") { try await binding.value }
        #expect(try await fixture.account(member).identities.isEmpty)
        _ = try await fixture.create(ticket)
    }
}
