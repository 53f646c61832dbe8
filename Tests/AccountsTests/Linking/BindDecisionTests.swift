import Accounts
import Testing

/// What *bind* does with a proven identity and a proven account, one line each.
@Suite struct BindDecisionTests {
    private static let start = Timestamp(seconds: 1_767_225_600)
    private static let google = key(.google, "1")

    private static func key(_ provider: Provider, _ subject: String, realm: Realm = .main) -> IdentityKey {
        guard let subject = ProviderSubject(subject) else { fatalError("\(subject) is no subject") }
        return IdentityKey(provider: provider, realm: realm, subject: subject)
    }

    private static func identity(
        _ key: IdentityKey = google, email: String? = nil, isVerified: Bool = true, isBlocked: Bool = false
    ) -> Identity {
        Identity(
            id: IdentityID(now: start), key: key, email: email.flatMap(EmailAddress.init), isEmailVerified: isVerified,
            isPrivateEmail: false, linkedAt: start, lastSignInAt: nil, authorization: .none,
            block: isBlocked ? Identity.Block(since: start, reason: "account-disabled") : nil)
    }

    private static func account(
        _ identities: [Identity] = [], email: String? = nil, isVerified: Bool = false, hasPassword: Bool = false,
        status: Account.Status = .active, externalID: String? = nil
    ) -> Account {
        Account(
            id: AccountID(now: start), externalID: externalID.flatMap(ExternalID.init),
            email: email.flatMap(EmailAddress.init), emailProof: isVerified ? .proven : .claimed,
            displayName: nil, status: status, createdAt: start, hasPassword: hasPassword, identities: identities)
    }

    private static func decide(
        to account: Account, owner: Account? = nil, isReplacing: Bool = false, policy: StrayAccountPolicy = .refuse
    ) -> BindDecision {
        Linking.decideBind(google, to: account, owner: owner, isReplacing: isReplacing, policy: policy)
    }

    // MARK: Identities that are not linked

    @Test func `an account without one of the provider gets the identity`() {
        for account in [
            Self.account(), Self.account([Self.identity(Self.key(.apple, "1"))]),
            Self.account(email: "kim@example.com", hasPassword: true),
        ] {
            for isReplacing in [false, true] {
                #expect(Self.decide(to: account, isReplacing: isReplacing) == .link(replacing: nil, leaving: nil))
            }
        }
    }

    @Test func `a disabled account gets nothing, whatever else is so`() {
        let identityOnly = Self.account([Self.identity()])
        for owner in [nil, identityOnly] {
            for isReplacing in [false, true] {
                let decision = Self.decide(
                    to: Self.account([Self.identity(Self.key(.google, "2"))], status: .disabled), owner: owner,
                    isReplacing: isReplacing, policy: .merge)
                #expect(decision == .refusedAccountDisabled)
            }
        }
    }

    @Test func `another identity of the provider is in the way until it may be replaced`() {
        let existing = Self.identity(Self.key(.google, "2"))
        let account = Self.account([Self.identity(Self.key(.apple, "1")), existing])
        #expect(Self.decide(to: account) == .refusedProviderLinked(existing))
        #expect(Self.decide(to: account, isReplacing: true) == .link(replacing: existing, leaving: nil))
    }

    @Test func `an identity of another team is in nobody's way`() {
        let apple = Self.key(.apple, "1", realm: Realm("main"))
        let account = Self.account([Self.identity(Self.key(.apple, "1", realm: Realm("beta")))])
        let decision = Linking.decideBind(apple, to: account, owner: nil, isReplacing: true, policy: .refuse)
        #expect(decision == .link(replacing: nil, leaving: nil))
    }

    // MARK: Identities that are linked

