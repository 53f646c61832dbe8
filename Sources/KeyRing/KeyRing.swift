import Foundation
import OpenSSL
import Primitives

/// The keys that are kept outside the database: a dump of the database alone reveals neither grants nor signing keys,
/// and doesn't suffice to make refresh tokens.
///
/// The text has one key per line, `id base64-of-32-bytes`. New values are written under the first line, and values
/// under any line are read. Each purpose uses its own subkey, derived by HKDF-SHA-256 (RFC 5869) with the purpose as
/// its label.
package final class KeyRing: Sendable {
    /// What a subkey is for; the raw value is its HKDF label.
    package enum Purpose: String, CaseIterable, Sendable {
        case grants
        case signing
        case refresh
        case codes
        case audit
        case web
        case console
        case imports
        case feed

        /// Its place among all cases.
        fileprivate var position: Int { Self.allCases.prefix { $0 != self }.count }
    }

    /// A key of the ring for one purpose.
    package struct Subkey: Sendable {
        package let keyID: String
        package let bytes: [UInt8]
    }

    private struct Subkeys: Sendable {
        let current: Subkey
        /// The subkeys of all lines, the current one among them.
        let all: [Subkey]
    }

    /// By the position of their purpose.
    private let subkeys: [Subkeys]

    /// - Parameter text: with the line ends of any system, and with or without a byte order mark.
    package init(parsing text: String) throws(KeyRingError) {
        var keys: [(id: String, bytes: [UInt8])] = []
        let text = text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            guard !fields.isEmpty else { continue }
            let number = index + 1
            guard fields.count == 2 else { throw KeyRingError.malformedLine(number) }
            let id = String(fields[0])
            guard (1...32).contains(id.utf8.count), id.utf8.allSatisfy(KeyRing.isIDByte) else {
                throw KeyRingError.malformedID(number)
            }
            guard let data = Data(base64Encoded: String(fields[1])), data.count == 32 else {
                throw KeyRingError.malformedKey(number)
            }
            guard !keys.contains(where: { $0.id == id || $0.bytes == Array(data) }) else {
                throw KeyRingError.repeated(number)
            }
            keys.append((id, Array(data)))
        }
        guard let first = keys.first else { throw KeyRingError.empty }
        subkeys = try Purpose.allCases.map { (purpose) throws(KeyRingError) -> Subkeys in
            Subkeys(
                current: try KeyRing.subkey(of: first, for: purpose),
                all: try keys.map { (key) throws(KeyRingError) in try KeyRing.subkey(of: key, for: purpose) })
        }
    }

    /// The subkey under which new values are written.
    package func current(for purpose: Purpose) -> Subkey { subkeys[purpose.position].current }

    /// The subkey of a key of the ring, if it is still in it.
    package func subkey(_ keyID: String, for purpose: Purpose) -> Subkey? {
        subkeys[purpose.position].all.first { $0.keyID.hasSameBytes(as: keyID) }
    }

    /// The subkeys of all lines, the one that writes first: what was written may be under any of them.
    package func all(for purpose: Purpose) -> [Subkey] { subkeys[purpose.position].all }

    private static func subkey(
        of key: (id: String, bytes: [UInt8]), for purpose: Purpose
    ) throws(KeyRingError) -> Subkey {
        do {
            let bytes = try HKDFSHA256.derive(from: key.bytes, label: purpose.rawValue, count: 32)
            return Subkey(keyID: key.id, bytes: bytes)
        } catch {
            throw .derivationFailed
        }
    }

    private static func isIDByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
        default: byte.isASCIIAlphanumeric
        }
    }
}

/// A fault in the text of a key ring. Names the line, never what is in it.
package enum KeyRingError: Error, Sendable, CustomStringConvertible {
    case empty
    case malformedLine(Int)
    case malformedID(Int)
    case malformedKey(Int)
    case repeated(Int)
    case derivationFailed

    package var description: String {
        switch self {
        case .empty: "the key ring holds no key"
        case .malformedLine(let line): "line \(line) of the key ring is not \"id base64-of-32-bytes\""
        case .malformedID(let line):
            "line \(line) of the key ring: an id is 1 to 32 letters, digits, dots, hyphens or underscores"
        case .malformedKey(let line): "line \(line) of the key ring: the key is not the base64 of 32 bytes"
        case .repeated(let line): "line \(line) of the key ring repeats an id or a key"
        case .derivationFailed: "a subkey of the key ring can't be derived"
        }
    }
}
