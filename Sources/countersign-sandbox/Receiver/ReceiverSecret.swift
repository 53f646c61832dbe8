import Foundation
import OpenSSL

/// What a receiver checks signatures with: a secret that it shares with the sender, or the sender's public key (Standard
/// Webhooks 1.0.0).
enum ReceiverSecret: Sendable {
    case shared([UInt8])
    case publicKey(Ed25519PublicKey)

    init?(_ text: String) {
        if text.hasPrefix("whsec_"), let key = Data(base64Encoded: String(text.dropFirst(6))), !key.isEmpty {
            self = .shared([UInt8](key))
        } else if text.hasPrefix("whpk_"), let octets = Data(base64Encoded: String(text.dropFirst(5))),
            let key = try? Ed25519PublicKey([UInt8](octets))
        {
            self = .publicKey(key)
        } else {
            return nil
        }
    }

    /// Whether one of the signatures, with a space between them, is by this secret.
    func accepts(_ signatures: String, of text: [UInt8]) throws -> Bool {
        for signature in signatures.split(separator: " ") {
            let parts = signature.split(separator: ",", maxSplits: 1)
            guard parts.count == 2, let shown = Data(base64Encoded: String(parts[1])) else { continue }
            switch (self, parts[0]) {
            case (.shared(let key), "v1"):
                let right = try HMACSHA256.authenticationCode(for: text, key: key).bytes
                if constantTimeEquals([UInt8](shown), right) { return true }
            case (.publicKey(let key), "v1a"):
                if try key.isValid([UInt8](shown), for: text) { return true }
            default: continue
            }
        }
        return false
    }
}
