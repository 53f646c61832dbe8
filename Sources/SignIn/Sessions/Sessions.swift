package import Accounts
import Logging
import Storage

/// The sessions of an account: the one that an access token names, refresh, sign-out, the list.
package struct Sessions: Sendable {
    let store: SessionStore
    let accounts: LiveAccounts
    let refreshes: SessionRefreshes
    let issuer: SessionIssuer
    let repetitions: RepeatedEvents
    let metrics: SignInMetrics
    let logger: Logger

    /// The live session that an access token names, of an active account.
    package func session(of accessToken: [UInt8], by call: Call) async throws(SignInFailure) -> Session {
        let id = try await issuer.accessTokens.session(of: accessToken)
        guard let live = try await stored({ try await store.live(id, by: call) }), live.accountStatus == .active else {
            throw .invalidSession
        }
        return live.session
    }

    /// The same, with the account.
    package func account(of accessToken: [UInt8], by call: Call) async throws(SignInFailure) -> LiveAccount {
        let id = try await issuer.accessTokens.session(of: accessToken)
        let live = try await stored { try await accounts.find(id, by: call) }
        guard let live, live.account.status == .active else { throw .invalidSession }
        return live
    }

    /// Exchanges a refresh token for the next one.
    package func refresh(_ refreshToken: String, by call: Call) async throws(SignInFailure) -> IssuedSession {
        try await metrics.refreshes.counting(.session, as: .refreshed) { () throws(SignInFailure) in
            try await next(after: refreshToken, by: call)
        }
    }

    private func next(after refreshToken: String, by call: Call) async throws(SignInFailure) -> IssuedSession {
        guard let (id, generation) = issuer.refreshTokens.read(refreshToken) else { throw .invalidRefreshToken }
        try issuer.requireSigner(by: call)
        let outcome = try await stored {
            try await refreshes.refresh(
                id, generation: generation, by: call, lifetimes: issuer.lifetimes, address: call.caller.address)
        }
        switch outcome {
        case .renewed(let session):
            return try issuer.issue(session, at: call.now)
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
        of accountID: AccountID, askedBy current: SessionID? = nil, by call: Call
    ) async throws(SignInFailure) -> [SessionSummary] {
        try await stored { try await store.live(of: accountID, first: current, by: call) }
    }

    /// Signs out the session itself, or it and others of the account; others only while it is live.
    package func revoke(_ scope: RevocationScope, of session: Session, by call: Call) async throws(SignInFailure) {
        let event = AuditEvent(
            .signedOut, from: call.origin, accountID: session.accountID, sessionID: session.id, reason: scope.rawValue)
        try await repetitions.recording(.signOut(session.accountID, scope), by: call) {
            isRecorded throws(SignInFailure) in
            let isEnded = try await stored {
                try await store.end(scope, of: session, recording: isRecorded ? event : nil, by: call)
            }
            return ((), isEnded ? event : nil)
        }
    }

    /// Ends one session of an account, by a live one of it.
    package func end(_ id: SessionID, in session: Session, by call: Call) async throws(SignInFailure) {
        let event = AuditEvent(.signedOut, from: call.origin, accountID: session.accountID, sessionID: id)
        let isEnded = try await repetitions.recording(.signOut(session.accountID, nil), by: call) {
            isRecorded throws(SignInFailure) in
            let isEnded = try await stored {
                try await store.end(id, in: session, recording: isRecorded ? event : nil, by: call)
            }
            return (isEnded, isEnded ? event : nil)
        }
        guard isEnded else { throw .sessionNotFound }
    }
}

extension Session {
    /// - Throws: ``SignInFailure/reauthenticationRequired`` unless the person has authenticated recently.
    package func requireFresh(by call: Call) throws(SignInFailure) {
        guard isFresh(at: call.now) else { throw .reauthenticationRequired }
    }
}
