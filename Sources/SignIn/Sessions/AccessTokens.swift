package import Accounts
import JOSE
import JSON
package import KeyRing
package import Logging
import OpenSSL
import Primitives
package import Storage
import Synchronization

/// Signs access tokens (RFC 9068 form: ES256, `typ: at+jwt`) with the key of the database whose time it is, and reads them.
///
/// All processes share the keys, and each reads them anew every second: a new key is published long before it signs, and
/// all change over to it at the same moment. A key that is no longer stored is gone with the next reading. While the key
/// whose turn it is can't be opened no token is signed: whoever replaced a key wants no more tokens of the one before.
///
/// A token whose key is not known waits for a reading that begins after it came: one goes on at a time, and one begins in
/// ``askingPause``, whatever a flood of unknown key ids asks for.
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

    /// Which keys are in use, and how they came there.
    private struct State: Sendable {
        var keys: SigningKeySnapshot
        /// Counts the readings, for one that began before another and ended after it tells nothing new.
        var begun = 0
        var adopted = 0
        /// A reading for unknown key ids that has not begun: whoever comes now is answered by it.
        var waiting: Task<Void, any Error>?
        /// The one before it, and when that was due.
        var asked: (reading: Task<Void, any Error>, at: ContinuousClock.Instant)?
    }

    /// Between the beginnings of two readings for unknown key ids.
    private static let askingPause: Duration = .milliseconds(100)

    package let configuration: Configuration
    private let store: SigningKeyStore
    private let keyRing: KeyRing
    private let clock: any WallClock
    private let logger: Logger
    private let state: Mutex<State>

    /// Reads the keys, making the first one if there is none.
    ///
    /// - Throws: also when the key whose turn it is can't be opened.
    package init(
        configuration: Configuration, store: SigningKeyStore, keyRing: KeyRing, clock: any WallClock, logger: Logger
    ) async throws {
        self.configuration = configuration
        self.store = store
        self.keyRing = keyRing
        self.clock = clock
        self.logger = logger
        let lifetime = configuration.lifetime
        let now = clock.now()
        let stored = try await store.keys(orFirst: {
            try SigningKeys.makeKey(keyRing: keyRing, at: now, signsFrom: now, tokenLifetime: lifetime)
        })
        let keys = SigningKeySnapshot(opening: stored, keyRing: keyRing)
        _ = try keys.signer(at: now)
        state = Mutex(State(keys: keys))
        report(keys, after: nil)
        try await noteLifetime(in: stored)
    }

    /// Our key set (RFC 7517), for whoever verifies our tokens.
    package var publishedKeys: [UInt8] {
        keys.document
    }

    /// Seconds for which the key whose turn it is has signed; `nil` when there is none.
    package func signingKeyAge(at now: Timestamp) -> Int64? {
        keys.stored.signing(at: now).map { max(0, now.seconds - $0.signsFrom.seconds) }
    }

    private var keys: SigningKeySnapshot {
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
        let signer: TokenSigner
        do {
            signer = try keys.signer(at: now)
        } catch {
            throw SignInFailure.signingUnavailable(reason: String(describing: error))
        }
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
        var keySet = keys.verifying
        if keySet.key(id: unverified.keyID) == nil {
            try await rereadForUnknown()
            keySet = keys.verifying
        }
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

    /// Waits for a reading that has not begun yet, for one that has may have missed the key that is asked for.
    private func rereadForUnknown() async throws(SignInFailure) {
        let reading = state.withLock { state in
            if let waiting = state.waiting { return waiting }
            let before = state.asked
            let due = max(.now, before.map { $0.at + AccessTokens.askingPause } ?? .now)
            let reading = Task {
                _ = await before?.reading.result
                try await Task.sleep(until: due)
                self.state.withLock { $0.waiting = nil }
                try await self.rereadKeys()
            }
            state.waiting = reading
            state.asked = (reading, due)
            return reading
        }
        do {
            try await reading.value
        } catch {
            // Whether the token is good can't be told, so the caller is asked to come again and not turned away.
            throw .storageUnavailable(detail: String(reflecting: error))
        }
    }

    /// Takes over what has become of the keys. When they can't be read, those at hand stay.
    package func rereadKeys() async throws {
        let number = state.withLock { state in
            state.begun += 1
            return state.begun
        }
        let stored: [StoredSigningKey]
        do { stored = try await store.keys() } catch { throw StorageFailure(error) }
        let fresh = SigningKeySnapshot(opening: stored, keyRing: keyRing, before: keys)
        let replaced = state.withLock { state -> SigningKeySnapshot? in
            guard state.adopted < number else { return nil }
            state.adopted = number
            defer { state.keys = fresh }
            return state.keys
        }
        if let replaced { report(fresh, after: replaced) }
        // After that, for a key that was taken away has to go even when nothing can be written.
        try await noteLifetime(in: stored)
    }

    /// Says which keys can't be opened, once for each change of them.
    private func report(_ fresh: SigningKeySnapshot, after before: SigningKeySnapshot?) {
        for (keyID, error) in fresh.unreadable where before?.unreadable[keyID] == nil {
            logger.error(
                "a signing key can't be opened",
                metadata: ["kid": "\(keyID)", "reason": "\(String(describing: error))"])
        }
    }

    /// A key is kept for as long as its tokens live, so how long that is is written down as soon as the key is known.
    private func noteLifetime(in stored: [StoredSigningKey]) async throws {
        guard stored.contains(where: { $0.tokenLifetime < configuration.lifetime }) else { return }
        do {
            try await store.note(tokenLifetime: configuration.lifetime)
        } catch {
            throw StorageFailure(error)
        }
    }
}
