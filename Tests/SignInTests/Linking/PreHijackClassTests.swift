import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The five classes of account pre-hijacking (Sudhodanan & Paverd 2022), each against every way in which the owner of the
/// address may come: by a provider's token, or by a mailed code.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct PreHijackClassTests {
    var fixture: SignInFixture { .current }

    private static let address = "victim@icloud.com"
    private static let attack = "attacker's password"

    enum Arrival: String, CaseIterable, Sendable {
        /// With a token of the provider that runs the mailbox.
        case create
        case signInCode, bindCode, resetCode
    }

    /// The owner arrives, and is signed in.
    private func arrive(_ arrival: Arrival, _ fixture: SignInFixture) async throws -> SignedIn {
        let address = Self.address
        switch arrival {
        case .create:
            let ticket = try await fixture.ticket(.apple("victim", SignInFixture.appleMail(address)))
            // The account is not found by the address that it never proved.
            #expect(ticket.choices == [.create, .bind])
            return try await fixture.create(ticket)
        case .signInCode: return try await fixture.signIn(address, code: try await fixture.code(.signIn, for: address))
        case .bindCode:
            let ticket = try await fixture.ticket(.apple("victim"))
            return try await fixture.bind(ticket, try await fixture.mailedProof(of: address, for: ticket))
        case .resetCode:
            try await fixture.reset(
                address, code: try await fixture.code(.resetPassword, for: address), to: "victim's password")
            return try await fixture.signIn(address, password: "victim's password")
        }
    }

    /// Nothing that the attacker has leads to the account of the address.
    private func expectShutOut(
        _ attacker: [SignedIn], of victim: SignedIn, _ fixture: SignInFixture,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for signedIn in attacker { try await fixture.expectEnded(signedIn.session, sourceLocation: sourceLocation) }
        try await expectFailure("invalidCredentials", sourceLocation: sourceLocation) {
            try await fixture.signIn(Self.address, password: Self.attack)
        }
        let account = try await fixture.account(victim)
        #expect(account.email?.text == Self.address, sourceLocation: sourceLocation)
        #expect(account.emailProof == .proven, sourceLocation: sourceLocation)
    }

    @Test(arguments: Arrival.allCases)
    func `class 1, classic-federated merge: the attacker's password is gone`(arrival: Arrival) async throws {
        let attacker = try await fixture.register(Self.address, password: Self.attack)
        let victim = try await arrive(arrival, fixture)
        try await expectShutOut([attacker], of: victim, fixture)
        guard arrival == .create else { return }
        // The account that the address was taken from can't be opened any more.
        #expect(attacker.account.id != victim.account.id)
        let loser = try await fixture.storage.accounts.account(attacker.account.id)
        #expect(loser?.status == .disabled && loser?.email == nil && loser?.hasPassword == false)
    }

    @Test(arguments: Arrival.allCases)
    func `class 2, unexpired session: the attacker's sessions are over, however often they were refreshed`(
        arrival: Arrival
    ) async throws {
        let attacker = try await fixture.register(Self.address, password: Self.attack)
        let second = try await fixture.signIn(Self.address, password: Self.attack)
        fixture.clock.advance(by: 800)
        _ = try await fixture.refresh(attacker.session.refreshToken)
        let victim = try await arrive(arrival, fixture)
        try await expectShutOut([attacker, second], of: victim, fixture)
    }

    @Test(arguments: Arrival.allCases)
    func `class 3, trojan identifier: the attacker's identity opens nothing of the victim's`(
        arrival: Arrival
    ) async throws {
        let attacker = try await fixture.register(Self.address, password: Self.attack)
        let bound = try await fixture.bind(.google("attacker"), attacker.session.credential)
        let victim = try await arrive(arrival, fixture)
        try await expectShutOut([attacker, bound], of: victim, fixture)
        #expect(try await fixture.account(victim).identities.allSatisfy { $0.key.provider == .apple })
        switch try await fixture.signIn(.google("attacker")) {
        case .linkRequired(let required): #expect(required.choices == [.create, .bind])
        // The attacker keeps only their own account, without the address.
        case .signedIn(let own):
            #expect(arrival == .create)
            #expect(own.account.id != victim.account.id)
            #expect(own.account.email == nil)
        }
    }

    @Test(arguments: Arrival.allCases)
    func `class 4, unexpired email change: a change that was begun before takes nothing back`(
        arrival: Arrival
    ) async throws {
        let attacker = try await fixture.register(Self.address, password: Self.attack)
        try await fixture.requestEmail("attacker@example.com", of: attacker)
        let change = try await fixture.digits(.verifyEmail, of: "attacker@example.com")
        let victim = try await arrive(arrival, fixture)
        try await expectShutOut([attacker], of: victim, fixture)
        // Neither for the attacker nor, if tricked into it, for the victim.
        let session = try await fixture.opened(victim)
        try await expectFailure("invalidCredentials") {
            try await fixture.service.emailCodes.verifyEmail(code: change, of: session, by: fixture.call)
        }
        #expect(try await fixture.texts("SELECT pending_email FROM accounts WHERE pending_email IS NOT NULL") == [])
    }

    @Test(.noFixture(SignInFixture.self))
    func `class 5, non-verifying provider: an address that it has not verified leads nowhere`() async throws {
        for policy in VerifiedEmailPolicy.allCases {
            try await SignInFixture.withMail(policy: policy) { fixture in
                let unverified: [TokenMint.Literal] = [false, "false", .null, "yes", 1]
                for (index, literal) in unverified.enumerated() {
                    let claims = SignInFixture.email(Self.address, verified: literal)
                    let ticket = try await fixture.ticket(.google("attacker-\(index)", claims))
                    #expect(ticket.choices == [.create, .bind])
                    let created = try await fixture.create(ticket)
                    #expect(created.account.email == nil)
                    #expect(!created.account.isEmailVerified)
                }
                // The address is free for its owner, and no other identity finds the account by it afterwards.
                let victim = try await fixture.signUp(.apple("victim", SignInFixture.email(Self.address)))
                #expect(victim.account.email?.text == Self.address)
                let again = SignInFixture.email(Self.address, verified: false)
                #expect(try await fixture.ticket(.google("attacker-9", again)).choices == [.create, .bind])
                #expect(try await fixture.session(.google("attacker-0", again)).account.id != victim.account.id)
            }
        }
    }
}
