import Accounts
import Administration
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// Signing out means out: a provider's token that somebody has captured opens no session afterwards.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct SignOutTests {
    var fixture: SignInFixture { .current }

    enum Way: CaseIterable, Sendable { case everywhere, byAdministrator, byDisabling, passwordReset }

    private static let email = "kim@example.com"

    /// An account with a proven address, a password and an identity of each provider.
    private func member() async throws -> SignedIn {
        let member = try await fixture.member(Self.email)
        _ = try await fixture.bind(.apple("kim"), member.session.credential)
        return try await fixture.bind(.google("kim"), member.session.credential)
    }

    private func signOut(_ way: Way, _ member: SignedIn) async throws {
        switch way {
        case .everywhere:
            try await fixture.service.sessions.revoke(.all, of: try await fixture.opened(member), by: fixture.call)
        case .byAdministrator:
            let administered = try await fixture.administered()
            try await administered.administration.signOut(
                member.account.id, reason: "stolen phone", by: administered.administrator)
        case .byDisabling:
            let administered = try await fixture.administered()
            try await administered.administration.disable(
                member.account.id, reason: "hijacked", by: administered.administrator)
            try await administered.administration.enable(
                member.account.id, email: nil, reason: "recovered", by: administered.administrator)
        case .passwordReset:
            try await fixture.reset(Self.email, code: try await fixture.code(.resetPassword, for: Self.email))
        }
    }

    /// A token that its provider issued now, to a person who authenticated long ago.
    private func renewed(_ provider: Provider) throws -> String {
        try fixture.token(provider, "kim", [("auth_time", .integer(fixture.clock.now().seconds - 1_000_000))])
    }

    @Test(arguments: Way.allCases)
    func `no token from before opens a session, posted again or for the first time`(way: Way) async throws {
        let member = try await member()
        let bystander = try fixture.google("ada")
        _ = try await fixture.create(try await fixture.ticket(.google, bystander))
        fixture.clock.advance(by: 10)
        let posted = [(Provider.apple, try fixture.apple("kim")), (.google, try fixture.google("kim"))]
        for (provider, token) in posted { _ = try await fixture.session(provider, token) }
        let unposted = [(Provider.apple, try renewed(.apple)), (.google, try renewed(.google))]
        fixture.clock.advance(by: 10)
        try await signOut(way, member)
        for (provider, token) in posted + unposted {
            try await expectFailure("expired") { try await fixture.signIn(provider, token) }
        }
        let live: SQL = "sessions WHERE ended_at IS NULL AND account_id = \(member.account.id)"
        #expect(try await fixture.count(live) == 0)
        // The second one of each person is in a sum.
        try await fixture.service.refusals.flush()
        let refused = try await fixture.texts(
            """
            SELECT provider || ' ' || reason FROM audit_events
            WHERE type = 'credential_rejected' AND account_id = \(member.account.id)
            ORDER BY 1
            """)
        #expect(refused == ["apple expired", "apple expired", "google expired", "google expired"])
        // Nobody else is signed out.
        _ = try await fixture.session(.google, bystander)
    }

    @Test(arguments: Way.allCases)
    func `a token that was issued afterwards signs in, however long ago its person authenticated`(
        way: Way
    ) async throws {
        let member = try await member()
        fixture.clock.advance(by: 10)
        try await signOut(way, member)
        fixture.clock.advance(by: 1)
        for provider in Provider.allCases {
            let signedIn = try await fixture.session(provider, try renewed(provider))
            #expect(signedIn.account.id == member.account.id)
            // The session is as old as the authentication.
            #expect(
                try await fixture.opened(signedIn).authenticatedAt
                    == fixture.clock.now().advanced(bySeconds: -1_000_000))
        }
    }

    // MARK: Codes

    @Test(arguments: Way.allCases) func `no code that was mailed before leads anywhere`(way: Way) async throws {
        let member = try await member()
        let newcomer = try await fixture.ticket(.google("newcomer"))
        let signIn = try await fixture.code(.signIn, for: Self.email)
        let bind = try await fixture.code(.bind, for: Self.email, ticket: newcomer)
        let reset = try await fixture.code(.resetPassword, for: Self.email)
        fixture.clock.advance(by: 10)
        try await signOut(way, member)
        try await expectFailure("invalidCredentials") { try await fixture.signIn(Self.email, code: signIn) }
        try await expectFailure("invalidCredentials") {
            try await fixture.bind(newcomer, .emailCode(email: Self.email, code: bind))
        }
        try await expectFailure("invalidCredentials") { try await fixture.reset(Self.email, code: reset) }
        // One that is asked for now is another.
        #expect(
            try await fixture.signIn(Self.email, code: try await fixture.code(.signIn, for: Self.email)).account.id
                == member.account.id)
    }

    @Test func `a changed password ends the codes that were mailed before`() async throws {
        let member = try await member()
        let reset = try await fixture.code(.resetPassword, for: Self.email)
        try await fixture.changePassword(of: member)
        try await expectFailure("invalidCredentials") { try await fixture.reset(Self.email, code: reset) }
    }

    @Test
    func `a password that is typed now signs in, whatever another process's clock says of the sign-out`() async throws {
        _ = try await member()
        try await fixture.database.execute(
            "UPDATE accounts SET tokens_not_before = \(fixture.clock.now().advanced(bySeconds: 5))")
        _ = try await fixture.signIn(Self.email)
    }

    @Test func `who has only typed an address ends no code of its reader`() async throws {
        let typed = try await fixture.register(Self.email)
        let code = try await fixture.code(.signIn, for: Self.email)
        try await fixture.service.sessions.revoke(.all, of: try await fixture.opened(typed), by: fixture.call)
        #expect(try await fixture.signIn(Self.email, code: code).account.emailProof == .proven)
    }

    @Test func `a token of the same second signs in, one of the second before does not`() async throws {
        let member = try await member()
        let before = try fixture.apple("kim")
        fixture.clock.advance(by: 1)
        let same = try fixture.apple("kim")
        try await signOut(.everywhere, member)
        try await expectFailure("expired") { try await fixture.signIn(.apple, before) }
        _ = try await fixture.session(.apple, same)
    }

    @Test(arguments: [RevocationScope.current, .others])
    func `signing out some sessions leaves tokens as they are`(scope: RevocationScope) async throws {
        let member = try await member()
        let token = try fixture.google("kim")
        fixture.clock.advance(by: 10)
        try await fixture.service.sessions.revoke(scope, of: try await fixture.opened(member), by: fixture.call)
        _ = try await fixture.session(.google, token)
    }

    @Test func `a later sign-out counts, an earlier one does not take it back`() async throws {
        let member = try await member()
        fixture.clock.advance(by: 10)
        let token = try fixture.google("kim")
        let session = try await fixture.session(.google, token)
        fixture.clock.advance(by: 10)
        try await signOut(.everywhere, session)
        // Another process, whose clock is behind.
        fixture.clock.advance(by: -15)
        try await signOut(.byAdministrator, member)
        fixture.clock.advance(by: 15)
        try await expectFailure("expired") { try await fixture.signIn(.google, token) }
    }

    @Test func `a sign-in that is under way when its person signs out everywhere is out too`() async throws {
        let member = try await member()
        let session = try await fixture.opened(member)
        let now = fixture.clock.now()
        let id = SessionID(now: now)
        // What a sign-in locks and inserts, and has not committed yet.
        let signingOut = try await fixture.interleave { transaction in
            try await transaction.execute(
                """
                INSERT INTO sessions (session_id, account_id, rotated_at, auth_time, amr, created_at, last_used_at,
                    expires_at)
                SELECT \(id), account_id, \(now), \(now), '{google}', \(now), \(now),
                    \(now.advanced(bySeconds: 5_184_000))
                FROM accounts
                WHERE account_id = \(session.accountID)
                FOR KEY SHARE
                """)
        } with: {
            try await fixture.service.sessions.revoke(.all, of: session, by: fixture.call)
        }
        try await signingOut.value
        #expect(try await fixture.storage.sessions.live(id, by: .at(now)) == nil)
    }

    @Test func `a name that a session gives while it ends is not the account's`() async throws {
        let kim = try await fixture.register(Self.email)
        let session = try await fixture.opened(kim)
        let renaming = try await fixture.interleave { transaction in
            try await transaction.execute("SELECT FROM accounts FOR UPDATE")
            try await transaction.execute("UPDATE sessions SET ended_at = now(), end_reason = 'signed_out'")
        } with: {
            try await fixture.service.accounts.rename(
                accountOf: session, to: DisplayName("Left behind"), by: fixture.call)
        }
        try await expectFailure("invalidSession") { try await renaming.value }
        #expect(try await fixture.texts("SELECT display_name FROM accounts") == [nil])
    }

    /// By a scope, or one by its id.
    @Test(arguments: [.others, .all, nil] as [RevocationScope?])
    func `a session that ends while it signs others out ends none of them`(scope: RevocationScope?) async throws {
        let kim = try await fixture.register(Self.email)
        let kept = try await fixture.opened(kim)
        let ended = try await fixture.opened(try await fixture.signIn(Self.email))
        let signingOut = try await fixture.interleave { transaction in
            // A change of the password in the other session, in its order.
            try await transaction.execute("SELECT FROM accounts FOR UPDATE")
            try await transaction.execute("SELECT FROM sessions WHERE session_id = \(kept.id) FOR SHARE")
            try await transaction.execute(
                """
                UPDATE sessions SET ended_at = now(), end_reason = 'password_changed'
                WHERE session_id = \(ended.id)
                """)
        } with: {
            if let scope {
                try await fixture.service.sessions.revoke(scope, of: ended, by: fixture.call)
            } else {
                try await fixture.service.sessions.end(kept.id, in: ended, by: fixture.call)
            }
        }
        try await expectFailure("invalidSession") { try await signingOut.value }
        _ = try await fixture.opened(kim)
        #expect(try await fixture.count("audit_events WHERE type = 'signed_out'") == 0)
    }

    @Test func `a name that comes with a sign-in whose session has ended by then is not the account's`() async throws {
        _ = try await fixture.signUp(.apple("kim"))
        let credential = ProviderCredential(token: try fixture.apple("kim"), fullName: DisplayName("Left behind"))
        let signingIn = try await fixture.interleave { transaction in
            // It lets a session be opened, and no name be written.
            try await transaction.execute("SELECT FROM accounts FOR NO KEY UPDATE")
        } with: {
            try await fixture.service.providers.signIn(with: .apple, credential, by: fixture.call)
        } then: { transaction in
            try await transaction.execute("UPDATE sessions SET ended_at = now(), end_reason = 'email_proven'")
        }
        #expect(try await signingIn.value.session.account.displayName == nil)
        #expect(try await fixture.texts("SELECT display_name FROM accounts") == [nil])
    }

    // MARK: Tickets

    // An account that is nothing but the identity has no password to reset.
    @Test(
        .fixture { try await SignInFixture.withMail(strays: .merge, $0) },
        arguments: [Way.everywhere, .byAdministrator])
    func `a ticket from before moves no identity out of the account`(way: Way) async throws {
        let thief = try await fixture.register("thief@example.com")
        let early = try await fixture.ticket(.google("kim"))
        let owner = try await fixture.signUp(.google("kim"))
        fixture.clock.advance(by: 10)
        let late = try fixture.google("kim")
        fixture.clock.advance(by: 10)
        try await signOut(way, owner)
        try await expectFailure("identityAlreadyLinked") { try await fixture.bind(early, thief.session.credential) }
        #expect(try await fixture.account(owner).identities.count == 1)
        // Nor does a token from before, whose ticket is made afterwards.
        try await expectFailure("identityAlreadyLinked") {
            try await fixture.link(.google, .init(token: late), to: thief)
        }
        // The owner may, with a new one, of a new authentication.
        fixture.clock.advance(by: 1)
        try await expectFailure("identityAlreadyLinked") {
            try await fixture.link(.google, .init(token: try renewed(.google)), to: thief)
        }
        let moved = try await fixture.link(.google, .init(token: try fixture.google("kim")), to: thief)
        #expect(moved.key == owner.identity?.key)
    }

    @Test(.fixture { try await SignInFixture.withMail(policy: .automatic, $0) }, arguments: Way.allCases)
    func `a token from before is not bound by its address, one from afterwards is`(way: Way) async throws {
        let address = "kim@gmail.com"
        let member = try await fixture.member(address)
        let captured = try fixture.google("kim", SignInFixture.email(address))
        fixture.clock.advance(by: 10)
        switch way {
        case .passwordReset:
            try await fixture.reset(address, code: try await fixture.code(.resetPassword, for: address))
        default: try await signOut(way, member)
        }
        #expect(try await fixture.ticket(.google, captured).choices == [.bind])
        #expect(try await fixture.account(member).identities.isEmpty)
        // With a proof it is bound as ever.
        fixture.clock.advance(by: 1)
        let renewed = try fixture.google(
            "kim", SignInFixture.email(address) + [("auth_time", .integer(SignInFixture.start - 1_000))])
        #expect(try await fixture.session(.google, renewed).account.id == member.account.id)
    }

    @Test(.fixture { try await SignInFixture.withMail(policy: .automatic, $0) })
    func `a token from before the password was changed is not bound by its address`() async throws {
        let address = "kim@gmail.com"
        let member = try await fixture.member(address)
        let captured = try fixture.google("kim", SignInFixture.email(address))
        fixture.clock.advance(by: 10)
        try await fixture.changePassword(of: member)
        #expect(try await fixture.ticket(.google, captured).choices == [.bind])
        #expect(try await fixture.account(member).identities.isEmpty)
        let renewed = try fixture.google("kim", SignInFixture.email(address))
        #expect(try await fixture.session(.google, renewed).account.id == member.account.id)
    }

    @Test(.fixture { try await SignInFixture.withMail(policy: .automatic, $0) }, arguments: [false, true])
    func `a token from before its identity was unlinked does not link it again by its address`(
        byAdministrator: Bool
    ) async throws {
        let address = "kim@gmail.com"
        let member = try await fixture.member(address)
        let bound = try await fixture.session(.google, try fixture.google("kim", SignInFixture.email(address)))
        #expect(bound.account.id == member.account.id)
        fixture.clock.advance(by: 10)
        let captured = try fixture.google("kim", SignInFixture.email(address))
        fixture.clock.advance(by: 10)
        let id = try #require(bound.identity).id
        if byAdministrator {
            let admin = try await fixture.administered()
            try await admin.administration.detach(id, reason: nil, by: admin.administrator)
        } else {
            try await fixture.service.accounts.unlink(id, of: try await fixture.opened(member), by: fixture.call)
        }
        #expect(try await fixture.ticket(.google, captured).choices == [.bind])
        #expect(try await fixture.account(member).identities.isEmpty)
        fixture.clock.advance(by: 1)
        let renewed = try fixture.google("kim", SignInFixture.email(address))
        #expect(try await fixture.session(.google, renewed).account.id == member.account.id)
    }

    @Test(arguments: [false, true], Provider.allCases)
    func `a token that was refused revives neither by an unlinking nor with the account`(
        isDeleted: Bool, provider: Provider
    ) async throws {
        let member = try await member()
        let captured = try renewed(provider)
        fixture.clock.advance(by: 10)
        try await signOut(.everywhere, member)
        fixture.clock.advance(by: 10)
        let current = try await fixture.signIn(Self.email, password: SignInFixture.password)
        let session = try await fixture.opened(current)
        if isDeleted {
            try await fixture.service.accounts.delete(accountOf: session, by: fixture.call)
        } else {
            let identity = try #require(current.account.identities.first { $0.key.provider == provider })
            try await fixture.service.accounts.unlink(identity.id, of: session, by: fixture.call)
        }
        let ticket = try await fixture.ticket(provider, captured)
        try await expectFailure("linkTicketExpired") { try await fixture.create(ticket) }
        // One that was issued since counts, as ever.
        let back = try await fixture.create(try await fixture.ticket(provider, try renewed(provider)))
        #expect(back.account.id != member.account.id)
        // Nor is it revived by that.
        try await expectFailure("expired") { try await fixture.signIn(provider, captured) }
        fixture.clock.advance(by: Lifetimes.refusedTokenRetentionSeconds + 1)
        #expect(try await fixture.count("refused_tokens") > 0)
        _ = try await fixture.storage.sweeper(clock: fixture.clock).sweep()
        #expect(try await fixture.count("refused_tokens") == 0)
    }
}
