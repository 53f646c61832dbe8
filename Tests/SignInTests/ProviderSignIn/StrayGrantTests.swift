import Accounts
import Postgres
import Providers
import SignIn
import TestSupport
import Testing

/// Refresh tokens that come with a code whose sign-in is refused. A provider's revocation ends all that a person has
/// authorized, so they are revoked only if the person has nothing here.
@Suite(.fixture(LifeCycleFixture.self)) struct StrayGrantTests {
    var fixture: LifeCycleFixture { .current }

    /// An exchange that is refused though the provider has vouched for the owner of the code.
    struct Refusal: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reason: String
        var exchange = Sandbox.ExchangeChanges()
        /// The nonce of the person's sign-in, and the one that is posted.
        var nonces: (own: String, posted: String)?

        static let all = [
            Refusal(
                testDescription: "at_hash", reason: "hash_mismatch",
                exchange: .init(token: .init(claims: #"{"at_hash":"AAAAAAAAAAAAAAAAAAAAAA"}"#))),
            Refusal(
                testDescription: "c_hash", reason: "hash_mismatch",
                exchange: .init(token: .init(claims: #"{"c_hash":"AAAAAAAAAAAAAAAAAAAAAA"}"#))),
            Refusal(testDescription: "times", reason: "expired", exchange: .init(token: .init(expired: true))),
            Refusal(testDescription: "nonce", reason: "nonce_mismatch", nonces: ("another", "mine")),
        ]

        func provoke(_ provider: Provider, in fixture: LifeCycleFixture) async throws {
            let consent = try await fixture.consent(provider, nonce: nonces?.own, exchange: exchange)
            try await expectFailure(reason) {
                try await fixture.signIn(consent, .code, nonce: nonces?.posted, from: "192.0.2.0/24")
            }
            #expect(try await fixture.tokenRequests(of: consent).map(\.status) == [200])
        }
    }

    /// Expects that the latest authorization is revoked, and what the trail says about it.
    private func expectRevoked(
        _ provider: Provider, _ person: String = "kim", because reason: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(
            try await fixture.count("provider_grants WHERE revocation_id IS NOT NULL AND check_at IS NULL") == 1,
            sourceLocation: sourceLocation)
        #expect(
            try await fixture.audited(.revocationRequested) == ["service \(reason)"], sourceLocation: sourceLocation)
        try await fixture.revokeDue()
        #expect(try await fixture.revocationRows().map(\.status) == ["done"], sourceLocation: sourceLocation)
        #expect(try await fixture.grants(provider, person).map(\.endedBy) == [.revoke], sourceLocation: sourceLocation)
        #expect(try await fixture.count("provider_grants") == 0, sourceLocation: sourceLocation)
        #expect(try await fixture.audited(.revocationDone).count == 1, sourceLocation: sourceLocation)
    }

    @Test(arguments: Provider.allCases, Refusal.all)
    func `what a refused exchange leaves is revoked`(provider: Provider, refusal: Refusal) async throws {
        try await refusal.provoke(provider, in: fixture)
        let audited = try await fixture.texts(
            """
            SELECT provider || ' ' || request_id || ' ' || network || ' ' || (revocation_id IS NOT NULL)::text
            FROM audit_events
            WHERE type = 'revocation_requested'
            """)
        #expect(audited == ["\(provider.rawValue) test 192.0.2.0/24 true"])
        try await expectRevoked(provider, because: refusal.reason)
        // The person may come, and has an authorization that nothing ends.
        #expect(try await fixture.account(provider).identity?.authorization == .active)
        try await fixture.revokeDue()
        #expect(try await fixture.grants(provider).map(\.isLive) == [false, true])
    }

    @Test(arguments: Provider.allCases)
    func `the authorization of somebody else's code is revoked`(provider: Provider) async throws {
        let kim = try await fixture.account(provider)
        let token = try await fixture.consent(provider, token: .init(withoutClaims: ["c_hash"])).token
        let ada = try await fixture.consent(provider, "ada")
        let mixed = LifeCycleFixture.Consent(provider: provider, token: token, code: ada.code)
        try await expectFailure("subject_mismatch") { try await fixture.signIn(mixed) }
        #expect(try await fixture.revocationRows().map(\.status) == ["pending"])
        try await fixture.revokeDue()
        #expect(try await fixture.grants(provider, "ada").map(\.endedBy) == [.revoke])
        #expect(try await fixture.audited(.revocationRequested) == ["service subject_mismatch"])
        // The person of the token keeps what is theirs.
        #expect(try await fixture.grants(provider).map(\.isLive) == [true])
        #expect(try await fixture.authorization(kim.identity) == "active")
    }

    @Test func `so is that of a code whose nonce another sign-in spends meanwhile`() async throws {
        let nonce = try fixture.service.nonces.issue(for: .apple).text
        let ada = try await fixture.consent(.apple, "ada", nonce: nonce)
        let service = try await fixture.service {
            await #expect(throws: Never.self) { _ = try await fixture.signIn(ada, .token, nonce: nonce) }
        }
        let kim = try await fixture.consent(.apple, nonce: nonce)
        let credential = ProviderCredential(code: kim.code, nonce: nonce)
        try await expectFailure("nonce_spent") {
            try await service.providers.signIn(with: .apple, credential, by: fixture.call)
        }
        try await expectRevoked(.apple, because: "nonce_spent")
    }

    // MARK: Erased

    @Test(arguments: Provider.allCases, Refusal.all)
    func `a person with an identity here neither loses nor gets anything by a refused exchange`(
        provider: Provider, refusal: Refusal
    ) async throws {
        let created = try await fixture.create(try await fixture.ticket(try await fixture.consent(provider), .token))
        try await refusal.provoke(provider, in: fixture)
        #expect(try await fixture.authorization(created.identity) == "none")
        #expect(try await fixture.count("provider_grants") == 0)

        #expect(try await fixture.session(try await fixture.consent(provider)).identity?.authorization == .active)
        let kept = try await fixture.refreshTokens()
        try await refusal.provoke(provider, in: fixture)
        try await fixture.revokeDue()
        #expect(try await fixture.refreshTokens() == kept)
        #expect(try await fixture.count("outbox") == 0)
        #expect(try await fixture.audited(.revocationRequested).isEmpty)
        #expect(try await fixture.grants(provider).map(\.isLive) == [true, true, true])
    }

    @Test(arguments: Provider.allCases) func `so does a person who has yet to choose`(provider: Provider) async throws {
        let ticket = try await fixture.ticket(try await fixture.consent(provider))
        let kept = try await fixture.refreshTokens()
        try await Refusal.all[0].provoke(provider, in: fixture)
        #expect(try await fixture.refreshTokens() == kept)
        #expect(try await fixture.count("outbox") == 0)
        #expect(try await fixture.create(ticket).identity?.authorization == .active)
    }

    @Test(arguments: Provider.allCases)
    func `a ticket that is over keeps nothing from being revoked`(provider: Provider) async throws {
        let ticket = try await fixture.ticket(try await fixture.consent(provider), .token)
        try await fixture.service.tickets.cancel(linkTicket: ticket.linkTicket, by: fixture.call)
        try await Refusal.all[0].provoke(provider, in: fixture)
        try await expectRevoked(provider, because: "hash_mismatch")
    }

    @Test(arguments: Provider.allCases)
    func `a person who unlinked is not here any more`(provider: Provider) async throws {
        try await fixture.deleteAccount(try await fixture.account(provider))
        try await fixture.revokeDue()
        try await Refusal.all[0].provoke(provider, in: fixture)
        try await fixture.revokeDue()
        #expect(try await fixture.grants(provider).map(\.endedBy) == [.revoke, .revoke])
        #expect(try await fixture.revocationRows().map(\.status) == ["done", "done"])
    }

    // MARK: Nobody's

    @Test(arguments: Provider.allCases)
    func `where nothing proves whose authorization it is nothing is revoked`(provider: Provider) async throws {
        let unsigned: [(reason: String, exchange: Sandbox.ExchangeChanges)] = [
            ("signature_mismatch", .init(token: .init(signature: .forged))),
            ("signature_mismatch", .init(token: .init(signature: .otherKey))),
            ("issuer_rejected", .init(token: .init(claims: #"{"iss":"https://evil.example"}"#))),
            ("audience_rejected", .init(token: .init(claims: #"{"aud":"com.example.other"}"#))),
            ("claim_missing", .init(token: .init(withoutClaims: ["sub"]))),
            ("malformed", .init(answer: #"{"id_token":null}"#)),
        ]
        for (reason, exchange) in unsigned {
            let consent = try await fixture.consent(provider, exchange: exchange)
            try await expectFailure(reason) { try await fixture.signIn(consent, .code) }
        }
        #expect(try await fixture.count("provider_grants") == 0)
        #expect(try await fixture.count("outbox") == 0)
        #expect(try await fixture.grants(provider).map(\.isLive) == Array(repeating: true, count: unsigned.count))
    }
}
