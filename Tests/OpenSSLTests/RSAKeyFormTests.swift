import Foundation
import OpenSSL
import TestSupport
import Testing

/// A key and a signature that `openssl genpkey` and `openssl dgst -sha256 -sign` made: the form in which Google hands
/// out the keys of service accounts.
@Suite struct `RSA keys of others` {
    private let pem: String

    init() throws { pem = try DataFile("Keys/service-account.pem").text }

    @Test func `a PKCS#8 block is read, and signs as its maker does`() throws {
        let key = try RSAPrivateKey(pem: Array(pem.utf8))
        let message = Array("message".utf8)
        let signature = try key.sign(message.span.bytes)
        // RS256 has no randomness: there is one signature.
        #expect(
            signature.hex == """
                679efd75e6b543860eba72c8e194b5fd72a5830c044fa4e6fbee4e366a350390\
                61204aa41042daf3f6cd3f7e37e600a49f800ec7ff19af27b875b0ea7e2f8fd4\
                f4451420e05eafb20cc0aa1ebf35f8038b91578dd3ac4adc42f8223c106eabb0\
                fbe1a1dca269711ec3056640a4625a3740f7787b6e03dffb4d2b73f5709b077e\
                01afa3b12ee1c1fbd2792a5496f63f9cccd9b6716d733e0e787346198496d112\
                90961a65f3b2118d1ed5f07f42f41b694b38e20e2248daca29512d6e0767e2d4\
                87b54501dfc91d2c7dd81ccd32f87f465e9eea6ed7534da728977b05ee662ce6\
                b7b4e5d92d720ded8f3a5086d3520fb8a7f386f7f4b0fa9e3c61b48f744701e2
                """)
        #expect(key.publicKey.verifies(signature, of: message))
    }

    @Test func `the same key as PKCS#1, or cut, or with something behind it, is refused`() throws {
        let lines = pem.split(separator: "\n").dropFirst().dropLast()
        let der = [UInt8](try #require(Data(base64Encoded: lines.joined())))
        #expect(throws: Never.self) { try RSAPrivateKey(pem: armour(der, "PRIVATE KEY")) }
        // The structure inside begins after 26 octets of version and algorithm.
        for refused in [
            armour(Array(der.dropFirst(26)), "RSA PRIVATE KEY"), armour(Array(der.dropFirst(26)), "PRIVATE KEY"),
            armour(der, "RSA PRIVATE KEY"), armour(Array(der.dropLast()), "PRIVATE KEY"),
            armour(der + [0], "PRIVATE KEY"),
            Array((pem + pem).utf8),
        ] {
            #expect(throws: OpenSSLError.self) { try RSAPrivateKey(pem: refused) }
        }
    }

    @Test func `a block whose halves are of two keys is refused`() throws {
        let lines = pem.split(separator: "\n").dropFirst().dropLast()
        let der = [UInt8](try #require(Data(base64Encoded: lines.joined())))
        let modulus = try RSAPrivateKey(pem: Array(pem.utf8)).modulus
        let start = try #require(der.firstRange(of: modulus)?.lowerBound)
        var other = der
        other.replaceSubrange(start..<start + modulus.count, with: try RSAPrivateKey(bits: 2_048).modulus)
        #expect(throws: OpenSSLError.self) { try RSAPrivateKey(pem: armour(other, "PRIVATE KEY")) }
    }
}