    @Test func `an identity that is linked stays where it is by default`() {
        for owner in [Self.account([Self.identity()]), Self.account([Self.identity()], hasPassword: true)] {
            for isReplacing in [false, true] {
                #expect(
                    Self.decide(to: Self.account(), owner: owner, isReplacing: isReplacing) == .refusedIdentityLinked)
            }
        }
    }

    @Test func `what an account has already it does not get`() {
        let account = Self.account([Self.identity()])
        for policy in StrayAccountPolicy.allCases {
            for isReplacing in [false, true] {
                let decision = Self.decide(to: account, owner: account, isReplacing: isReplacing, policy: policy)
                #expect(decision == .refusedIdentityLinked)
            }
        }
    }

    @Test func `merge moves an identity from an account that is nothing else`() {
        let identityOnly = Self.account([Self.identity()])
        #expect(
            Self.decide(to: Self.account(), owner: identityOnly, policy: .merge)
                == .link(replacing: nil, leaving: identityOnly.id))
    }

    @Test func `merge leaves an account alone whose id in the system before would be lost`() {
        let owner = Self.account([Self.identity()], externalID: "old/1")
        #expect(
            Self.decide(to: Self.account(), owner: owner, policy: .merge) == .link(replacing: nil, leaving: owner.id))
        #expect(
            Self.decide(to: Self.account(externalID: "old/2"), owner: owner, policy: .merge) == .refusedIdentityLinked)
    }

    @Test func `merge leaves an account alone that is more than the identity`() {
        let owner = Self.account([Self.identity()], hasPassword: true)
        #expect(Self.decide(to: Self.account(), owner: owner, policy: .merge) == .refusedIdentityLinked)
    }

    @Test func `merge asks before it replaces, and replaces when it may`() {
        let identityOnly = Self.account([Self.identity()])
        let existing = Self.identity(Self.key(.google, "2"))
        let account = Self.account([existing])
        #expect(Self.decide(to: account, owner: identityOnly, policy: .merge) == .refusedProviderLinked(existing))
        let replaced = Self.decide(to: account, owner: identityOnly, isReplacing: true, policy: .merge)
        #expect(replaced == .link(replacing: existing, leaving: identityOnly.id))
    }

    // MARK: Identity-only accounts

    @Test func `an account of one identity is nothing but it`() {
        #expect(Self.account([Self.identity()]).isIdentityOnly(Self.google))
        let named = Self.account([Self.identity(email: "kim@example.com")], email: "kim@example.com", isVerified: true)
        #expect(named.isIdentityOnly(Self.google))
    }

    static let more: [(String, Account)] = [
        ("a password", account([identity()], hasPassword: true)),
        ("another identity", account([identity(), identity(key(.apple, "1"))])),
        ("another address", account([identity(email: "kim@example.com")], email: "ada@example.com", isVerified: true)),
        ("an address of its own", account([identity()], email: "kim@example.com", isVerified: true)),
        (
            "an address that the provider has not verified",
            account([identity(email: "kim@example.com", isVerified: false)], email: "kim@example.com", isVerified: true)
        ),
        ("being disabled", account([identity()], status: .disabled)),
        ("being disabled at the provider", account([identity(isBlocked: true)])),
        ("no identity", account()),
        ("another subject", account([identity(key(.google, "2"))])),
        ("the same subject of another provider", account([identity(key(.apple, "1"))])),
        ("the same subject in another realm", account([identity(key(.google, "1", realm: Realm("beta")))])),
    ]

    @Test(arguments: more.indices) func `an account with more is not`(index: Int) {
        let (what, account) = Self.more[index]
        #expect(!account.isIdentityOnly(Self.google), "\(what)")
    }

    // MARK: Sign-in methods

    @Test func `a password is a way in where there is an address to type`() {
        let identity = Self.identity()
        let whole = Self.account([identity], email: "kim@example.com", hasPassword: true)
        #expect(whole.hasSignInMethod(besides: identity.id))
        #expect(!Self.account([identity], hasPassword: true).hasSignInMethod(besides: identity.id))
        // A mailed code is none: mail may be switched off.
        #expect(
            !Self.account([identity], email: "kim@example.com", isVerified: true).hasSignInMethod(besides: identity.id))
    }

    @Test func `another identity is a way in unless its provider has disabled it`() {
        let identity = Self.identity()
        let apple = Self.key(.apple, "1")
        #expect(Self.account([identity, Self.identity(apple)]).hasSignInMethod(besides: identity.id))
        #expect(!Self.account([identity, Self.identity(apple, isBlocked: true)]).hasSignInMethod(besides: identity.id))
        #expect(!Self.account([identity]).hasSignInMethod(besides: identity.id))
    }

    // MARK: Addresses for notices

    @Test func `only an address that was proven is written to`() throws {
        let address = try #require(EmailAddress("kim@example.com"))
        #expect(Self.account(email: "kim@example.com", isVerified: true).mailbox == address)
        #expect(Self.account(email: "kim@example.com").mailbox == nil)
        #expect(Self.identity(email: "kim@example.com").mailbox == address)
        #expect(Self.identity(email: "kim@example.com", isVerified: false).mailbox == nil)
        for isVerified in [true, false] {
            let email = ProviderEmail(
                address: address, isVerified: isVerified, isPrivateRelay: true, isAuthoritative: false)
            #expect(email.mailbox == (isVerified ? address : nil))
        }
    }
}
