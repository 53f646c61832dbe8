import COpenSSL
import TestSupport
import Testing

@testable import OpenSSL

struct `Errors` {
    /// Refusals that reach OpenSSL, so that its error queue could keep an entry.
    static let failures: [(String, @Sendable () throws -> Void)] = [
        ("off-curve point", { _ = try PublicKey(p256X: Array(1...32), y: Array(1...32)) }),
        ("even modulus", { _ = try PublicKey(rsaModulus: [UInt8](repeating: 0xAA, count: 256), exponent: [3]) }),
        ("spoilt PEM", { _ = try P256PrivateKey(pem: Array("-----BEGIN PRIVATE KEY-----\n!\n".utf8)) }),
        ("spoilt DER", { _ = try P256PrivateKey(der: [0x30, 0x01]) }),
        ("spoilt public DER", { _ = try PublicKey(pem: armour([0x30, 0x01], "PUBLIC KEY")) }),
        ("encrypted PEM", { _ = try P256PrivateKey(pem: DataFile("Keys/private/encrypted-pkcs8.pem").bytes) }),
        (
            "scrypt cost",
            { _ = try Scrypt.derive(password: [], salt: [], cost: Scrypt.Cost(n: 1000, r: 8, p: 1), count: 1) }
        ),
        ("HKDF length", { _ = try HKDFSHA256.derive(from: [1], label: "", count: 100_000) }),
        (
            "spoilt box",
            { _ = try AES256GCM.open([UInt8](repeating: 0, count: 40), key: [UInt8](repeating: 0, count: 32), aad: []) }
        ),
    ]

    @Test(arguments: failures.indices) func `a failure leaves the error queue empty`(index: Int) {
        let (name, fail) = Self.failures[index]
        #expect(throws: OpenSSLError.self, "\(name)") { try fail() }
        #expect(ERR_peek_error() == 0, "\(name)")
    }

    @Test func `a signature that does not hold leaves the error queue empty`() throws {
        let rsa = try rsaKey.get()
        let p256 = try P256PrivateKey()
        #expect(!rsa.publicKey.verifies([UInt8](repeating: 1, count: 256), of: [1]))
        #expect(ERR_peek_error() == 0)
        #expect(!rsa.publicKey.verifies([UInt8](repeating: 0xFF, count: 256), of: [1]))
        #expect(ERR_peek_error() == 0)
        #expect(!p256.publicKey.verifies([UInt8](repeating: 0, count: 64), of: [1]))
        #expect(ERR_peek_error() == 0)
        #expect(!p256.publicKey.verifies([UInt8](repeating: 0xFF, count: 64), of: [1]))
        #expect(ERR_peek_error() == 0)
    }

    /// OpenSSL returns 0 for a signature that does not hold and a negative number for one that it cannot read.
    @Test func `a negative answer is no success`() throws {
        let pair = try P256PrivateKey()
        var parameters = Parameters()
        parameters.add("group", text: "prime256v1")
        parameters.add("pub", octets: [0x04] + pair.x + pair.y)
        let key = try AsymmetricKey(publicKeyOf: "EC", parameters)
        let notDER = [UInt8](repeating: 0xFF, count: 64)
        let plain = try key.newContext()
        #expect(unsafe EVP_PKEY_verify_init(plain.pointer) == 1)
        #expect(unsafe EVP_PKEY_verify(plain.pointer, notDER, notDER.count, SHA256.hash(notDER), 32) < 0)
        let context = try unsafe SignatureContext(key, .es256) { unsafe EVP_PKEY_verify_init($0) }
        #expect(unsafe !notDER.withUnsafeBytes { unsafe context.verifies($0, of: $0) })
        ERR_clear_error()
    }

    @Test func `success leaves the error queue empty`() throws {
        let p256 = try P256PrivateKey()
        #expect(ERR_peek_error() == 0)
        _ = try P256PrivateKey(pem: p256.pem())
        #expect(ERR_peek_error() == 0)
        _ = try RSAPrivateKey(pem: rsaKey.get().pem())
        #expect(ERR_peek_error() == 0)
        _ = try PublicKey(pem: armour(p256.publicKey.der, "PUBLIC KEY"))
        #expect(ERR_peek_error() == 0)
        #expect(try p256.publicKey.verifies(p256.sign([1]), of: [1]))
        #expect(ERR_peek_error() == 0)
    }

    /// Another library on this thread may have left its error in the queue that ours is read from.
    @Test func `an error that was there before is not taken for ours`() throws {
        #expect(unsafe EVP_MD_fetch(nil, "no such digest", nil) == nil)
        let foreign = ERR_peek_error()
        #expect(foreign != 0)
        let error = try #require(throws: OpenSSLError.self) { try P256PrivateKey(der: [0x30, 0x01]) }
        #expect(error.code != 0)
        #expect(error.code != foreign)
    }

    @Test func `the description says nothing, the debug description says where and why`() throws {
        let error = try #require(throws: OpenSSLError.self) { try PublicKey(p256X: Array(1...32), y: Array(1...32)) }
        #expect("\(error)" == "A cryptographic operation failed.")
        #expect(error.debugDescription.contains("EVP_PKEY_fromdata"))
        #expect(error.debugDescription.contains(error.reason))
        #expect(error.location.hasPrefix("OpenSSL/"))
        #expect(error.code != 0)
        #expect(error.reason == "point is not on curve")
    }
}
