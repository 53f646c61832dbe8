package import Accounts
import JOSE
package import KeyRing
import OpenSSL
package import Storage

/// The rotation of the keys that sign access tokens.
///
/// ```
///   made ──▶ next ── signs from ──▶ signing ── next key takes over ──▶ verifying ── its last token expires ──▶ deleted
///            └───────────────────────── published to verifiers ─────────────────────────┘
/// ```
package struct SigningKeys: Sendable {
    /// Seconds for which a key is published before it signs: the 300 for which verifiers may cache the key set, and as
    /// many again for clocks that differ and for processes that have to wait for the database.
    package static let lead: Int64 = 900

    private let store: SigningKeyStore
    private let keyRing: KeyRing
    private let clock: any WallClock
    private let origin: ChangeOrigin

    /// - Parameter origin: of the operator who rotates.
    package init(store: SigningKeyStore, keyRing: KeyRing, clock: any WallClock, origin: ChangeOrigin = .commandLine) {
        self.store = store
        self.keyRing = keyRing
        self.clock = clock
        self.origin = origin
    }

    /// Makes the next key, unless there is one already that can be opened, or the key that signs can't be.
    ///
    /// - Parameters:
    ///   - lead: seconds until the key signs.
    ///   - minimumAge: seconds; a key that has not signed for that long stays.
    package func rotate(
        lead: Int64 = SigningKeys.lead, minimumAge: Int64 = 0
    ) async throws -> SigningKeyStore.Rotation {
        let call = clock.call(by: origin)
        // Each process that is to sign with it stores the lifetime of its own tokens.
        let key = try SigningKeys.makeKey(
            keyRing: keyRing, at: call.now, signsFrom: call.now.advanced(bySeconds: lead), tokenLifetime: 0)
        return try await store.add(key, keyRing: keyRing, minimumAge: minimumAge, by: call)
    }

    /// Makes a key that signs at once and deletes all others. Our processes refuse their tokens after the next read, within
    /// a second or two; other verifiers when their cached key set expires.
    package func replaceLeaked() async throws -> StoredSigningKey {
        let call = clock.call(by: origin)
        let key = try SigningKeys.makeKey(keyRing: keyRing, at: call.now, signsFrom: call.now, tokenLifetime: 0)
        try await store.replaceAll(with: key, by: call)
        return key
    }

    static func makeKey(
        keyRing: KeyRing, at now: Timestamp, signsFrom: Timestamp, tokenLifetime: Int64
    ) throws -> StoredSigningKey {
        let key = try P256PrivateKey()
        // The key's thumbprint names it, so that no two processes choose one name for two keys.
        let keyID = PublicJWK(key).keyID
        var der = try key.der
        defer { cleanse(&der) }
        let sealed = try keyRing.seal(der, for: .signing, at: StoredSigningKey.location(keyID: keyID))
        return StoredSigningKey(
            keyID: keyID, sealedPrivateKey: sealed, createdAt: now, signsFrom: signsFrom, tokenLifetime: tokenLifetime)
    }
}
