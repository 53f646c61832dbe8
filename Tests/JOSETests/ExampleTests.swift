import JOSE
import JSON
import OpenSSL
import Primitives
import TestSupport
import Testing

/// The examples of RFC 7515, 7519, 7520 and 7638.
@Suite struct ExampleTests {
    private struct Example: Decodable {
        struct Key: Decodable {
            let kty: String
            let n: String?
            let e: String?
            let x: String?
            let y: String?
        }

        let name: String
        let token: String
        let jwk: Key?
    }

    private static func example(_ name: String) throws -> Example {
        let examples: [Example] = try Vectors.rfc("rfc7515_7519_examples.json")
        return try #require(examples.first { $0.name.hasPrefix(name) })
    }

    private static func octets(_ text: String?) throws -> [UInt8] { try #require(text.flatMap(Base64URL.decode)) }

    @Test func `RFC 7515 A.2 and A.3 hold under their keys and only there`() throws {
        let rsa = try Self.example("RFC 7515 A.2")
        let rsaKey = try PublicKey(rsaModulus: Self.octets(rsa.jwk?.n), exponent: Self.octets(rsa.jwk?.e))
        let p256 = try Self.example("RFC 7515 A.3")
        let p256Key = try PublicKey(p256X: Self.octets(p256.jwk?.x), y: Self.octets(p256.jwk?.y))
        let mint = try TokenMint.shared
        for (example, key, other) in [(rsa, rsaKey, mint.rsa.publicKey), (p256, p256Key, mint.p256.publicKey)] {
            // They have no key id.
            let token = try UnverifiedToken([UInt8](example.token.utf8), requiresKeyID: false)
            let claims = try token.verified(by: key).claims
            #expect(claims["iss"]?.string == "joe")
            #expect(claims["exp"]?.integer == 1_300_819_380)
            #expect(claims["http://example.com/is_root"]?.bool == true)
            #expect(throws: TokenRejection.signatureMismatch) { try token.verified(by: other) }
            #expect(throws: TokenRejection.headerRejected) { try UnverifiedToken([UInt8](example.token.utf8)) }
        }
    }

    @Test func `RFC 7515 A.1 and A.5 are refused`() throws {
        let hmac = try Self.example("RFC 7515 A.1")
        #expect(throws: TokenRejection.algorithmRejected) {
            try UnverifiedToken([UInt8](hmac.token.utf8), requiresKeyID: false)
        }
        let unsecured = try Self.example("RFC 7515 A.5")
        #expect(throws: TokenRejection.malformed) {
            try UnverifiedToken([UInt8](unsecured.token.utf8), requiresKeyID: false, allowsEmptyPayload: true)
        }
    }

    private static func file(_ name: String) throws -> JSONValue {
        try JSONValue(parsing: Vectors.bytes("jose-cookbook/\(name)"))
    }

    private static func cookbookKeys() throws -> KeySet {
        let keys = try JSONWriter.object { writer in
            try writer.array("keys") { writer in
                for name in [
                    "jwk_3_1.ec_public_key", "jwk_3_2.ec_private_key", "jwk_3_3.rsa_public_key",
                    "jwk_3_4.rsa_private_key",
                ] { writer.value(try file("\(name).json")) }
            }
        }
        return try KeySet(parsing: keys)
    }

    @Test func `of the keys of RFC 7520 the public RSA key alone is usable`() throws {
        let keys = try Self.cookbookKeys()
        #expect(keys.keyIDs == ["bilbo.baggins@hobbiton.example"])
        #expect(keys.rejected.map(\.reason) == [.curve, .privateKeyPublished, .privateKeyPublished])
    }

    private static func compact(_ name: String) throws -> [UInt8] {
        try #require(try file(name)["output"]?["compact"]?.stringBytes)
    }

    @Test func `the RS256 signature of RFC 7520 holds over a payload that is no JSON`() throws {
        let compact = try Self.compact("jws_4_1.rsa_v15_signature.json")
        let token = try UnverifiedToken(compact)
        try token.verifiedSignature(by: Self.cookbookKeys())
        #expect(throws: TokenRejection.malformed) { try token.verified(by: Self.cookbookKeys()) }
        #expect(throws: TokenRejection.keyUnknown) { try token.verifiedSignature(by: TokenMint.shared.keySet) }
    }

    @Test(arguments: [
        ("jws_4_2.rsa-pss_signature", TokenRejection.algorithmRejected),
        ("jws_4_3.ecdsa_signature", .algorithmRejected),
        ("jws_4_4.hmac-sha2_integrity_protection", .algorithmRejected),
        ("jws_4_5.signature_with_detached_content", .malformed),
    ])
    func `the other compact tokens of RFC 7520 are refused`(name: String, rejection: TokenRejection) throws {
        let token = try Self.compact("\(name).json")
        #expect(throws: rejection) { try UnverifiedToken(token) }
        #expect(throws: TokenRejection.algorithmRejected) { try UnverifiedToken(token, allowsEmptyPayload: true) }
    }

    @Test(arguments: [
        "jws_4_1.rsa_v15_signature", "jws_4_2.rsa-pss_signature", "jws_4_3.ecdsa_signature",
        "jws_4_4.hmac-sha2_integrity_protection", "jws_4_5.signature_with_detached_content",
        "jws_4_6.protecting_specific_header_fields", "jws_4_7.protecting_content_only", "jws_4_8.multiple_signatures",
    ])
    func `the JSON serializations of RFC 7520 are refused`(name: String) throws {
        for form in ["json", "json_flat"] {
            guard let serialization = try Self.file("\(name).json")["output"]?[form] else { continue }
            var writer = JSONWriter()
            writer.value(serialization)
            let bytes = writer.bytes
            #expect(throws: TokenRejection.malformed) { try UnverifiedToken(bytes, allowsEmptyPayload: true) }
        }
    }

    @Test func `the thumbprint of RFC 7638 is the one that we give our own keys`() throws {
        struct Thumbprint: Decodable {
            let jwk: Example.Key
            let sha256: String

            private enum CodingKeys: String, CodingKey {
                case jwk
                case sha256 = "thumbprint_sha256"
            }
        }
        let vector: Thumbprint = try Vectors.rfc("rfc7638_thumbprint.json")
        let jwk = PublicJWK(rsaModulus: try Self.octets(vector.jwk.n), exponent: try Self.octets(vector.jwk.e))
        #expect(jwk.keyID == vector.sha256)
    }
}
