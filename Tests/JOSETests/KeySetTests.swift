import JOSE
import JSON
import OpenSSL
import Primitives
import TestSupport
import Testing

@Suite struct KeySetTests {
    private static func rsa() throws -> TokenMint.Members {
        let key = try TokenMint.shared.rsa
        return [
            "kty": "RSA", "kid": "one", "n": .string(Base64URL.encode(key.modulus)),
            "e": .string(Base64URL.encode(key.exponent)),
        ]
    }

    private static func p256() throws -> TokenMint.Members {
        let key = try TokenMint.shared.p256
        return [
            "kty": "EC", "kid": "one", "crv": "P-256", "x": .string(Base64URL.encode(key.x)),
            "y": .string(Base64URL.encode(key.y)),
        ]
    }

    private static func document(_ entries: [String]) -> [UInt8] {
        [UInt8]("{\"keys\":[\(entries.joined(separator: ","))]}".utf8)
    }

    private static func text(_ entry: TokenMint.Members) -> String { String(decoding: entry.bytes, as: UTF8.self) }

    /// Why this entry is left out of a set in which another key is usable; `nil` when it is not.
    private static func rejection(of entry: String) throws -> RejectedKey.Reason? {
        let companion = try rsa().with("kid", "companion")
        let set = try KeySet(parsing: document([entry, text(companion)]))
        #expect(set.keyIDs.last == "companion", "one bad entry does no harm to another")
        #expect(set.count + set.rejected.count == 2)
        return set.rejected.first?.reason
    }

    private static func rejection(of entry: TokenMint.Members) throws -> RejectedKey.Reason? {
        try rejection(of: text(entry))
    }

    @Test func `a key without optional members is usable`() throws {
        #expect(try Self.rejection(of: Self.rsa()) == nil)
        #expect(try Self.rejection(of: Self.p256()) == nil)
    }

    @Test(arguments: [
        ("use", "\"sig\""), ("key_ops", "[\"verify\"]"), ("key_ops", "[\"sign\",\"verify\"]"),
        ("key_ops", "[\"verify\",\"wrapKey\"]"), ("x5c", "[\"MIIB\"]"), ("x5t", "\"dGh1\""), ("acme", "{\"a\":[null]}"),
    ])
    func `an optional member that agrees or means nothing to us does no harm`(name: String, value: String) throws {
        #expect(try Self.rejection(of: Self.rsa().with(name, .raw(value))) == nil)
        #expect(try Self.rejection(of: Self.p256().with(name, .raw(value))) == nil)
    }

    @Test func `use and operations may stand together when they agree`() throws {
        let both = try Self.rsa().with("use", "sig")
        #expect(try Self.rejection(of: both.with("key_ops", ["verify"])) == nil)
        #expect(try Self.rejection(of: both.with("key_ops", ["verify", "sign"])) == nil)
        #expect(try Self.rejection(of: both.with("key_ops", ["verify", "encrypt"])) == .operations)
    }

    @Test(arguments: ["\"enc\"", "\"SIG\"", "\"\"", "null", "1", "[\"sig\"]"])
    func `a key for another use is left out`(use: String) throws {
        #expect(try Self.rejection(of: Self.rsa().with("use", .raw(use))) == .use)
        #expect(try Self.rejection(of: Self.p256().with("use", .raw(use))) == .use)
    }

    @Test(arguments: [
        "[\"encrypt\"]", "[\"sign\"]", "[]", "[\"verify\",\"verify\"]", "[\"verify\",1]", "\"verify\"", "null",
        "[\"Verify\"]",
    ])
    func `a key for other operations is left out`(operations: String) throws {
        #expect(try Self.rejection(of: Self.rsa().with("key_ops", .raw(operations))) == .operations)
    }

    @Test func `the algorithm of a key is the one of its type`() throws {
        #expect(try Self.rejection(of: Self.rsa().with("alg", "RS256")) == nil)
        #expect(try Self.rejection(of: Self.p256().with("alg", "ES256")) == nil)
        for other: TokenMint.Literal in ["ES256", "PS256", "RS512", "RSA-OAEP", "HS256", "none", "rs256", .null, 256] {
            #expect(try Self.rejection(of: Self.rsa().with("alg", other)) == .algorithm)
        }
        #expect(try Self.rejection(of: Self.p256().with("alg", "RS256")) == .algorithm)
        #expect(try Self.rejection(of: Self.p256().with("alg", "ES384")) == .algorithm)
    }

    @Test func `a key of another type is left out`() throws {
        for type: TokenMint.Literal? in ["rsa", "ec", "OKP", "oct", "", .null, 1, nil] {
            #expect(try Self.rejection(of: Self.rsa().with("kty", type)) == .keyType)
        }
        #expect(try Self.rejection(of: "{}") == .keyType)
        #expect(try Self.rejection(of: Self.rsa().with("kty", "EC")) == .curve)
        #expect(try Self.rejection(of: Self.p256().with("kty", "RSA")) == .material)
    }

