import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The first proof of an account's mailbox, which shows who owns the address: what was set up before is removed.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct MailboxProofTests {
    var fixture: SignInFixture { .current }

    private static let email = "victim@example.com"

    /// What a squatter set up on another's address: a password, a session, an identity with its session, a change of address.
    private func squat(_ fixture: SignInFixture) async throws -> (registered: SignedIn, bound: SignedIn) {
        let registered = try await fixture.register(Self.email)
        let bound = try await fixture.bind(.google("squatter"), registered.session.credential)
        try await fixture.requestEmail("squatter@example.com", of: registered)
        return (registered, bound)
    }

    enum Proof: CaseIterable, Sendable { case signIn, bind, resetPassword }

    /// Has a code mailed for it, and types it.
    private func prove(_ proof: Proof) async throws {
        switch proof {
        case .signIn: _ = try await fixture.signIn(Self.email, code: try await fixture.code(.signIn, for: Self.email))
        case .bind:
            let ticket = try await fixture.ticket(.apple("owner"))
            _ = try await fixture.bind(ticket, try await fixture.mailedProof(of: Self.email, for: ticket))
        case .resetPassword:
            let code = try await fixture.code(.resetPassword, for: Self.email)
            try await fixture.reset(Self.email, code: code, to: "the owner's password")
        }
    }

    @Test(arguments: Proof.allCases)
    func `with the first proof everything goes that was set up before`(proof: Proof) async throws {
        let squatted = try await squat(fixture)
        let change = try await fixture.digits(.verifyEmail, of: "squatter@example.com")
        let revocations = try await fixture.count("outbox WHERE kind = 'revocation'")
        try await prove(proof)

        let account = try await fixture.account(squatted.registered)
        #expect(account.email?.text == Self.email)
        #expect(account.isEmailVerified)
        #expect(account.hasPassword == (proof == .resetPassword))
        #expect(account.identities.map(\.key.subject.text) == (proof == .bind ? ["owner"] : []))
        for session in [squatted.registered, squatted.bound] {
            #expect(try await !fixture.isLive(session))
            try await expectFailure("invalidRefreshToken") { try await fixture.refresh(session.session.refreshToken) }
        }
        #expect(try await fixture.count("outbox WHERE kind = 'revocation'") == revocations + 1)
        #expect(try await fixture.texts("SELECT pending_email FROM accounts") == [nil])
        let recorded = try await fixture.recorded(of: squatted.registered)
        #expect(recorded.contains("email_proven"))
        #expect(recorded.contains("identity_unlinked"))
        // The earlier ways in are gone.
        try await expectFailure("invalidCredentials") { try await fixture.signIn(Self.email) }
        #expect(try await fixture.ticket(.google("squatter")).choices == [.create, .bind])
        // And so is the change that was under way, even for a client that has its code.
        let owner = try await fixture.signIn(Self.email, code: try await fixture.code(.signIn, for: Self.email))
        try await expectFailure("invalidCredentials") { try await fixture.verifyEmail(change, of: owner) }
    }

    /// The mailbox had another reader, who has kept a token of the provider that runs it.
    @Test(.fixture { try await SignInFixture.withMail(policy: .automatic, $0) }, arguments: Proof.allCases)
    func `no token from before the first proof leads to the account by its address`(proof: Proof) async throws {
        let squatted = try await squat(fixture)
        let early = try fixture.google("former", SignInFixture.hosted(Self.email))
        fixture.clock.advance(by: 5)
        try await prove(proof)
        #expect(try await fixture.ticket(.google, early).choices == [.bind])
        // One of now does.
        let present = try fixture.google("former", SignInFixture.hosted(Self.email))
        #expect(try await fixture.session(.google, present).account.id == squatted.registered.account.id)
    }

    @Test(arguments: Proof.allCases)
    func `a second proof takes nothing away`(proof: Proof) async throws {
        let member = try await fixture.member(Self.email)
        let bound = try await fixture.bind(.google("1"), member.session.credential)
        try await prove(proof)
        let account = try await fixture.account(member)
        #expect(account.hasPassword)
        #expect(account.identities.map(\.key.subject.text).sorted() == (proof == .bind ? ["1", "owner"] : ["1"]))
        // A reset ends them all.
        for session in [member, bound] { #expect(try await fixture.isLive(session) == (proof != .resetPassword)) }
        #expect(try await !fixture.recorded(of: member).contains("email_proven"))
    }

    @Test func `who verifies the address in a session of the account keeps what there is`() async throws {
        let registered = try await fixture.register(Self.email)
        let bound = try await fixture.bind(.google("1"), registered.session.credential)
        try await fixture.verifyEmail(try await fixture.code(.verifyEmail, for: Self.email), of: bound)
        let account = try await fixture.account(registered)
        #expect(account.isEmailVerified)
        #expect(account.hasPassword)
        #expect(account.identities.count == 1)
        for session in [registered, bound] { #expect(try await fixture.isLive(session)) }
        #expect(try await fixture.recorded(of: registered).contains("email_verified"))
        #expect(try await fixture.count("outbox WHERE kind = 'revocation'") == 0)
    }

    @Test func `a code for verify-email lets nobody in`() async throws {
        try await fixture.register(Self.email)
        let other = try await fixture.register("other@example.com")
        let code = try await fixture.code(.verifyEmail, for: Self.email)
        try await expectFailure("invalidCredentials") { try await fixture.verifyEmail(code, of: other) }
        try await expectFailure("invalidCredentials") { try await fixture.signIn(Self.email, code: code) }
    }

    @Test func `a proof that is refused takes nothing away`() async throws {
        let squatted = try await squat(fixture)
        let ticket = try await fixture.ticket(.apple("owner"))
        let proof = try await fixture.mailedProof(of: Self.email, for: ticket)
        // The owner has an account of their own by now.
        let elsewhere = try await fixture.signUp(.apple("owner"))
        try await fixture.expectRefusal("identityAlreadyLinked") { try await fixture.bind(ticket, proof) }
        #expect(try await fixture.isLive(squatted.registered))
        #expect(try await fixture.isLive(elsewhere))
    }

    @Test func `what is done in a session or by a password while the mailbox is proven comes too late`() async throws {
        let squatted = try await squat(fixture)
        let session = try await fixture.opened(squatted.registered)
        let identity = try #require(squatted.bound.identity)
        let ticket = try await fixture.ticket(.apple("a-1"))
        let accounts = fixture.service.accounts
        let byPassword: [@Sendable () async throws -> Void] = [
            { _ = try await fixture.signIn(Self.email) },
            { _ = try await fixture.bind(ticket, .password(email: Self.email, password: SignInFixture.password)) },
        ]
        let inSession: [@Sendable () async throws -> Void] = [
            { _ = try await fixture.bind(ticket, squatted.registered.session.credential) },
            {
                try await accounts.changePassword(
                    of: session, current: SignInFixture.password, to: "another long password", by: fixture.call)
            },
            { try await accounts.requestEmail("other@example.com", of: session, by: fixture.call) },
            { try await accounts.unlink(identity.id, of: session, by: fixture.call) },
            { try await accounts.delete(accountOf: session, by: fixture.call) },
        ]
        let calls = byPassword.map { ("invalidCredentials", $0) } + inSession.map { ("invalidSession", $0) }
        for (expected, call) in calls {
            // What a proof changes; undone afterwards, so that each call meets the same state.
            let pending = try await fixture.interleave { transaction in
                try await transaction.execute(
                    """
                    UPDATE accounts
                    SET email_verified = true, email_proof = 'stated', password_hash = 'gone' || password_hash
                    """)
                try await transaction.execute(
                    "UPDATE sessions SET ended_at = now(), end_reason = 'email_proven' WHERE ended_at IS NULL")
            } with: {
                try await call()
            }
            try await expectFailure(expected) { try await pending.value }
            try await fixture.database.execute(
                """
                UPDATE accounts
                SET email_verified = false, email_proof = 'claimed', password_hash = substr(password_hash, 5)
                """)
            try await fixture.database.execute("UPDATE sessions SET ended_at = NULL, end_reason = NULL")
        }
        #expect(try await fixture.account(squatted.registered).identities.count == 1)
    }

    @Test func `proof and sign-ins at once leave nobody in who was there before`() async throws {
        for round in 1...5 {
            let email = "victim\(round)@example.com"
            let squatter = try await fixture.register(email)
            _ = try await fixture.bind(.google("squatter-\(round)"), squatter.session.credential)
            let token = try fixture.google("squatter-\(round)")
            let code = try await fixture.code(.signIn, for: email)
            let outcomes = try await race(21) { number in
                switch number % 3 {
                case 0 where number == 9: _ = try await fixture.signIn(email, code: code)
                case 1: _ = try await fixture.signIn(.google, token)
                default: _ = try await fixture.signIn(email)
                }
            }
            #expect(outcomes["won", default: 0] >= 1)
            let live = try await fixture.texts(
                """
                SELECT array_to_string(amr, ' ')
                FROM sessions
                WHERE account_id = \(squatter.account.id) AND ended_at IS NULL
                """)
            #expect(live == ["otp"])
            #expect(try await fixture.account(squatter).identities.isEmpty)
        }
    }
}
