import JOSE
import OpenSSL
import TestSupport
import Testing

@Suite struct TokenStructureTests {
    private static func valid() throws -> [UInt8] { try TokenMint.shared.token(["sub": "subject"]) }

    private static func rejectionOf(_ token: [UInt8]) throws -> TokenRejection? {
        rejection(of: token, by: try TokenMint.shared.keySet)
    }

    @Test func `one, two, four and five parts are refused`() throws {
        let token = try Self.valid()
        let (header, payload, signature) = (part(0, of: token), part(1, of: token), part(2, of: token))
        #expect(try Self.rejectionOf(joined(header, payload, signature)) == nil)
        #expect(try Self.rejectionOf([]) == .malformed)
        #expect(try Self.rejectionOf(joined(header)) == .malformed)
        #expect(try Self.rejectionOf(joined(header, payload)) == .malformed)
        #expect(try Self.rejectionOf(joined(header, payload, signature, [])) == .malformed)
        #expect(try Self.rejectionOf(joined([], header, payload, signature)) == .malformed)
        #expect(try Self.rejectionOf(joined(header, payload, signature, signature)) == .malformed)
        #expect(try Self.rejectionOf(joined(header, payload, signature, payload, signature)) == .malformed)
    }

    @Test func `the parts are counted before the header is read`() throws {
        #expect(try Self.rejectionOf([UInt8]("e30.e30.AAAA".utf8)) == .algorithmRejected, "its header is {}")
        #expect(try Self.rejectionOf([UInt8]("e30.e30.AAAA.AAAA".utf8)) == .malformed)
        #expect(try Self.rejectionOf([UInt8]("e30.e30.AAAA.".utf8)) == .malformed)
    }

    @Test func `an empty part is refused`() throws {
        let token = try Self.valid()
        let (header, payload, signature) = (part(0, of: token), part(1, of: token), part(2, of: token))
        #expect(try Self.rejectionOf(joined(header, payload, [])) == .malformed)
        #expect(try Self.rejectionOf(joined([], payload, signature)) == .malformed)
        #expect(try Self.rejectionOf(joined(header, [], signature)) == .malformed)
        #expect(try Self.rejectionOf(joined([], [], [])) == .malformed)
    }

