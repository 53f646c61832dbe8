import Foundation
import OpenSSL

extension [UInt8] {
    /// Reads the hexadecimal of the RFCs, which is broken by spaces and lines.
    init(hex: String) {
        let digits = hex.filter { !$0.isWhitespace }.compactMap(\.hexDigitValue).map(UInt8.init)
        self = stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    init?(base64URL: String) {
        let text = String(base64URL.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        let padding = String(repeating: "=", count: (4 - text.count % 4) % 4)
        guard let data = Data(base64Encoded: text + padding) else { return nil }
        self = Array(data)
    }

    var hex: String { map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }

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

/// The repository's published vectors.
func vectors<Vector: Decodable>(_ path: String, as type: Vector.Type) throws -> Vector {
    let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let file = directory.appending(path: "Vectors").appending(path: path)
    return try JSONDecoder().decode(type, from: Data(contentsOf: file))
}
