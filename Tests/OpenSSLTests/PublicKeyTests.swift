import COpenSSL
import OpenSSL
import TestSupport
import Testing

struct `Public keys` {
    private func modulus() throws -> [UInt8] { try rsaKey.get().modulus }
    private let f4: [UInt8] = [1, 0, 1]

    @Test func `an RSA key of 2048 bits is taken, with or without a zero octet in front`() throws {
        let key = try PublicKey(rsaModulus: modulus(), exponent: f4)
        #expect(key.algorithm == .rs256)
        #expect(key.signatureLength == 256)
        #expect(try PublicKey(rsaModulus: [0] + modulus(), exponent: [0] + f4).signatureLength == 256)
    }

    @Test func `a second zero octet is refused`() throws {
        let modulus = try modulus()
        #expect(throws: OpenSSLError.self) { try PublicKey(rsaModulus: [0, 0] + modulus, exponent: f4) }
        #expect(throws: OpenSSLError.self) { try PublicKey(rsaModulus: modulus, exponent: [0, 0] + f4) }
    }

    @Test(arguments: [(1024, 3072), (2048, 6144)]) func `a modulus has up to 8192 bits`(first: Int, second: Int) throws
    {
        let key = try PublicKey(rsaModulus: product(of: first, and: second), exponent: f4)
        #expect(key.signatureLength == (first + second) / 8)
    }

    @Test(arguments: [2047, 8193, 16_384]) func `a modulus of another size is refused`(bits: Int) throws {
        var modulus = [UInt8](repeating: 0xA5, count: (bits + 7) / 8)
        modulus[0] = UInt8(1 << ((bits - 1) % 8))
        let error = try #require(throws: OpenSSLError.self) { try PublicKey(rsaModulus: modulus, exponent: f4) }
        #expect(error.reason == "modulus outside 2048 ... 8192 bits")
    }

    /// The product of two of the primes that RFC 2409 and RFC 3526 publish, by their sizes: a modulus of any size
    /// without the seconds that finding primes takes.
    private func product(of first: Int, and second: Int) throws -> [UInt8] {
        let primes = [
            1024: BN_get_rfc2409_prime_1024(nil), 2048: BN_get_rfc3526_prime_2048(nil),
            3072: BN_get_rfc3526_prime_3072(nil), 6144: BN_get_rfc3526_prime_6144(nil),
        ]
        defer { for prime in primes.values { BN_free(prime) } }
        let (product, context) = (BN_new(), BN_CTX_new())
        defer {
            BN_free(product)
            BN_CTX_free(context)
        }
        var octets = [UInt8](repeating: 0, count: (first + second) / 8)
        try #require(BN_mul(product, primes[first] ?? nil, primes[second] ?? nil, context) == 1)
        try #require(Int(BN_num_bits(product)) == first + second)
        try #require(BN_bn2bin(product, &octets) == octets.count)
        return octets
    }

    @Test func `an RSA key of 1024 bits is refused`() throws {
        let modulus = try Array(modulus().suffix(128)).map { $0 | 0x80 }
        let error = try #require(throws: OpenSSLError.self) { try PublicKey(rsaModulus: modulus, exponent: f4) }
        #expect(error.reason == "modulus outside 2048 ... 8192 bits")
    }

