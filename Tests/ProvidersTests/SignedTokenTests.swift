import Accounts
import JOSE
import OpenSSL
import Providers
import TestSupport
import Testing

/// The checks that precede those of the claims.
@Suite struct SignedTokenTests {
    let claims = GoogleFixture.claims
    let now = Timestamp(seconds: referenceTime)

    private func refuses(_ token: [UInt8], _ reason: TokenRejection) async throws {
        let provider = try GoogleFixture.provider()
        await #expect(throws: CredentialRefusal(reason)) {
            try await provider.credential(token, postedNonce: nil, expectedClientID: nil, at: now)
        }
    }

    @Test func `what is no token is refused`() async throws {
        try await refuses([], .malformed)
        try await refuses(Array("a.b".utf8), .malformed)
        try await refuses([UInt8](repeating: UInt8(ascii: "."), count: 20_000), .tooLarge)
    }

    @Test func `a header that tries something is refused`() async throws {
        let mint = try TokenMint.shared
        try await refuses(mint.token(claims, header: mint.header(.rs256).with("alg", "none")), .algorithmRejected)
        try await refuses(mint.token(claims, header: mint.header(.rs256).with("alg", "HS256")), .algorithmRejected)
        try await refuses(mint.token(claims, header: mint.header(.rs256).with("crit", [])), .headerRejected)
        // Our own access tokens carry this type.
        try await refuses(mint.token(claims, header: mint.header(.rs256).with("typ", "at+jwt")), .headerRejected)
        try await refuses(mint.token(claims, header: mint.header(.rs256).with("typ", "secevent+jwt")), .headerRejected)
        try await refuses(mint.token(claims, header: mint.header(.rs256).with("kid", nil)), .headerRejected)
        try await refuses(mint.token(claims, header: mint.header(.rs256).with("kid", "unknown")), .keyUnknown)
        try await refuses(mint.token(claims, header: mint.header(.rs256).with("kid", "p256-1")), .algorithmRejected)
    }

    @Test func `another's signature is refused before a byte of the payload is read`() async throws {
        let otherMint = try TokenMint.otherSigner
        let header = otherMint.header(.rs256).bytes
        try await refuses(otherMint.token(claims), .signatureMismatch)
        try await refuses(otherMint.token(header: header, payload: Array("{{{".utf8)), .signatureMismatch)
        try await refuses(TokenMint.shared.token(header: header, payload: Array("{{{".utf8)), .malformed)
    }

    @Test func `without keys nothing is verified`() async throws {
        let provider = GoogleProvider(configuration: .init(clientIDs: [GoogleFixture.clientID]), keys: .fixed(.empty))
        await #expect(throws: CredentialRefusal(.keyUnknown)) { try await provider.judge(claims) }
    }

    @Test func `one provider's keys sign nothing for the other`() async throws {
        let apple = AppleProvider(
            configuration: .init(teams: [.init(clientIDs: [AppleFixture.clientID])]),
            keys: .fixed(try TokenMint.otherSigner.keySet))
        await #expect(throws: CredentialRefusal(.signatureMismatch)) {
            try await apple.judge(AppleFixture.claims, nonce: AppleFixture.rawNonce)
        }
        let keys = KeySet(keys: [("apple-1", try TokenMint.shared.rsa.publicKey)])
        let other = AppleProvider(
            configuration: .init(teams: [.init(clientIDs: [AppleFixture.clientID])]), keys: .fixed(keys))
        await #expect(throws: CredentialRefusal(.keyUnknown)) {
            try await other.judge(AppleFixture.claims, nonce: AppleFixture.rawNonce)
        }
    }

    @Test func `a refusal says nothing except to a debugger`() {
        let refusal = CredentialRefusal(.keyUnknown, retryAfter: 7)
        #expect("\(refusal)" == "The credential was refused.")
        #expect(String(reflecting: refusal) == "CredentialRefusal(key_unknown, retry after 7 s)")
    }
}
