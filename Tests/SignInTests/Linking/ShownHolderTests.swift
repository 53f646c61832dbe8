import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// Taking over an account with a stated address: by whom it has been shown to, as it has been shown, and while it is still
/// stated.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct ShownHolderTests {
    var fixture: SignInFixture { .current }

    private static let address = StatedAddress.text

    // MARK: By a mailed code for a ticket

    /// A ticket whose identity says nothing of the address, and the code that was mailed there for it.
    private func ticketWithCode(_ fixture: SignInFixture) async throws -> (LinkRequired, BindCredential) {
        let ticket = try await fixture.ticket(.google("owner"))
        #expect(ticket.holder == nil)
        return (ticket, try await fixture.mailedProof(of: Self.address, for: ticket))
    }

    @Test func `a mailed code shows the account first, and the same call again takes it over`() async throws {
        let former = try await fixture.formerReader()
        let (ticket, code) = try await ticketWithCode(fixture)
        let shown = try await fixture.answer(toBinding: ticket, code).ticket
        #expect(shown.linkTicket == ticket.linkTicket)
        #expect(shown.expiresAt == ticket.expiresAt)
        #expect(shown.choices == [.bind, .create])
        #expect(shown.identity?.key.subject.text == "owner")
        #expect(shown.holder?.account.id == former.account.id)
        #expect(shown.holder?.showsIdentities == true)
        try await fixture.expectUntouched(former)
        let owner = try await fixture.bind(ticket, code)
        try await fixture.expectTakenOver(former, by: owner)
        #expect(try await fixture.opened(owner).methods == [.oneTimeCode, .google])
        // By now both are used up.
        try await expectFailure("linkTicketExpired") { try await fixture.bind(ticket, code) }
    }

    @Test func `who has been shown the account may make one of their own instead`() async throws {
        let former = try await fixture.formerReader()
        let (ticket, code) = try await ticketWithCode(fixture)
        _ = try await fixture.answer(toBinding: ticket, code).ticket
        // The identity says nothing of the address, so the account is made without it.
        #expect(try await fixture.create(ticket).account.email == nil)
        try await fixture.expectUntouched(former)
    }

    @Test func `of fifty binds with one code each shows the account or one takes it over`() async throws {
        let former = try await fixture.formerReader()
        let (ticket, code) = try await ticketWithCode(fixture)
        let outcomes = try await race(50) { _ in try await fixture.answer(toBinding: ticket, code) }
        #expect(outcomes["won", default: 0] >= 1)
        #expect(Set(outcomes.keys).isSubset(of: ["won", "linkTicketExpired", "invalidCredentials"]))
        if try await fixture.isLive(former) { _ = try await fixture.bind(ticket, code) }
        #expect(try await fixture.account(former).identities.count == 2)
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 1)
    }

    // MARK: By the ticket alone

    @Test func `a ticket that proves no mailbox, or has shown nobody, takes nothing over`() async throws {
        let former = try await fixture.formerReader()
        let claims: [[(String, TokenMint.Literal?)]] = [
            [], SignInFixture.email(Self.address), SignInFixture.email(Self.address, verified: false),
            // Another mailbox of theirs.
            SignInFixture.hosted("boss@example.org"), SignInFixture.email("boss@gmail.com"),
        ]
        for (index, claims) in claims.enumerated() {
            let ticket = try await fixture.ticket(.google("other-\(index)", claims))
            await expectFailure(.missingCredential("password")) { try await fixture.bind(ticket, .ticket) }
        }
        try await fixture.expectUntouched(former)
    }

    @Test func `a ticket of before there was an account with the address takes none over`() async throws {
        let ticket = try await fixture.ownersTicket()
        #expect(ticket.choices == [.create, .bind])
        let former = try await fixture.formerReader()
        await expectFailure(.missingCredential("password")) { try await fixture.bind(ticket, .ticket) }
        try await fixture.expectUntouched(former)
    }

    @Test func `of fifty takeovers by one ticket one wins`() async throws {
        let former = try await fixture.formerReader()
        let ticket = try await fixture.ownersTicket()
        let outcomes = try await race(50) { _ in try await fixture.bind(ticket, .ticket) }
        #expect(outcomes == ["won": 1, "linkTicketExpired": 49])
        #expect(try await fixture.account(former).identities.count == 2)
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 1)
    }

    // MARK: What has changed since it was shown

    /// The former reader gives the address up, and another person makes an account with it.
    private func handOn(_ fixture: SignInFixture, _ former: SignedIn) async throws -> SignedIn {
        try await fixture.requestEmail("former@example.org", of: former)
        try await fixture.verifyEmail(try await fixture.digits(.verifyEmail, of: "former@example.org"), of: former)
        let next = try await fixture.signUp(.apple("next", SignInFixture.email(Self.address)))
        #expect(next.account.emailProof == .stated)
        return next
    }

    /// What becomes of an account that has been shown.
    enum Change: CaseIterable, Sendable { case handedOn, linked, signedOut, disabled }

    /// By the provider that runs the mailbox, by a code to sign in, and by one for the ticket.
    @Test(arguments: Change.allCases)
    func `an account that has changed since it was shown is taken over by no ticket of before`(
        change: Change
    ) async throws {
        let former = try await fixture.formerReader()
        let (typed, code) = try await ticketWithCode(fixture)
        _ = try await fixture.answer(toBinding: typed, code).ticket
        let tickets = try await [fixture.ownersTicket(), fixture.ownersAnswer().ticket, typed]
        fixture.clock.advance(by: 5)
        let other: SignedIn
        switch change {
        case .handedOn: other = try await handOn(fixture, former)
        case .linked: other = try await fixture.bind(.google("late"), former.session.credential)
        case .signedOut:
            try await fixture.signOut(.all, of: former)
            other = former
        case .disabled:
            try await fixture.disable(former)
            other = former
        }
        for ticket in tickets {
            try await fixture.expectRefusal(change == .disabled ? "accountDisabled" : "invalidCredentials") {
                try await fixture.bind(ticket, .ticket)
            }
        }

        switch change {
        case .handedOn:
            #expect(try await fixture.account(former).email?.text == "former@example.org")
            // The code shows who has the address now, and leads there.
            #expect(try await fixture.answer(toBinding: typed, code).ticket.holder?.account.id == other.account.id)
            #expect(try await fixture.isLive(other))
            #expect(try await fixture.bind(typed, code).account.id == other.account.id)
            #expect(try await !fixture.isLive(other))
        case .linked:
            // The code shows it once more, and then the ticket is good again.
            let shown = try await fixture.answer(toBinding: typed, code).ticket
            #expect(Set(shown.holder?.account.identities.map(\.key.subject.text) ?? []) == ["former", "late"])
            #expect(try await fixture.isLive(other))
            let owner = try await fixture.bind(typed, .ticket, replacing: true)
            #expect(Set(owner.account.identities.map(\.key.subject.text)) == ["former", "owner"])
            #expect(try await !fixture.isLive(other))
        case .signedOut:
            #expect(try await fixture.account(former).emailProof == .stated)
            // A code of afterwards takes it over.
            fixture.clock.advance(by: 61)
            let owner = try await fixture.bind(try await fixture.ownersAnswer().ticket, .ticket)
            #expect(owner.account.id == former.account.id)
        case .disabled:
            try await fixture.expectRefusal("accountDisabled") { try await fixture.bind(typed, code) }
        }
    }

    @Test func `an account that its person has proven since is entered by a code alone, and keeps what it has`()
        async throws
    {
        let former = try await fixture.formerReader()
        let (typed, code) = try await ticketWithCode(fixture)
        _ = try await fixture.answer(toBinding: typed, code).ticket
        let byToken = try await fixture.ownersTicket()
        let byMailbox = try await fixture.ownersAnswer().ticket
        try await fixture.verify(former)
        try await fixture.expectRefusal("invalidCredentials") { try await fixture.bind(byToken, .ticket) }
        for ticket in [byToken, byMailbox] {
            try await expectFailure("emailTaken") { try await fixture.create(ticket) }
        }
        // The codes came to the mailbox that the tickets' person reads, and somebody in the account has typed another.
        for ticket in [byMailbox, typed] {
            let owner = try await fixture.bind(ticket, .ticket)
            #expect(owner.account.id == former.account.id)
            #expect(owner.account.hasPassword)
            #expect(try await fixture.isLive(former))
        }
    }

    @Test func `an account that has lost an identity since it was shown is taken over`() async throws {
        let former = try await fixture.formerReader()
        let ticket = try await fixture.ownersTicket()
        try await fixture.unlink(former.identity, of: try await fixture.signIn(Self.address))
        let owner = try await fixture.bind(ticket, .ticket)
        #expect(owner.account.id == former.account.id)
        #expect(owner.account.identities.map(\.key.subject.text) == ["owner"])
    }

    @Test
    func `a token of before the account was signed out everywhere shows as little as a stated address`() async throws {
        let former = try await fixture.formerReader()
        let early = try fixture.google("owner", SignInFixture.hosted(Self.address))
        fixture.clock.advance(by: 5)
        try await fixture.signOut(.all, of: former)
        let ticket = try await fixture.ticket(.google, early)
        #expect(ticket.choices == [.bind, .create])
        #expect(ticket.holder?.account.id == former.account.id && ticket.holder?.showsIdentities == false)
        await expectFailure(.missingCredential("password")) { try await fixture.bind(ticket, .ticket) }
        // One of afterwards shows all, and takes it over.
        let late = try await fixture.ownersTicket()
        #expect(late.holder?.showsIdentities == true)
        _ = try await fixture.bind(late, .ticket)
    }

    @Test func `a session that is opened while the account is taken over ends with the others`() async throws {
        for round in 1...5 {
            let address = "boss\(round)@newco.example"
            let former = try await fixture.signUp(.apple("former-\(round)", SignInFixture.email(address)))
            // Issued before, as all that the former reader has.
            let token = try fixture.apple("former-\(round)")
            fixture.clock.advance(by: 5)
            let ticket = try await fixture.ticket(.google("owner-\(round)", SignInFixture.hosted(address)))
            let outcomes = try await race(9) { number in
                if number == 4 {
                    _ = try await fixture.bind(ticket, .ticket)
                } else {
                    _ = try await fixture.signIn(.apple, token)
                }
            }
            #expect(Set(outcomes.keys).isSubset(of: ["won", "expired"]))
            let live = try await fixture.texts(
                """
                SELECT array_to_string(amr, ' ')
                FROM sessions
                WHERE account_id = \(former.account.id) AND ended_at IS NULL
                """)
            #expect(live == ["google"])
        }
    }
}
