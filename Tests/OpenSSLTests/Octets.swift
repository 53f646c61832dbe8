import OpenSSL
import Primitives
import TestSupport

extension [UInt8] {
    /// Reads the hexadecimal of the RFCs, which is broken by spaces and lines.
    init(hex: String) { self = Hexadecimal.decode(hex.filter { !$0.isWhitespace }) ?? [] }

    var hex: String { Hexadecimal.encode(self) }

    /// The same with one bit flipped.
    func flippingBit(at index: Int) -> [UInt8] {
        var changed = self
        changed[index] ^= 1
        return changed
    }
}

extension PublicKey {
    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        verifies(signature.span.bytes, of: message.span.bytes)
    }
}

extension P256PrivateKey {
    func sign(_ message: [UInt8]) throws -> [UInt8] { try sign(message.span.bytes) }
}

extension RSAPrivateKey {
    func sign(_ message: [UInt8]) throws -> [UInt8] { try sign(message.span.bytes) }
}

/// One pair per test run: finding primes takes longer than all the tests that use them.
let rsaKey = Result { try RSAPrivateKey(bits: 2048) }

private struct Published<Vector: Decodable>: Decodable { let vectors: [Vector] }

/// The examples of an RFC, from a file of `Vectors`.
func publishedVectors<Vector: Decodable>(_ file: String, as type: Vector.Type) throws -> [Vector] {
    try Vectors.rfc(file, as: Published<Vector>.self).vectors
}
