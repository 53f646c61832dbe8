import Accounts
import JOSE
import OpenSSL
import Primitives
import SignIn
import TestSupport
import Testing

/// Sign-ins with what Apple has posted to the relay, which any app with the scheme may have got.
@Suite(.timeLimit(.minutes(5))) struct RelayedSignInTests {
    private static let relay = "https://auth.example.com/web/relay/apple/lamp"

    private static func signIn(
        _ service: SignInService, _ token: String?, code: String? = nil, nonce: String?, redirectURI: String?,
        _ client: Caller
    ) async throws -> SignInAnswer {
        try await service.providers.signIn(
            with: .apple,
            ProviderCredential(
                token: token, code: code, nonce: nonce, clientID: nil, redirectURI: redirectURI, fullName: nil),
            by: service.calls.begin(by: client))
    }

    @Test func `what came by the relay is good with its raw nonce alone`() async throws {
        try await SignInFixture.run { fixture in
            let service = try fixture.service { configuration in
                configuration.redirectURIs = [Self.relay, "https://lamp.example.com/apple"]
                configuration.relayRedirectURIs = [Self.relay]
            }
            let hash = Hexadecimal.encode(SHA256.hash(Array("raw".utf8)))
            let bound = try fixture.apple("kim", [("nonce", .string(hash))])
            let unbound = try fixture.apple("kim")
            let missing = SignInFailure.credentialRejected(.nonceMissing, retryAfter: nil)
            for (token, code) in [(bound, nil), (unbound, nil), (nil, "c0de"), (unbound, "c0de")]
                as [(String?, String?)]
            {
                await #expect(throws: missing) {
                    _ = try await Self.signIn(
                        service, token, code: code, nonce: nil, redirectURI: Self.relay, fixture.client)
                }
            }
            await #expect(throws: SignInFailure.credentialRejected(.nonceMismatch, retryAfter: nil)) {
                _ = try await Self.signIn(service, bound, nonce: "other", redirectURI: Self.relay, fixture.client)
            }
            _ = try await Self.signIn(service, bound, nonce: "raw", redirectURI: Self.relay, fixture.client)
            // Another address of the app's own needs none.
            _ = try await Self.signIn(
                service, unbound, nonce: nil, redirectURI: "https://lamp.example.com/apple", fixture.client)
        }
    }
}
