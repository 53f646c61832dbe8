import Accounts
import JOSE
import OpenSSL
import Providers
import TestSupport
import Testing

@Suite struct GoogleProviderTests {
    let claims = GoogleFixture.claims

    @Test func `a valid token becomes an identity`() async throws {
        let identity = try await GoogleFixture.provider().judge(claims, clientID: GoogleFixture.clientID)
        #expect(identity.key.provider == .google)
        #expect(identity.key.realm == .main)
        #expect(identity.key.subject.text == "109876543210987654321")
        #expect(identity.clientID == GoogleFixture.clientID)
        #expect(identity.nonce == "made-up-by-the-sdk")
        #expect(identity.authenticatedAt == Timestamp(seconds: referenceTime))
        #expect(identity.issuedAt == Timestamp(seconds: referenceTime))
        #expect(identity.transferSubject == nil)
        let email = try #require(identity.email)
        #expect(email.address == EmailAddress("kim@example.com"))
        #expect(email.isVerified)
        #expect(!email.isPrivateRelay)
        #expect(email.isAuthoritative)
    }

    @Test func `both spellings of the issuer are Google's`() async throws {
        let identity = try await GoogleFixture.provider().judge(claims.with("iss", "accounts.google.com"))
        #expect(identity.key.subject.text == "109876543210987654321")
    }

    @Test func `ES256 is not Google's algorithm`() async throws {
        let provider = try GoogleFixture.provider()
        await #expect(throws: CredentialRefusal(.algorithmRejected)) {
            try await provider.credential(
                TokenMint.shared.token(claims, by: .es256), postedNonce: nil, expectedClientID: nil,
                at: Timestamp(seconds: referenceTime))
        }
    }

    @Test func `a renewed token keeps the time of the authentication beside that of its issue`() async throws {
        let renewed = claims.with("auth_time", .integer(referenceTime - 1_000_000))
        let identity = try await GoogleFixture.provider().judge(renewed)
        #expect(identity.authenticatedAt == Timestamp(seconds: referenceTime - 1_000_000))
        #expect(identity.issuedAt == Timestamp(seconds: referenceTime))
    }

    // MARK: Audience and authorized party

    @Test func `an array of audiences is accepted when every member is ours`() async throws {
        let provider = try GoogleFixture.provider()
        let both = claims.with("aud", [.string(GoogleFixture.party.text), .string(GoogleFixture.clientID.text)])
        for clientID in [nil, GoogleFixture.party, GoogleFixture.clientID] {
            let identity = try await provider.judge(both, clientID: clientID)
            #expect(identity.clientID == GoogleFixture.party)
        }
        await #expect(throws: CredentialRefusal(.clientRejected)) {
            try await provider.judge(both, clientID: "another")
        }
    }

    @Test(arguments: [.string(GoogleFixture.party.text), "another", 1, nil] as [TokenMint.Literal?])
    func `without authorized parties azp isn't looked at`(party: TokenMint.Literal?) async throws {
        let identity = try await GoogleFixture.provider().judge(claims.with("azp", party))
        #expect(identity.clientID == GoogleFixture.clientID)
    }

    @Test(
        arguments: ["another", "", 1, .null, ["1234567890-ios0example.apps.googleusercontent.com"], nil]
            as [TokenMint.Literal?])
    func `with authorized parties azp must be one of them`(party: TokenMint.Literal?) async throws {
        let provider = try GoogleFixture.provider { $0.authorizedParties = [GoogleFixture.party] }
        let identity = try await provider.judge(claims)
        #expect(identity.clientID == GoogleFixture.clientID)
        await #expect(throws: CredentialRefusal(.partyRejected)) { try await provider.judge(claims.with("azp", party)) }
    }

    // MARK: Hosted domain

    @Test(
        arguments: [
            (nil, .claimMissing), ("example.org", .partyRejected), ("Example.com", .partyRejected),
            ("", .partyRejected),
            (1, .partyRejected),
        ] as [(TokenMint.Literal?, TokenRejection)])
    func `with hosted domains hd must be one of them`(domain: TokenMint.Literal?, reason: TokenRejection) async throws {
        let provider = try GoogleFixture.provider { $0.hostedDomains = ["example.net", "example.com"] }
        let identity = try await provider.judge(claims)
        #expect(identity.clientID == GoogleFixture.clientID)
        await #expect(throws: CredentialRefusal(reason)) { try await provider.judge(claims.with("hd", domain)) }
    }

    // MARK: Nonce

    @Test func `a nonce that nobody posts is the SDK's own and means nothing`() async throws {
        for nonce in ["made-up-by-the-sdk", 1, .null, nil] as [TokenMint.Literal?] {
            let identity = try await GoogleFixture.provider().judge(claims.with("nonce", nonce))
            #expect(identity.clientID == GoogleFixture.clientID)
        }
    }

    @Test func `a posted nonce must be in the token`() async throws {
        let provider = try GoogleFixture.provider()
        let ours = claims.with("nonce", "k3Vq9Zt1wR7mX2bN8cLp")
        let identity = try await provider.judge(ours, nonce: "k3Vq9Zt1wR7mX2bN8cLp")
        #expect(identity.nonce == "k3Vq9Zt1wR7mX2bN8cLp")
        await #expect(throws: CredentialRefusal(.nonceMismatch)) { try await provider.judge(ours, nonce: "k3Vq9Zt1") }
        await #expect(throws: CredentialRefusal(.nonceMissing)) {
            try await provider.judge(ours.with("nonce", nil), nonce: "k3Vq9Zt1wR7mX2bN8cLp")
        }
        await #expect(throws: CredentialRefusal(.claimInvalid)) {
            try await provider.judge(ours.with("nonce", 1), nonce: "1")
        }
    }

    @Test func `a posted nonce is compared in the configured form`() async throws {
        let provider = try GoogleFixture.provider { $0.nonceForm = .sha256Hex }
        let hashed = claims.with("nonce", .string(AppleFixture.hashedNonce))
        let identity = try await provider.judge(hashed, nonce: AppleFixture.rawNonce)
        #expect(identity.nonce == AppleFixture.hashedNonce)
        await #expect(throws: CredentialRefusal(.nonceMismatch)) {
            try await provider.judge(hashed, nonce: AppleFixture.hashedNonce)
        }
    }
}
