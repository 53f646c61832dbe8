import Accounts
import Testing

/// Every rule of linking, one line each.
@Suite struct LinkingTests {
    private static let accountID = AccountID(now: Timestamp(seconds: 0), random: [])

    private func identity(
        verified: Bool = true, relay: Bool = false, authoritative: Bool = true, email: String? = "kim@example.com"
    ) throws -> VerifiedIdentity {
        let key = IdentityKey(provider: .google, realm: .main, subject: try #require(ProviderSubject("1")))
        let address = try email.map { try #require(EmailAddress($0)) }
        return VerifiedIdentity(
            key: key,
            email: address.map {
                ProviderEmail(address: $0, isVerified: verified, isPrivateRelay: relay, isAuthoritative: authoritative)
            }, clientID: "client", authenticatedAt: Timestamp(seconds: 0), issuedAt: Timestamp(seconds: 0))
    }

    private func holder(
        _ proof: EmailProof? = .proven, by source: EmailProof.Source? = nil, status: Account.Status = .active,
        _ identities: Identity...
    ) -> Account {
        Account(
            id: LinkingTests.accountID, email: EmailAddress("kim@example.com"), emailProof: proof,
            emailProofSource: source, displayName: nil, status: status, createdAt: Timestamp(seconds: 0),
            hasPassword: false, identities: identities)
    }

    private func linked(_ provider: Provider, _ subject: String, email: String? = nil) throws -> Identity {
        Identity(
            id: IdentityID(now: Timestamp(seconds: 0)),
            key: IdentityKey(provider: provider, realm: .main, subject: try #require(ProviderSubject(subject))),
            email: email.flatMap(EmailAddress.init), isEmailVerified: true, isPrivateEmail: false,
            linkedAt: Timestamp(seconds: 0), lastSignInAt: nil, authorization: .none)
    }

    @Test func `nobody holds the address: create or bind`() throws {
        let decision = Linking.decide(try identity(), holder: nil, policy: .prompt)
        #expect(decision == .linkRequired([.create, .bind], showing: .nothing))
    }

    @Test func `an account that only claims the address is not found by it`() throws {
        for policy in VerifiedEmailPolicy.allCases {
            let decision = Linking.decide(try identity(), holder: holder(.claimed), policy: policy)
            #expect(decision == .linkRequired([.create, .bind], showing: .nothing))
        }
    }

    @Test func `a stated holder is shown, with its identities to who proves the mailbox`() throws {
        for policy in VerifiedEmailPolicy.allCases {
            let proving = Linking.decide(try identity(), holder: holder(.stated), policy: policy)
            #expect(proving == .linkRequired([.bind, .create], showing: .identities))
            let stating = Linking.decide(try identity(authoritative: false), holder: holder(.stated), policy: policy)
            #expect(stating == .linkRequired([.bind, .create], showing: .providers))
        }
    }

    @Test func `a proven account has the address: bind only`() throws {
        for isAuthoritative in [true, false] {
            let identity = try identity(authoritative: isAuthoritative)
            let decision = Linking.decide(identity, holder: holder(), policy: .prompt)
            #expect(decision == .linkRequired([.bind], showing: .nothing))
        }
    }

    @Test func `a successor at the same provider finds a proven holder stated`() throws {
        let predecessor = try linked(.google, "2", email: "kim@example.com")
        for policy in VerifiedEmailPolicy.allCases {
            let decision = Linking.decide(try identity(), holder: holder(.proven, predecessor), policy: policy)
            #expect(decision == .linkRequired([.bind, .create], showing: .identities))
        }
        for other in [
            try linked(.google, "2", email: "lee@example.com"), try linked(.apple, "2", email: "kim@example.com"),
        ] { #expect(!holder(.proven, other).isSucceeded(by: try identity())) }
        #expect(!holder(.proven, predecessor).isSucceeded(by: try identity(authoritative: false)))
    }

    @Test func `a predecessor was given another address, where the provider has proven the account's`() throws {
        let renamed = try linked(.google, "2", email: "lee@example.com")
        let proven = holder(.proven, by: .authoritativeProvider, renamed)
        #expect(proven.isSucceeded(by: try identity()))
        #expect(!proven.isSucceeded(by: try identity(authoritative: false)))
        for source: EmailProof.Source in [.mailedCode, .administrator, .imported] {
            #expect(!holder(.proven, by: source, renamed).isSucceeded(by: try identity()))
        }
        let elsewhere = try linked(.apple, "2", email: "lee@example.com")
        #expect(!holder(.proven, by: .authoritativeProvider, elsewhere).isSucceeded(by: try identity()))
    }

    @Test func `an unverified, relay or missing address finds nobody`() throws {
        for policy in VerifiedEmailPolicy.allCases {
            for identity in [try identity(verified: false), try identity(relay: true), try identity(email: nil)] {
                let decision = Linking.decide(identity, holder: holder(), policy: policy)
                #expect(decision == .linkRequired([.create, .bind], showing: .nothing))
            }
        }
    }

    @Test func `automatic binds where both have proven the mailbox`() throws {
        let decision = Linking.decide(try identity(), holder: holder(), policy: .automatic)
        #expect(decision == .bindAutomatically(LinkingTests.accountID))
    }

    @Test func `automatic asks where the provider does not run the mailbox`() throws {
        let decision = Linking.decide(try identity(authoritative: false), holder: holder(), policy: .automatic)
        #expect(decision == .linkRequired([.bind], showing: .nothing))
    }

    @Test func `automatic never replaces an identity and never enters a disabled account`() throws {
        for holder in [holder(.proven, try linked(.google, "2")), holder(status: .disabled)] {
            let decision = Linking.decide(try identity(), holder: holder, policy: .automatic)
            #expect(decision == .linkRequired([.bind], showing: .nothing))
        }
    }

    @Test func `create takes a verified address that is free, at the degree of its claim`() throws {
        let address = try #require(EmailAddress("kim@example.com"))
        for (evidence, proof, source): (AddressEvidence, EmailProof, EmailProof.Source) in [
            (.authoritative, .proven, .authoritativeProvider), (.relay, .proven, .authoritativeProvider),
            (.stated, .stated, .provider), (.mailedCode, .proven, .mailedCode),
        ] {
            let email = ProvenEmail(address: address, proof: proof, source: source)
            #expect(Linking.decideCreate(address, evidence, holder: nil) == .create(email))
        }
    }

    @Test func `create does not take an unverified address`() throws {
        for holder in [nil, holder(), holder(.claimed)] {
            let address = EmailAddress("kim@example.com")
            #expect(Linking.decideCreate(address, .none, holder: holder) == .create(nil))
        }
        #expect(Linking.decideCreate(nil, .none, holder: nil) == .create(nil))
    }

    @Test func `create is refused where the holder has proven the address`() throws {
        for evidence: AddressEvidence in [.stated, .authoritative, .mailedCode] {
            let decision = Linking.decideCreate(EmailAddress("kim@example.com"), evidence, holder: holder())
            #expect(decision == .refusedEmailTaken)
        }
    }

    @Test func `create takes the address from a holder without a proof, for who proves the mailbox alone`() throws {
        let address = try #require(EmailAddress("kim@example.com"))
        for proof: EmailProof in [.claimed, .stated] {
            let loser = holder(proof)
            let taken = Linking.decideCreate(address, .authoritative, holder: loser)
            let email = ProvenEmail(address: address, proof: .proven, source: .authoritativeProvider)
            #expect(taken == .createTaking(email, from: loser))
            #expect(Linking.decideCreate(address, .stated, holder: loser) == .create(nil))
        }
    }

    @Test func `a relay address that is held causes no conflict and takes nothing`() throws {
        for holder in [holder(), holder(.stated), holder(.claimed)] {
            #expect(Linking.decideCreate(EmailAddress("kim@example.com"), .relay, holder: holder) == .create(nil))
        }
    }

    @Test func `an identity raises the degree of its own account's address, and lowers none`() throws {
        let stating = try #require(try identity(authoritative: false).email)
        let proving = try #require(try identity().email)
        #expect(holder(.claimed).emailRaised(by: stating)?.proof == .stated)
        #expect(holder(.claimed).emailRaised(by: proving)?.proof == .proven)
        #expect(holder(.stated).emailRaised(by: proving)?.proof == .proven)
        #expect(holder(.stated).emailRaised(by: stating) == nil)
        #expect(holder(.proven).emailRaised(by: stating) == nil)
        let other = try #require(try identity(email: "lee@example.com").email)
        #expect(holder(.claimed).emailRaised(by: other) == nil)
        #expect(holder(.claimed).emailRaised(by: try identity(verified: false).email) == nil)
        #expect(holder(.claimed).emailRaised(by: nil) == nil)
    }

    @Test func `an address that was proven otherwise rests on who runs the mailbox once they state it`() throws {
        let stating = try #require(try identity(authoritative: false).email)
        let proving = try #require(try identity().email)
        for source: EmailProof.Source in [.mailedCode, .administrator, .imported] {
            let restated = holder(.proven, by: source).emailRaised(by: proving)
            #expect(restated?.proof == .proven && restated?.source == .authoritativeProvider)
            #expect(holder(.proven, by: source).emailRaised(by: stating) == nil)
        }
        #expect(holder(.proven, by: .authoritativeProvider).emailRaised(by: proving) == nil)
        #expect(holder(.stated, by: .imported).emailRaised(by: stating) == nil)
    }
}
