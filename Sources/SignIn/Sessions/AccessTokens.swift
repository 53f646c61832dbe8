package import Accounts
import JOSE
import JSON
package import KeyRing
package import Logging
import OpenSSL
import Primitives
package import Storage
import Synchronization

/// The access tokens of this service (RFC 9068 form: ES256, `typ: at+jwt`): signed with the current key of the database,
/// and verified.
///
/// All processes share the keys, and each rereads them every second: a new key is published long before it signs, and all
/// processes switch to it at the same moment. A key that is no longer stored is dropped with the next read. While the
/// current key can't be opened no token is signed: a key that has been replaced must not sign again.
///
/// A token of an unknown key waits for a read that begins after its arrival. One such read runs at a time, and at most one
/// begins per ``rereadInterval``, however many unknown key ids arrive.
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

    /// The keys in use, and the reads that brought them.
    private struct State: Sendable {
        var keys: SigningKeySnapshot
        /// Numbers of reads: the result of one that began before the adopted one is out of date.
        var lastBegun = 0
        var lastAdopted = 0
        /// The read for unknown key ids that has not begun yet: it serves every caller that arrives until then.
        var pendingReread: Task<Void, any Error>?
        /// The latest read for unknown key ids, begun or not, and its due time.
        var latestReread: (task: Task<Void, any Error>, due: ContinuousClock.Instant)?
    }

    /// The minimum interval between the starts of two reads for unknown key ids.
    private static let rereadInterval: Duration = .milliseconds(100)

    package let configuration: Configuration
    private let store: SigningKeyStore
    private let keyRing: KeyRing
    private let clock: any WallClock
    private let logger: Logger
    private let rules: ClaimRules
    private let state: Mutex<State>
    let verified = VerifiedTokens()

    /// Reads the keys, making the first one if there is none.
    ///
    /// - Throws: also when the current key can't be opened.
    package init(
        configuration: Configuration, store: SigningKeyStore, keyRing: KeyRing, clock: any WallClock, logger: Logger
    ) async throws {
        self.configuration = configuration
        self.store = store
        self.keyRing = keyRing
        self.clock = clock
        self.logger = logger
        var rules = ClaimRules(issuers: [configuration.issuer], audiences: [configuration.audience])
        rules.maximumLifetime = nil
        // An app counts by `expiresIn`, and a process of ours has set the time.
        rules.expiryLeeway = 0
        self.rules = rules
        let lifetime = configuration.lifetime
        let call = clock.call(by: .service)
        let now = call.now
        let stored = try await store.keys(
            orFirst: { try SigningKeys.makeKey(keyRing: keyRing, at: now, signsFrom: now, tokenLifetime: lifetime) },
            by: call)
        let keys = SigningKeySnapshot(opening: stored, keyRing: keyRing)
        _ = try keys.signer(at: now)
        state = Mutex(State(keys: keys))
        report(keys, after: nil)
        try await noteLifetime(in: stored)
    }

    /// Our key set (RFC 7517), for verifiers of our tokens.
    package var publishedKeys: [UInt8] { keys.document }

    /// Seconds for which the current key has been signing; `nil` when there is none.
    package func signingKeyAge(at now: Timestamp) -> Int64? {
        keys.stored.signing(at: now).map { max(0, now.seconds - $0.signsFrom.seconds) }
    }

    /// Whether tokens are signed: the current key can be opened.
    package func canSign(at now: Timestamp) -> Bool { (try? requireSigner(at: now)) != nil }

    private var keys: SigningKeySnapshot { state.withLock(\.keys) }

    /// Seconds for which a token that is made now lives: not longer than its session, but for what is left of its last
    /// second.
    package func lifetime(for session: Session, at now: Timestamp) -> Int64 {
        max(1, min(configuration.lifetime, session.expiresAt.seconds - now.seconds))
    }

    package func token(for session: Session, at now: Timestamp) throws -> String {
        let claims = try JSONWriter.object { claims in
            claims.member("iss", configuration.issuer)
            claims.member("sub", session.accountID.description)
            claims.member("external_id", session.externalID?.text)
            claims.member("aud", configuration.audience)
            claims.member("sid", session.id.description)
            claims.member("iat", now.seconds)
            claims.member("exp", now.seconds + lifetime(for: session, at: now))
            claims.member("jti", Base64URL.encode(try SecureRandom.bytes(16)))
            claims.member("auth_time", session.authenticatedAt.seconds)
            claims.member("amr", session.methods.lazy.map(\.rawValue))
        }
        return try requireSigner(at: now).sign(claims)
    }

    /// The signer of the current key.
    ///
    /// - Throws: ``SignInFailure/signingUnavailable(reason:)`` while that key can't be opened.
    @discardableResult
    func requireSigner(at now: Timestamp) throws(SignInFailure) -> TokenSigner {
        do {
            // In the lock: a copy of the snapshot counts all of its parts.
            return try state.withLock { state in try state.keys.signer(at: now) }
        } catch {
            throw .signingUnavailable(reason: String(describing: error))
        }
    }

    /// The session that one of our tokens names. Its row decides whether it is live.
    package func session(of token: [UInt8]) async throws(SignInFailure) -> SessionID {
        let hash = SHA256.hash(token)
        let now = clock.now().seconds
        if let known = verified.token(hash), keys.verifying.key(id: known.keyID) != nil,
            rules.admits(issuedAt: known.issuedAt, expiresAt: known.expiresAt, at: now)
        {
            return known.sessionID
        }
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
            let token = try unverified.verified(by: keySet)
            let checked = try rules.check(token, at: now)
            guard let text = token.claims["sid"]?.string, let id = SessionID(text), let expiresAt = checked.expiresAt
            else { throw TokenRejection.claimInvalid }
            verified.insert(
                .init(sessionID: id, keyID: unverified.keyID, issuedAt: checked.issuedAt, expiresAt: expiresAt), hash)
            return id
        } catch {
            throw .invalidSession
        }
    }

    /// Waits for a read that has not begun yet: one that has may have missed the unknown key.
    private func rereadForUnknown() async throws(SignInFailure) {
        let reread = state.withLock { state in
            if let pending = state.pendingReread { return pending }
            let previous = state.latestReread
            let due = max(.now, previous.map { $0.due + AccessTokens.rereadInterval } ?? .now)
            let reread = Task {
                _ = await previous?.task.result
                try await Task.sleep(until: due)
                self.state.withLock { $0.pendingReread = nil }
                try await self.rereadKeys()
            }
            state.pendingReread = reread
            state.latestReread = (reread, due)
            return reread
        }
        do {
            try await reread.value
        } catch {
            // The token can't be judged, so the caller is asked to retry and is not refused.
            throw .storageUnavailable(detail: String(reflecting: error))
        }
    }

    /// Adopts the stored keys. If they can't be read, the present ones stay.
    package func rereadKeys() async throws {
        let number = state.withLock { state in
            state.lastBegun += 1
            return state.lastBegun
        }
        let stored: [StoredSigningKey]
        do { stored = try await store.keys() } catch { throw StorageFailure(error) }
        let fresh = SigningKeySnapshot(opening: stored, keyRing: keyRing, before: keys)
        let replaced = state.withLock { state -> SigningKeySnapshot? in
            guard state.lastAdopted < number else { return nil }
            state.lastAdopted = number
            defer { state.keys = fresh }
            return state.keys
        }
        if let replaced { report(fresh, after: replaced) }
        // Afterwards: a deleted key has to go even when nothing can be written.
        try await noteLifetime(in: stored)
    }

    /// Logs the keys that can't be opened, each when it appears.
    private func report(_ fresh: SigningKeySnapshot, after before: SigningKeySnapshot?) {
        for (keyID, error) in fresh.unreadable where before?.unreadable[keyID] == nil {
            logger.error(
                "signing key can't be opened",
                metadata: ["kid": "\(keyID)", "reason": "\(String(describing: error))"])
        }
    }

    /// Stores this process's token lifetime with the keys that it knows: a key is kept for as long as its tokens live.
    private func noteLifetime(in stored: [StoredSigningKey]) async throws {
        guard stored.contains(where: { $0.tokenLifetime < configuration.lifetime }) else { return }
        do {
            try await store.note(tokenLifetime: configuration.lifetime)
        } catch {
            throw StorageFailure(error)
        }
    }
}
