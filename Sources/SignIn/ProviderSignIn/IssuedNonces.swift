package import Accounts
package import KeyRing
package import OpenSSL

/// A nonce that this service issued: good for one sign-in at one provider.
package struct IssuedNonce: Sendable {
    package static let prefix = "csn_"

    package let text: String
    package let expiresAt: Timestamp

    /// Whether a nonce claims to be issued by this service: those that apps make up don't begin with ``prefix``.
    package static func isClaimed(by nonce: String) -> Bool { nonce.utf8.starts(with: prefix.utf8) }

    var hash: SecretHash { SecretHash(SHA256.hash(Array(text.utf8))) }
}

/// The nonces of this service, derived and not stored: an HMAC-SHA-256 under the key ring's `codes` subkey authenticates
/// the content of one, so issuing writes nothing. Only the spending of a nonce is stored.
///
/// Layout, in base64url behind ``IssuedNonce/prefix``: `1 ‖ provider ‖ length of key id ‖ key id ‖ expiry (8 octets of
/// seconds, big-endian) ‖ random (16) ‖ HMAC (its first 16)`.
package struct IssuedNonces: Sendable {
    private static let version: UInt8 = 1
    private static let randomOctets = 16
    private let codec: KeyedToken

    package init(keyRing: KeyRing) {
        codec = KeyedToken(
            keyRing: keyRing, purpose: .codes, domain: "countersign nonce 1", headerOctets: 2,
            bodyOctets: 8 + IssuedNonces.randomOctets, macOctets: 16)
    }

    package func new(for provider: Provider, at now: Timestamp) throws(OpenSSLError) -> IssuedNonce {
        let expiry = now.advanced(bySeconds: Lifetimes.nonceSeconds).seconds
        var body: [UInt8] = []
        withUnsafeBytes(of: expiry.bigEndian) { body += $0 }
        body += try SecureRandom.bytes(IssuedNonces.randomOctets)
        let token = try codec.encode(header: [IssuedNonces.version, IssuedNonces.octet(of: provider)], body: body)
        return IssuedNonce(text: IssuedNonce.prefix + token, expiresAt: Timestamp(seconds: expiry))
    }

    /// The nonce that a text is; `nil` when this key ring did not make it for the provider, or it has expired. The database
    /// knows whether it is spent.
    package func read(_ text: String, for provider: Provider, at now: Timestamp) -> IssuedNonce? {
        guard IssuedNonce.isClaimed(by: text),
            let (header, body) = codec.decode(
                String(decoding: text.utf8.dropFirst(IssuedNonce.prefix.utf8.count), as: UTF8.self)),
            header == [IssuedNonces.version, IssuedNonces.octet(of: provider)]
        else { return nil }
        let expiry = Int64(bitPattern: body[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        let nonce = IssuedNonce(text: text, expiresAt: Timestamp(seconds: expiry))
        return now < nonce.expiresAt ? nonce : nil
    }

    private static func octet(of provider: Provider) -> UInt8 {
        switch provider {
        case .apple: 1
        case .google: 2
        }
    }
}
