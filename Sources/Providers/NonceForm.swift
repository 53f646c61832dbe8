import JOSE
import OpenSSL

/// How the apps turn the raw nonce, which they post to us, into the one that they hand to the provider's SDK. The
/// provider puts that one into the token unchanged.
package enum NonceForm: String, CaseIterable, Sendable {
    /// Lower-case hexadecimal of the SHA-256: the habit of iOS apps with Apple.
    case sha256Hex
    case raw
    case sha256Base64url

    /// What the token has to say for this raw nonce.
    func claim(for nonce: String) -> [UInt8] {
        let raw = Array(nonce.utf8)
        switch self {
        case .raw: return raw
        case .sha256Base64url: return Array(Base64URL.encode(SHA256.hash(raw)).utf8)
        case .sha256Hex:
            let digits = Array("0123456789abcdef".utf8)
            return SHA256.hash(raw).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        }
    }
}
