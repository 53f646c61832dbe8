import Foundation
import JOSE
import JSON
import OpenSSL
import Primitives
import TestSupport
import Testing

/// Fifty thousand broken inputs, the same in every run.
@Suite struct MutationTests {
    private struct Mutation {
        var random: SplitMix64

        private static let significantBytes =
            [UInt8]("\"\\{}[]:,.-+eE0159utfn/ \n=_AQg".utf8) + [0x00, 0x1F, 0x7F, 0x80, 0xC0, 0xED, 0xFF]

        /// One to three edits.
        mutating func callAsFunction(_ original: [UInt8]) -> [UInt8] {
            var bytes = original
            for _ in 0..<Int.random(in: 1...3, using: &random) { edit(&bytes) }
            return bytes
        }

        private mutating func edit(_ bytes: inout [UInt8]) {
            let position = Int.random(in: 0...bytes.count, using: &random)
            let end = min(bytes.count, position + Int.random(in: 1...8, using: &random))
            let octet = Self.significantBytes.randomElement(using: &random) ?? 0
            switch Int.random(in: 0..<7, using: &random) {
            case 0 where position < bytes.count: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1 where position < bytes.count: bytes[position] = octet
            case 2 where position < bytes.count: bytes[position] = UInt8.random(in: .min ... .max, using: &random)
            case 3: bytes.removeSubrange(position..<end)
            case 4: bytes.insert(contentsOf: bytes[position..<end], at: position)
            case 5: bytes.removeSubrange(position...)
            default: bytes.insert(octet, at: position)
            }
        }
    }

    @Test func `a mutated token verifies only when it still is the token that was signed`() throws {
        let mint = try TokenMint.shared
        let claims: TokenMint.Members = ["iss": "https://a.example", "sub": "subject", "exp": 1_767_225_600]
        var originals: [(token: [UInt8], keys: KeySet)] = []
        for algorithm in [SignatureAlgorithm.rs256, .es256] {
            originals.append((try mint.token(claims, by: algorithm), mint.keySet))
        }
        for real in try Vectors.realIDTokens { originals.append(([UInt8](real.token.utf8), try real.keySet)) }
        var mutation = Mutation(random: SplitMix64(seed: 2))
        var reasons: [TokenRejection: Int] = [:]
        for round in 0..<20_000 {
            let (token, keys) = originals[round % originals.count]
            let mutated = mutation(token)
            if let reason = rejection(of: mutated, by: keys) {
                reasons[reason, default: 0] += 1
            } else {
                #expect(mutated == token)
            }
        }
        // The mutations reach every step up to the signature, or they would prove little.
        #expect(Set(reasons.keys).isSuperset(of: [.malformed, .algorithmRejected, .keyUnknown, .signatureMismatch]))
    }

    @Test func `mutated headers and claims under a good signature are refused or mean what they say`() throws {
        let mint = try TokenMint.shared
        let header = [UInt8](#"{"alg":"ES256","kid":"p256-1","typ":"JWT","x":["é\ud834\udd1e"]}"#.utf8)
        let payload = [UInt8](
            #"{"iss":"https:\/\/a.example","aud":["a","b"],"sub":"s\u0075b","exp":1767229200.5,"iat":1.7672256e9,"o":{"n":null}}"#
                .utf8)
        let rules = ClaimRules(issuers: ["https://a.example"], audiences: ["a"])
        var mutation = Mutation(random: SplitMix64(seed: 3))
        var accepted = 0
        for round in 0..<5_000 {
            let token = try mint.token(
                header: round % 2 == 0 ? mutation(header) : header,
                payload: round % 2 == 1 ? mutation(payload) : payload,
                by: .es256)
            guard let verified = try? UnverifiedToken(token).verified(by: mint.keySet) else { continue }
            #expect(verified.header["alg"]?.isString(equalTo: "ES256") == true)
            guard let checked = try? rules.check(verified, at: 1_767_225_600) else { continue }
            accepted += 1
            #expect(checked.issuer == verified.claims["iss"]?.string)
            #expect(checked.subject == verified.claims["sub"]?.string)
        }
        #expect(accepted > 0)
    }

    @Test func `a mutated document is refused or read as Foundation reads it`() throws {
        var originals = try Vectors.jsonTestSuite.filter { $0.key.hasPrefix("test_parsing/y_") }
            .sorted { $0.key < $1.key }.map(\.value)
        originals.append(try Vectors.bytes("real-apple-notifications.json"))
        originals.append(try Vectors.keySet(named: "apple_2024-08-29.json"))
        for real in try Vectors.realIDTokens {
            let payload = String(decoding: part(1, of: [UInt8](real.token.utf8)), as: UTF8.self)
            originals.append(try #require(Base64URL.decode(payload)))
        }
        var mutation = Mutation(random: SplitMix64(seed: 4))
        var accepted = 0
        for round in 0..<25_000 {
            let document = mutation(originals[round % originals.count])
            guard let value = try? JSONValue(parsing: document) else { continue }
            accepted += 1
            let written = Self.text(of: value)
            #expect(try Self.text(of: JSONValue(parsing: written)) == written)
            guard let other = try? JSONSerialization.jsonObject(with: Data(document), options: .fragmentsAllowed) else {
                #expect(Self.exceedsDouble(value), "\(String(decoding: document, as: UTF8.self))")
                continue
            }
            #expect(Self.agree(value, other), "\(String(decoding: document, as: UTF8.self))")
        }
        #expect(accepted > 2_500)
    }

    private static func text(of value: JSONValue) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(value)
        return writer.bytes
    }

    /// Foundation refuses numbers that no `Double` is near.
    private static func exceedsDouble(_ value: JSONValue) -> Bool {
        switch value.kind {
        case .object: value.members?.contains { exceedsDouble($0.value) } ?? false
        case .array: value.elements?.contains(where: exceedsDouble) ?? false
        case .number: value.number.map { abs($0.exponent) > 270 } ?? true
        case .string, .bool, .null: false
        }
    }

    private static func agree(_ value: JSONValue, _ other: Any?) -> Bool {
        switch (value.kind, other) {
        case (.object, let other as [String: Any]):
            let members = value.members ?? []
            return members.count == other.count && members.allSatisfy { agree($0.value, other[$0.name]) }
        case (.array, let other as [Any]):
            let elements = value.elements ?? []
            return elements.count == other.count && zip(elements, other).allSatisfy { agree($0, $1) }
        case (.string, let other as String):
            return value.isString(equalTo: other) && value.string.map { Array($0.utf8) } == Array(other.utf8)
        case (.number, let other as NSNumber):
            return value.integer.map { $0 == other.int64Value } ?? true
        case (.bool, let other as NSNumber):
            return value.bool == other.boolValue
        case (.null, is NSNull):
            return true
        default:
            return false
        }
    }
}
