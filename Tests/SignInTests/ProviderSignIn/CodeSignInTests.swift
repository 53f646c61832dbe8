import Accounts
import JOSE
import Postgres
import Providers
import SignIn
import TestSupport
import Testing

@Suite(.fixture(LifeCycleFixture.self)) struct CodeSignInTests {
    var fixture: LifeCycleFixture { .current }

    @Test(arguments: Provider.allCases)
    func `a code beside a token brings a grant, and the identity says so`(provider: Provider) async throws {
        #expect(try await fixture.account(provider).identity?.authorization == .active)
        #expect(try await fixture.count("provider_grants WHERE identity_id IS NOT NULL") == 1)
        let again = try await fixture.session(try await fixture.consent(provider), .token)
        #expect(again.identity?.authorization == .active)
        #expect(try await fixture.grants(provider).map(\.isLive) == [true])
    }

    @Test(arguments: Provider.allCases)
    func `a token alone signs in without an authorization, until a code comes`(provider: Provider) async throws {
        let first = try await fixture.consent(provider)
        let created = try await fixture.create(try await fixture.ticket(first, .token))
        #expect(created.identity?.authorization == Identity.Authorization.none)
        #expect(try await fixture.tokenRequests(of: first).isEmpty)
        let again = try await fixture.session(try await fixture.consent(provider))
        #expect(again.account.id == created.account.id)
        #expect(again.identity?.authorization == .active)
    }

    @Test(arguments: Provider.allCases) func `a code alone signs in`(provider: Provider) async throws {
        let first = try await fixture.consent(provider)
        let created = try await fixture.create(try await fixture.ticket(first, .code))
        #expect(created.identity?.authorization == .active)
        #expect(created.account.email?.text == "kim@example.com")
        let second = try await fixture.consent(provider)
        #expect(try await fixture.session(second, .code).account.id == created.account.id)
        for consent in [first, second] { #expect(try await fixture.tokenRequests(of: consent).map(\.status) == [200]) }
    }

    // MARK: The client of a code

    @Test(.appAndWeb, arguments: [LifeCycleFixture.Evidence.both, .code])
    func `a code goes with the redirect URI that it was sent to, a native one without`(
        evidence: LifeCycleFixture.Evidence
    ) async throws {
        let native = try await fixture.consent(.apple)
        _ = try await fixture.ticket(native, evidence, clientID: LifeCycleFixture.appleClient)
        let web = try await fixture.consent(
            .apple, appleClient: LifeCycleFixture.webClient, redirectURI: LifeCycleFixture.redirectURI)
        _ = try await fixture.ticket(
            web, evidence, clientID: LifeCycleFixture.webClient, redirectURI: LifeCycleFixture.redirectURI)
        let google = try await fixture.consent(.google)
        _ = try await fixture.ticket(google, evidence)

        #expect(try await fixture.tokenRequests(of: native).map { $0.field("redirect_uri") } == [nil])
        #expect(
            try await fixture.tokenRequests(of: web).map { $0.field("redirect_uri") } == [LifeCycleFixture.redirectURI])
        #expect(try await fixture.tokenRequests(of: google).map { $0.field("redirect_uri") } == [""])
        #expect(try await fixture.count("provider_grants") == 3)
    }

    @Test(arguments: [LifeCycleFixture.Evidence.both, .code])
    func `a redirect URI that is not listed is refused, and the code not sent`(
        evidence: LifeCycleFixture.Evidence
    ) async throws {
        for uri in ["https://evil.example/callback", LifeCycleFixture.redirectURI + "/", ""] {
            let consent = try await fixture.consent(.apple)
            try await expectFailure("redirectURIRefused") {
                try await fixture.signIn(consent, evidence, redirectURI: uri)
            }
            #expect(try await fixture.tokenRequests(of: consent).isEmpty)
        }
    }

    @Test(.appAndWeb) func `of several clients a code that comes alone names its own`() async throws {
        let consent = try await fixture.consent(.apple)
        try await expectFailure("clientIDRequired") { try await fixture.signIn(consent, .code) }
        try await expectFailure("client_rejected") {
            try await fixture.signIn(consent, .code, clientID: "com.example.other")
        }
        #expect(try await fixture.tokenRequests(of: consent).isEmpty)
        _ = try await fixture.ticket(consent, .code, clientID: LifeCycleFixture.appleClient)
        // The token beside a code names the client.
        _ = try await fixture.ticket(try await fixture.consent(.apple, appleClient: LifeCycleFixture.webClient))
    }

    @Test func `a code of Google's belongs to the server client alone`() async throws {
        let consent = try await fixture.consent(.google)
        try await expectFailure("client_rejected") {
            try await fixture.signIn(consent, .code, clientID: "lamp-ios.apps.googleusercontent.com")
        }
        #expect(try await fixture.tokenRequests(of: consent).isEmpty)
        _ = try await fixture.ticket(consent, .code, clientID: LifeCycleFixture.serverClient)
    }

    // MARK: One person, one code

    @Test(arguments: Provider.allCases)
    func `a token and the code of somebody else sign nobody in`(provider: Provider) async throws {
        let kim = try await fixture.consent(provider, token: .init(withoutClaims: ["c_hash"]))
        let ada = try await fixture.consent(provider, "ada")
        let mixed = LifeCycleFixture.Consent(provider: provider, token: kim.token, code: ada.code)
        try await expectFailure("subject_mismatch") { try await fixture.signIn(mixed) }
        #expect(try await fixture.tokenRequests(of: ada).count == 1)
        #expect(try await fixture.count("link_tickets") == 0)
        #expect(try await fixture.count("provider_grants WHERE revocation_id IS NULL") == 0)
    }

    @Test(arguments: Provider.allCases)
    func `a token that names the hash of another code keeps this one from being sent`(provider: Provider) async throws {
        let claims = #"{"c_hash":"AAAAAAAAAAAAAAAAAAAAAA"}"#
        let consent = try await fixture.consent(provider, token: .init(claims: claims))
        try await expectFailure("hash_mismatch") { try await fixture.signIn(consent) }
        #expect(try await fixture.tokenRequests(of: consent).isEmpty)
        #expect(try await fixture.count("link_tickets") == 0)
    }

    @Test func `two codes of one person can't be swapped either`() async throws {
        let first = try await fixture.consent(.apple)
        let second = try await fixture.consent(.apple)
        let mixed = LifeCycleFixture.Consent(provider: .apple, token: first.token, code: second.code)
        try await expectFailure("hash_mismatch") { try await fixture.signIn(mixed) }
        #expect(try await fixture.tokenRequests(of: second).isEmpty)
        _ = try await fixture.ticket(second)
    }

    @Test(arguments: Provider.allCases, [LifeCycleFixture.Evidence.both, .code])
    func `an exchanged token that names the hash of another access token is not believed`(
        provider: Provider, evidence: LifeCycleFixture.Evidence
    ) async throws {
        let forged = Sandbox.TokenChanges(claims: #"{"at_hash":"AAAAAAAAAAAAAAAAAAAAAA"}"#)
        let consent = try await fixture.consent(provider, exchange: .init(token: forged))
        try await expectFailure("hash_mismatch") { try await fixture.signIn(consent, evidence) }
        #expect(try await fixture.tokenRequests(of: consent).count == 1)
        #expect(try await fixture.count("link_tickets") == 0)
        #expect(try await fixture.count("provider_grants WHERE revocation_id IS NULL") == 0)
    }

    // MARK: Refusals

    @Test(arguments: Provider.allCases)
    func `a refused code beside a token signs in, and is recorded`(provider: Provider) async throws {
        let stale = try await fixture.consent(provider)
        let unknown = try await fixture.consent(provider, "ada")
        let created = try await fixture.account(provider)
        try await fixture.advance(by: 601)

        let session = try await fixture.session(stale)
        #expect(session.account.id == created.account.id)
        #expect(session.identity?.authorization == .active)
        #expect(try await fixture.tokenRequests(of: stale).map(\.status) == [400])
        _ = try await fixture.ticket(unknown)
        #expect(try await fixture.audited(.codeRejected) == ["provider invalid_grant", "provider invalid_grant"])
        let known: SQLRow = (created.account.id.description, created.identity?.id.description)
        let recorded = try await fixture.rejections()
        #expect(recorded.contains { $0 == known })
        #expect(recorded.contains { $0 == (nil, nil) })
    }

    @Test(arguments: Provider.allCases)
    func `an exchanged token that is not believed leaves a good token good, and is recorded`(
        provider: Provider
    ) async throws {
        let unbelieved: [(person: String, reason: String, exchange: Sandbox.ExchangeChanges)] = [
            ("kim", "expired", .init(token: .init(expired: true))),
            ("ada", "issuer_rejected", .init(token: .init(claims: #"{"iss":"https://evil.example"}"#))),
            ("lee", "malformed", .init(answer: #"{"id_token":null}"#)),
        ]
        switch provider {
        case .apple: _ = try await fixture.sandbox.addApplePerson("lee")
        case .google: _ = try await fixture.sandbox.addGooglePerson("lee")
        }
        for (person, _, exchange) in unbelieved {
            let consent = try await fixture.consent(provider, person, exchange: exchange)
            _ = try await fixture.ticket(consent)
            #expect(try await fixture.tokenRequests(of: consent).map(\.status) == [200])
        }
        #expect(try await fixture.audited(.codeRejected).sorted() == unbelieved.map { "provider \($0.reason)" })
        #expect(try await fixture.count("provider_grants WHERE revocation_id IS NULL") == 0)
    }

    @Test(arguments: Provider.allCases) func `a refused code alone signs nobody in`(provider: Provider) async throws {
        _ = try await fixture.account(provider)
        let stale = try await fixture.consent(provider)
        try await fixture.advance(by: 601)
        try await expectFailure("code_rejected") { try await fixture.signIn(stale, .code) }
        let invented = LifeCycleFixture.Consent(provider: provider, token: "", code: "4/0Ainvented")
        try await expectFailure("code_rejected") { try await fixture.signIn(invented, .code) }
        for consent in [stale, invented] { #expect(try await fixture.tokenRequests(of: consent).count == 1) }
    }

    @Test(arguments: Provider.allCases)
    func `credentials of ours that the provider refuses leave a good token good, and a code on its own unanswered`(
        provider: Provider
    ) async throws {
        let created = try await fixture.account(provider)
        try await fixture.refuseKey(of: provider)
        let known = try await fixture.consent(provider)
        let session = try await fixture.session(known)
        #expect(session.account.id == created.account.id)
        // What an earlier code brought is not lost.
        #expect(session.identity?.authorization == .active)
        let unknown = try await fixture.consent(provider, "ada")
        let newcomer = try await fixture.create(try await fixture.ticket(unknown))
        #expect(newcomer.identity?.authorization == Identity.Authorization.none)
        #expect(try await fixture.audited(.codeRejected).isEmpty)

        let alone = try await fixture.consent(provider)
        let beside = try await fixture.consent(provider, token: .init(expired: true))
        for (consent, evidence) in [(alone, LifeCycleFixture.Evidence.code), (beside, .both)] {
            await expectFailure(.providerUnavailable(retryAfter: 60, reason: "client_credentials_rejected")) {
                try await fixture.signIn(consent, evidence)
            }
        }
        for consent in [known, unknown, alone, beside] {
            #expect(try await fixture.tokenRequests(of: consent).count == 1)
        }

        // Once the key is right again the next code brings the grant.
        try await fixture.restoreKey(of: provider)
        let again = try await fixture.session(try await fixture.consent(provider, "ada"))
        #expect(again.identity?.authorization == .active)
    }
}

private typealias SQLRow = (String?, String?)

extension LifeCycleFixture {
    /// The account and the identity of each refused code.
    fileprivate func rejections() async throws -> [SQLRow] {
        try await database.query(
            "SELECT account_id::text, identity_id::text FROM audit_events WHERE type = 'code_rejected'",
            as: String?.self, String?.self)
    }
}
