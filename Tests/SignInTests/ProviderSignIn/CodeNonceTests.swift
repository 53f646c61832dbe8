import Accounts
import Postgres
import Providers
import SignIn
import TestSupport
import Testing

/// The order in which a nonce is spent and a code is exchanged.
@Suite(.fixture(LifeCycleFixture.self)) struct CodeNonceTests {
    var fixture: LifeCycleFixture { .current }

    @Test(arguments: Provider.allCases, LifeCycleFixture.Evidence.allCases)
    func `whatever brings it, a nonce signs in once`(
        provider: Provider, evidence: LifeCycleFixture.Evidence
    ) async throws {
        let nonce = try fixture.service.nonces.issue(for: provider).text
        _ = try await fixture.signIn(try await fixture.consent(provider, nonce: nonce), evidence, nonce: nonce)
        let second = try await fixture.consent(provider, nonce: nonce)
        try await expectFailure("nonce_spent") { try await fixture.signIn(second, evidence, nonce: nonce) }
        #expect(try await fixture.count("nonces") == 1)
    }

    @Test(arguments: Provider.allCases)
    func `who loses the race for a nonce beside a token has not used up the code`(provider: Provider) async throws {
        let nonce = try fixture.service.nonces.issue(for: provider).text
        var consents: [LifeCycleFixture.Consent] = []
        for _ in 0..<8 { consents.append(try await fixture.consent(provider, nonce: nonce)) }
        let posted = consents
        let outcomes = try await race(posted.count) { index in try await fixture.signIn(posted[index], nonce: nonce) }
        #expect(outcomes == ["won": 1, "nonce_spent": posted.count - 1])
        var sent = 0
        for consent in posted { sent += try await fixture.tokenRequests(of: consent).count }
        #expect(sent == 1)
    }

    @Test(arguments: Provider.allCases)
    func `fifty sign-ins by one nonce and code let one in`(provider: Provider) async throws {
        let nonce = try fixture.service.nonces.issue(for: provider).text
        let consent = try await fixture.consent(provider, nonce: nonce)
        let outcomes = try await race(50) { _ in try await fixture.signIn(consent, nonce: nonce) }
        #expect(outcomes == ["won": 1, "nonce_spent": 49])
        #expect(try await fixture.tokenRequests(of: consent).map(\.status) == [200])
    }

    @Test(arguments: Provider.allCases)
    func `of two codes that come alone with one nonce, one signs in`(provider: Provider) async throws {
        let nonce = try fixture.service.nonces.issue(for: provider).text
        let consents = [
            try await fixture.consent(provider, nonce: nonce), try await fixture.consent(provider, nonce: nonce),
        ]
        let outcomes = try await race(2) { try await fixture.signIn(consents[$0], .code, nonce: nonce) }
        #expect(outcomes == ["won": 1, "nonce_spent": 1])
    }

    @Test(arguments: Provider.allCases)
    func `a code that is refused, or of another nonce, leaves the nonce good`(provider: Provider) async throws {
        let nonce = try fixture.service.nonces.issue(for: provider).text
        let other = try await fixture.consent(provider, nonce: "another")
        try await expectFailure("nonce_mismatch") { try await fixture.signIn(other, .code, nonce: nonce) }
        // Its code is used up by now.
        try await expectFailure("code_rejected") { try await fixture.signIn(other, .code, nonce: nonce) }
        #expect(try await fixture.count("nonces") == 0)
        let consent = try await fixture.consent(provider, nonce: nonce)
        _ = try await fixture.signIn(consent, .code, nonce: nonce)
    }

    @Test(arguments: Provider.allCases)
    func `a code is not sent with a nonce that can't be good`(provider: Provider) async throws {
        let nonce = try fixture.service.nonces.issue(for: provider).text
        let consent = try await fixture.consent(provider, nonce: nonce)
        for wrong in [nonce + "A", "csn_made-up"] {
            try await expectFailure("nonce_spent") { try await fixture.signIn(consent, .code, nonce: wrong) }
        }
        #expect(try await fixture.tokenRequests(of: consent).isEmpty)
        _ = try await fixture.signIn(consent, .code, nonce: nonce)
    }

    /// Google's SDK for the web hands out a code that carries the nonce, and an app may leave out what it carries.
    @Test func `the nonce of an exchanged token is spent though nobody posts it`() async throws {
        let nonce = try fixture.service.nonces.issue(for: .google).text
        let consent = try await fixture.consent(.google, nonce: nonce)
        _ = try await fixture.signIn(consent, .token, nonce: nonce)
        try await expectFailure("nonce_spent") { try await fixture.signIn(consent, .code) }
        #expect(try await fixture.count("provider_grants") == 0)
        let other = try fixture.service.nonces.issue(for: .google).text
        let second = try await fixture.consent(.google, nonce: other)
        _ = try await fixture.signIn(second, .code)
        try await expectFailure("nonce_spent") { try await fixture.signIn(second, .token, nonce: other) }
    }

    @Test func `a redirect URI that is not listed costs no nonce`() async throws {
        let nonce = try fixture.service.nonces.issue(for: .apple).text
        let consent = try await fixture.consent(.apple, nonce: nonce)
        try await expectFailure("redirectURIRefused") {
            try await fixture.signIn(consent, nonce: nonce, redirectURI: "https://evil.example/callback")
        }
        _ = try await fixture.signIn(consent, nonce: nonce)
    }
}
