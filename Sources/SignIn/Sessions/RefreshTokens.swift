package import Accounts
import Foundation
package import KeyRing
package import OpenSSL

/// Refresh tokens are derived, not stored: a key id of the ring, the session, the generation, and an HMAC-SHA-256 over
/// them under the ring's `refresh` subkey, in base64url.
///
/// Layout: `1 ‖ length of key id ‖ key id ‖ session id (16) ‖ generation (4, big-endian) ‖ HMAC (32)`.
package struct RefreshTokens: Sendable {
    private static let version: UInt8 = 1
    private let codec: KeyedToken

    package init(keyRing: KeyRing) {
        codec = KeyedToken(keyRing: keyRing, purpose: .refresh, headerOctets: 1, bodyOctets: 20)
    }

    package func token(for session: SessionID, generation: Int32) throws(OpenSSLError) -> String {
        var body: [UInt8] = []
        withUnsafeBytes(of: session.uuid.uuid) { body += $0 }
        withUnsafeBytes(of: generation.bigEndian) { body += $0 }
        return try codec.encode(header: [RefreshTokens.version], body: body)
    }

    /// The session and generation of a token that this key ring made; `nil` for anything else.
    package func read(_ token: String) -> (session: SessionID, generation: Int32)? {
        guard let (header, body) = codec.decode(token), header == [RefreshTokens.version] else { return nil }
        let uuid = body.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }
        let generation = body[16...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return (SessionID(uuid: UUID(uuid: uuid)), Int32(bitPattern: generation))
    }
}
