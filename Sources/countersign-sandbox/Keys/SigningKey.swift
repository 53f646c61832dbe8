import Dispatch
import OpenSSL

/// One RSA-2048 key of a provider. It is generated in the background, because a prime search takes as long as the
/// sandbox may take to start; the first use of the key waits for it.
struct SigningKey: Sendable {
    let id: String
    private let generation: Task<RSAPrivateKey, any Error>

    /// One queue for all generations: keys are ready in the order in which they were requested, so the key that signs
    /// is ready before the keys that are only published.
    private static let queue = DispatchQueue(label: "countersign-sandbox.keys", qos: .userInitiated)

    /// - Parameters:
    ///   - id: the `kid`.
    ///   - name: its name in the store.
    init(id: String, name: String, from store: KeyStore) {
        self.id = id
        generation = Task {
            try await withCheckedThrowingContinuation { continuation in
                Self.queue.async {
                    continuation.resume(with: Result { try store.key(name) })
                }
            }
        }
    }

    var material: RSAPrivateKey {
        get async throws { try await generation.value }
    }
}