    @Test func `an empty payload is accepted only where the payload is not read`() throws {
        let mint = try TokenMint.shared
        let token = try mint.token(header: mint.header(.rs256).bytes, payload: [])
        #expect(try Self.rejectionOf(token) == .malformed)
        let unverified = try UnverifiedToken(token, allowsEmptyPayload: true)
        try unverified.verifiedSignature(by: mint.keySet)
        #expect(throws: TokenRejection.malformed) { try unverified.verified(by: mint.keySet) }
        #expect(throws: TokenRejection.signatureMismatch) {
            try unverified.verifiedSignature(
                by: KeySet(keys: [(TokenMint.rsaKeyID, try TokenMint.otherSigner.rsa.publicKey)]))
        }
    }

    @Test func `a payload that is no JSON is accepted only where it is not read`() throws {
        let mint = try TokenMint.shared
        for payload in [[UInt8]("It's a dangerous business".utf8), [0xFF, 0x00], [UInt8]("[1]".utf8)] {
            let token = try mint.token(header: mint.header(.es256).bytes, payload: payload, by: .es256)
            try UnverifiedToken(token).verifiedSignature(by: mint.keySet)
            #expect(try Self.rejectionOf(token) == .malformed)
        }
    }

    @Test(arguments: [
        "{\"sub\":\"a\",\"sub\":\"b\"}", "{\"sub\":\"a\",\"s\\u0075b\":\"b\"}", "{\"sub\":\"a\"}X", "{\"sub\":\"a\"}\0",
        "\u{FEFF}{\"sub\":\"a\"}", "{\"sub\":\"\\ud800\"}", "[]", "\"sub\"", "null", "{\"exp\":NaN}", "{\"exp\":+1}",
        "{\"exp\":01}", "{\"sub\":\"a\",}", "{\"a\":[[[[[[[[]]]]]]]]}",
    ])
    func `a signed payload that is not one JSON object is malformed`(payload: String) throws {
        let mint = try TokenMint.shared
        let token = try mint.token(header: mint.header(.rs256).bytes, payload: [UInt8](payload.utf8))
        #expect(try Self.rejectionOf(token) == .malformed)
    }

    @Test func `a payload is not read before the signature holds`() throws {
        let mint = try TokenMint.shared
        let otherSigner = try TokenMint.otherSigner
        let token = try otherSigner.token(header: mint.header(.rs256).bytes, payload: [UInt8]("no JSON".utf8))
        #expect(try Self.rejectionOf(token) == .signatureMismatch)
    }

    @Test(arguments: 0..<3)
    func `no part may be padded, spaced, cut or spelled in another way`(index: Int) throws {
        let token = try Self.valid()
        var parts = (0..<3).map { part($0, of: token) }
        let original = parts[index]
        let spellings: [[UInt8]] = [
            original + [UInt8(ascii: "=")],
            original + [UInt8](" ".utf8),
            original + [UInt8]("\n".utf8),
            [UInt8](" ".utf8) + original,
            [UInt8("\r".utf8.first ?? 0)] + original,
            original + [UInt8]("AAAAA".utf8).prefix(5 - original.count % 4),
            [UInt8](original.prefix(20)) + [UInt8(ascii: "+")] + original.dropFirst(21),
            [UInt8](original.prefix(20)) + [UInt8(ascii: "/")] + original.dropFirst(21),
            [UInt8](original.prefix(20)) + [0] + original.dropFirst(20),
            [UInt8](original.prefix(20)) + [0xC3, 0xA9] + original.dropFirst(22),
        ]
        for spelling in spellings {
            parts[index] = spelling
            let rejection = try Self.rejectionOf(joined(parts[0], parts[1], parts[2]))
            // The signature covers the text of the payload, so it breaks first; of itself it has only one spelling.
            #expect(rejection == (index == 1 ? .signatureMismatch : .malformed))
        }
    }

    @Test func `the last character of a real token has no twin`() throws {
        let alphabet = [UInt8]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        for real in try Vectors.realIDTokens {
            let keys = try real.keySet
            var token = [UInt8](real.token.utf8)
            let last = try #require(token.last)
            // 256 octets leave four spare bits: 15 other characters would spell the same signature to a lax decoder.
            var refused = 0
            for character in alphabet where character != last {
                token[token.count - 1] = character
                let rejection = rejection(of: token, by: keys)
                #expect(rejection == .malformed || rejection == .signatureMismatch)
                if rejection == .malformed { refused += 1 }
            }
            #expect(refused == 60)
            token[token.count - 1] = last
            #expect(rejection(of: token, by: keys) == nil)
        }
    }

    @Test func `the JSON serialization is refused`() throws {
        let token = try Self.valid()
        let parts = (0..<3).map { String(decoding: part($0, of: token), as: UTF8.self) }
        let flattened = "{\"payload\":\"\(parts[1])\",\"protected\":\"\(parts[0])\",\"signature\":\"\(parts[2])\"}"
        let general =
            "{\"payload\":\"\(parts[1])\",\"signatures\":[{\"protected\":\"\(parts[0])\",\"signature\":\"\(parts[2])\"}]}"
        #expect(try Self.rejectionOf([UInt8](flattened.utf8)) == .malformed)
        #expect(try Self.rejectionOf([UInt8](general.utf8)) == .malformed)
        #expect(try Self.rejectionOf([UInt8]("{..\(parts[2])".utf8)) == .malformed)
    }

    @Test func `a token has 16 KiB at most, its header 2 KiB and its payload 12 KiB`() throws {
        let mint = try TokenMint.shared
        // 2 048 and 12 288 characters carry 1 536 and 9 216 octets.
        let header = { (count: Int) in
            [UInt8](#"{"alg":"RS256","kid":"rsa-1"}"#.utf8) + [UInt8](repeating: 0x20, count: count - 29)
        }
        let payload = { (count: Int) in [UInt8]("{}".utf8) + [UInt8](repeating: 0x20, count: count - 2) }
        let rejectionOf = { (headerCount: Int, payloadCount: Int) in
            try Self.rejectionOf(try mint.token(header: header(headerCount), payload: payload(payloadCount)))
        }
        #expect(try rejectionOf(1_536, 9_216) == nil)
        #expect(try rejectionOf(1_537, 2) == .tooLarge)
        #expect(try rejectionOf(29, 9_217) == .tooLarge)
        // 2 049 and 12 289 characters are the base64url of nothing, but that is not looked at any more.
        let characters = { (count: Int) in [UInt8](repeating: UInt8(ascii: "A"), count: count) }
        let valid = try Self.valid()
        #expect(try Self.rejectionOf(joined(characters(2_048), part(1, of: valid), part(2, of: valid))) == .malformed)
        #expect(try Self.rejectionOf(joined(characters(2_049), part(1, of: valid), part(2, of: valid))) == .tooLarge)
        #expect(
            try Self.rejectionOf(joined(part(0, of: valid), characters(12_288), part(2, of: valid)))
                == .signatureMismatch)
        #expect(try Self.rejectionOf(joined(part(0, of: valid), characters(12_289), part(2, of: valid))) == .tooLarge)
        let whole = [UInt8]("e30.e30.".utf8) + [UInt8](repeating: UInt8(ascii: "A"), count: 16_384 - 8)
        #expect(try Self.rejectionOf(whole) == .algorithmRejected, "its header is {}")
        #expect(try Self.rejectionOf(whole + [UInt8(ascii: "A")]) == .tooLarge)
    }
}
