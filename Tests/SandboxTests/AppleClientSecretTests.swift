import Foundation
import JOSE
import OpenSSL
import Primitives
import TestSupport
import Testing

/// Apple's rules for a client_secret; each test breaks one and presents the result with a good code.
@Suite(.sharedSandbox) struct AppleClientSecretTests {
    private var sandbox: Sandbox { .current }

    private let client: AppleClient

    init() async throws { client = try await AppleClient.register(in: .current) }

    /// Expects this refusal of the secret, and that the code is still good afterwards: a refused client spends nothing.
    private func refused(_ reason: String, _ secret: String) async throws {
        let code = try await client.code()
        let answer = try await client.exchange(code, secret: secret)
        #expect(answer.refusal == "400 invalid_client client_secret: \(reason)")
        #expect(try await client.exchange(code).status == 200)
    }

    private func refusedClaim(_ reason: String, _ change: (inout TokenMint.Members) -> Void) async throws {
        try await refused(reason, client.secret(change))
    }

    @Test func `a secret that is no token, of another algorithm or without a key id is refused`() async throws {
        let noToken = "not an ES256 token with a key id"
        try await refused(noToken, "s3cret")
        let claims = try await client.claims().bytes
        try await refused(noToken, TokenSigner(key: RSAPrivateKey(bits: 2048), keyID: client.keyID).sign(claims))
        let parts = try await client.secret().split(separator: ".")
        try await refused(noToken, Base64URL.encode(Array(#"{"alg":"ES256"}"#.utf8)) + ".\(parts[1]).\(parts[2])")
    }

    @Test func `a secret of a key that the team does not have is refused`() async throws {
        let noKey = "kid is no live key of the client's team"
        let claims = try await client.claims()
        try await refused(noKey, TokenSigner(key: client.key, keyID: "UNKNOWN123").sign(claims.bytes))
        let other = try await AppleClient.register(in: sandbox)
        let theirs = claims.with("iss", .string(other.team)).bytes
        try await refused(noKey, TokenSigner(key: other.key, keyID: other.keyID).sign(theirs))
        // Under the right key id.
        try await refused(
            "the signature does not hold",
            TokenSigner(key: P256PrivateKey(), keyID: client.keyID).sign(claims.bytes))
    }

    @Test func `a signature in ASN point 1 is refused`() async throws {
        let parts = try await client.secret().split(separator: ".").map(String.init)
        let raw = try #require(Base64URL.decode(parts[2]))
        // SEQUENCE { INTEGER r, INTEGER s }, the default output of most libraries.
        let halves = [raw[..<32], raw[32...]].map { half -> [UInt8] in
            let digits = Array(half.drop { $0 == 0 })
            let padded = (digits.first ?? 0) >= 0x80 ? [0] + digits : digits
            return [0x02, UInt8(padded.count)] + padded
        }
        let der = [0x30, UInt8(halves[0].count + halves[1].count)] + halves[0] + halves[1]
        try await refused("the signature does not hold", "\(parts[0]).\(parts[1])." + Base64URL.encode(der))
    }

    @Test func `a secret with one wrong claim is refused for it`() async throws {
        for issuer in ["OTHERTEAM1", nil] as [TokenMint.Literal?] {
            try await refusedClaim("iss is not the team") { $0["iss"] = issuer }
        }
        for subject in [client.id.uppercased(), "\(client.team).\(client.id)", nil] {
            try await refusedClaim("sub is not client_id") { $0["sub"] = subject.map { .string($0) } }
        }
        for audience in [
            "https://appleid.apple.com/", ["https://appleid.apple.com"], "http://127.0.0.1", nil,
        ] as [TokenMint.Literal?] { try await refusedClaim("aud is not Apple") { $0["aud"] = audience } }
        let now = try await client.now()
        try await refusedClaim("iat is missing or ahead") { $0["iat"] = .integer(now + 60) }
        try await refusedClaim("iat is missing or ahead") { $0["iat"] = nil }
        try await refusedClaim("exp is missing or over") { $0["exp"] = $0["iat"] }
        try await refusedClaim("exp is missing or over") { $0["exp"] = nil }
        // More than half a year.
        let later = try await client.now()
        try await refusedClaim("exp is too far ahead") { $0["exp"] = .integer(later + 15_777_060) }
    }

    @Test(.fixture(Sandbox.self)) func `the edges are exact on a clock that stands still`() async throws {
        try await sandbox.setClock("2026-01-01T12:00:00Z")
        let now = try await client.now()
        for (issued, lifetime, status) in [
            (0, 15_777_000, 200), (0, 15_777_001, 400), (1, 300, 400), (-15_777_000, 1, 200), (-60, 0, 400),
        ] as [(Int64, Int64, Int)] {
            let secret = try await client.secret {
                $0["exp"] = .integer(now + lifetime)
                $0["iat"] = .integer(now + issued)
            }
            #expect(try await client.exchange(client.code(), secret: secret).status == status)
        }
    }

    @Test func `a team without keys has no good secret`() async throws {
        try await sandbox.assignAppleClient(client.id, team: "KEYLESS001")
        let secret = try await client.secret { $0["iss"] = "KEYLESS001" }
        let answer = try await client.exchange(client.code(), secret: secret)
        #expect(answer.refusal == "400 invalid_client client_secret: kid is no live key of the client's team")
        try await sandbox.assignAppleClient(client.id, team: client.team)
        try await refused(
            "kid is no live key of the client's team",
            TokenSigner(key: client.key, keyID: "KEYLESS001").sign(client.claims().bytes))
    }

    @Test func `a team may have two keys, and a revoked one is worth nothing until it is registered again`()
        async throws
    {
        let second = try P256PrivateKey()
        try await sandbox.registerAppleKey(team: client.team, keyID: "SECOND", second)
        try await sandbox.revokeAppleKey(team: client.team, keyID: client.keyID)
        let code = try await client.code()
        #expect(
            try await client.exchange(code).refusal
                == "400 invalid_client client_secret: kid is no live key of the client's team")
        let secret = try await TokenSigner(key: second, keyID: "SECOND", type: "JWT").sign(client.claims().bytes)
        #expect(try await client.exchange(code, secret: secret).status == 200)
        try await sandbox.registerAppleKey(team: client.team, keyID: client.keyID, client.key)
        #expect(try await client.exchange(client.code()).status == 200)
    }

    @Test func `a key can be registered as a PEM block`() async throws {
        let key = try P256PrivateKey()
        let base64 = Data(try key.publicKey.der).base64EncodedString(options: [
            .lineLength64Characters, .endLineWithLineFeed,
        ])
        try await sandbox.registerAppleKey(
            team: client.team, keyID: "PEM",
            publicKeyPEM: "-----BEGIN PUBLIC KEY-----\n\(base64)\n-----END PUBLIC KEY-----\n")
        let secret = try await TokenSigner(key: key, keyID: "PEM").sign(client.claims().bytes)
        #expect(try await client.exchange(client.code(), secret: secret).status == 200)
    }
}
