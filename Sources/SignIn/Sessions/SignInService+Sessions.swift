package import Accounts
import Logging
import Storage

extension SignInService {
    /// The live session that an access token names, of an active account.
    package func session(of accessToken: [UInt8]) async throws(SignInFailure) -> Session {
        let id = try await accessTokens.session(of: accessToken)
        let now = clock.now()
        guard let live = try await stored({ try await stores.sessions.live(id, at: now) }),
            live.accountStatus == .active
        else {
            throw .invalidSession
        }
        return live.session
    }

    package func account(of session: Session) async throws(SignInFailure) -> Account {
        guard let account = try await stored({ try await stores.accounts.account(session.accountID) }) else {
            throw .invalidSession
        }
        return account
    }

    /// Exchanges a refresh token for the next one.
    package func refresh(_ refreshToken: String, client: Client) async throws(SignInFailure) -> IssuedSession {
        try await metrics.refreshes.counting(.session, as: .refreshed) { () throws(SignInFailure) in
            try await next(after: refreshToken, client: client)
        }
    }

    private func next(after refreshToken: String, client: Client) async throws(SignInFailure) -> IssuedSession {
        guard let (id, generation) = refreshTokens.read(refreshToken) else { throw .invalidRefreshToken }
        let now = clock.now()
        let expiresAt = now.advanced(bySeconds: configuration.refreshLifetime)
        let outcome = try await stored {
            try await stores.sessions.refresh(
                id, generation: generation, at: now, expiresAt: expiresAt, from: origin(client))
        }
        switch outcome {
        case .renewed(let session):
            return try issue(session, at: now)
        case .unknown:
            throw .invalidRefreshToken
        case .reused(let accountID):
            logger.warning(
                "refresh token reused, session ended",
                metadata: ["accountId": "\(accountID)", "sessionId": "\(id)"])
            throw .refreshTokenReused
        }
    }

    package func revoke(
        _ scope: RevocationScope, of session: Session, client: Client
    ) async throws(SignInFailure) {
        let now = clock.now()
        try await stored { try await stores.sessions.end(scope, of: session, at: now, from: origin(client)) }
    }

    /// The live sessions of an account, the newest first.
    package func sessions(of accountID: AccountID) async throws(SignInFailure) -> [SessionSummary] {
        let now = clock.now()
        return try await stored { try await stores.sessions.live(of: accountID, at: now) }
    }

    /// Ends one session of an account.
    package func end(
        _ id: SessionID, of accountID: AccountID, client: Client
    ) async throws(SignInFailure) {
        let now = clock.now()
        let event = AuditEvent(.signedOut, from: origin(client), accountID: accountID, sessionID: id)
        guard try await stored({ try await stores.sessions.end(id, of: accountID, by: event, at: now) }) else {
            throw .sessionNotFound
        }
    }
}
