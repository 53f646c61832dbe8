import Foundation
import JOSE
import JSON
import OpenSSL
import Primitives

/// The mint of tokens with the claims and the size of Apple's, signed with keys of this run.
///
/// For each algorithm a file of tokens, one a line, and the key as two base64url numbers for the C program; and one JWK
/// Set for the programs that read JSON.
struct Mint {
    static let issuer = "https://appleid.apple.com"
    static let audience = "com.example.countersign.ios"
    /// Enough of them that no branch predictor learns one token.
    private static let tokenCount = 64

    private let rsa: RSAPrivateKey
    private let p256: P256PrivateKey

    init() throws {
        rsa = try RSAPrivateKey(bits: 2048)
        p256 = try P256PrivateKey()
    }

    func write(to directory: URL) throws {
        let rsaSigner = TokenSigner(key: rsa, keyID: "Bh6H7rHVmb")
        let claims = try (0..<Self.tokenCount).map(claims)
        try write(claims.map(rsaSigner.sign), to: directory.appending(path: "RS256.tokens"))
        try write(claims.map(p256Signer.sign), to: directory.appending(path: "ES256.tokens"))
        try write(
            [Base64URL.encode(rsa.modulus), Base64URL.encode(rsa.exponent)],
            to: directory.appending(path: "RS256.key"))
        try write([Base64URL.encode(p256.x), Base64URL.encode(p256.y)], to: directory.appending(path: "ES256.key"))
        let document = PublicJWK.document([
            PublicJWK(rsa, keyID: "Bh6H7rHVmb"), PublicJWK(p256, keyID: "fh6Bs8C3Yx"),
        ])
        try Data(document).write(to: directory.appending(path: "jwks.json"))
    }

    /// ES256 tokens per second on one thread.
    func signatures(for seconds: Double) throws -> Double {
        let claims = try (0..<Self.tokenCount).map(claims)
        let signer = p256Signer
        let clock = ContinuousClock()
        let start = clock.now
        let end = start.advanced(by: .seconds(seconds))
        var count = 0
        while clock.now < end {
            for claims in claims { _ = try signer.sign(claims) }
            count += claims.count
        }
        return Double(count) / ((clock.now - start) / .seconds(1))
    }

    private var p256Signer: TokenSigner { TokenSigner(key: p256, keyID: "fh6Bs8C3Yx") }

    private func write(_ lines: [String], to file: URL) throws {
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
    }

    private func claims(_ number: Int) throws -> [UInt8] {
        let now = Int64(Date().timeIntervalSince1970)
        let nonce = try SecureRandom.bytes(16)
        return JSONWriter.object { writer in
            writer.member("iss", Self.issuer)
            writer.member("aud", Self.audience)
            writer.member("exp", now + 86_400)
            writer.member("iat", now)
            writer.member("sub", "001234.\(hex(nonce[...])).\(1000 + number)")
            writer.member("nonce", hex(nonce[...]))
            writer.member("email", "\(hex(nonce.prefix(5)))@privaterelay.appleid.com")
            writer.member("email_verified", true)
            writer.member("is_private_email", true)
            writer.member("auth_time", now)
            writer.member("nonce_supported", true)
            writer.member("real_user_status", 2)
        }
    }

    private func hex(_ octets: ArraySlice<UInt8>) -> String {
        octets.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
