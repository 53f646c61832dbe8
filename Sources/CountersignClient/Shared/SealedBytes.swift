import Foundation

/// Bytes sealed by ChaCha20-Poly1305 (RFC 8439): nonce 12 | ciphertext | tag 16, the same from CryptoKit and from our
/// own cipher. Keys have 32 bytes.
enum SealedBytes {
    static let keyLength = 32
    static let nonceLength = 12
    static let tagLength = 16

    /// Seals under a random nonce; nil when the key has another length.
    static func seal(_ plain: Data, key: Data, purpose: Data) -> Data? {
        seal(plain, key: key, purpose: purpose, nonce: randomBytes(nonceLength))
    }
}

#if canImport(CryptoKit)
    import CryptoKit

    extension SealedBytes {
        /// - Parameter nonce: 12 bytes, never used twice with one key.
        static func seal(_ plain: Data, key: Data, purpose: Data, nonce: Data) -> Data? {
            guard key.count == keyLength, let nonce = try? ChaChaPoly.Nonce(data: nonce) else { return nil }
            return try? ChaChaPoly.seal(plain, using: SymmetricKey(data: key), nonce: nonce, authenticating: purpose)
                .combined
        }

        /// What was sealed; nil unless it was sealed with this key for this purpose and not one bit changed.
        static func open(_ sealed: Data, key: Data, purpose: Data) -> Data? {
            guard key.count == keyLength, let box = try? ChaChaPoly.SealedBox(combined: sealed) else { return nil }
            return try? ChaChaPoly.open(box, using: SymmetricKey(data: key), authenticating: purpose)
        }
    }
#else
    extension SealedBytes {
        /// - Parameter nonce: 12 bytes, never used twice with one key.
        static func seal(_ plain: Data, key: Data, purpose: Data, nonce: Data) -> Data? {
            guard let cipher = ChaCha20(key: key, nonce: nonce) else { return nil }
            let hidden = cipher.applied(to: plain, from: 1)
            return nonce + hidden + tag(of: hidden, purpose: purpose, cipher)
        }

        /// What was sealed; nil unless it was sealed with this key for this purpose and not one bit changed.
        static func open(_ sealed: Data, key: Data, purpose: Data) -> Data? {
            guard sealed.count >= nonceLength + tagLength else { return nil }
            let hidden = Data(sealed.dropFirst(nonceLength).dropLast(tagLength))
            guard let cipher = ChaCha20(key: key, nonce: Data(sealed.prefix(nonceLength))) else { return nil }
            let expected = tag(of: hidden, purpose: purpose, cipher)
            // All 16 bytes are compared, so that the time says nothing of where they differ.
            let difference = zip(expected, sealed.suffix(tagLength)).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) }
            return difference == 0 ? cipher.applied(to: hidden, from: 1) : nil
        }

        /// §2.8: over the purpose and the ciphertext, each padded to 16 bytes, and both lengths.
        private static func tag(of hidden: Data, purpose: Data, _ cipher: ChaCha20) -> Data {
            func padded(_ bytes: Data) -> Data { bytes + Data(count: (16 - bytes.count % 16) % 16) }
            func length(_ bytes: Data) -> Data {
                Data((0..<8).map { UInt8(truncatingIfNeeded: bytes.count >> ($0 * 8)) })
            }
            let message = padded(purpose) + padded(hidden) + length(purpose) + length(hidden)
            return poly1305(message, key: cipher.applied(to: Data(count: 32), from: 0))
        }
    }
#endif
