import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The operations of the address table that have nothing to decide by it: what becomes of an address is what the rows say.
/// The others ask ``AddressRule`` themselves.
@Suite struct AddressRuleEffectTests {
    static let performed: [AddressOperation] = [
        .signInKnown, .bindBySession, .bindByPassword, .register, .verifyEmail, .linkInSession, .replaceIdentity,
        .merge, .providerEvent,
    ]

    @Test(arguments: performed)
    func `each row of an operation is what happens to the address`(operation: AddressOperation) async throws {
        try await SignInFixture.withMail(strays: .merge) { fixture in
            var number = 0
            for evidence in AddressEvidence.allCases {
                for holder in AddressHolder.allCases {
                    let outcome = AddressRule.outcome(of: operation, evidence, holder: holder)
                    for isOwn in Self.sides(of: operation, holder) where outcome != nil {
                        number += 1
                        let meeting = AddressMeeting(
                            fixture: fixture, operation: operation, evidence: evidence, holder: holder, isOwn: isOwn,
                            number: number)
                        let expected = try #require(
                            meeting.effect(of: outcome),
                            "no such outcome of \(operation): \(String(describing: outcome))")
                        let effect = try await meeting.perform()
                        #expect(effect == expected, "\(evidence), \(holder), the person's own: \(isOwn)")
                    }
                }
            }
            #expect(number > 0)
        }
    }

    /// Whether the account that has the address is the person's own.
    private static func sides(of operation: AddressOperation, _ holder: AddressHolder) -> [Bool] {
        switch (operation, holder) {
        case (.register, _), (_, .nobody): [false]
        case (.verifyEmail, _): [true]
        default: [true, false]
        }
    }
}

/// What became of an address by an operation.
struct AddressEffect: Equatable {
    /// Whether the person has got into an account by it, or an identity has.
    var isEntered: Bool
    var isRefusedAsTaken = false
    /// The degree of the address in the account of the person who acts; `nil` where it has another.
    var own: EmailProof?
    /// The degree of the address in somebody else's account.
    var other: EmailProof?
    /// Whether the accounts keep the password and the session that they had.
    var isAllKept = true
}

/// A person who performs an operation, and the account that has the address which they come with.
struct AddressMeeting: Sendable {
    let fixture: SignInFixture
    let operation: AddressOperation
    let evidence: AddressEvidence
    let holder: AddressHolder
    /// Whether the person's own account is the holder.
    let isOwn: Bool
    let number: Int

    private var degree: EmailProof? { EmailProof.allCases.first { AddressHolder($0) == holder } }

    /// The effect that a rule's outcome is; `nil` for one that none of these operations has.
    func effect(of outcome: AddressOutcome?) -> AddressEffect? {
        let own = isOwn ? degree : nil
        let other = isOwn ? nil : degree
        switch outcome {
        case .create(withAddress: let isWith):
            return AddressEffect(isEntered: true, own: isWith ? .claimed : nil, other: other)
        case .refuseEmailTaken: return AddressEffect(isEntered: false, isRefusedAsTaken: true, own: own, other: other)
        case .enter: return AddressEffect(isEntered: true, own: own, other: other)
        case .enterRaising:
            let raised = own.map { max($0, evidence.proof?.0 ?? $0) }
            return AddressEffect(isEntered: true, own: raised, other: other)
        case .prove: return AddressEffect(isEntered: false, own: .proven, other: other)
        case .unchanged: return AddressEffect(isEntered: false, own: own, other: other)
        case nil, .choose, .bindUnasked, .createTaking, .takeOverOnceShown, .enterClearing, .refuseCode, .proveTaking:
            return nil
        }
    }

    // MARK: People

    private var address: String {
        evidence == .relay ? "p\(number)@privaterelay.appleid.com" : "p\(number)@corp.example"
    }

    /// The provider whose token the person comes with, and the other one.
    private var provider: Provider { evidence == .relay ? .apple : .google }
    private var otherProvider: Provider { evidence == .relay ? .google : .apple }

    private func token(
        _ provider: Provider, _ name: String, _ claims: [(String, TokenMint.Literal?)] = []
    ) throws -> String { try fixture.token(provider, "\(name)-\(number)", claims) }

    /// The token that the person comes with.
    private func token(of name: String) throws -> String {
        let claims =
            switch evidence {
            case .none, .mailedCode: [(String, TokenMint.Literal?)]()
            case .relay: SignInFixture.email(address) + SignInFixture.relay
            case .stated: SignInFixture.email(address)
            case .authoritative: SignInFixture.hosted(address)
            }
        return try token(provider, name, claims)
    }

    /// A session, by its password, of a new account that has the address in this degree.
    private func account(_ email: String, _ degree: EmailProof) async throws -> SignedIn {
        switch degree {
        case .claimed: return try await fixture.register(email)
        case .proven: return try await fixture.member(email)
        case .stated:
            let made = try await fixture.create(
                try await fixture.ticket(otherProvider, try token(otherProvider, "maker", SignInFixture.email(email))))
            try await fixture.changePassword(of: made, from: nil, to: SignInFixture.password)
            return try await fixture.signIn(email)
        }
    }

