import Accounts
import JOSE
import OpenSSL
import Providers
import TestSupport
import Testing

/// The types that the header of a token may name.
@Suite struct SecurityEventTypeTests {
    private func token(_ claims: TokenMint.Members, _ type: TokenMint.Literal) throws -> [UInt8] {
        let mint = try TokenMint.shared
        return try mint.token(claims, header: mint.header(.rs256).with("typ", type))
    }

    private let now = Timestamp(seconds: referenceTime)

    @Test(arguments: ["JWT", "secevent+jwt", "SecEvent+JWT", "application/secevent+jwt"] as [TokenMint.Literal])
    func `An event may say that it is one`(_ type: TokenMint.Literal) async throws {
        let apple = try await AppleFixture.provider().events(of: try token(AppleEventTests.claims, type), at: now)
        #expect(apple.first?.kind == .consentRevoked)
        let google = try await GoogleFixture.provider().events(of: try token(GoogleEventTests.claims, type), at: now)
        #expect(google.first?.kind == .sessionsRevoked)
    }

    @Test(arguments: ["at+jwt", "", "secevent", "dpop+jwt", 1, .null] as [TokenMint.Literal])
    func `An event may not say that it is something else`(_ type: TokenMint.Literal) async throws {
        await #expect(throws: CredentialRefusal(.headerRejected)) {
            try await AppleFixture.provider().events(of: try token(AppleEventTests.claims, type), at: now)
        }
        await #expect(throws: CredentialRefusal(.headerRejected)) {
            try await GoogleFixture.provider().events(of: try token(GoogleEventTests.claims, type), at: now)
        }
    }

    @Test func `An identity token may not say that it is an event`() async throws {
        let providers: [(any IdentityProvider, TokenMint.Members)] = [
            (try AppleFixture.provider(), AppleFixture.claims), (try GoogleFixture.provider(), GoogleFixture.claims),
        ]
        for (provider, claims) in providers {
            await #expect(throws: CredentialRefusal(.headerRejected)) {
                try await provider.credential(
                    try token(claims, "secevent+jwt"), postedNonce: nil, expectedClientID: nil, at: now)
            }
        }
    }
}
