import Foundation
import KeyRing
import Testing

@Suite struct KeyRingTests {
    private static func key(_ octet: UInt8) -> String { Data(repeating: octet, count: 32).base64EncodedString() }
    private static let location = SealedLocation(table: "signing_keys", row: "k", column: "sealed_private_key")

    @Test func `the first line writes and all lines read`() throws {
        let old = try KeyRing(parsing: "a \(KeyRingTests.key(1))\n")
        let sealed = try old.seal([1, 2, 3], for: .signing, at: KeyRingTests.location)
        let rotated = try KeyRing(parsing: "b \(KeyRingTests.key(2))\na \(KeyRingTests.key(1))\n")
        #expect(try rotated.open(sealed, for: .signing, at: KeyRingTests.location) == [1, 2, 3])
        #expect(rotated.current(for: .signing).keyID == "b")
        let later = try KeyRing(parsing: "b \(KeyRingTests.key(2))\n")
        #expect(throws: SealError.keyMissing) { try later.open(sealed, for: .signing, at: KeyRingTests.location) }
    }

    @Test func `a ring that another system's editor has written is the same one`() throws {
        let ring = try KeyRing(parsing: "b \(KeyRingTests.key(2))\na \(KeyRingTests.key(1))\n")
        let edited = try KeyRing(parsing: "\u{FEFF}b \(KeyRingTests.key(2))\r\na \(KeyRingTests.key(1))\r\n")
        for purpose in KeyRing.Purpose.allCases {
            #expect(edited.all(for: purpose).map(\.bytes) == ring.all(for: purpose).map(\.bytes))
        }
        #expect(edited.current(for: .grants).keyID == "b")
    }

    @Test func `an id has 32 bytes at most`() throws {
        let id = String(repeating: "a", count: 32)
        #expect(try KeyRing(parsing: "\(id) \(KeyRingTests.key(1))").current(for: .grants).keyID == id)
        let error = #expect(throws: KeyRingError.self) { try KeyRing(parsing: "\(id)a \(KeyRingTests.key(1))") }
        #expect(error?.description.hasPrefix("line 1 of the key ring: an id is 1 to 32 ") == true)
    }

    @Test func `each purpose has a key of its own`() throws {
        let ring = try KeyRing(parsing: "a \(KeyRingTests.key(1))")
        let keys = Set(KeyRing.Purpose.allCases.map { ring.current(for: $0).bytes })
        #expect(keys.count == KeyRing.Purpose.allCases.count)
        let sealed = try ring.seal([1], for: .signing, at: KeyRingTests.location)
        #expect(throws: SealError.notAuthentic) { try ring.open(sealed, for: .grants, at: KeyRingTests.location) }
    }

    @Test func `a sealed value opens nowhere but where it was sealed`() throws {
        let ring = try KeyRing(parsing: "a \(KeyRingTests.key(1))")
        let sealed = try ring.seal(Array("secret".utf8), for: .signing, at: KeyRingTests.location)
        let elsewhere = [
            SealedLocation(table: "provider_grants", row: "k", column: "sealed_private_key"),
            SealedLocation(table: "signing_keys", row: "l", column: "sealed_private_key"),
            SealedLocation(table: "signing_keys", row: "k", column: "other"),
            // The same letters, cut elsewhere.
            SealedLocation(table: "signing_key", row: "k", column: "ssealed_private_key"),
        ]
        for location in elsewhere {
            #expect(throws: SealError.notAuthentic) { try ring.open(sealed, for: .signing, at: location) }
        }
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: SealError.self) { try ring.open(changed, for: .signing, at: KeyRingTests.location) }
        }
        for length in 0..<sealed.count {
            let cut = Array(sealed.prefix(length))
            #expect(throws: SealError.self) { try ring.open(cut, for: .signing, at: KeyRingTests.location) }
        }
    }

    @Test(arguments: [
        ("", "the key ring holds no key"),
        ("a\n", "line 1 of the key ring is not \"id base64-of-32-bytes\""),
        ("a AAAA\n", "line 1 of the key ring: the key is not the base64 of 32 bytes"),
        ("a \(key(1))\nb \(key(2)) extra\n", "line 2 of the key ring is not \"id base64-of-32-bytes\""),
        ("a \(key(1))\na \(key(2))\n", "line 2 of the key ring repeats an id or a key"),
        ("a \(key(1))\nb \(key(1))\n", "line 2 of the key ring repeats an id or a key"),
        ("a/b \(key(1))\n", "line 1 of the key ring: an id is 1 to 32 letters, digits, dots, hyphens or underscores"),
    ]) func `a faulty ring is refused by line and never quoted`(text: String, sentence: String) {
        let error = #expect(throws: KeyRingError.self) { try KeyRing(parsing: text) }
        #expect(error?.description == sentence)
    }
}
