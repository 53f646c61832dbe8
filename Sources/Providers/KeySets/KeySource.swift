package import JOSE

/// The source of a provider's keys.
package enum KeySource: Sendable {
    /// Fetched and kept up to date, for a service.
    case cache(KeySetCache)
    /// Given and never fetched, for a command or a test.
    case fixed(KeySet)

    /// The keys to verify a token of this `kid` with. A fixed set may lack the key.
    package func keys(for keyID: [UInt8]) async throws(CredentialRefusal) -> KeySet {
        switch self {
        case .cache(let cache): try await cache.keys(for: keyID)
        case .fixed(let keys): keys
        }
    }

    /// Fetches the keys again if they can be.
    func refetch() async { if case .cache(let cache) = self { await cache.refetch() } }
}
