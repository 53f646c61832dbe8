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
                ProviderEmail(
                    address: $0, isVerified: verified, isPrivateRelay: relay, isAuthoritative: authoritative)
            }, clientID: "client", authenticatedAt: Timestamp(seconds: 0))
    }

    private func holder(
        verified: Bool = true, status: Account.Status = .active, identities: Bool = true, sameProvider: Bool = false
    ) -> EmailHolder {
        EmailHolder(
            accountID: LinkingTests.accountID, isEmailVerified: verified, status: status, hasIdentities: identities,
            hasIdentityOfProvider: sameProvider)
    }

    @Test func `nobody holds the address: create or bind`() throws {
        let decision = Linking.decide(try identity(), holder: nil, policy: .prompt)
        #expect(decision == .linkRequired([.create, .bind]))
    }

    @Test func `a verified account holds the verified address: bind only`() throws {
        #expect(Linking.decide(try identity(), holder: holder(), policy: .prompt) == .linkRequired([.bind]))
    }

    @Test func `an account that never proved the address is not found by it`() throws {
        for policy in VerifiedEmailPolicy.allCases {
            let decision = Linking.decide(try identity(), holder: holder(verified: false), policy: policy)
            #expect(decision == .linkRequired([.create, .bind]))
        }
    }

    @Test func `an unverified, relay or missing address finds nobody`() throws {
        for policy in VerifiedEmailPolicy.allCases {
            for identity in [
                try identity(verified: false), try identity(relay: true), try identity(email: nil),
            ] {
                #expect(Linking.decide(identity, holder: holder(), policy: policy) == .linkRequired([.create, .bind]))
            }
        }
    }

    @Test func `automatic binds where the provider runs the mailbox`() throws {
        let decision = Linking.decide(try identity(), holder: holder(), policy: .automatic)
        #expect(decision == .bindAutomatically(LinkingTests.accountID))
    }

    @Test func `automatic asks where the provider does not run the mailbox`() throws {
        let decision = Linking.decide(try identity(authoritative: false), holder: holder(), policy: .automatic)
        #expect(decision == .linkRequired([.bind]))
    }

    @Test func `automatic never replaces an identity and never enters a disabled account`() throws {
        for holder in [holder(sameProvider: true), holder(status: .disabled)] {
            #expect(Linking.decide(try identity(), holder: holder, policy: .automatic) == .linkRequired([.bind]))
        }
    }

    @Test func `create takes a verified address that is free`() throws {
        let email = try #require(try identity().email)
        #expect(Linking.decideCreate(email, holder: nil) == .create(email: email.address, isVerified: true))
    }

    @Test func `create does not take an unverified address`() throws {
        for holder in [nil, holder(), holder(verified: false)] {
            let decision = Linking.decideCreate(try identity(verified: false).email, holder: holder)
            #expect(decision == .create(email: nil, isVerified: false))
        }
        #expect(Linking.decideCreate(nil, holder: nil) == .create(email: nil, isVerified: false))
    }

    @Test func `create is refused where a verified account holds the address`() throws {
        #expect(Linking.decideCreate(try identity().email, holder: holder()) == .refusedEmailTaken)
    }

    @Test func `create takes the address back from an account that never proved it`() throws {
        let email = try #require(try identity().email)
        for identities in [true, false] {
            let decision = Linking.decideCreate(email, holder: holder(verified: false, identities: identities))
            let expected = CreateDecision.createAndReclaim(
                email: email.address, from: LinkingTests.accountID, disable: !identities)
            #expect(decision == expected)
        }
    }

    @Test func `a relay address that is held causes no conflict and takes nothing`() throws {
        for holder in [holder(), holder(verified: false)] {
            let decision = Linking.decideCreate(try identity(relay: true).email, holder: holder)
            #expect(decision == .create(email: nil, isVerified: false))
        }
    }
}

/// The rules of refresh token rotation, one line each.
@Suite struct RefreshLineageTests {
    private let start = Timestamp(seconds: 1_767_225_600)
    /// Generation 5 made by the use of 4.
    private var lineage: RefreshLineage { RefreshLineage(generation: 5, parent: 4, rotatedAt: start) }

    @Test func `the newest token makes the next`() {
        let later = start.advanced(bySeconds: 100)
        let decision = lineage.presented(5, at: later)
        #expect(decision == .renewed(RefreshLineage(generation: 6, parent: 5, rotatedAt: later)))
    }

    @Test func `the previous token gets the same successor for 60 seconds`() {
        #expect(lineage.presented(4, at: start.advanced(bySeconds: 60)) == .renewed(lineage))
    }

    @Test func `after 60 seconds the previous token replaces the unused successor`() {
        let later = start.advanced(bySeconds: 61)
        let replaced = RefreshLineage(generation: 6, parent: 4, rotatedAt: later)
        #expect(lineage.presented(4, at: later) == .renewed(replaced))
        // The successor that was replaced is dead.
        #expect(replaced.presented(5, at: later) == .reused)
    }

    @Test func `an older token ends the session`() {
        for generation: Int32 in [0, 1, 3] { #expect(lineage.presented(generation, at: start) == .reused) }
    }

    @Test func `one generation ahead is accepted, two are not`() {
        let ahead = RefreshLineage(generation: 7, parent: 6, rotatedAt: start)
        #expect(lineage.presented(6, at: start) == .renewed(ahead))
        #expect(lineage.presented(7, at: start) == .unknown)
    }

    @Test func `the last generation ends the session instead of overflowing`() {
        let last = RefreshLineage(generation: .max, parent: .max - 1, rotatedAt: start)
        #expect(last.presented(.max, at: start) == .reused)
    }
}
