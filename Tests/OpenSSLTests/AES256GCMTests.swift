import Testing

@testable import OpenSSL

struct `AES-256-GCM` {
    private let key = [UInt8](0..<32)
    private let aad = Array("provider_grants|17|refresh_token".utf8)
    private let secret = Array("a refresh token".utf8)

    struct Vector: Sendable {
        let key: [UInt8]
        let iv: [UInt8]
        let plaintext: [UInt8]
        let aad: [UInt8]
        let sealed: [UInt8]
    }

    /// The cases with 256-bit keys, 96-bit IVs: 13 to 16 of "The Galois/Counter Mode of Operation" (McGrew, Viega).
    static let vectors: [Vector] = {
        let zeros = [UInt8](repeating: 0, count: 32)
        let key = [UInt8](hex: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
        let iv = [UInt8](hex: "cafebabefacedbaddecaf888")
        let plaintext = [UInt8](
            hex: """
                d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
                1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255
                """)
        let ciphertext = [UInt8](
            hex: """
                522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
                8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad
                """)
        return [
            Vector(
                key: zeros, iv: Array(zeros.prefix(12)), plaintext: [], aad: [],
                sealed: [UInt8](hex: "530f8afbc74536b9a963b4f1c4cb738b")),
            Vector(
                key: zeros, iv: Array(zeros.prefix(12)), plaintext: Array(zeros.prefix(16)), aad: [],
                sealed: [UInt8](hex: "cea7403d4d606b6e074ec5d3baf39d18 d0d1c8a799996bf0265b98b5d48ab919")),
            Vector(
                key: key, iv: iv, plaintext: plaintext, aad: [],
                sealed: ciphertext + [UInt8](hex: "b094dac5d93471bdec1a502270e3cc6c")),
            Vector(
                key: key, iv: iv, plaintext: Array(plaintext.prefix(60)),
                aad: [UInt8](hex: "feedfacedeadbeeffeedfacedeadbeefabaddad2"),
                sealed: ciphertext.prefix(60) + [UInt8](hex: "76fc6ece0f4e1768cddf8853bb2d551b")),
        ]
    }()

    @Test(arguments: vectors) func `published messages seal and open`(vector: Vector) throws {
        let box = try AES256GCM.seal(vector.plaintext, key: vector.key, aad: vector.aad, iv: vector.iv)
        #expect(box.hex == (vector.iv + vector.sealed).hex)
        #expect(try AES256GCM.open(box, key: vector.key, aad: vector.aad) == vector.plaintext)
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
