import OpenSSL
import Primitives

/// The form in which the apps pass the raw nonce, which they post to us, to the provider's SDK. The provider puts it into
/// the token unchanged.
package enum NonceForm: String, CaseIterable, Sendable {
    /// Lower-case hexadecimal of the SHA-256: the convention of iOS apps with Apple.
    case sha256Hex
    case raw
    case sha256Base64url

    /// The bytes of the nonce claim that the token must have for this raw nonce.
    package func claim(for nonce: String) -> [UInt8] {
        let raw = Array(nonce.utf8)
        switch self {
        case .raw: return raw
        case .sha256Base64url: return Array(Base64URL.encode(SHA256.hash(raw)).utf8)
        case .sha256Hex: return Array(Hexadecimal.encode(SHA256.hash(raw)).utf8)
        }
    }
}
