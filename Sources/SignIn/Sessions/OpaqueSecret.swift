package import Accounts
package import OpenSSL
import Primitives

/// A secret of 256 bits that only its bearer keeps: base64url outside, SHA-256 in the database.
package struct OpaqueSecret: Sendable {
    private static let octets = 32

    /// The secret as its bearer receives it.
    package let text: String
    /// The hash that is stored.
    package let hash: SecretHash

    /// A random one.
    package init() throws(OpenSSLError) { self.init(bytes: try SecureRandom.bytes(OpaqueSecret.octets)) }

    /// - Parameter bytes: 32, which can't be guessed.
    init(bytes: [UInt8]) {
        self.text = Base64URL.encode(bytes)
        self.hash = SecretHash(SHA256.hash(bytes))
    }

    /// The hash of a presented secret; `nil` when it can't be one.
    package static func hash(ofPresented text: String) -> SecretHash? {
        guard text.utf8.count <= 64, let bytes = Base64URL.decode(text), bytes.count == octets else { return nil }
        return SecretHash(SHA256.hash(bytes))
    }
}
