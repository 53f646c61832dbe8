import Foundation
import OpenSSL
import Primitives
import TestSupport
import Testing

struct `Signatures` {
    struct Example: Decodable {
        let name: String
        let token: String
        let jwk: [String: String]?
    }

    /// RFC 7515 A.2 and A.3: key, the octets signed, signature.
    private func example(_ name: String) throws -> (key: PublicKey, message: [UInt8], signature: [UInt8]) {
        let examples = try Vectors.rfc("rfc7515_7519_examples.json", as: [Example].self)
        let example = try #require(examples.first { $0.name == name })
        let parts = example.token.split(separator: ".")
        func octets(_ text: String?) throws -> [UInt8] { try #require(text.flatMap { Base64URL.decode($0) }) }
        let jwk = try #require(example.jwk)
        let key =
            try jwk["kty"] == "RSA"
            ? PublicKey(rsaModulus: octets(jwk["n"]), exponent: octets(jwk["e"]))
            : PublicKey(p256X: octets(jwk["x"]), y: octets(jwk["y"]))
        return (key, Array("\(parts[0]).\(parts[1])".utf8), try octets(String(parts[2])))
    }

    @Test(arguments: ["RFC 7515 A.2 RS256", "RFC 7515 A.3 ES256"])
    func `the RFC's example holds, and no bit of it can change`(name: String) throws {
        let (key, message, signature) = try example(name)
        #expect(key.verifies(signature, of: message))
        for index in signature.indices { #expect(!key.verifies(signature.flippingBit(at: index), of: message)) }
        for index in message.indices { #expect(!key.verifies(signature, of: message.flippingBit(at: index))) }
        #expect(!key.verifies(signature, of: []))
        #expect(key.verifies(signature, of: message))
    }

    @Test func `an ES256 signature in DER is refused, also one of 64 octets`() throws {
        let key = try P256PrivateKey()
        let message = Array("message".utf8)
        let raw = try key.sign(message)
        #expect(!key.publicKey.verifies(der(raw), of: message))
        #expect(!key.publicKey.verifies([0x30, 62] + Array(der(raw).dropFirst(2).prefix(62)), of: message))
    }

    /// SEQUENCE { r INTEGER, s INTEGER }
    private func der(_ raw: [UInt8]) -> [UInt8] {
        func integer(_ octets: ArraySlice<UInt8>) -> [UInt8] {
            let digits = octets.drop { $0 == 0 }
            let padded = (digits.first ?? 0x80) >= 0x80 ? [0] + digits : Array(digits)
            return [0x02, UInt8(padded.count)] + padded
        }
        let body = integer(raw.prefix(32)) + integer(raw.suffix(32))
        return [0x30, UInt8(body.count)] + body
    }

    private let order = [UInt8](hex: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")

    /// CVE-2022-21449 took zeros for a signature under any key.
    @Test func `r and s outside 1 ..< n are refused`() throws {
        let key = try P256PrivateKey()
        let message = Array("message".utf8)
        let raw = try key.sign(message)
        let zero = [UInt8](repeating: 0, count: 32)
        let ones = [UInt8](repeating: 0xFF, count: 32)
        let r = Array(raw.prefix(32))
        let s = Array(raw.suffix(32))
        for shape in [
            zero + zero, zero + s, r + zero, order + s, r + order, order + order, ones + ones, ones + s, r + ones,
            zero + order, order + zero,
        ] { #expect(!key.publicKey.verifies(shape, of: message)) }
        #expect(key.publicKey.verifies(raw, of: message))
    }

    @Test func `signatures with leading zeros survive both spellings`() throws {
        let key = try P256PrivateKey()
        var seen: Set<Int> = []
        for number in 0..<100_000 where seen.count < 2 {
            let message = Array("message \(number)".utf8)
            let raw = try key.sign(message)
            #expect(raw.count == 64)
            for half in [0, 32] where raw[half] == 0 {
                seen.insert(half)
                #expect(key.publicKey.verifies(raw, of: message))
            }
        }
        #expect(seen == [0, 32])
    }

    @Test(arguments: [3072, 4096]) func `longer RSA keys sign as long as they are`(bits: Int) throws {
        let key = try RSAPrivateKey(bits: bits)
        let signature = try key.sign([1, 2, 3])
        #expect(signature.count == bits / 8)
        #expect(key.publicKey.verifies(signature, of: [1, 2, 3]))
    }

    @Test func `an empty message is a message`() throws {
        for (key, signature) in try [(rsaKey.get().publicKey, rsaKey.get().sign([])), try signedEmpty()] {
            #expect(key.verifies(signature, of: []))
            #expect(!key.verifies(signature, of: [0]))
        }
    }

    private func signedEmpty() throws -> (PublicKey, [UInt8]) {
        let key = try P256PrivateKey()
        return (key.publicKey, try key.sign([]))
    }

    /// OpenSSL's contexts must not be used by two threads at once; a pool that gave one to both would fail here.
    @Test func `eight threads sign and verify with one key each kind`() throws {
        let p256 = try P256PrivateKey()
        let rsa = try rsaKey.get()
        let rsaMessages = (0..<8).map { Array("rsa \($0)".utf8) }
        let rsaSignatures = try rsaMessages.map { try rsa.sign($0) }
        let failures = Tally()
        let group = DispatchGroup()
        for thread in 0..<8 {
            group.enter()
            Thread.detachNewThread {
                for round in 0..<500 {
                    let message = Array("message \(thread) \(round)".utf8)
                    let signature = (try? p256.sign(message)) ?? []
                    let isSound =
                        p256.publicKey.verifies(signature, of: message)
                        && !p256.publicKey.verifies(signature, of: message + [0])
                        && rsa.publicKey.verifies(rsaSignatures[thread], of: rsaMessages[thread])
                        && !rsa.publicKey.verifies(rsaSignatures[thread], of: message)
                    if !isSound { failures.add() }
                }
                if (try? rsa.sign(rsaMessages[thread])) != rsaSignatures[thread] { failures.add() }
                group.leave()
            }
        }
        group.wait()
        #expect(failures.count == 0)
    }
}
