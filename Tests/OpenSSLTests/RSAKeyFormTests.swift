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
        let published = try DataFile("Keys/service-account-signature.hex").text
        #expect(signature == [UInt8](hex: published))
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
        ] { #expect(throws: OpenSSLError.self) { try RSAPrivateKey(pem: refused) } }
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
