import Accounts
import Curl
import JOSE
import JSON
import Logging
import OpenSSL
import Providers
import TestSupport
import Testing

/// Apple's check of a client secret, by the rules of Apple's documentation.
struct AppleSecretVerifier {
    var teamID = EndpointFixture.teamID
    var keyID = EndpointFixture.keyID
    var key: PublicKey

    init() throws { key = try TokenMint.shared.p256.publicKey }

    /// - Parameter time: by Apple's clock.
    func accepts(_ secret: String, clientID: ProviderClientID, at time: Int64) throws -> Bool {
        let token = try UnverifiedToken(Array(secret.utf8), allowedAlgorithms: [.es256])
        guard String(decoding: token.keyID, as: UTF8.self) == keyID, let token = try? token.verified(by: key) else {
            return false
        }
        let claims = token.claims
        guard let issuedAt = claims["iat"]?.integer, let expiresAt = claims["exp"]?.integer else { return false }
        return claims["iss"]?.isString(equalTo: teamID) == true
            && claims["sub"]?.isString(equalTo: clientID.text) == true
            && claims["aud"]?.isString(equalTo: "https://appleid.apple.com") == true && issuedAt < expiresAt
            && time < expiresAt && expiresAt <= time + 15_777_000
    }
}

@Suite struct AppleClientSecretTests {
    private func endpoint(
        _ teams: [AppleTokenEndpoint.Configuration.Team], tokenURL: String = "http://127.0.0.1:1/token"
    ) throws -> AppleTokenEndpoint {
        AppleTokenEndpoint(
            provider: try AppleFixture.provider(), configuration: .init(teams: teams, tokenURL: tokenURL),
            fetcher: Unreachable(), logger: Logger(label: "test"))
    }

    private func team(
        _ teamID: String = EndpointFixture.teamID, keyID: String = EndpointFixture.keyID, key: P256PrivateKey? = nil,
        clientIDs: [ProviderClientID] = [AppleFixture.clientID, "com.example.lamp.web"]
    ) throws -> AppleTokenEndpoint.Configuration.Team {
        .init(teamID: teamID, keyID: keyID, privateKey: try key ?? TokenMint.shared.p256, clientIDs: clientIDs)
    }

    private func secret(_ endpoint: AppleTokenEndpoint, at time: Int64) throws -> String {
        try endpoint.clientSecret(for: AppleFixture.clientID, at: Timestamp(seconds: time))
    }

    @Test func `a secret says what Apple asks for and nothing else`() throws {
        let secret = try secret(endpoint([team()]), at: referenceTime)
        let token = try UnverifiedToken(Array(secret.utf8)).verified(by: TokenMint.shared.p256.publicKey)
        #expect(token.header.members?.map(\.name) == ["alg", "kid"])
        #expect(token.header["alg"]?.string == "ES256")
        #expect(token.header["kid"]?.string == EndpointFixture.keyID)
        #expect(token.claims.members?.map(\.name).sorted() == ["aud", "exp", "iat", "iss", "sub"])
        #expect(token.claims["iss"]?.string == EndpointFixture.teamID)
        #expect(token.claims["sub"]?.string == AppleFixture.clientID.text)
        #expect(token.claims["aud"]?.string == "https://appleid.apple.com")
        #expect(token.claims["iat"]?.integer == referenceTime - 900)
        #expect(token.claims["exp"]?.integer == referenceTime - 900 + 3_600)
    }

    @Test func `the audience is Apple's wherever the requests go`() throws {
        let secret = try secret(endpoint([team()], tokenURL: "http://localhost:9/apple/token"), at: referenceTime)
        #expect(try AppleSecretVerifier().accepts(secret, clientID: AppleFixture.clientID, at: referenceTime))
    }

    @Test(arguments: [-600, -60, 0, 60, 600] as [Int64])
    func `a secret of any age is admitted by a clock that is ten minutes off`(skew: Int64) throws {
        let endpoint = try endpoint([team()])
        for age in stride(from: Int64(0), to: 7_200, by: 59) {
            let now = referenceTime + age
            let secret = try secret(endpoint, at: now)
            #expect(try AppleSecretVerifier().accepts(secret, clientID: AppleFixture.clientID, at: now + skew))
            let token = try UnverifiedToken(Array(secret.utf8)).verified(by: TokenMint.shared.p256.publicKey)
            #expect(try #require(token.claims["iat"]?.integer) <= now + skew)
        }
    }

