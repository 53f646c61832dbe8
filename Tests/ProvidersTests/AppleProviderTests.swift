import Accounts
import JOSE
import JSON
import OpenSSL
import Providers
import TestSupport
import Testing

@Suite struct AppleProviderTests {
    let claims = AppleFixture.claims
    let nonce = AppleFixture.rawNonce

    @Test func `a valid token becomes an identity`() async throws {
        let identity = try await AppleFixture.provider().judge(claims, nonce: nonce, clientID: AppleFixture.clientID)
        #expect(identity.key.provider == .apple)
        #expect(identity.key.realm == .main)
        #expect(identity.key.subject == ProviderSubject(AppleFixture.subject))
        #expect(identity.clientID == AppleFixture.clientID)
        #expect(identity.nonce == AppleFixture.hashedNonce)
        #expect(identity.authenticatedAt == Timestamp(seconds: referenceTime - 5))
        #expect(identity.issuedAt == Timestamp(seconds: referenceTime))
        #expect(identity.transferSubject == nil)
        let email = try #require(identity.email)
        #expect(email.address == EmailAddress("q7x2m4k9@privaterelay.appleid.com"))
        #expect(email.isVerified)
        #expect(email.isPrivateRelay)
        #expect(!email.isAuthoritative)
    }

    @Test func `all claims come along for display`() async throws {
        let credential = try await AppleFixture.provider().credential(
            TokenMint.shared.token(claims), postedNonce: nonce, expectedClientID: nil,
            at: Timestamp(seconds: referenceTime))
        #expect(credential.claims["nonce_supported"]?.bool == true)
        #expect(credential.identity.key.subject.text == AppleFixture.subject)
    }

    @Test func `an ES256 token is judged by its key like any other`() async throws {
        let token = try TokenMint.shared.token(claims, by: .es256)
        let credential = try await AppleFixture.provider().credential(
            token, postedNonce: nonce, expectedClientID: nil, at: Timestamp(seconds: referenceTime))
        #expect(credential.identity.key.subject.text == AppleFixture.subject)
    }

    @Test(
        arguments: [
            ("aud", ["com.example.lamp"]), ("aud", ["com.example.lamp", "com.example.lamp.web"]),
            ("exp", .raw("1767225540.5")), ("exp", .raw("1.767312e9")), ("exp", .integer(referenceTime - 59)),
            ("iat", .integer(referenceTime + 60)), ("nbf", .integer(referenceTime + 60)),
            ("exp", .integer(referenceTime + 86_700)), ("unknown", "claim"), ("real_user_status", 1),
        ] as [(String, TokenMint.Literal)])
    func `a token at the edge of what is allowed is accepted`(name: String, value: TokenMint.Literal) async throws {
        let identity = try await AppleFixture.provider().judge(claims.with(name, value), nonce: nonce)
        #expect(identity.key.subject.text == AppleFixture.subject)
    }

    @Test func `an issuer can be added`() async throws {
        let provider = try AppleFixture.provider { $0.issuers.append("https://account.apple.com") }
        let identity = try await provider.judge(claims.with("iss", "https://account.apple.com"), nonce: nonce)
        #expect(identity.key.subject.text == AppleFixture.subject)
    }

    // MARK: Teams

    static let teams: [AppleProvider.Configuration.Team] = [
        .init(clientIDs: ["com.example.lamp"]), .init(realm: Realm("beta"), clientIDs: ["com.example.lamp.beta"]),
    ]

    @Test(arguments: [("com.example.lamp", "main"), ("com.example.lamp.beta", "beta")] as [(ProviderClientID, String)])
    func `the team of the client decides the realm`(clientID: ProviderClientID, realm: String) async throws {
        let provider = try AppleFixture.provider(teams: Self.teams)
        let identity = try await provider.judge(claims.with("aud", .string(clientID.text)), nonce: nonce)
        #expect(identity.key.realm == Realm(realm))
        #expect(identity.clientID == clientID)
    }

