import OpenSSL
import Primitives

/// Replaces a secret in the history by the beginning of its digest: enough to see that two requests had the same
/// secret, or that it was the one that a test expects.
enum Redaction {
    /// Form and query fields that carry a credential (RFC 6749, RFC 7009, RFC 7521, RFC 7636).
    static let secretFields: Set = [
        "access_token", "assertion", "client_assertion", "client_secret", "code", "code_verifier", "id_token",
        "password", "refresh_token", "token",
    ]

    static let secretHeaders: Set = ["authorization", "cookie", "proxy-authorization"]

    static func fingerprint(_ secret: String) -> String { fingerprint(Array(secret.utf8)) }

    static func fingerprint(_ octets: [UInt8]) -> String {
        "sha256:" + Hexadecimal.encode(SHA256.hash(octets).prefix(8))
    }

    static func field(_ name: String, _ value: String) -> String {
        secretFields.contains(name) && !value.isEmpty ? fingerprint(value) : value
    }

    static func header(_ name: String, _ value: String) -> String {
        secretHeaders.contains(name.lowercased()) ? fingerprint(value) : value
    }
}
