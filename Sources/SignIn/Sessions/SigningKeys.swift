package import Accounts
import JOSE
package import KeyRing
import OpenSSL
package import Storage

/// Makes the keys that sign access tokens, and replaces them.
///
/// ```
///   made ──▶ next ── signs from ──▶ signing ── the next one's turn ──▶ verifying ── its last token expires ──▶ deleted
///            └───────────────────────── published to verifiers ─────────────────────────┘
/// ```
package struct SigningKeys: Sendable {
    /// Seconds for which a key is published before it signs: the 300 for which verifiers may cache the key set, and as
    /// many again for clocks that differ and for processes that have to wait for the database.
    package static let lead: Int64 = 900

    private let store: SigningKeyStore
    private let keyRing: KeyRing
    private let clock: any WallClock

    package init(store: SigningKeyStore, keyRing: KeyRing, clock: any WallClock) {
        self.store = store
        self.keyRing = keyRing
        self.clock = clock
    }

    /// Makes the next key, which signs in so many seconds, unless there is one already.
    ///
    /// - Parameter minimumAge: seconds; a key that has not signed for that long stays.
    package func rotate(
        lead: Int64 = SigningKeys.lead, minimumAge: Int64 = 0
    ) async throws -> SigningKeyStore.Rotation {
        let now = clock.now()
        // How long its tokens live says each process that is to sign by it.
        let key = try SigningKeys.makeKey(
            keyRing: keyRing, at: now, signsFrom: now.advanced(bySeconds: lead), tokenLifetime: 0)
        return try await store.add(key, minimumAge: minimumAge, at: now)
    }

    /// Makes a key that signs at once and takes all others away. Their tokens are refused as soon as the processes have
    /// looked, within a second or two, and by other verifiers when what they have cached is out of date.
    package func replaceLeaked() async throws -> StoredSigningKey {
        let now = clock.now()
        let key = try SigningKeys.makeKey(keyRing: keyRing, at: now, signsFrom: now, tokenLifetime: 0)
        try await store.replaceAll(by: key, at: now)
        return key
    }

    static func makeKey(
        keyRing: KeyRing, at now: Timestamp, signsFrom: Timestamp, tokenLifetime: Int64
    ) throws -> StoredSigningKey {
        let key = try P256PrivateKey()
        // The key's thumbprint names it, so that no two processes choose one name for two keys.
        let keyID = PublicJWK(key).keyID
        let sealed = try keyRing.seal(
            try key.der, for: .signing, at: StoredSigningKey.location(keyID: keyID))
        return StoredSigningKey(
            keyID: keyID, sealedPrivateKey: sealed, createdAt: now, signsFrom: signsFrom, tokenLifetime: tokenLifetime)
    }
}