    @Test func `Apple's check refuses what is too old, too long, another's or forged`() throws {
        let verifier = try AppleSecretVerifier()
        let secret = try secret(endpoint([team()]), at: referenceTime)
        #expect(try verifier.accepts(secret, clientID: AppleFixture.clientID, at: referenceTime + 2_699))
        #expect(try !verifier.accepts(secret, clientID: AppleFixture.clientID, at: referenceTime + 2_700))
        #expect(try !verifier.accepts(secret, clientID: AppleFixture.clientID, at: referenceTime - 15_777_000))
        #expect(try !verifier.accepts(secret, clientID: "com.example.lamp.web", at: referenceTime))
        for team in [try team("OTHER12345"), try team(keyID: "OTHER12345"), try team(key: TokenMint.otherSigner.p256)] {
            let secret = try self.secret(endpoint([team]), at: referenceTime)
            #expect(try !verifier.accepts(secret, clientID: AppleFixture.clientID, at: referenceTime))
        }
    }

    // MARK: Kept and renewed

    @Test func `a secret is kept for half an hour`() throws {
        let endpoint = try endpoint([team()])
        // ES256 has no two equal signatures: what is equal was kept.
        let first = try secret(endpoint, at: referenceTime)
        #expect(try secret(endpoint, at: referenceTime + 1_799) == first)
        let second = try secret(endpoint, at: referenceTime + 1_800)
        #expect(second != first)
        #expect(try secret(endpoint, at: referenceTime + 3_599) == second)
    }

    @Test func `a clock that is set back gets a secret of its own time`() throws {
        let endpoint = try endpoint([team()])
        let first = try secret(endpoint, at: referenceTime)
        for now in [referenceTime - 1, referenceTime - 86_400] {
            let secret = try secret(endpoint, at: now)
            #expect(secret != first)
            #expect(try AppleSecretVerifier().accepts(secret, clientID: AppleFixture.clientID, at: now))
        }
    }

    @Test func `each client has its own and each team its own key`() throws {
        let other = try P256PrivateKey()
        let endpoint = try endpoint([
            team(), team("OTHER12345", keyID: "OTHERKEY12", key: other, clientIDs: ["com.example.torch"]),
        ])
        let now = Timestamp(seconds: referenceTime)
        var verifier = try AppleSecretVerifier()
        for client in [AppleFixture.clientID, "com.example.lamp.web"] {
            let secret = try endpoint.clientSecret(for: client, at: now)
            #expect(try verifier.accepts(secret, clientID: client, at: referenceTime))
        }
        verifier.teamID = "OTHER12345"
        verifier.keyID = "OTHERKEY12"
        verifier.key = other.publicKey
        let secret = try endpoint.clientSecret(for: "com.example.torch", at: now)
        #expect(try verifier.accepts(secret, clientID: "com.example.torch", at: referenceTime))
        #expect(throws: EndpointRefusal.notConfigured) { try endpoint.clientSecret(for: "com.example.other", at: now) }
    }

    @Test func `many at once get one secret`() async throws {
        let endpoint = try endpoint([team()])
        let secrets = try await concurrently(0..<64) { _ in
            try endpoint.clientSecret(for: AppleFixture.clientID, at: Timestamp(seconds: referenceTime))
        }
        #expect(Set(secrets).count == 1)
    }

    // MARK: .p8 files

    /// A key file as Apple issues it: PKCS#8 in PEM, with the public point and without a line feed at the end. Made for this
    /// test with `openssl genpkey`.
    static let file = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgHHodkFauu9MBsYgG
        U4TSqzajQprNUR60Wmggf+EjAa+hRANCAATdqxFkUDZTJbCqOs0emC3OsVcYzvPf
        0ynP7cS+TfrlH7XvyQokiBmwgHk40aMQfwoKTweOrIBuFtNOodm+LF4t
        -----END PRIVATE KEY-----
        """

    @Test func `a key from a p8 file signs`() throws {
        let key = try P256PrivateKey(pem: Array(Self.file.utf8))
        var verifier = try AppleSecretVerifier()
        verifier.key = key.publicKey
        let secret = try secret(endpoint([team(key: key)]), at: referenceTime)
        #expect(try verifier.accepts(secret, clientID: AppleFixture.clientID, at: referenceTime))
    }

    @Test func `no other kind of file becomes a key`() throws {
        let rsa = try TokenMint.shared.rsa.pem()
        let relabelled = Self.file.replacing("PRIVATE KEY", with: "EC PRIVATE KEY")
        let encrypted = Self.file.replacing("PRIVATE KEY", with: "ENCRYPTED PRIVATE KEY")
        for file in [
            rsa, Array(relabelled.utf8), Array(encrypted.utf8), Array((Self.file + "\nmore").utf8),
            Array((Self.file + "\n" + Self.file).utf8), Array("note\n\(Self.file)".utf8), [],
        ] { #expect(throws: OpenSSLError.self) { try P256PrivateKey(pem: file) } }
    }
}

/// A fetcher that must not be used: secrets are made without a request.
private struct Unreachable: Fetcher {
    func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        Issue.record("a request was sent")
        throw FetchError(.connect)
    }
}