    @Test func `an even modulus is refused`() throws {
        let modulus = try modulus()
        let error = try #require(throws: OpenSSLError.self) {
            try PublicKey(rsaModulus: modulus.flippingBit(at: 255), exponent: f4)
        }
        #expect(error.reason == "even modulus")
    }

    @Test(arguments: [
        [], [0], [1], [0, 1], [2], [4], [1, 0, 0], [1, 0, 0, 0, 0], [1, 0, 0, 0, 1], [0, 1, 0, 0, 0, 1],
    ])
    func `an exponent that is not odd in 3 ... 2^32 is refused`(exponent: [UInt8]) throws {
        let modulus = try modulus()
        let error = try #require(throws: OpenSSLError.self) { try PublicKey(rsaModulus: modulus, exponent: exponent) }
        #expect(error.reason == "exponent not odd in 3 ... 2^32")
    }

    @Test(arguments: [[3], [1, 0, 1], [0xFF, 0xFF, 0xFF, 0xFF], [0, 0xFF, 0xFF, 0xFF, 0xFF]])
    func `an odd exponent up to 2^32 is taken`(exponent: [UInt8]) throws {
        #expect(try PublicKey(rsaModulus: modulus(), exponent: exponent).algorithm == .rs256)
    }

    @Test(arguments: [[], [0], [1], [0, 0]]) func `no modulus is refused`(modulus: [UInt8]) {
        #expect(throws: OpenSSLError.self) { try PublicKey(rsaModulus: modulus, exponent: f4) }
    }

    @Test func `a prime modulus is refused`() throws {
        // 2^2203 - 1 is a Mersenne prime.
        let prime = [0x07] + [UInt8](repeating: 0xFF, count: 275)
        #expect(throws: OpenSSLError.self) { try PublicKey(rsaModulus: prime, exponent: f4) }
    }

    @Test func `a point of P-256 is taken`() throws {
        let pair = try P256PrivateKey()
        let key = try PublicKey(p256X: pair.x, y: pair.y)
        #expect(key.algorithm == .es256)
        #expect(key.signatureLength == 64)
    }

    @Test func `a point off the curve is refused`() throws {
        let pair = try P256PrivateKey()
        #expect(throws: OpenSSLError.self) { try PublicKey(p256X: pair.x, y: pair.y.flippingBit(at: 31)) }
        #expect(throws: OpenSSLError.self) { try PublicKey(p256X: pair.y, y: pair.x) }
    }

    @Test func `zero coordinates and coordinates beyond the field are refused`() throws {
        let zeros = [UInt8](repeating: 0, count: 32)
        let prime = [UInt8](hex: "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")
        // The square root of b: (0, y) is on the curve, and (p, y) is the same point written out of range.
        let y = [UInt8](hex: "66485c780e2f83d72433bd5d84a06bb6541c2af31dae871728bf856a174f93f4")
        #expect(try PublicKey(p256X: zeros, y: y).algorithm == .es256)
        #expect(throws: OpenSSLError.self) { try PublicKey(p256X: prime, y: y) }
        #expect(throws: OpenSSLError.self) { try PublicKey(p256X: zeros, y: zeros) }
    }

    @Test(arguments: [(31, 32), (32, 31), (33, 32), (32, 33), (0, 0), (1, 0), (64, 0), (31, 33)])
    func `coordinates have 32 octets each`(x: Int, y: Int) throws {
        let pair = try P256PrivateKey()
        let point = pair.x + pair.y + [0, 0]
        let error = try #require(throws: OpenSSLError.self) {
            try PublicKey(p256X: Array(point.prefix(x)), y: Array(point.dropFirst(x).prefix(y)))
        }
        #expect(error.reason == "coordinates are not 32 octets each")
    }

    @Test func `a SubjectPublicKeyInfo of either kind is the key it was made of`() throws {
        let rsa = try rsaKey.get()
        let p256 = try P256PrivateKey()
        let message = Array("message".utf8)
        let readRSA = try PublicKey(pem: armour(rsa.publicKey.der, "PUBLIC KEY"))
        let readP256 = try PublicKey(pem: armour(p256.publicKey.der, "PUBLIC KEY"))
        #expect(readRSA.algorithm == .rs256)
        #expect(readP256.algorithm == .es256)
        #expect(try readRSA.verifies(rsa.sign(message), of: message))
        #expect(try readP256.verifies(p256.sign(message), of: message))
    }

    @Test(arguments: try RefusedKey.publicKeys) func `a PEM block of another kind is refused`(key: DataFile) {
        #expect(throws: OpenSSLError.self) { try PublicKey(pem: key.bytes) }
    }

    @Test func `a private key is no public key`() throws {
        let pem = try P256PrivateKey().pem()
        #expect(throws: OpenSSLError.self) { try PublicKey(pem: pem) }
    }
}
