package import Accounts
import Logging
import Storage

/// The sessions of an account: the one that an access token names, refresh, sign-out, the list.
package struct Sessions: Sendable {
    let store: SessionStore
    let issuer: SessionIssuer
    let repetitions: RepeatedEvents
    let mailLanguages: MailLanguages
    let metrics: SignInMetrics
    let clock: any WallClock
    let logger: Logger

    /// The live session that an access token names, of an active account.
    package func session(of accessToken: [UInt8]) async throws(SignInFailure) -> Session {
        let id = try await issuer.accessTokens.session(of: accessToken)
        let now = clock.now()
        guard let live = try await stored({ try await store.live(id, at: now) }), live.accountStatus == .active else {
            throw .invalidSession
        }
        return live.session
    }

    /// Exchanges a refresh token for the next one.
    package func refresh(_ refreshToken: String, client: Client) async throws(SignInFailure) -> IssuedSession {
        try await metrics.refreshes.counting(.session, as: .refreshed) { () throws(SignInFailure) in
            try await next(after: refreshToken, client: client)
        }
    }

    private func next(after refreshToken: String, client: Client) async throws(SignInFailure) -> IssuedSession {
        guard let (id, generation) = issuer.refreshTokens.read(refreshToken) else { throw .invalidRefreshToken }
        let now = clock.now()
        let outcome = try await stored {
            try await store.refresh(
                id, generation: generation, at: now, lifetimes: issuer.lifetimes, address: client.address,
                from: mailLanguages.origin(of: client))
        }
        switch outcome {
        case .renewed(let session):
            return try issuer.issue(session, at: now)
        case .unknown:
            throw .invalidRefreshToken
        case .reused(let accountID):
            logger.warning(
                "refresh token reused, session ended",
                metadata: ["accountId": "\(accountID)", "sessionId": "\(id)"])
            throw .refreshTokenReused
        }
    }

    /// The live sessions of an account: first the one that asks, if any, then the others, the newest first.
    package func list(
        of accountID: AccountID, askedBy current: SessionID? = nil
    ) async throws(SignInFailure) -> [SessionSummary] {
        let now = clock.now()
        return try await stored { try await store.live(of: accountID, first: current, at: now) }
    }

    /// Signs out the session itself, or it and others of the account.
    package func revoke(_ scope: RevocationScope, of session: Session, client: Client) async throws(SignInFailure) {
        let (now, origin) = (clock.now(), mailLanguages.origin(of: client))
        let event = AuditEvent(
            .signedOut, from: origin, accountID: session.accountID, sessionID: session.id, reason: scope.rawValue)
        try await repetitions.recording(.signOut(session.accountID, scope), at: now) {
            isRecorded throws(SignInFailure) in
            let isEnded = try await stored {
                try await store.end(scope, of: session, recording: isRecorded ? event : nil, at: now, from: origin)
            }
            return ((), isEnded ? event : nil)
        }
    }

    /// Ends one session of an account.
    package func end(_ id: SessionID, of accountID: AccountID, client: Client) async throws(SignInFailure) {
        let now = clock.now()
        let event = AuditEvent(
            .signedOut, from: mailLanguages.origin(of: client), accountID: accountID, sessionID: id)
        let isEnded = try await repetitions.recording(.signOut(accountID, nil), at: now) {
            isRecorded throws(SignInFailure) in
            let isEnded = try await stored {
                try await store.end(id, of: accountID, recording: isRecorded ? event : nil, at: now)
            }
            return (isEnded, isEnded ? event : nil)
        }
        guard isEnded else { throw .sessionNotFound }
    }
}
