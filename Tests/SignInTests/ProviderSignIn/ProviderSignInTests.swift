import Accounts
import JOSE
import OpenSSL
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

@Suite(.fixture(SignInFixture.self)) struct ProviderSignInTests {
    var fixture: SignInFixture { .current }

    @Test func `a rejected credential names its reason and writes nothing`() async throws {
        let forged = try TokenMint.otherSigner.token(["iss": "https://appleid.apple.com"])
        let cases: [(String, String)] = [
            (String(decoding: forged, as: UTF8.self), "signature_mismatch"),
            (try fixture.apple("a-1", [("aud", "com.example.other")]), "audience_rejected"),
            (try fixture.apple("a-1", [("iss", "https://accounts.google.com")]), "issuer_rejected"),
            (try fixture.apple("a-1", [("exp", .integer(SignInFixture.start - 61))]), "expired"),
            (try fixture.apple("a-1", [("events", "{}")]), "event_token"),
            (try fixture.apple("a-1", [("sub", nil)]), "claim_missing"),
            (try fixture.apple("a-1", [("nonce", "n")]), "nonce_missing"),
            ("not a token", "malformed"),
        ]
        for (token, reason) in cases { try await expectFailure(reason) { try await fixture.signIn(.apple, token) } }
        #expect(try await fixture.count("link_tickets") == 0)
    }

    @Test func `a token of one provider is refused by the other`() async throws {
        // With the other's audience too.
        for token in [
            try fixture.apple("a-1"), try fixture.apple("a-1", [("aud", .string(SignInFixture.googleClient))]),
        ] { try await expectFailure("issuer_rejected") { try await fixture.signIn(.google, token) } }
        for token in [
            try fixture.google("1"), try fixture.google("1", [("aud", .string(SignInFixture.appleClient))]),
        ] { try await expectFailure("issuer_rejected") { try await fixture.signIn(.apple, token) } }
    }

    @Test func `a provider that is not configured is not there`() async throws {
        let service = try fixture.service(apple: false, google: false)
        let credential = ProviderCredential(token: try fixture.apple("a-1"))
        for provider in Provider.allCases {
            try await expectFailure("providerDisabled") {
                try await service.providers.signIn(with: provider, credential, by: fixture.call)
            }
        }
    }

    @Test func `the first name that Apple hands over becomes the display name, cleaned`() async throws {
        let credential = ProviderCredential(
            token: try fixture.apple("a-1"), fullName: DisplayName(givenName: "Kim\u{202E}\r\n", familyName: "Example"))
        let answer = try await fixture.service.providers.signIn(with: .apple, credential, by: fixture.call)
        #expect(try await fixture.create(answer.ticket).account.displayName?.text == "Kim Example")
    }

    @Test func `of many sign-ins of each person at once each is answered, also those that come with the first`()
        async throws
    {
        let people = 1...5
        for person in people { _ = try await fixture.signUp(.google("\(person)")) }
        // The next sign-in of each updates the identity. While the first of all is under way the others collect, and
        // then go by one statement.
        fixture.clock.advance(by: 7_200)
        let tokens = try people.map { try fixture.google("\($0)") }
        #expect(try await race(50) { try await fixture.session(.google, tokens[$0 % tokens.count]) } == ["won": 50])
        #expect(try await fixture.count("link_tickets WHERE consumed_at IS NULL") == 0)
        #expect(try await fixture.count("identities WHERE last_sign_in_at = \(fixture.clock.now())") == 5)
    }

    @Test func `a database that can't be reached is distinguished from a fault`() async throws {
        let credential = ProviderCredential(token: try fixture.apple("a-1"))
        try await fixture.withUnreachableDatabase { service in
            try await expectFailure("storageUnavailable") {
                try await service.providers.signIn(with: .apple, credential, by: fixture.call)
            }
        }
    }
}