    @Test(arguments: ["1", "null", "\"key\"", "[]"])
    func `an entry that is no object is left out`(entry: String) throws {
        #expect(try Self.rejection(of: entry) == .notAnObject)
    }

    @Test func `a key on another curve is left out`() throws {
        for curve: TokenMint.Literal? in ["P-384", "P-521", "secp256k1", "p-256", "prime256v1", nil, .null] {
            #expect(try Self.rejection(of: Self.p256().with("crv", curve)) == .curve)
        }
    }

    @Test(arguments: ["d", "p", "q", "dp", "dq", "qi", "oth", "k"])
    func `a published private key is left out before anything else is said of it`(name: String) throws {
        #expect(try Self.rejection(of: Self.rsa().with(name, "AQAB")) == .privateKeyPublished)
        #expect(try Self.rejection(of: Self.p256().with(name, .null)) == .privateKeyPublished)
        #expect(try Self.rejection(of: Self.rsa().with(name, "AQAB").with("use", "enc")) == .privateKeyPublished)
        #expect(try Self.rejection(of: "{\"kty\":\"oct\",\"kid\":\"one\",\"k\":\"c2VjcmV0\"}") == .privateKeyPublished)
    }

    @Test func `a key without a sound id is left out`() throws {
        let tooLong = String(repeating: "k", count: 257)
        for id: TokenMint.Literal? in [nil, .null, 1, "", "a\nb", "a\0", ["one"], .string(tooLong)] {
            #expect(try Self.rejection(of: Self.rsa().with("kid", id)) == .keyID)
        }
        #expect(try Self.rejection(of: Self.rsa().with("kid", .string(String(repeating: "k", count: 256)))) == nil)
    }

    @Test func `an id that could break a log line is not reported`() throws {
        let entries = try ["a\nb", "fine"].map { Self.text(try Self.rsa().with("kid", .string($0)).with("use", "enc")) }
        let set = try KeySet(parsing: Self.document(entries + [Self.text(Self.p256())]))
        #expect(set.rejected.map(\.keyID) == [nil, "fine"])
    }

    @Test(arguments: ["n", "e"])
    func `RSA numbers are base64url`(name: String) throws {
        for value: TokenMint.Literal? in [nil, .null, 65_537, "", "AQAB=", "AQ+B", "A", "AQ B"] {
            #expect(try Self.rejection(of: Self.rsa().with(name, value)) == .material)
        }
    }

    @Test func `one leading zero octet of a modulus is tolerated, two are not`() throws {
        let modulus = try TokenMint.shared.rsa.modulus
        let padded = { (zeros: Int) in
            try Self.rsa().with("n", .string(Base64URL.encode([UInt8](repeating: 0, count: zeros) + modulus)))
        }
        #expect(try Self.rejection(of: padded(1)) == nil)
        #expect(try Self.rejection(of: padded(2)) == .unsound)
        let set = try KeySet(parsing: Self.document([Self.text(padded(1))]))
        #expect(set.key(id: [UInt8]("one".utf8))?.signatureLength == 256)
    }

    @Test func `an RSA key that is weak, huge or absurd is left out`() throws {
        var random = SplitMix64(seed: 7)
        let number = { (bits: Int, random: inout SplitMix64) in
            var octets = random.bytes(bits / 8)
            octets[0] |= 0x80
            octets[octets.count - 1] |= 1
            return octets
        }
        for bits in [512, 1_024, 2_040, 8_200, 16_384] {
            let modulus = number(bits, &random)
            #expect(try Self.rejection(of: Self.rsa().with("n", .string(Base64URL.encode(modulus)))) == .unsound)
        }
        var even = try TokenMint.shared.rsa.modulus
        even[even.count - 1] &= 0xFE
        #expect(try Self.rejection(of: Self.rsa().with("n", .string(Base64URL.encode(even)))) == .unsound)
        // 1, 0, 2, 65 536, 2^32 + 1, and the modulus itself.
        let exponents: [[UInt8]] = [[1], [0], [2], [1, 0, 0], [1, 0, 0, 0, 1], try TokenMint.shared.rsa.modulus]
        for exponent in exponents {
            #expect(try Self.rejection(of: Self.rsa().with("e", .string(Base64URL.encode(exponent)))) == .unsound)
        }
    }

    @Test func `a point that is no point of the curve is left out`() throws {
        let key = try TokenMint.shared.p256
        let x = { (octets: [UInt8]) in try Self.p256().with("x", .string(Base64URL.encode(octets))) }
        var off = key.x
        off[31] ^= 1
        #expect(try Self.rejection(of: x(off)) == .unsound)
        #expect(try Self.rejection(of: x(Array(key.x.dropLast()))) == .unsound, "31 octets")
        #expect(try Self.rejection(of: x([0] + key.x)) == .unsound, "33 octets")
        #expect(try Self.rejection(of: x([])) == .material)
        #expect(try Self.rejection(of: Self.p256().with("y", nil)) == .material)
        let zero = TokenMint.Literal.string(Base64URL.encode([UInt8](repeating: 0, count: 32)))
        #expect(try Self.rejection(of: Self.p256().with("x", zero).with("y", zero)) == .unsound)
    }

