import JOSE
import JSON
import OpenSSL
import Primitives
import TestSupport
import Testing

@Suite struct TokenSignatureTests {
    private static let claims: TokenMint.Members = ["sub": "subject"]

    private static func signed(_ algorithm: SignatureAlgorithm) throws -> (token: [UInt8], signature: [UInt8]) {
        let token = try TokenMint.shared.token(claims, by: algorithm)
        let text = String(decoding: part(2, of: token), as: UTF8.self)
        return (token, try #require(Base64URL.decode(text)))
    }

    private static func rejectionOf(_ token: [UInt8]) throws -> TokenRejection? {
        rejection(of: token, by: try TokenMint.shared.keySet)
    }

    @Test(arguments: [SignatureAlgorithm.rs256, .es256])
    func `a signature with one bit flipped is refused`(algorithm: SignatureAlgorithm) throws {
        let (token, signature) = try Self.signed(algorithm)
        #expect(try Self.rejectionOf(token) == nil)
        for bit in stride(from: 0, to: signature.count * 8, by: 7) {
            var flipped = signature
            flipped[bit / 8] ^= 1 << (bit % 8)
            #expect(try Self.rejectionOf(resigned(token, flipped)) == .signatureMismatch)
        }
    }

    @Test(arguments: [SignatureAlgorithm.rs256, .es256])
    func `a signature of another length is refused`(algorithm: SignatureAlgorithm) throws {
        let (token, signature) = try Self.signed(algorithm)
        #expect(signature.count == (algorithm == .rs256 ? 256 : 64))
        let lengths: [[UInt8]] = [
            Array(signature.dropLast()), Array(signature.dropFirst()), signature + [0], [0] + signature,
            signature + signature, Array(signature.prefix(1)),
        ]
        for other in lengths { #expect(try Self.rejectionOf(resigned(token, other)) == .signatureMismatch) }
    }

    @Test(arguments: [SignatureAlgorithm.rs256, .es256])
    func `a signature of zeros or of ones is refused`(algorithm: SignatureAlgorithm) throws {
        let (token, signature) = try Self.signed(algorithm)
        for octet: UInt8 in [0x00, 0x01, 0xFF] {
            let octets = [UInt8](repeating: octet, count: signature.count)
            #expect(try Self.rejectionOf(resigned(token, octets)) == .signatureMismatch)
        }
    }

    @Test(arguments: [SignatureAlgorithm.rs256, .es256])
    func `the payload or header of another token is refused under this signature`(
        algorithm: SignatureAlgorithm
    ) throws {
        let mint = try TokenMint.shared
        let (token, _) = try Self.signed(algorithm)
        let other = try mint.token(["sub": "somebody else"], by: algorithm)
        #expect(
            try Self.rejectionOf(joined(part(0, of: token), part(1, of: other), part(2, of: token)))
                == .signatureMismatch)
        let header = mint.header(algorithm).with("typ", "JWT")
        let typed = try mint.token(Self.claims, header: header, by: algorithm)
        #expect(
            try Self.rejectionOf(joined(part(0, of: typed), part(1, of: token), part(2, of: token)))
                == .signatureMismatch)
    }

    @Test(arguments: [SignatureAlgorithm.rs256, .es256])
    func `a signature of another key under the same id is refused`(algorithm: SignatureAlgorithm) throws {
        let token = try TokenMint.otherSigner.token(Self.claims, by: algorithm)
        #expect(try Self.rejectionOf(token) == .signatureMismatch)
    }

    /// The order of P-256.
    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]

    @Test func `r or s of zero, of the order and above it are refused`() throws {
        let (token, signature) = try Self.signed(.es256)
        let (r, s) = (Array(signature.prefix(32)), Array(signature.suffix(32)))
        let zero = [UInt8](repeating: 0, count: 32)
        var above = Self.order
        above[31] += 1
        for absurd in [zero, Self.order, above, [UInt8](repeating: 0xFF, count: 32)] {
            #expect(try Self.rejectionOf(resigned(token, absurd + s)) == .signatureMismatch)
            #expect(try Self.rejectionOf(resigned(token, r + absurd)) == .signatureMismatch)
            #expect(try Self.rejectionOf(resigned(token, absurd + absurd)) == .signatureMismatch)
        }
    }

    @Test func `the DER form of an ES256 signature is refused`() throws {
        let (token, signature) = try Self.signed(.es256)
        let integer = { (octets: ArraySlice<UInt8>) in
            let digits = octets.drop { $0 == 0 }
            let padded = (digits.first ?? 0) >= 0x80 ? [0] + digits : Array(digits)
            return [0x02, UInt8(padded.count)] + padded
        }
        let body = integer(signature.prefix(32)) + integer(signature.suffix(32))
        let der = [0x30, UInt8(body.count)] + body
        #expect(try Self.rejectionOf(resigned(token, der)) == .signatureMismatch)
    }

    @Test func `an ES256 signature has a second form, so a token's text is no key against its repetition`() throws {
        let (token, signature) = try Self.signed(.es256)
        // n − s signs whatever s does.
        var twin = Array(signature.prefix(32)) + Self.order
        var borrow = 0
        for index in (32..<64).reversed() {
            let difference = Int(twin[index]) - Int(signature[index]) - borrow
            borrow = difference < 0 ? 1 : 0
            twin[index] = UInt8(truncatingIfNeeded: difference)
        }
        let other = resigned(token, twin)
        #expect(other != token)
        #expect(try Self.rejectionOf(other) == nil)
        let claims = try UnverifiedToken(other).verified(by: try TokenMint.shared.keySet).claims
        #expect(claims["sub"]?.string == "subject", "what it says is the same")
    }

    @Test func `the signature covers the text that came and not its meaning`() throws {
        let mint = try TokenMint.shared
        let spaced = try mint.token(
            header: [UInt8]("{ \"alg\" : \"RS256\",\r\n \"kid\":\"rsa-1\" }".utf8),
            payload: [UInt8]("{\r\n\t\"sub\" : \"subject\"\n}".utf8))
        #expect(try Self.rejectionOf(spaced) == nil)
        let compact = try mint.token(Self.claims)
        #expect(
            try Self.rejectionOf(joined(part(0, of: spaced), part(1, of: compact), part(2, of: spaced)))
                == .signatureMismatch)
    }
}
