import TestSupport
import Testing

@testable import OpenSSL

struct `Key derivation` {
    /// In hexadecimal.
    struct KeyVector: Decodable, Sendable {
        let key: String
        let salt: String
        let info: String
        let derived: String
    }

    @Test(arguments: try publishedVectors("rfc5869_hkdf_sha256.json", as: KeyVector.self))
    func `HKDF gives the keys of RFC 5869`(vector: KeyVector) throws {
        let (salt, info) = ([UInt8](hex: vector.salt), [UInt8](hex: vector.info))
        let count = vector.derived.utf8.count / 2
        let derived = try HKDFSHA256.derive(from: [UInt8](hex: vector.key), salt: salt, info: info, count: count)
        #expect(derived.hex == vector.derived)
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

    struct ScryptVector: Decodable, Sendable {
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

    @Test func `scrypt gives the keys of RFC 7914`() throws {
        let published = try publishedVectors("rfc7914_scrypt.json", as: ScryptVector.self)
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
