package import Accounts
import Logging
import Storage

/// The sessions of an account: the one that an access token names, refresh, sign-out, the list.
package struct Sessions: Sendable {
    let store: SessionStore
    let issuer: SessionIssuer
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
        let now = clock.now()
        try await stored { try await store.end(scope, of: session, at: now, from: mailLanguages.origin(of: client)) }
    }

    /// Ends one session of an account.
    package func end(_ id: SessionID, of accountID: AccountID, client: Client) async throws(SignInFailure) {
        let now = clock.now()
        let event = AuditEvent(
            .signedOut, from: mailLanguages.origin(of: client), accountID: accountID, sessionID: id)
        guard try await stored({ try await store.end(id, of: accountID, by: event, at: now) }) else {
            throw .sessionNotFound
        }
    }
}
