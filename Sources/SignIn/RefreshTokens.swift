package import Accounts
import Foundation
import JOSE
package import OpenSSL
package import Storage

/// Refresh tokens are derived, not stored: a key id of the ring, the session, the generation, and an HMAC-SHA-256 over
/// them under the ring's `refresh` subkey, in base64url.
///
/// Layout: `1 ‖ length of key id ‖ key id ‖ session id (16) ‖ generation (4, big-endian) ‖ HMAC (32)`.
package struct RefreshTokens: Sendable {
    private static let version: UInt8 = 1
    private static let macOctets = 32
    private let keyRing: KeyRing

    package init(keyRing: KeyRing) {
        self.keyRing = keyRing
    }

    package func token(for session: SessionID, generation: Int32) throws(OpenSSLError) -> String {
        let subkey = keyRing.current(for: .refresh)
        var bytes: [UInt8] = [RefreshTokens.version, UInt8(truncatingIfNeeded: subkey.keyID.utf8.count)]
        bytes += subkey.keyID.utf8
        withUnsafeBytes(of: session.uuid.uuid) { bytes += $0 }
        withUnsafeBytes(of: generation.bigEndian) { bytes += $0 }
        bytes += try HMACSHA256.authenticationCode(for: bytes, key: subkey.bytes)
        return Base64URL.encode(bytes)
    }

    /// The session and generation of a token that this key ring made; `nil` for anything else.
    package func read(_ token: String) -> (session: SessionID, generation: Int32)? {
        guard token.utf8.count <= 256, let bytes = Base64URL.decode(token), bytes.count > 2,
            bytes[0] == RefreshTokens.version
        else { return nil }
        let keyEnd = 2 + Int(bytes[1])
        let bodyEnd = keyEnd + 20
        guard bytes.count == bodyEnd + RefreshTokens.macOctets,
            let subkey = keyRing.subkey(String(decoding: bytes[2..<keyEnd], as: UTF8.self), for: .refresh),
            let expected = try? HMACSHA256.authenticationCode(for: Array(bytes[..<bodyEnd]), key: subkey.bytes),
            constantTimeEquals(expected, Array(bytes[bodyEnd...]))
        else { return nil }
        let octets = bytes[keyEnd..<(keyEnd + 16)]
        let uuid = octets.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }
        let generation = bytes[(keyEnd + 16)..<bodyEnd].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return (SessionID(uuid: UUID(uuid: uuid)), Int32(bitPattern: generation))
    }
}
