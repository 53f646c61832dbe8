import Accounts
import Administration
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The degree of an account's address: what it is at first, what raises it, and what lowers it.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct EmailProofTests {
    var fixture: SignInFixture { .current }

    private static let address = "kim@icloud.com"

    private func source(_ fixture: SignInFixture) async throws -> [String?] {
        try await fixture.texts("SELECT email_proof_source FROM accounts")
    }

    // MARK: Create

    enum Claim: String, CaseIterable, Sendable {
        case absent, unverified, relay, stated, authoritative

        var claims: [(String, TokenMint.Literal?)] {
            switch self {
            case .absent: []
            case .unverified: SignInFixture.email(EmailProofTests.address, verified: false)
            case .relay: SignInFixture.email("zdfu7jtuus@privaterelay.appleid.com") + SignInFixture.relay
            case .stated: SignInFixture.email(EmailProofTests.address)
            case .authoritative: SignInFixture.appleMail(EmailProofTests.address)
            }
        }

        var proof: EmailProof? {
            switch self {
            case .absent, .unverified: nil
            case .stated: .stated
            case .relay, .authoritative: .proven
            }
        }

        var source: EmailProof.Source? { proof.map { $0 == .stated ? .provider : .authoritativeProvider } }
    }

    @Test(arguments: Claim.allCases)
    func `a new account's address is as good as the claim, and is mailed`(claim: Claim) async throws {
        let created = try await fixture.signUp(.apple("a-1", claim.claims))
        #expect(created.account.emailProof == claim.proof)
        #expect(created.account.isEmailVerified == (claim.proof != nil))
        #expect(try await source(fixture) == [claim.source?.rawValue])
        let mailed = created.account.email.map {
            [QueuedMail(template: "account_created", recipient: $0.text, provider: "apple")]
        }
        #expect(try await fixture.mails() == mailed ?? [])
    }

    @Test func `registering only claims the address, and mails nothing`() async throws {
        #expect(try await fixture.register(Self.address).account.emailProof == .claimed)
        #expect(try await source(fixture) == ["registration"])
        #expect(try await fixture.mails() == [])
    }

    // MARK: Raised

    @Test func `a sign-in by an identity of the account raises its degree`() async throws {
        let created = try await fixture.signUp(.apple("a-1", SignInFixture.email(Self.address)))
        #expect(created.account.emailProof == .stated)
        // Nor does a claim of another address, or the same claim.
        for claims in [SignInFixture.appleMail("other@icloud.com"), SignInFixture.email(Self.address)] {
            #expect(try await fixture.session(.apple("a-1", claims)).account.emailProof == .stated)
        }
        #expect(try await !fixture.recorded(of: created).contains("email_proven"))
        let own = try fixture.apple("a-1", SignInFixture.appleMail(Self.address))
        for _ in 0..<2 {
            #expect(try await fixture.session(.apple, own).account.emailProof == .proven)
            #expect(try await fixture.account(created).emailProof == .proven)
        }
        #expect(try await source(fixture) == ["authoritative_provider"])
        #expect(try await fixture.recorded(of: created).count { $0 == "email_proven" } == 1)
        // Nothing that says less takes it back.
        let stated = try fixture.apple("a-1", SignInFixture.email(Self.address))
        #expect(try await fixture.session(.apple, stated).account.emailProof == .proven)
    }

    enum Way: String, CaseIterable, Sendable { case bindBySession, bindByPassword, link }

    @Test(arguments: Way.allCases)
    func `an identity that is linked raises the degree by its claim, and nothing goes`(way: Way) async throws {
        for claim in [Claim.unverified, .stated, .authoritative] {
            let registered = try await fixture.register(Self.address)
            let token = try fixture.apple("a-1", claim.claims)
            switch way {
            case .bindBySession:
                _ = try await fixture.bind(try await fixture.ticket(.apple, token), registered.session.credential)
            case .bindByPassword:
                _ = try await fixture.bind(
                    try await fixture.ticket(.apple, token),
                    .password(email: Self.address, password: SignInFixture.password))
            case .link: try await fixture.link(.apple, .init(token: token), to: registered)
            }
            let account = try await fixture.account(registered)
            #expect(account.emailProof == (claim.proof ?? .claimed))
            #expect(account.hasPassword)
            #expect(account.identities.count == 1)
            #expect(try await fixture.isLive(registered))
            let recorded = try await fixture.recorded(of: registered)
            #expect(recorded.contains("email_stated") == (claim == .stated))
            #expect(recorded.contains("email_proven") == (claim == .authoritative))
            try await fixture.deleteAccount(registered)
        }
    }

    @Test func `who types the code in a session of a stated account proves it, and nothing goes`() async throws {
        let former = try await fixture.formerReader()
        func unproven() async throws -> [String] {
            try await fixture.storage.accounts.unprovenEmails(
                of: former.account.id, by: .at(fixture.clock.now())
            ).map(\.text)
        }
        #expect(try await unproven() == [StatedAddress.text])
        try await fixture.verify(former)
        let account = try await fixture.account(former)
        #expect(account.emailProof == .proven)
        #expect(account.hasPassword)
        #expect(account.identities.count == 1)
        #expect(try await fixture.isLive(former))
        #expect(try await source(fixture) == ["mailed_code"])
        #expect(try await fixture.recorded(of: former).contains("email_verified"))
        // There is nothing left to prove.
        #expect(try await unproven().isEmpty)
    }

    @Test func `a change to the address of a stated account takes it from there`() async throws {
        let former = try await fixture.formerReader()
        let owner = try await fixture.member("owner@example.org")
        try await fixture.requestEmail(StatedAddress.text, of: owner)
        try await fixture.verify(owner)
        #expect(try await fixture.account(owner).email?.text == StatedAddress.text)
        #expect(try await fixture.account(owner).emailProof == .proven)
        #expect(try await fixture.account(former).emailTakenAt == fixture.clock.now())
        #expect(try await fixture.isLive(former))
    }

    @Test func `an account whose address was taken gets another, and has nothing taken any more`() async throws {
        let former = try await fixture.formerReader()
        _ = try await fixture.create(try await fixture.ownersTicket())
        #expect(try await fixture.account(former).emailTakenAt != nil)
        try await fixture.requestEmail("former@example.org", of: former)
        try await fixture.verify(former, "former@example.org")
        let account = try await fixture.account(former)
        #expect(account.emailProof == .proven)
        #expect(account.emailTakenAt == nil)
        _ = try await fixture.signIn("former@example.org")
    }

    // MARK: Lowered

    /// An account whose address Google has said to be its own.
    private func hosted(_ fixture: SignInFixture) async throws -> SignedIn {
        try await fixture.signUp(.google("first", SignInFixture.hosted(StatedAddress.text)))
    }

    /// The successor is shown the account, which is only stated by then, makes one of their own, and gets the address.
    ///
    /// - Parameter meanwhile: before a mailed code is tried.
    private func expectAddressPasses(
        from first: SignedIn, in fixture: SignInFixture, meanwhile: () async throws -> Void = {}
    ) async throws {
        let ticket = try await fixture.ownersTicket()
        #expect(ticket.choices == [.bind, .create])
        #expect(ticket.holder?.account.id == first.account.id)
        #expect(ticket.holder?.showsIdentities == true)
        #expect(try await fixture.account(first).emailProof == .stated)
        #expect(try await source(fixture) == ["other_subject"])
        #expect(try await fixture.recorded(of: first).count { $0 == "email_stated" } == 1)
        #expect(try await fixture.isLive(first))
        try await meanwhile()
        // Nor does a mailed code open it from now on.
        #expect(try await fixture.ownersAnswer().ticket.holder?.account.id == first.account.id)

        let owner = try await fixture.create(ticket)
        #expect(owner.account.email?.text == StatedAddress.text)
        #expect(owner.account.emailProof == .proven)
        let account = try await fixture.account(first)
        #expect(account.email == nil)
        #expect(account.status == .active)
        #expect(account.identities.map(\.key.subject.text) == ["first"])
        #expect(try await fixture.isLive(first))
    }

    @Test(.noFixture(SignInFixture.self), arguments: VerifiedEmailPolicy.allCases)
    func `a successor at the provider makes the account stated, and is shown who is in it`(
        policy: VerifiedEmailPolicy
    ) async throws {
        try await SignInFixture.withMail(policy: policy) { fixture in
            let first = try await hosted(fixture)
            #expect(first.account.emailProof == .proven)
            // The domain was sold: same address, same hosted domain, another subject.
            try await expectAddressPasses(from: first, in: fixture)
        }
    }

    @Test func `the first person's token does not raise it again, and the successor takes it over`() async throws {
        let first = try await hosted(fixture)
        let ticket = try await fixture.ownersTicket()
        let back = try await fixture.session(.google("first", SignInFixture.hosted(StatedAddress.text)))
        #expect(back.account.emailProof == .stated)
        #expect(try await source(fixture) == ["other_subject"])
        let owner = try await fixture.bind(ticket, .ticket, replacing: true)
        #expect(owner.account.id == first.account.id)
        #expect(owner.account.emailProof == .proven)
        #expect(try await !fixture.isLive(first))
        #expect(try await !fixture.isLive(back))
    }

    /// By signing in to the account that they have already, and by linking the identity to it.
    @Test(arguments: [false, true])
    func `a successor who has an account here makes it stated too`(isLinking: Bool) async throws {
        let first = try await hosted(fixture)
        let other = try await fixture.signUp(
            isLinking ? .apple("lee") : .google("owner", SignInFixture.email("lee@gmail.com")))
        #expect(try await fixture.account(first).emailProof == .proven)
        let token = try fixture.google("owner", SignInFixture.hosted(StatedAddress.text))
        if isLinking {
            _ = try await fixture.link(.google, .init(token: token), to: other)
        } else {
            #expect(try await fixture.session(.google, token).account.id == other.account.id)
        }
        #expect(try await fixture.account(first).emailProof == .stated)
        #expect(try await fixture.recorded(of: first).count { $0 == "email_stated" } == 1)
        #expect(try await fixture.isLive(first))
        #expect(try await fixture.ownersAnswer().ticket.holder?.account.id == first.account.id)
    }

    @Test func `a successor who can't be noted is signed in and logged, and the next sign-in counts`() async throws {
        let first = try await hosted(fixture)
        let other = try await fixture.signUp(.google("owner", SignInFixture.email("lee@gmail.com")))
        let token = try fixture.google("owner", SignInFixture.hosted(StatedAddress.text))
        try await fixture.database.execute(
            "ALTER TABLE accounts ADD CONSTRAINT refused CHECK (email_proof_source <> 'other_subject')")
        #expect(try await fixture.session(.google, token).account.id == other.account.id)
        #expect(try await fixture.account(first).emailProof == .proven)
        let line = "warning successor of an address not noted accountId=\(other.account.id) error="
        #expect(fixture.log.lines.contains { $0.hasPrefix(line) }, "\(fixture.log.lines)")
        try await fixture.database.execute("ALTER TABLE accounts DROP CONSTRAINT refused")
        #expect(try await fixture.session(.google, token).account.id == other.account.id)
        #expect(try await fixture.account(first).emailProof == .stated)
    }

    @Test
    func `a successor's token from before the account was signed out lowers nothing, a later one does`() async throws {
        let first = try await hosted(fixture)
        let early = try fixture.google("owner", SignInFixture.hosted(StatedAddress.text))
        fixture.clock.advance(by: 10)
        let admin = try await fixture.administered()
        try await admin.administration.signOut(first.account.id, reason: "case 3", by: admin.administrator)
        let ticket = try await fixture.ticket(.google, early)
        #expect(try await fixture.account(first).emailProof == .proven)
        // So it shows nothing of it either.
        #expect(ticket.choices == [.bind] && ticket.holder == nil)
        fixture.clock.advance(by: 1)
        _ = try await fixture.ownersTicket()
        #expect(try await fixture.account(first).emailProof == .stated)
    }

    @Test func `nobody else lowers it`() async throws {
        let first = try await hosted(fixture)
        let other = try await fixture.member("lee@icloud.com")
        let arrivals: [(Provider, String)] = [
            // Google states the address, and no longer runs the domain for them.
            (.google, try fixture.google("second", SignInFixture.email(StatedAddress.text))),
            (.google, try fixture.google("third", SignInFixture.email(StatedAddress.text, verified: false))),
            (.apple, try fixture.apple("fourth", SignInFixture.email(StatedAddress.text))),
            // Authoritative, but the account has no identity of Apple's.
            (.apple, try fixture.apple("fifth", SignInFixture.appleMail("lee@icloud.com"))),
        ]
        for (provider, token) in arrivals { _ = try await fixture.ticket(provider, token) }
        for account in [first, other] { #expect(try await fixture.account(account).emailProof == .proven) }
        #expect(try await !fixture.recorded(of: first).contains("email_stated"))
    }

    @Test(arguments: [true, false])
    func `a person whose mailbox was renamed keeps the account, and its next reader gets the address`(
        isBackFirst: Bool
    ) async throws {
        let first = try await hosted(fixture)
        let renamed = try fixture.google("first", SignInFixture.hosted("vera@newco.example"))
        if isBackFirst {
            #expect(try await fixture.session(.google, renamed).account.emailProof == .proven)
            #expect(try await source(fixture) == ["authoritative_provider"])
        }
        try await expectAddressPasses(from: first, in: fixture) {
            guard !isBackFirst else { return }
            let back = try await fixture.session(.google, renamed)
            #expect(back.account.emailProof == .stated)
        }
        #expect(try await fixture.session(.google, renamed).account.id == first.account.id)
    }

    /// By linking the identity, and by signing in with it.
    @Test(arguments: [true, false])
    func `an address that a code has proven rests on the provider that states it since, and its successor is known`(
        isLinking: Bool
    ) async throws {
        let member = try await fixture.member(StatedAddress.text)
        let claims = SignInFixture.hosted(StatedAddress.text)
        let linked = try await fixture.bind(.google("first", isLinking ? claims : []), member.session.credential)
        if !isLinking { #expect(try await fixture.session(.google("first", claims)).account.id == linked.account.id) }
        #expect(try await source(fixture) == ["authoritative_provider"])
        // The degree is what it was: that is no news.
        #expect(try await !fixture.recorded(of: member).contains("email_proven"))
        let announced = try await fixture.announced(of: member.account.id)
        #expect(announced.count { $0.hasPrefix("account.email_changed") } == 1, "\(announced)")
        #expect(try await fixture.account(member).hasPassword)

        _ = try await fixture.session(.google("first", SignInFixture.hosted("vera@newco.example")))
        #expect(try await fixture.account(member).emailProof == .proven)
        #expect(try await fixture.ownersTicket().choices == [.bind, .create])
        #expect(try await fixture.account(member).emailProof == .stated)
        #expect(try await fixture.ownersAnswer().ticket.holder?.account.id == member.account.id)
        #expect(try await fixture.isLive(member))
    }

    @Test func `an account that its owner has moved to another mailbox of theirs knows the former one`() async throws {
        let first = try await hosted(fixture)
        let other = try await fixture.ticket(.google("other", SignInFixture.email("vera@gmail.com")))
        _ = try await fixture.bind(other, first.session.credential, replacing: true)
        // They come by the former one again, which is linked no more.
        let again = try await fixture.ticket(.google("first", SignInFixture.hosted(StatedAddress.text)))
        #expect(again.choices == [.bind])
        #expect(try await fixture.account(first).emailProof == .proven)
    }

    @Test func `an account whose identity has another mailbox is no predecessor`() async throws {
        let member = try await fixture.member(StatedAddress.text)
        _ = try await fixture.bind(.google("first", SignInFixture.email("kim@gmail.com")), member.session.credential)
        #expect(try await fixture.ownersTicket().choices == [.bind])
        #expect(try await fixture.account(member).emailProof == .proven)
    }
}
