package import Accounts
package import OpenSSL
import SignIn

/// A key of an administrator, as it is shown once: `csa_` and 256 random bits in base64url.
package struct AdminSecret: Sendable {
    private static let prefix = "csa_"

    package let text: String
    /// The hash that is stored.
    package let hash: SecretHash

    package init() throws(OpenSSLError) {
        let secret = try OpaqueSecret()
        self.text = AdminSecret.prefix + secret.text
        self.hash = secret.hash
    }

    /// The hash of a presented key; `nil` when it can't be one.
    package static func hash(ofPresented bytes: [UInt8]) -> SecretHash? {
        guard bytes.starts(with: prefix.utf8) else { return nil }
        return OpaqueSecret.hash(ofPresented: String(decoding: bytes.dropFirst(prefix.utf8.count), as: UTF8.self))
    }
}
