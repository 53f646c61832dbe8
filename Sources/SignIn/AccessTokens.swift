package import Accounts
import JOSE
import Logging
import OpenSSL
package import Storage
import Synchronization

/// Signs access tokens (RFC 9068 form: ES256, `typ: at+jwt`) with the key of the database whose time it is, and reads them.
///
/// All processes share the keys, and each reads them anew every second: a new key is published long before it signs, and
/// all change over to it at the same moment. A token whose key is not known has them read at once, at most once a second,
/// whatever a flood of unknown key ids asks for.
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
        let stored: [StoredSigningKey]
        /// By key id.
        let signers: [String: TokenSigner]
        let keySet: KeySet
        /// The published document, ready to send.
        let document: [UInt8]

        func signer(at now: Timestamp) -> TokenSigner? {
            stored.signing(at: now).flatMap { signers[$0.keyID] }
        }
    }

    /// Which keys are in use, and how they came there.
    private struct State: Sendable {
        var keys: Keys
        /// Counts the readings, for one that began before another and ended after it tells nothing new.
        var begun = 0
        var adopted = 0
        /// When an unknown key id last had them read.
        var askedAt: Timestamp?
    }

    private static let askingPause: Int64 = 1

    package let configuration: Configuration
    private let store: SigningKeyStore
    private let keyRing: KeyRing
    private let clock: any WallClock
    private let state: Mutex<State>

    /// Reads the keys, making the first one if there is none.
    package init(
        configuration: Configuration, store: SigningKeyStore, keyRing: KeyRing, clock: any WallClock
    ) async throws {
        self.configuration = configuration
        self.store = store
        self.keyRing = keyRing
        self.clock = clock
        let lifetime = configuration.lifetime
        let now = clock.now()
        let stored = try await store.keys(orFirst: {
            try SigningKeys.makeKey(keyRing: keyRing, at: now, signsFrom: now, tokenLifetime: lifetime)
        })
        state = Mutex(State(keys: try AccessTokens.open(stored, keyRing: keyRing)))
        try await noteLifetime(in: stored)
    }

    /// Our key set (RFC 7517), for whoever verifies our tokens.
    package var publishedKeys: [UInt8] {
        keys.document
    }

    private var keys: Keys {
        state.withLock(\.keys)
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
        guard let signer = keys.signer(at: now) else { throw SignInFailure.fault(operation: "choose a signing key") }
        return try signer.sign(claims.bytes)
    }

    /// The session that a token of ours names. Its row decides whether it lives.
    package func session(of token: [UInt8]) async throws(SignInFailure) -> SessionID {
        let unverified: UnverifiedToken
        do {
            unverified = try UnverifiedToken(token, allowedTypes: ["at+jwt"], requiresType: true)
        } catch {
            throw .invalidSession
        }
        var keySet = keys.keySet
        if keySet.key(id: unverified.keyID) == nil { keySet = try await keysForUnknown() }
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
    private func keysForUnknown() async throws(SignInFailure) -> KeySet {
        let now = clock.now()
        let isMyTurn = state.withLock { state in
            // A clock that was set back holds nobody up.
            let isDue =
                state.askedAt.map { now < $0 || now >= $0.advanced(bySeconds: AccessTokens.askingPause) } ?? true
            if isDue { state.askedAt = now }
            return isDue
        }
        if isMyTurn {
            do {
                try await rereadKeys()
            } catch let failure as StorageFailure {
                throw SignInFailure(failure)
            } catch {
                throw .fault(operation: "open signing keys")
            }
        }
        return keys.keySet
    }

    /// Takes over what has become of the keys. On failure those at hand stay.
    package func rereadKeys() async throws {
        let number = state.withLock { state in
            state.begun += 1
            return state.begun
        }
        let stored: [StoredSigningKey]
        do { stored = try await store.keys() } catch { throw StorageFailure(error) }
        guard stored != keys.stored else { return }
        let fresh = try AccessTokens.open(stored, keyRing: keyRing)
        try await noteLifetime(in: stored)
        state.withLock { state in
            guard state.adopted < number else { return }
            state.adopted = number
            state.keys = fresh
        }
    }

    /// A key is kept for as long as its tokens live, so it is said how long that is before it signs any.
    private func noteLifetime(in stored: [StoredSigningKey]) async throws {
        guard stored.contains(where: { $0.tokenLifetime < configuration.lifetime }) else { return }
        do {
            try await store.note(tokenLifetime: configuration.lifetime)
        } catch {
            throw StorageFailure(error)
        }
    }

    private static func open(_ stored: [StoredSigningKey], keyRing: KeyRing) throws -> Keys {
        var signers: [String: TokenSigner] = [:]
        var published: [PublicJWK] = []
        for key in stored {
            let der = try keyRing.open(
                key.sealedPrivateKey, for: .signing, at: StoredSigningKey.location(keyID: key.keyID))
            let privateKey = try P256PrivateKey(der: der)
            signers[key.keyID] = TokenSigner(key: privateKey, keyID: key.keyID, type: "at+jwt")
            published.append(PublicJWK(privateKey, keyID: key.keyID))
        }
        guard !published.isEmpty else { throw SignInFailure.fault(operation: "read signing keys") }
        let document = PublicJWK.document(published)
        return Keys(stored: stored, signers: signers, keySet: try KeySet(parsing: document), document: document)
    }
}
