import JOSE
import JSON
import OpenSSL
import Primitives
import TestSupport
import Testing

/// The algorithm is ours to choose (RFC 8725 §3.1); the header only has to agree.
@Suite struct TokenAlgorithmTests {
    private static let claims: TokenMint.Members = ["sub": "subject"]

    @Test(arguments: [
        "none", "None", "NONE", "nOnE", "", "HS256", "HS384", "HS512", "RS384", "RS512", "PS256", "PS384", "PS512",
        "ES384",
        "ES512", "ES256K", "EdDSA", "rs256", "Rs256", "RS256 ", " RS256", "RS256\0", "RSA-OAEP", "dir",
    ])
    func `an algorithm that is not ours is refused even with a signature that would hold`(name: String) throws {
        let mint = try TokenMint.shared
        for algorithm in [SignatureAlgorithm.rs256, .es256] {
            let header = mint.header(algorithm).with("alg", .string(name))
            let token = try mint.token(Self.claims, header: header, by: algorithm)
            #expect(rejection(of: token, by: mint.keySet) == .algorithmRejected)
        }
    }

    @Test(arguments: ["256", "null", "true", "[\"RS256\"]", "{\"RS256\":1}", nil])
    func `an algorithm that is not a string, or is missing, is refused`(literal: String?) throws {
        let mint = try TokenMint.shared
        let header = mint.header(.rs256).with("alg", literal.map { .raw($0) })
        let token = try mint.token(Self.claims, header: header)
        #expect(rejection(of: token, by: mint.keySet) == .algorithmRejected)
    }

    @Test func `an escaped member name is the same member`() throws {
        let mint = try TokenMint.shared
        let escaped = [UInt8](#"{"\u0061lg":"\u0052S256","k\u0069d":"rsa-1"}"#.utf8)
        let accepted = try mint.token(header: escaped, payload: Self.claims.bytes)
        #expect(rejection(of: accepted, by: mint.keySet) == nil)
        let none = [UInt8](#"{"\u0061lg":"none","kid":"rsa-1"}"#.utf8)
        #expect(
            rejection(of: try mint.token(header: none, payload: Self.claims.bytes), by: mint.keySet)
                == .algorithmRejected)
    }

    @Test func `the unsecured token of RFC 7515 appendix A.5 is refused`() throws {
        let header = [UInt8](#"{"alg":"none"}"#.utf8)
        let text = "\(Base64URL.encode(header)).\(Base64URL.encode(Self.claims.bytes))."
        #expect(rejection(of: text, by: try TokenMint.shared.keySet) == .malformed, "its signature is empty")
    }

    @Test func `real tokens with an algorithm of none are refused with an empty and with their old signature`() throws {
        for real in try Vectors.realIDTokens {
            let keys = try real.keySet
            let token = [UInt8](real.token.utf8)
            for name in ["none", "None", "NONE", ""] {
                let header: TokenMint.Members = ["alg": .string(name), "kid": .string(real.keyID)]
                let first = [UInt8](Base64URL.encode(header.bytes).utf8)
                #expect(rejection(of: joined(first, part(1, of: token), []), by: keys) == .malformed)
                #expect(
                    rejection(of: joined(first, part(1, of: token), part(2, of: token)), by: keys)
                        == .algorithmRejected)
            }
        }
    }

    @Test func `an HMAC under the public key is refused, whatever form of it was the secret`() throws {
        for provider in Vectors.Provider.allCases {
            let document = try #require(try Vectors.keySetHistory(provider).last).document
            let keys = try KeySet(parsing: document)
            let entries = try #require(try JSONValue(parsing: document)["keys"]?.elements)
            for (id, entry) in zip(keys.keyIDs, entries) {
                let key = try #require(keys.key(id: [UInt8](id.utf8)))
                let der = try key.der
                var jwk = JSONWriter()
                jwk.value(entry)
                let modulus = try #require(entry["n"]?.string.flatMap(Base64URL.decode))
                for secret in [der, Self.pem(der), Self.pem(der).dropLast(), jwk.bytes, modulus] {
                    for name in ["HS256", "RS256"] {
                        let header: TokenMint.Members = ["alg": .string(name), "kid": .string(id)]
                        let signed = "\(Base64URL.encode(header.bytes)).\(Base64URL.encode(Self.claims.bytes))"
                        let code = try HMACSHA256.authenticationCode(for: [UInt8](signed.utf8), key: [UInt8](secret))
                            .bytes
                        let token = "\(signed).\(Base64URL.encode(code))"
                        #expect(
                            rejection(of: token, by: keys)
                                == (name == "HS256" ? .algorithmRejected : .signatureMismatch))
                    }
                }
            }
        }
    }

    private static func pem(_ der: [UInt8]) -> [UInt8] {
        var text = Base64URL.encode(der).replacing("-", with: "+").replacing("_", with: "/")
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        let bytes = [UInt8](text.utf8)
        let lines = stride(from: 0, to: bytes.count, by: 64).map {
            String(decoding: bytes[$0..<min($0 + 64, bytes.count)], as: UTF8.self)
        }
        return [UInt8]("-----BEGIN PUBLIC KEY-----\n\(lines.joined(separator: "\n"))\n-----END PUBLIC KEY-----\n".utf8)
    }

    @Test func `an algorithm of one key is refused under the key of another`() throws {
        let mint = try TokenMint.shared
        for (algorithm, keyID) in [(SignatureAlgorithm.es256, TokenMint.rsaKeyID), (.rs256, TokenMint.p256KeyID)] {
            let header = mint.header(algorithm).with("kid", .string(keyID))
            let token = try mint.token(Self.claims, header: header, by: algorithm)
            #expect(rejection(of: token, by: mint.keySet) == .algorithmRejected)
        }
        let token = try UnverifiedToken(try mint.token(Self.claims, by: .es256))
        #expect(throws: TokenRejection.algorithmRejected) { try token.verified(by: mint.rsa.publicKey) }
    }

    @Test func `a caller that allows one algorithm gets no other`() throws {
        let mint = try TokenMint.shared
        let token = try mint.token(Self.claims, by: .es256)
        #expect(throws: TokenRejection.algorithmRejected) { try UnverifiedToken(token, allowedAlgorithms: [.rs256]) }
        #expect(try UnverifiedToken(token, allowedAlgorithms: [.es256]).algorithm == .es256)
    }

    @Test func `both of our algorithms are accepted`() throws {
        let mint = try TokenMint.shared
        for algorithm in [SignatureAlgorithm.rs256, .es256] {
            let token = try UnverifiedToken(try mint.token(Self.claims, by: algorithm)).verified(by: mint.keySet)
            #expect(token.claims["sub"]?.string == "subject")
            #expect(token.header["alg"]?.string == algorithm.rawValue)
        }
    }
}
