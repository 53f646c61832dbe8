import Foundation
package import OpenSSL

/// A secret that signs deliveries, in the form of Standard Webhooks 1.0.0.
package enum WebhookSecret: Sendable {
    /// `whsec_` and the base64 of 24 to 64 bytes, which are the key of HMAC-SHA256.
    case symmetric(SecretBytes)
    /// `whsk_` and the base64 of an Ed25519 key: the seed and the public half.
    case asymmetric(Ed25519PrivateKey)

    package enum Fault: Error, Sendable {
        case malformed
        case tooShort
    }

    package init(_ text: String) throws(Fault) {
        if let base64 = text.dropping(prefix: "whsec_") {
            guard let data = Data(base64Encoded: base64), data.count <= 64 else { throw .malformed }
            guard data.count >= 24 else { throw .tooShort }
            self = .symmetric(SecretBytes([UInt8](data)))
        } else if let base64 = text.dropping(prefix: "whsk_") {
            guard let data = Data(base64Encoded: base64) else { throw .malformed }
            guard data.count >= 24 else { throw .tooShort }
            guard data.count == 64, let key = try? Ed25519PrivateKey(seed: [UInt8](data.prefix(32))),
                constantTimeEquals(key.publicKey, [UInt8](data.suffix(32)))
            else { throw .malformed }
            self = .asymmetric(key)
        } else {
            throw .malformed
        }
    }

    /// What a file holds: a secret a line, of which each signs.
    ///
    /// - Returns: none when it holds none.
    package static func all(in text: String) throws(Fault) -> [WebhookSecret] {
        var secrets: [WebhookSecret] = []
        for line in text.split(whereSeparator: \.isNewline) where !line.allSatisfy(\.isWhitespace) {
            secrets.append(try WebhookSecret(line.trimmingCharacters(in: .whitespaces)))
        }
        return secrets
    }

    /// `v1,…` or `v1a,…` of a delivery.
    package func signature(id: String, timestamp: Int64, body: [UInt8]) throws(OpenSSLError) -> String {
        let text = Array("\(id).\(timestamp).".utf8) + body
        return switch self {
        case .symmetric(let key):
            "v1," + Data(try HMACSHA256.authenticationCode(for: text, key: key.bytes).bytes).base64EncodedString()
        case .asymmetric(let key):
            "v1a," + Data(try key.sign(text)).base64EncodedString()
        }
    }

    /// A new secret.
    package static func fresh() throws -> String { "whsec_" + Data(try SecureRandom.bytes(32)).base64EncodedString() }

    /// A new key pair: what signs, and what receivers verify with.
    package static func freshPair() throws -> (secret: String, publicKey: String) {
        let seed = try SecureRandom.bytes(32)
        let key = try Ed25519PrivateKey(seed: seed)
        return (
            "whsk_" + Data(seed + key.publicKey).base64EncodedString(),
            "whpk_" + Data(key.publicKey).base64EncodedString()
        )
    }
}

extension String {
    fileprivate func dropping(prefix: String) -> String? { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil }
}
