import Testing

@testable import OpenSSL

struct `AES-256-GCM` {
    private let key = [UInt8](0..<32)
    private let aad = Array("provider_grants|17|refresh_token".utf8)
    private let secret = Array("a refresh token".utf8)

    /// In hexadecimal.
    struct Vector: Decodable, Sendable {
        let key: String
        let iv: String
        let plaintext: String
        let aad: String
        let sealed: String
    }

    /// The cases with 256-bit keys, 96-bit IVs: 13 to 16 of "The Galois/Counter Mode of Operation" (McGrew, Viega).
    @Test(arguments: try publishedVectors("gcm_aes_256.json", as: Vector.self))
    func `published messages seal and open`(vector: Vector) throws {
        let (key, aad) = ([UInt8](hex: vector.key), [UInt8](hex: vector.aad))
        let plaintext = [UInt8](hex: vector.plaintext)
        let box = try AES256GCM.seal(plaintext, key: key, aad: aad, iv: [UInt8](hex: vector.iv))
        #expect(box.hex == vector.iv + vector.sealed)
        #expect(try AES256GCM.open(box, key: key, aad: aad) == plaintext)
    }

    @Test func `what was sealed opens, and each box has an IV of its own`() throws {
        let boxes = try (0..<50).map { _ in try AES256GCM.seal(secret, key: key, aad: aad) }
        #expect(Set(boxes.map { $0.prefix(12) }).count == boxes.count)
        for box in boxes {
            #expect(box.count == 12 + secret.count + 16)
            #expect(try AES256GCM.open(box, key: key, aad: aad) == secret)
        }
    }

    @Test func `a box does not open in another place`() throws {
        let box = try AES256GCM.seal(secret, key: key, aad: aad)
        for moved in [Array("provider_grants|18|refresh_token".utf8), [], aad + [0], aad.dropLast()] {
            #expect(throws: OpenSSLError.self) { try AES256GCM.open(box, key: key, aad: moved) }
        }
    }

    @Test func `no bit of a box can change`() throws {
        let box = try AES256GCM.seal(secret, key: key, aad: aad)
        for index in box.indices {
            #expect(throws: OpenSSLError.self) { try AES256GCM.open(box.flippingBit(at: index), key: key, aad: aad) }
        }
    }

    /// OpenSSL takes any tag of 1 to 16 octets for a whole one.
    @Test func `a cut tag is no tag`() throws {
        let box = try AES256GCM.seal(secret, key: key, aad: aad)
        for count in 0..<box.count {
            #expect(throws: OpenSSLError.self) { try AES256GCM.open(Array(box.prefix(count)), key: key, aad: aad) }
        }
        #expect(throws: OpenSSLError.self) { try AES256GCM.open(box + [0], key: key, aad: aad) }
    }

    @Test func `another key opens nothing`() throws {
        let box = try AES256GCM.seal(secret, key: key, aad: aad)
        #expect(throws: OpenSSLError.self) { try AES256GCM.open(box, key: key.flippingBit(at: 31), aad: aad) }
    }

    @Test(arguments: [0, 16, 24, 31, 33, 64])
    func `a key of another length is refused both ways`(count: Int) throws {
        let wrong = [UInt8](repeating: 1, count: count)
        let box = try AES256GCM.seal(secret, key: key, aad: aad)
        #expect(throws: OpenSSLError.self) { try AES256GCM.seal(secret, key: wrong, aad: aad) }
        #expect(throws: OpenSSLError.self) { try AES256GCM.open(box, key: wrong, aad: aad) }
    }
}