    @Test func `two keys of one type and one id are used neither`() throws {
        let first = try Self.text(Self.rsa())
        let otherKey = try TokenMint.otherSigner.rsa
        let second = Self.text(try Self.rsa().with("n", .string(Base64URL.encode(otherKey.modulus))))
        let companion = Self.text(try Self.rsa().with("kid", "companion"))
        let set = try KeySet(parsing: Self.document([first, companion, second]))
        #expect(set.keyIDs == ["companion"])
        #expect(set.rejected.map(\.reason) == [.ambiguousKeyID, .ambiguousKeyID])
        #expect(set.rejected.map(\.keyID) == ["one", "one"])
        #expect(set.key(id: [UInt8]("one".utf8)) == nil)
        let three = try KeySet(parsing: Self.document([first, second, first, companion]))
        #expect(three.keyIDs == ["companion"])
        #expect(three.rejected.count == 3)
    }

    @Test func `an id that one usable and one unusable key have means the usable one`() throws {
        let usable = Self.text(try Self.rsa())
        let unusable = Self.text(try Self.rsa().with("use", "enc"))
        for order in [[usable, unusable], [unusable, usable]] {
            let set = try KeySet(parsing: Self.document(order))
            #expect(set.keyIDs == ["one"])
            #expect(set.rejected == [RejectedKey(keyID: "one", reason: .use)])
        }
    }

    @Test func `an RSA and an EC key may share an id, and the algorithm of the token decides which is used`() throws {
        let mint = try TokenMint.shared
        let set = try KeySet(parsing: Self.document([Self.text(Self.rsa()), Self.text(Self.p256())]))
        #expect(set.keyIDs == ["one", "one"])
        for algorithm in [SignatureAlgorithm.rs256, .es256] {
            let header = mint.header(algorithm).with("kid", "one")
            let token = try mint.token(["sub": "subject"], header: header, by: algorithm)
            #expect(TestSupport.rejection(of: token, by: set) == nil)
        }
    }

    @Test func `a set is looked up by bytes`() throws {
        let set = try KeySet(parsing: Self.document([Self.text(Self.rsa().with("kid", "\u{E9}"))]))
        #expect(set.key(id: [0xC3, 0xA9]) != nil)
        #expect(set.key(id: [UInt8]("e\u{301}".utf8)) == nil)
        #expect(set.key(id: []) == nil)
        #expect(KeySet.empty.count == 0)
    }

    @Test func `what is no key set throws and names its fault`() throws {
        let faults: [(String, KeySetError)] = [
            ("", .malformed(JSONError(kind: .truncated, offset: 0))),
            ("<html>", .malformed(JSONError(kind: .syntax, offset: 0))),
            ("{\"keys\":[]} {}", .malformed(JSONError(kind: .syntax, offset: 12))),
            ("{\"keys\":[],\"keys\":[]}", .malformed(JSONError(kind: .duplicateName, offset: 17))),
            ("[]", .notAKeySet), ("{}", .notAKeySet), ("{\"keys\":{}}", .notAKeySet), ("{\"keys\":null}", .notAKeySet),
            ("{\"keys\":[]}", .noUsableKey([])),
            ("{\"keys\":[{}]}", .noUsableKey([RejectedKey(keyID: nil, reason: .keyType)])),
        ]
        for (text, fault) in faults { #expect(throws: fault) { try KeySet(parsing: [UInt8](text.utf8)) } }
    }

    @Test func `a set has 64 KiB and 32 keys at most`() throws {
        let entries = try (0..<33).map { Self.text(try Self.p256().with("kid", .string("key \($0)"))) }
        #expect(try KeySet(parsing: Self.document(Array(entries.prefix(32)))).count == 32)
        #expect(throws: KeySetError.tooManyKeys) { try KeySet(parsing: Self.document(entries)) }
        #expect(throws: KeySetError.tooManyKeys) {
            try KeySet(parsing: Self.document([String](repeating: "{}", count: 10_000)))
        }
        let document = Self.document([entries[0]])
        let padding = { (count: Int) in document + [UInt8](repeating: 0x20, count: count - document.count) }
        #expect(try KeySet(parsing: padding(65_536)).count == 1)
        #expect(throws: KeySetError.tooLarge) { try KeySet(parsing: padding(65_537)) }
    }

    @Test func `unknown members of a set are ignored`() throws {
        let entry = Self.text(try Self.rsa())
        let document = "{\"issuer\":\"https://a.example\",\"keys\":[\(entry)],\"more\":[1]}"
        #expect(try KeySet(parsing: [UInt8](document.utf8)).keyIDs == ["one"])
    }

    @Test func `an error says nothing of the set`() {
        let error = KeySetError.noUsableKey([RejectedKey(keyID: "one", reason: .privateKeyPublished)])
        #expect("\(error)" == "The key set was refused.")
        #expect(String(reflecting: error) == "KeySetError: no usable key (private_key_published)")
    }
}
