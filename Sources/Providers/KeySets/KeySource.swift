package import JOSE

/// Where a provider's keys come from.
package enum KeySource: Sendable {
    /// Fetched and kept up to date, for a service.
    case cache(KeySetCache)
    /// At hand and never fetched, for a command or a test.
    case fixed(KeySet)

    /// The keys to verify a token of this `kid` by. Of a fixed set, the key may be missing.
    package func keys(for keyID: [UInt8]) async throws(CredentialRefusal) -> KeySet {
        switch self {
        case .cache(let cache): try await cache.keys(for: keyID)
        case .fixed(let keys): keys
        }
    }
}