    @Test func `a token for the clients of two teams has no realm`() async throws {
        let provider = try AppleFixture.provider(teams: Self.teams)
        await #expect(throws: CredentialRefusal(.audienceRejected)) {
            try await provider.judge(claims.with("aud", ["com.example.lamp", "com.example.lamp.beta"]), nonce: nonce)
        }
    }

    // MARK: What comes beside the token

    @Test func `a token for the client of the flow and for another one is not the flow's`() async throws {
        let provider = try AppleFixture.provider()
        let alone = claims.with("aud", ["com.example.lamp"])
        let identity = try await provider.judge(alone, nonce: nonce, clientID: "com.example.lamp")
        #expect(identity.clientID == "com.example.lamp")
        for audience in [["com.example.lamp", "com.example.lamp.web"], ["com.example.lamp.web", "com.example.lamp"]]
            as [TokenMint.Literal]
        {
            await #expect(throws: CredentialRefusal(.clientRejected)) {
                try await provider.judge(claims.with("aud", audience), nonce: nonce, clientID: "com.example.lamp")
            }
        }
    }

    @Test(arguments: ["com.example.lamp.web", "com.example.other", "COM.EXAMPLE.LAMP", ""] as [ProviderClientID])
    func `a client ID beside the token must be the token's`(clientID: ProviderClientID) async throws {
        let provider = try AppleFixture.provider()
        await #expect(throws: CredentialRefusal(.clientRejected)) {
            try await provider.judge(claims, nonce: nonce, clientID: clientID)
        }
    }

    @Test(arguments: [
        (NonceForm.sha256Hex, AppleFixture.hashedNonce), (.raw, AppleFixture.rawNonce),
        (.sha256Base64url, "b1iAvo5gw1LdtcJ1M-4tWHhOb0RtW7ABbPqKpyCK8eo"),
    ])
    func `a posted nonce is compared in the configured form alone`(form: NonceForm, claim: String) async throws {
        let provider = try AppleFixture.provider { $0.nonceForm = form }
        let identity = try await provider.judge(claims.with("nonce", .string(claim)), nonce: nonce)
        #expect(identity.nonce == claim)
        for other in NonceForm.allCases where other != form {
            let provider = try AppleFixture.provider { $0.nonceForm = other }
            await #expect(throws: CredentialRefusal(.nonceMismatch)) {
                try await provider.judge(claims.with("nonce", .string(claim)), nonce: nonce)
            }
        }
    }

    @Test(arguments: ["k3Vq9Zt1wR7mX2bN8cLq", "K3Vq9Zt1wR7mX2bN8cLp", "", AppleFixture.hashedNonce])
    func `another nonce is refused`(posted: String) async throws {
        let provider = try AppleFixture.provider()
        await #expect(throws: CredentialRefusal(.nonceMismatch)) { try await provider.judge(claims, nonce: posted) }
    }

    @Test func `the hash in upper case is another nonce`() async throws {
        let provider = try AppleFixture.provider()
        let upperCase = TokenMint.Literal.string(AppleFixture.hashedNonce.uppercased())
        await #expect(throws: CredentialRefusal(.nonceMismatch)) {
            try await provider.judge(claims.with("nonce", upperCase), nonce: nonce)
        }
    }

    @Test func `a nonce is on both sides or on neither`() async throws {
        let provider = try AppleFixture.provider()
        await #expect(throws: CredentialRefusal(.nonceMissing)) { try await provider.judge(claims) }
        let without = claims.with("nonce", nil)
        await #expect(throws: CredentialRefusal(.nonceMissing)) { try await provider.judge(without, nonce: nonce) }
        await #expect(throws: CredentialRefusal(.nonceMissing)) {
            try await provider.judge(without.with("nonce_supported", false), nonce: nonce)
        }
        let identity = try await provider.judge(without)
        #expect(identity.nonce == nil)
    }

    // MARK: Optional claims

    @Test func `without auth_time the moment of issue counts`() async throws {
        let identity = try await AppleFixture.provider().judge(claims.with("auth_time", nil), nonce: nonce)
        #expect(identity.authenticatedAt == Timestamp(seconds: referenceTime))
    }

    @Test func `a transferred person's other subject comes along`() async throws {
        let identity = try await AppleFixture.provider().judge(
            claims.with("transfer_sub", "760000.0f1e.1827"), nonce: nonce)
        #expect(identity.transferSubject == ProviderSubject("760000.0f1e.1827"))
    }
}
