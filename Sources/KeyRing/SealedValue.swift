package import OpenSSL

/// The location of a sealed value, bound into it as additional data, so that a ciphertext moved to another row, column
/// or table no longer opens.
package struct SealedLocation: Sendable {
    package let table: String
    package let row: String
    package let column: String

    package init(table: String, row: String, column: String) {
        self.table = table
        self.row = row
        self.column = column
    }

    fileprivate func additionalData(keyID: String) -> [UInt8] {
        // Length-prefixed, so that no two locations spell the same bytes.
        [table, column, row, keyID].flatMap { (part: String) -> [UInt8] in
            [UInt8(truncatingIfNeeded: part.utf8.count >> 8), UInt8(truncatingIfNeeded: part.utf8.count)]
                + Array(part.utf8)
        }
    }
}

/// The reason for which a sealed value can't be opened.
package enum SealError: Error, Sendable, CustomStringConvertible {
    case malformed
    /// The key ring no longer holds the key that sealed it.
    case keyMissing
    case notAuthentic

    package var description: String {
        switch self {
        case .malformed: "A sealed value in the database is not in a form that this version knows."
        case .keyMissing: "The key ring lacks a key that values in the database are sealed with; put its line back."
        case .notAuthentic: "A sealed value in the database was changed, moved, or sealed with another key of that id."
        }
    }
}

extension KeyRing {
    private static let version: UInt8 = 1

    /// AES-256-GCM: `version ‖ length of key id ‖ key id ‖ iv ‖ ciphertext ‖ tag`.
    package func seal(
        _ plaintext: [UInt8], for purpose: Purpose, at location: SealedLocation
    ) throws(OpenSSLError) -> [UInt8] {
        let subkey = current(for: purpose)
        let box = try AES256GCM.seal(plaintext, key: subkey.bytes, aad: location.additionalData(keyID: subkey.keyID))
        return KeyRing.mark(of: subkey) + box
    }

    /// The octets with which every value begins that is sealed under the first line, and no other value.
    package var currentMark: [UInt8] { KeyRing.mark(of: current(for: .grants)) }

    private static func mark(of subkey: Subkey) -> [UInt8] {
        [version, UInt8(subkey.keyID.utf8.count)] + Array(subkey.keyID.utf8)
    }

    /// The id of the line under which a value is sealed; `nil` when it is no sealed value.
    package static func keyID(of sealed: [UInt8]) -> String? {
        guard sealed.count > 2, sealed[0] == version else { return nil }
        let end = 2 + Int(sealed[1])
        guard sealed.count > end else { return nil }
        return String(decoding: sealed[2..<end], as: UTF8.self)
    }

    package func open(
        _ sealed: [UInt8], for purpose: Purpose, at location: SealedLocation
    ) throws(SealError) -> [UInt8] {
        guard let keyID = KeyRing.keyID(of: sealed) else { throw .malformed }
        let end = 2 + Int(sealed[1])
        guard let subkey = subkey(keyID, for: purpose) else { throw .keyMissing }
        do {
            return try AES256GCM.open(
                Array(sealed[end...]), key: subkey.bytes, aad: location.additionalData(keyID: keyID))
        } catch {
            throw .notAuthentic
        }
    }
}
