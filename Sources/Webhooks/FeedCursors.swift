import Accounts
import KeyRing
import OpenSSL
import Primitives

/// Positions as they are handed out: with a tag under the key ring, so that only what we made is taken back.
struct FeedCursors: Sendable {
    let keyRing: KeyRing
    private static let tagBytes = 12

    func text(of position: FeedPosition) throws -> String {
        let bytes = Self.bytes(of: position)
        return Base64URL.encode(bytes + (try tag(of: bytes, keyRing.current(for: .feed))))
    }

    /// - Returns: `nil` for what we did not make.
    func position(of text: String) throws -> FeedPosition? {
        guard let bytes = Base64URL.decode(text), bytes.count == 8 + Self.tagBytes else { return nil }
        let (number, shown) = (Array(bytes.prefix(8)), Array(bytes.suffix(Self.tagBytes)))
        for key in keyRing.all(for: .feed) where constantTimeEquals(try tag(of: number, key), shown) {
            return FeedPosition(number.reduce(0) { $0 << 8 | Int64($1) })
        }
        return nil
    }

    private static func bytes(of position: FeedPosition) -> [UInt8] {
        (0..<8).reversed().map { UInt8(truncatingIfNeeded: position.number >> (8 * $0)) }
    }

    private func tag(of bytes: [UInt8], _ key: KeyRing.Subkey) throws -> [UInt8] {
        Array(try HMACSHA256.authenticationCode(for: bytes, key: key.bytes).bytes.prefix(Self.tagBytes))
    }
}
