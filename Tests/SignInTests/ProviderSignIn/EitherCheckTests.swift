import Accounts
import JOSE
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// A token and a code that come together: either one signs in by itself.
@Suite(.fixture(LifeCycleFixture.self)) struct EitherCheckTests {
    var fixture: LifeCycleFixture { .current }

    /// What keeps a token from verifying, for every reason but a nonce and missing keys.
    private static let faults: [(reason: String, changes: Sandbox.TokenChanges)] = [
        ("expired", .init(expired: true)), ("not_yet_valid", .init(claims: #"{"iat":\#(SignInFixture.start + 3600)}"#)),
        ("lifetime_rejected", .init(lifetime: 31_536_000)), ("signature_mismatch", .init(signature: .forged)),
        ("algorithm_rejected", .init(algorithm: "HS256")), ("header_rejected", .init(header: #"{"crit":["exp"]}"#)),
        ("key_unknown", .init(header: #"{"kid":"nobody's"}"#)),
        ("issuer_rejected", .init(claims: #"{"iss":"https://evil.example"}"#)),
        ("audience_rejected", .init(claims: #"{"aud":"com.example.other"}"#)),
        ("claim_missing", .init(withoutClaims: ["sub"])), ("claim_invalid", .init(claims: #"{"exp":"soon"}"#)),
        ("event_token", .init(claims: #"{"events":{}}"#)),
    ]

    private static let expired = Sandbox.TokenChanges(expired: true)

    /// The reasons in the audit trail of the credentials that were refused, in alphabetical order.
    private func refusals() async throws -> [String] {
        try await fixture.service.refusals.flush()
        return try await fixture.audited(.credentialRejected).sorted()
    }

    // MARK: A token that does not verify

    @Test(arguments: Provider.allCases)
    func `a token that does not verify, whatever is wrong with it, leaves a good code good`(
        provider: Provider
    ) async throws {
        let created = try await fixture.account(provider)
        for (reason, changes) in Self.faults {
            let consent = try await fixture.consent(provider, token: changes)
            try await expectFailure(reason) { try await fixture.signIn(consent, .token) }
            #expect(try await fixture.session(consent).account.id == created.account.id, "\(reason)")
            #expect(try await fixture.tokenRequests(of: consent).map(\.status) == [200], "\(reason)")
        }
        for text in ["", "a.b.c", String(repeating: "a", count: 16_385)] {
            let consent = try await fixture.consent(provider)
            let broken = LifeCycleFixture.Consent(provider: provider, token: text, code: consent.code)
            #expect(try await fixture.session(broken).account.id == created.account.id)
        }
        // Each token once by itself and once beside its code, three of them beside a code alone.
        try await fixture.service.refusals.flush()
        let counts = try await fixture.texts(
            """
            SELECT reason || ' ' || sum(occurrences)
            FROM audit_events
            WHERE type = 'credential_rejected'
            GROUP BY reason
            """)
        let expected = Self.faults.map { "\($0.reason) 2" } + ["malformed 2", "too_large 1"]
        #expect(Set(counts) == Set(expected))
    }

    @Test(arguments: Provider.allCases)
    func `nothing of a token that does not verify is used, not even whom it names`(provider: Provider) async throws {
        let kim = try await fixture.account(provider)
        let ada = try await fixture.consent(provider, "ada", token: .init(signature: .forged))
        let own = try await fixture.consent(provider)
        let mixed = LifeCycleFixture.Consent(provider: provider, token: ada.token, code: own.code)
        let session = try await fixture.session(mixed)
        #expect(session.account.id == kim.account.id)
        #expect(session.account.email?.text == "kim@example.com")
        #expect(try await refusals() == ["person signature_mismatch"])
    }

    @Test(arguments: Provider.allCases)
    func `a token and a code that are both refused sign nobody in, and both reasons are recorded`(
        provider: Provider
    ) async throws {
        let consent = try await fixture.consent(provider, token: Self.expired)
        _ = try await fixture.ticket(consent, .code)
        try await expectFailure("expired") { try await fixture.signIn(consent) }
        #expect(try await refusals() == ["person code_rejected", "person expired"])
        #expect(try await fixture.tokenRequests(of: consent).map(\.status) == [200, 400])
    }

    @Test(.configured { $0.codeExchangeTimeout.besideToken = .seconds(1) }, arguments: Provider.allCases)
    func `a code beside a token that does not verify has the time of one that comes alone`(
        provider: Provider
    ) async throws {
        _ = try await fixture.create(try await fixture.ticket(try await fixture.consent(provider), .token))
        try await fixture.sandbox.fail(LifeCycleFixture.tokenPath(provider), .delay(milliseconds: 3_000))
        let beside = try await fixture.session(try await fixture.consent(provider))
        #expect(beside.identity?.authorization == Identity.Authorization.none)
        let alone = try await fixture.session(try await fixture.consent(provider, token: Self.expired))
        #expect(alone.identity?.authorization == .active)
    }

    @Test(arguments: Provider.allCases)
    func `a code that nobody answers is to be retried, whatever the token beside it that does not verify`(
        provider: Provider
    ) async throws {
        let consent = try await fixture.consent(provider, token: Self.expired)
        try await fixture.sandbox.fail(LifeCycleFixture.tokenPath(provider), .status(500))
        try await expectFailure("providerUnavailable") { try await fixture.signIn(consent) }
        #expect(try await fixture.tokenRequests(of: consent).count == 1)
        #expect(try await refusals() == ["person expired"])
    }

    @Test(.noFixture(LifeCycleFixture.self))
    func `a code by which no client of ours can sign in leaves the refusal to the token`() async throws {
        try await SignInFixture.run { fixture in
            for provider in Provider.allCases {
                let token =
                    try provider == .apple
                    ? fixture.apple("a-1", [("exp", 1)]) : fixture.google("g-1", [("exp", 1)])
                let credential = ProviderCredential(token: token, code: "c0ffee")
                try await expectFailure("expired") {
                    try await fixture.service.providers.signIn(with: provider, credential, by: fixture.call)
                }
            }
        }
    }

    @Test(arguments: Provider.allCases)
    func `another identity is linked by a code whose token does not verify`(provider: Provider) async throws {
        let other: Provider = provider == .apple ? .google : .apple
        let account = try await fixture.account(other)
        let consent = try await fixture.consent(provider, token: Self.expired)
        let identity = try await fixture.link(consent, to: account)
        #expect(identity.key.provider == provider)
        #expect(identity.authorization == .active)
    }

    // MARK: Nonces

    @Test(arguments: Provider.allCases)
    func `a token that is refused for its nonce keeps the code from being sent`(provider: Provider) async throws {
        let issued = try fixture.service.nonces.issue(for: provider).text
        let other = try await fixture.consent(provider, nonce: "another")
        try await expectFailure("nonce_mismatch") { try await fixture.signIn(other, nonce: issued) }
        let without = try await fixture.consent(provider)
        try await expectFailure("nonce_missing") { try await fixture.signIn(without, nonce: issued) }
        let made = try await fixture.consent(provider, nonce: "csn_made-up")
        try await expectFailure("nonce_spent") { try await fixture.signIn(made, nonce: "csn_made-up") }
        if provider == .apple {
            try await expectFailure("nonce_missing") { try await fixture.signIn(other) }
        }
        for consent in [other, without, made] { #expect(try await fixture.tokenRequests(of: consent).isEmpty) }
        // The codes are still good.
        _ = try await fixture.ticket(without, .code)
        _ = try await fixture.signIn(other, .code, nonce: "another")
    }

    @Test(arguments: Provider.allCases)
    func `beside a token that does not verify a nonce is the code's, and is spent by it`(
        provider: Provider
    ) async throws {
        let nonce = try fixture.service.nonces.issue(for: provider).text
        let other = try await fixture.consent(provider, nonce: "another", token: Self.expired)
        try await expectFailure("expired") { try await fixture.signIn(other, nonce: nonce) }
        #expect(try await fixture.count("nonces") == 0)
        #expect(try await refusals() == ["person expired", "person nonce_mismatch"])

        let consent = try await fixture.consent(provider, nonce: nonce, token: Self.expired)
        _ = try await fixture.signIn(consent, nonce: nonce)
        #expect(try await fixture.count("nonces") == 1)
        let second = try await fixture.consent(provider, nonce: nonce, token: Self.expired)
        try await expectFailure("expired") { try await fixture.signIn(second, nonce: nonce) }
        #expect(try await fixture.tokenRequests(of: second).isEmpty)
    }

    @Test(.configured { $0.noncePolicy = .required }, arguments: Provider.allCases)
    func `where our nonces are required a code needs one, whatever the token beside it`(
        provider: Provider
    ) async throws {
        let consent = try await fixture.consent(provider, token: Self.expired)
        try await expectFailure("expired") { try await fixture.signIn(consent) }
        #expect(try await fixture.tokenRequests(of: consent).isEmpty)
        #expect(try await refusals() == ["person expired", "person nonce_missing"])
    }

    // MARK: The client of the code

    @Test(.appAndWeb)
    func `beside a token that does not verify Apple's code belongs to the posted client, else to the one it states`()
        async throws
    {
        let clients = LifeCycleFixture.appAndWeb
        for claims in [
            #"{"aud":"com.example.other"}"#, #"{"aud":["\#(clients[0])","\#(clients[1])"]}"#, #"{"aud":1}"#,
        ] {
            let unknown = try await fixture.consent(.apple, token: .init(claims: claims, expired: true))
            try await expectFailure("clientIDRequired") { try await fixture.signIn(unknown) }
        }
        try await expectFailure("client_rejected") {
            try await fixture.signIn(try await fixture.consent(.apple), clientID: "com.example.other")
        }
        #expect(try await fixture.sandbox.history(path: LifeCycleFixture.tokenPath(.apple)).isEmpty)
        for client in clients {
            for token in [Self.expired, .init(signature: .forged)] {
                let consent = try await fixture.consent(.apple, appleClient: client, token: token)
                _ = try await fixture.ticket(consent)
                #expect(try await fixture.tokenRequests(of: consent).map { $0.field("client_id") } == [client])
            }
        }
        // The token names the web client, and its code is the app's.
        let foreign = Sandbox.TokenChanges(claims: #"{"aud":"\#(LifeCycleFixture.webClient)"}"#, expired: true)
        let mixed = try await fixture.consent(.apple, token: foreign)
        _ = try await fixture.ticket(mixed, clientID: LifeCycleFixture.appleClient)
        #expect(
            try await fixture.tokenRequests(of: mixed).map { $0.field("client_id") }
                == [LifeCycleFixture.appleClient])
    }

    @Test(.appAndWeb) func `a clientId that is not the token's leaves the code of that client good`() async throws {
        let app = try await fixture.consent(.apple)
        let web = try await fixture.consent(.apple, appleClient: LifeCycleFixture.webClient)
        let mixed = LifeCycleFixture.Consent(provider: .apple, token: app.token, code: web.code)
        _ = try await fixture.ticket(mixed, clientID: LifeCycleFixture.webClient)
        // Google's code is the server client's, whichever client the token was for.
        let google = try await fixture.consent(.google)
        _ = try await fixture.ticket(google, clientID: "lamp-ios.apps.googleusercontent.com")
        #expect(try await refusals() == ["person client_rejected", "person client_rejected"])
    }

    // MARK: Without keys

    /// A cache of Apple's keys that has none yet.
    private func emptyCache() -> KeySetCache {
        KeySetCache(
            provider: .apple, url: fixture.sandbox.appleKeysURL, fetcher: fixture.sandbox.fetcher,
            clock: fixture.clock, logger: .silent)
    }

    private func signIn(_ token: String, code: String?, at service: SignInService) async throws -> SignInAnswer {
        return try await service.providers.signIn(with: .apple, .init(token: token, code: code), by: fixture.call)
    }

    @Test
    func `a code signs in where the keys were missing for the token, and came in time for its own`() async throws {
        let cache = emptyCache()
        // When the code goes out, the pause after the fetch that failed is over.
        let service = try await fixture.service(keys: .cache(cache)) { fixture.clock.advance(by: 10) }
        try await fixture.sandbox.fail("/apple/auth/keys", .status(503), times: 1)
        let consent = try await fixture.consent(.apple)
        await expectFailure(.providerUnavailable(retryAfter: 1, reason: "keys_unavailable")) {
            try await signIn(consent.token, code: nil, at: service)
        }
        _ = try await signIn(consent.token, code: consent.code, at: service).ticket
        #expect(cache.status.failures == 1)
        try await service.refusals.flush()
        #expect(try await fixture.audited(.credentialRejected) == ["person keys_unavailable"])
    }

    @Test func `beside a refused code missing keys are the answer, since the token may be good`() async throws {
        let service = try await fixture.service(keys: .cache(emptyCache()))
        try await fixture.sandbox.fail("/apple/auth/keys", .status(503))
        let token = try await fixture.consent(.apple).token
        await expectFailure(.providerUnavailable(retryAfter: 1, reason: "keys_unavailable")) {
            try await signIn(token, code: "c0ffee.invented", at: service)
        }
        try await service.refusals.flush()
        #expect(
            try await fixture.audited(.credentialRejected).sorted()
                == ["person code_rejected", "person keys_unavailable"])
    }

    // MARK: Both verify

    @Test(arguments: Provider.allCases)
    func `a token from before a sign-out everywhere signs in beside a new code, as that would alone`(
        provider: Provider
    ) async throws {
        let created = try await fixture.account(provider)
        let old = try await fixture.consent(provider, token: .init(withoutClaims: ["c_hash"]))
        try await fixture.advance(by: 60)
        try await fixture.service.sessions.revoke(.all, of: try await fixture.opened(created), by: fixture.call)
        try await expectFailure("expired") { try await fixture.signIn(old, .token) }
        let new = try await fixture.consent(provider)
        let mixed = LifeCycleFixture.Consent(provider: provider, token: old.token, code: new.code)
        #expect(try await fixture.session(mixed).account.id == created.account.id)
    }
}
