import TestSupport
import Testing

@testable import OpenSSL

struct `Key derivation` {
    /// RFC 5869 A.1 – A.3.
    @Test(
        arguments: [
            (
                [UInt8](repeating: 0x0b, count: 22), Array(0...12), Array(0xf0...0xf9), 42,
                "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
            ),
            (
                Array(0...0x4f), Array(0x60...0xaf), Array(0xb0...0xff), 82,
                """
                b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09\
                da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87
                """
            ),
            (
                [UInt8](repeating: 0x0b, count: 22), [], [], 42,
                "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
            ),
        ] as [([UInt8], [UInt8], [UInt8], Int, String)])
    func `HKDF gives the keys of RFC 5869`(
        key: [UInt8], salt: [UInt8], info: [UInt8], count: Int, derived: String
    ) throws {
        #expect(try HKDFSHA256.derive(from: key, salt: salt, info: info, count: count).hex == derived)
    }

    @Test func `a label is the info of HKDF, with no salt`() throws {
        let key = [UInt8](repeating: 7, count: 32)
        let derived = try HKDFSHA256.derive(from: key, label: "refresh token", count: 32)
        #expect(try derived == HKDFSHA256.derive(from: key, salt: [], info: Array("refresh token".utf8), count: 32))
        #expect(try derived != HKDFSHA256.derive(from: key, label: "refresh tokens", count: 32))
    }

    @Test func `a NUL does not cut a label`() throws {
        let key = [UInt8](repeating: 7, count: 32)
        #expect(
            try HKDFSHA256.derive(from: key, label: "victim\0evil", count: 32)
                != HKDFSHA256.derive(from: key, label: "victim", count: 32))
    }

    @Test(arguments: [0, -1, 255 * 32 + 1])
    func `HKDF refuses a length beyond its range`(count: Int) {
        #expect(throws: OpenSSLError.self) { try HKDFSHA256.derive(from: [1], label: "", count: count) }
    }

    @Test func `HKDF refuses an empty key`() {
        #expect(throws: OpenSSLError.self) { try HKDFSHA256.derive(from: [], label: "", count: 32) }
    }

    struct ScryptVectors: Decodable {
        struct Vector: Decodable {
            let password: String
            let salt: String
            let n: UInt64
            let r: UInt32
            let p: UInt32
            let count: Int
            let hex: String

            private enum CodingKeys: String, CodingKey {
                case password
                case salt
                case n = "N"
                case r
                case p
                case count = "dkLen"
                case hex
            }
        }
        let vectors: [Vector]
    }

    @Test func `scrypt gives the keys of RFC 7914`() throws {
        let published = try Vectors.rfc("rfc7914_scrypt.json", as: ScryptVectors.self).vectors
        #expect(published.count == 3)
        for vector in published {
            let derived = try Scrypt.derive(
                password: Array(vector.password.utf8), salt: Array(vector.salt.utf8),
                cost: Scrypt.Cost(n: vector.n, r: vector.r, p: vector.p), count: vector.count)
            #expect(derived.bytes.hex == vector.hex)
        }
    }

    @Test(
        arguments: [
            Scrypt.Cost(n: 1000, r: 8, p: 1),  // not a power of two
            Scrypt.Cost(n: 1, r: 8, p: 1),
            Scrypt.Cost(n: 0, r: 8, p: 1),
            Scrypt.Cost(n: 1024, r: 0, p: 1),
            Scrypt.Cost(n: 1024, r: 8, p: 0),
            Scrypt.Cost(n: 1 << 63, r: 8, p: 1),
            Scrypt.Cost(n: .max, r: .max, p: .max),
        ])
    func `scrypt refuses a cost that is none`(cost: Scrypt.Cost) {
        #expect(throws: OpenSSLError.self) { try Scrypt.derive(password: [1], salt: [2], cost: cost, count: 32) }
    }

    @Test func `scrypt refuses to derive nothing`() {
        #expect(throws: OpenSSLError.self) {
            try Scrypt.derive(password: [1], salt: [2], cost: Scrypt.Cost(n: 16, r: 1, p: 1), count: 0)
        }
    }

    @Test func `a NUL does not cut a password`() throws {
        let cost = Scrypt.Cost(n: 16, r: 1, p: 1)
        #expect(
            try !Scrypt.derive(password: Array("a\0b".utf8), salt: [1], cost: cost, count: 32)
                .matches(Scrypt.derive(password: Array("a".utf8), salt: [1], cost: cost, count: 32)))
    }
}
