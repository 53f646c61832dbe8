package import Accounts
import JOSE
import Logging
import OpenSSL
package import Storage
import Synchronization

/// Signs access tokens (RFC 9068 form: ES256, `typ: at+jwt`) with the newest key of the database, and reads them.
///
/// All processes share the keys. A token signed by a key that another process has just made is found by reading the keys
/// again, at most once every five seconds, whatever a flood of unknown key ids asks for.
package final class AccessTokens: Sendable {
    package struct Configuration: Sendable {
        package let issuer: String
        package let audience: String
        /// Seconds.
        package let lifetime: Int64

        package init(issuer: String, audience: String, lifetime: Int64) {
            self.issuer = issuer
            self.audience = audience
            self.lifetime = lifetime
        }
    }

    private struct Keys: Sendable {
        let signer: TokenSigner
        let keySet: KeySet
        /// The published document, ready to send.
        let document: [UInt8]
        var askedAt: Timestamp
    }

    private static let rereadSeconds: Int64 = 5

    package let configuration: Configuration
    private let store: SigningKeyStore
    private let keyRing: KeyRing
    private let clock: any WallClock
    private let keys: Mutex<Keys>

    /// Reads the keys, making the first one if there is none.
    package init(
        configuration: Configuration, store: SigningKeyStore, keyRing: KeyRing, clock: any WallClock
    ) async throws {
        self.configuration = configuration
        self.store = store
        self.keyRing = keyRing
        self.clock = clock
        let now = clock.now()
        let stored = try await store.keys(orFirst: { try AccessTokens.makeKey(keyRing: keyRing, now: now) })
        self.keys = Mutex(try AccessTokens.open(stored, keyRing: keyRing, askedAt: now))
    }

    /// Our key set (RFC 7517), for whoever verifies our tokens.
    package var publishedKeys: [UInt8] {
        keys.withLock { $0.document }
    }

    package func token(for session: Session, at now: Timestamp) throws -> String {
        var claims = JSONWriter()
        claims.beginObject()
        claims.member("iss", configuration.issuer)
        claims.member("sub", session.accountID.description)
        claims.member("aud", configuration.audience)
        claims.member("sid", session.id.description)
        claims.member("iat", now.seconds)
        claims.member("exp", now.seconds + configuration.lifetime)
        claims.member("jti", Base64URL.encode(try SecureRandom.bytes(16)))
        claims.member("auth_time", session.authenticatedAt.seconds)
        claims.name("amr")
        claims.beginArray()
        for method in session.methods { claims.string(method.rawValue) }
        claims.endArray()
        claims.endObject()
        return try keys.withLock { $0.signer }.sign(claims.bytes)
    }

    /// The session that a token of ours names. Its row decides whether it lives.
    package func session(of token: [UInt8]) async throws(SignInFailure) -> SessionID {
        let unverified: UnverifiedToken
        do {
            unverified = try UnverifiedToken(token, allowedTypes: ["at+jwt"], requiresType: true)
        } catch {
            throw .invalidSession
        }
        var keySet = keys.withLock { $0.keySet }
        if keySet.key(id: unverified.keyID) == nil { keySet = try await rereadKeys() }
        do {
            let verified = try unverified.verified(by: keySet)
            var rules = ClaimRules(issuers: [configuration.issuer], audiences: [configuration.audience])
            rules.maximumLifetime = nil
            _ = try rules.check(verified, at: clock.now().seconds)
            guard let text = verified.claims["sid"]?.string, let id = SessionID(text) else {
                throw TokenRejection.claimInvalid
            }
            return id
        } catch {
            throw .invalidSession
        }
    }

    /// The keys, read anew if it is time to; whoever comes while they are being read takes those at hand.
    private func rereadKeys() async throws(SignInFailure) -> KeySet {
        let now = clock.now()
        let (current, isMyTurn) = keys.withLock { keys in
            let isDue = now < keys.askedAt || now >= keys.askedAt.advanced(bySeconds: AccessTokens.rereadSeconds)
            if isDue { keys.askedAt = now }
            return (keys.keySet, isDue)
        }
        guard isMyTurn else { return current }
        do {
            let stored: [StoredSigningKey]
            do { stored = try await store.keys() } catch { throw StorageFailure(error) }
            let fresh = try AccessTokens.open(stored, keyRing: keyRing, askedAt: now)
            keys.withLock { if $0.askedAt <= fresh.askedAt { $0 = fresh } }
            return fresh.keySet
        } catch let failure as StorageFailure {
            throw SignInFailure(failure)
        } catch {
            throw .fault(operation: "open signing keys")
        }
    }

    private static func open(_ stored: [StoredSigningKey], keyRing: KeyRing, askedAt: Timestamp) throws -> Keys {
        var opened: [(id: String, key: P256PrivateKey)] = []
        for key in stored {
            let der = try keyRing.open(
                key.sealedPrivateKey, for: .signing, at: StoredSigningKey.location(keyID: key.keyID))
            opened.append((key.keyID, try P256PrivateKey(der: der)))
        }
        guard let newest = opened.first else { throw SignInFailure.fault(operation: "read signing keys") }
        let document = PublicJWK.document(opened.map { PublicJWK($0.key, keyID: $0.id) })
        return Keys(
            signer: TokenSigner(key: newest.key, keyID: newest.id, type: "at+jwt"),
            keySet: try KeySet(parsing: document), document: document, askedAt: askedAt)
    }

    private static func makeKey(keyRing: KeyRing, now: Timestamp) throws -> StoredSigningKey {
        let key = try P256PrivateKey()
        // The key's thumbprint names it, so that no two processes choose one name for two keys.
        let keyID = PublicJWK(key).keyID
        let sealed = try keyRing.seal(
            try key.der, for: .signing, at: StoredSigningKey.location(keyID: keyID))
        return StoredSigningKey(keyID: keyID, sealedPrivateKey: sealed, createdAt: now)
    }
}
