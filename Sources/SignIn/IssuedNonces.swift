package import Accounts
import JOSE
package import OpenSSL
package import Storage

/// A nonce of this service's own making: good for one sign-in at one provider, for ten minutes.
package struct IssuedNonce: Sendable {
    package static let prefix = "csn_"
    /// Seconds.
    package static let lifetime: Int64 = 600

    package let text: String
    package let expiresAt: Timestamp

    /// Whether a nonce is one that this service must have issued: nonces that apps make up don't begin like this.
    package static func isClaimed(by nonce: String) -> Bool {
        nonce.utf8.starts(with: prefix.utf8)
    }

    var hash: [UInt8] { SHA256.hash(Array(text.utf8)) }
}

/// Nonces are derived, not stored: what one says of itself is vouched for by an HMAC-SHA-256 under the key ring's `codes`
/// subkey, so that issuing one writes nothing. Only that it was spent is written down.
///
/// Layout, in base64url behind ``IssuedNonce/prefix``: `1 ‖ provider ‖ length of key id ‖ key id ‖ expiry (8 octets of
/// seconds, big-endian) ‖ random (16) ‖ HMAC (its first 16)`.
package struct IssuedNonces: Sendable {
    private static let domain = "countersign nonce 1"
    private static let version: UInt8 = 1
    private static let randomOctets = 16
    /// An HMAC may be cut down to half of its hash (RFC 2104 §5).
    private static let macOctets = 16
    private let keyRing: KeyRing

    package init(keyRing: KeyRing) {
        self.keyRing = keyRing
    }

    package func new(for provider: Provider, at now: Timestamp) throws(OpenSSLError) -> IssuedNonce {
        let subkey = keyRing.current(for: .codes)
        let expiry = now.advanced(bySeconds: IssuedNonce.lifetime).seconds
        var bytes = [
            IssuedNonces.version, IssuedNonces.octet(of: provider), UInt8(truncatingIfNeeded: subkey.keyID.utf8.count),
        ]
        bytes += subkey.keyID.utf8
        withUnsafeBytes(of: expiry.bigEndian) { bytes += $0 }
        bytes += try SecureRandom.bytes(IssuedNonces.randomOctets)
        bytes += try IssuedNonces.mac(of: bytes, under: subkey)
        return IssuedNonce(
            text: IssuedNonce.prefix + Base64URL.encode(bytes), expiresAt: Timestamp(seconds: expiry))
    }

    /// The nonce that a text is; `nil` when this key ring did not make it for the provider, or it has expired. Whether it
    /// is spent, the database knows.
    package func read(_ text: String, for provider: Provider, at now: Timestamp) -> IssuedNonce? {
        guard IssuedNonce.isClaimed(by: text), text.utf8.count <= 256,
            let bytes = Base64URL.decode(
                String(decoding: text.utf8.dropFirst(IssuedNonce.prefix.utf8.count), as: UTF8.self)),
            bytes.count > 3, bytes[0] == IssuedNonces.version
        else { return nil }
        let keyEnd = 3 + Int(bytes[2])
        let expiryEnd = keyEnd + 8
        let bodyEnd = expiryEnd + IssuedNonces.randomOctets
        guard bytes.count == bodyEnd + IssuedNonces.macOctets,
            let subkey = keyRing.subkey(String(decoding: bytes[3..<keyEnd], as: UTF8.self), for: .codes),
            let expected = try? IssuedNonces.mac(of: Array(bytes[..<bodyEnd]), under: subkey),
            constantTimeEquals(expected, Array(bytes[bodyEnd...]))
        else { return nil }
        let expiry = Int64(bitPattern: bytes[keyEnd..<expiryEnd].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        let nonce = IssuedNonce(text: text, expiresAt: Timestamp(seconds: expiry))
        guard bytes[1] == IssuedNonces.octet(of: provider), now < nonce.expiresAt else { return nil }
        return nonce
    }

    private static func mac(of bytes: [UInt8], under subkey: KeyRing.Subkey) throws(OpenSSLError) -> [UInt8] {
        let mac = try HMACSHA256.authenticationCode(for: Array(domain.utf8) + bytes, key: subkey.bytes)
        return Array(mac.prefix(macOctets))
    }

    private static func octet(of provider: Provider) -> UInt8 {
        switch provider {
        case .apple: 1
        case .google: 2
        }
    }
}