    // MARK: The operations

    func perform() async throws -> AddressEffect {
        let holding: SignedIn? = if let degree { try await account(address, degree) } else { nil }
        if let degree, let holding { try #require(try await fixture.account(holding).emailProof == degree) }
        let ownEmail = isOwn ? address : "own\(number)@example.com"
        var person: SignedIn?
        if isOwn { person = holding } else if operation != .register { person = try await fixture.member(ownEmail) }
        var entered: AccountID?
        var isRefused = false
        do {
            entered = try await enter(person, ownEmail)
        } catch SignInFailure.emailTaken { isRefused = true }
        if let person, let entered { #expect(entered == person.account.id) }
        let kept = [holding, person].compactMap(\.self)
        var isAllKept = true
        for signedIn in kept {
            let hasPassword = try await fixture.account(signedIn).hasPassword
            let isLive = try await fixture.isLive(signedIn)
            isAllKept = isAllKept && hasPassword && isLive
        }
        let own = try await degrees(of: person?.account.id ?? entered)
        return AddressEffect(
            isEntered: entered != nil, isRefusedAsTaken: isRefused, own: own,
            other: isOwn ? nil : try await degrees(of: holding?.account.id), isAllKept: isAllKept)
    }

    /// The degree of the address in an account.
    private func degrees(of id: AccountID?) async throws -> EmailProof? {
        guard let id, let account = try await fixture.storage.accounts.account(id), account.email?.text == address
        else { return nil }
        return account.emailProof
    }

    /// - Returns: the account that the person, or their identity, has got into.
    private func enter(_ person: SignedIn?, _ ownEmail: String) async throws -> AccountID? {
        if operation == .register { return try await fixture.register(address).account.id }
        let person = try #require(person)
        switch operation {
        case .signInKnown:
            _ = try await bind(try token(provider, "kim"), person.session.credential)
            return try await fixture.session(provider, try token(of: "kim")).account.id
        case .bindBySession: return try await bind(try token(of: "kim"), person.session.credential)
        case .bindByPassword:
            return try await bind(try token(of: "kim"), .password(email: ownEmail, password: SignInFixture.password))
        case .linkInSession:
            let credential = ProviderCredential(token: try token(of: "kim"))
            let session = try await fixture.opened(person)
            let linked = try await fixture.service.linking.link(provider, credential, to: session, by: fixture.call)
            #expect(try await fixture.account(person).identities.map(\.id).contains(linked.id))
            return person.account.id
        case .replaceIdentity:
            _ = try await bind(try token(provider, "old"), person.session.credential)
            let entered = try await bind(try token(of: "new"), person.session.credential, replacing: true)
            let names = try await fixture.account(person).identities.map(\.key.subject.text)
            #expect(names.contains("new-\(number)") && !names.contains("old-\(number)"))
            return entered
        case .merge:
            let ticket = try await fixture.ticket(provider, try token(of: "kim"))
            let stray = try await fixture.create(try await fixture.ticket(provider, try token(provider, "kim")))
            let entered = try await fixture.bind(ticket, person.session.credential).account.id
            #expect(try await fixture.storage.accounts.account(stray.account.id) == nil)
            return entered
        case .verifyEmail:
            try await fixture.verify(person, address)
            return nil
        case .providerEvent:
            try await deliverEvents(to: person)
            return nil
        default:
            Issue.record("\(operation) asks the rule itself.")
            return nil
        }
    }

    private func bind(_ token: String, _ credential: BindCredential, replacing: Bool = false) async throws -> AccountID
    { try await fixture.bind(try await fixture.ticket(provider, token), credential, replacing: replacing).account.id }

    /// All that the providers may report of the identities of an account, which have its address where that is more than
    /// claimed.
    private func deliverEvents(to person: SignedIn) async throws {
        let claims = isOwn && degree != .claimed ? SignInFixture.email(address) : []
        for provider in Provider.allCases
        where try await !fixture.account(person).identities.contains(where: { $0.key.provider == provider }) {
            let ticket = try await fixture.ticket(provider, try token(provider, "kim", claims))
            _ = try await fixture.bind(ticket, person.session.credential)
        }
        let events = try ProviderEventFixture(
            people: fixture, policy: .init(consentRevoked: .keep, accountDeleted: .unlink))
        for key in try await fixture.account(person).identities.map(\.key) {
            for type in Self.events(of: key.provider) {
                let id = "\(type)-\(number)"
                let event = try events.event(key.provider, type, of: key.subject.text, id: id)
                try await events.deliver(key.provider, event)
            }
        }
        #expect(try await fixture.texts("SELECT DISTINCT status FROM provider_events") == ["done"])
    }

    private static func events(of provider: Provider) -> [String] {
        switch provider {
        case .apple: ["email-disabled", "email-enabled", "consent-revoked", "account-deleted"]
        case .google:
            [
                "tokens-revoked", "sessions-revoked", "account-credential-change-required", "account-disabled",
                "account-enabled",
            ]
        }
    }
}
