import Testing

@testable import OpenSSL

struct `Digests and codes` {
    @Test func `SHA-256 gives the digests of FIPS 180-4`() {
        #expect(SHA256.hash([]).hex == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(
            SHA256.hash(Array("abc".utf8)).hex == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            SHA256.hash([UInt8](repeating: 0x61, count: 1_000_000)).hex
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test func `SHA-512 gives the digests of FIPS 180-4`() {
        #expect(
            SHA512.hash([]).hex == """
                cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce\
                47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e
                """)
        #expect(
            SHA512.hash(Array("abc".utf8)).hex == """
                ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f
                """)
    }

    /// In hexadecimal.
    struct CodeVector: Decodable, Sendable {
        let key: String
        let message: String
        let code: String
    }

    @Test(arguments: try publishedVectors("rfc4231_hmac_sha256.json", as: CodeVector.self))
    func `HMAC-SHA-256 gives the codes of RFC 4231`(vector: CodeVector) throws {
        let (message, key) = ([UInt8](hex: vector.message), [UInt8](hex: vector.key))
        #expect(try HMACSHA256.authenticationCode(for: message, key: key).bytes.hex == vector.code)
    }

    @Test func `HMAC-SHA-256 takes an empty key and an empty message as they are`() throws {
        let empty = try HMACSHA256.authenticationCode(for: [], key: [])
        #expect(empty.bytes.hex == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
        // RFC 2104 pads a key with zeros, so no key is a key of zeros; any other key makes another code.
        #expect(try HMACSHA256.authenticationCode(for: [], key: [0]).matches(empty))
        #expect(try !HMACSHA256.authenticationCode(for: [], key: [1]).matches(empty))
    }

    @Test func `octets that prove something can't be compared by an operator`() {
        let secret = SecretBytes([1, 2, 3])
        #expect(!(secret as Any is any Equatable))
        #expect(secret.matches([1, 2, 3]))
        #expect(!secret.matches([1, 2]))
        #expect(!secret.matches(SecretBytes([1, 2, 4])))
    }

    @Test func `bytes compare equal only when all of them are`() {
        let secret = Array("correct horse".utf8)
        #expect(constantTimeEquals(secret, secret))
        #expect(constantTimeEquals([], []))
        for index in secret.indices { #expect(!constantTimeEquals(secret, secret.flippingBit(at: index))) }
        #expect(!constantTimeEquals(secret, secret.dropLast()))
        #expect(!constantTimeEquals(secret, secret + [0]))
        #expect(!constantTimeEquals(secret, []))
    }

    @Test func `a cleansed secret is zeros, its copies are not`() {
        var secret: [UInt8] = [1, 2, 3]
        let copy = secret
        cleanse(&secret)
        #expect(secret == [0, 0, 0])
        #expect(copy == [1, 2, 3])
    }

    @Test func `random bytes come in the number asked for and do not repeat`() throws {
        #expect(try SecureRandom.bytes(0) == [])
        let draws = try (0..<100).map { _ in try SecureRandom.bytes(16) }
        #expect(draws.allSatisfy { $0.count == 16 })
        #expect(Set(draws).count == draws.count)
    }

    @Test(arguments: [-1, .min, .max, Int(Int32.max) + 1])
    func `a count that is no count of bytes is refused`(count: Int) {
        #expect(throws: OpenSSLError.self) { try SecureRandom.bytes(count) }
    }
}
