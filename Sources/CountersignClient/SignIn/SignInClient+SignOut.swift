import Foundation

extension SignInClient {
    /// Signs out here. The phone forgets the session whatever the server says, and wins over a refresh under way. A sign-in
    /// under way goes on: cancel its task first.
    ///
    /// - Throws: `storage` when the store did not let go of the session; else why the server did not hear of it, so that it
    ///   goes on there until it expires.
    public func signOut() async throws(SessionError) {
        try await signOut { [server] token throws(SessionError) in
            try await server.send("v1/sessions/revoke", ["scope": "current"], bearer: token)
        }
    }

    /// - Parameter revoke: ends the session at the server with an access token of it; 204 when done.
    func signOut(_ revoke: @Sendable (String) async throws(SessionError) -> HTTPAnswer) async throws(SessionError) {
        let known = keeper.known.session
        let session: StoredSession?
        // Another process may have refreshed it, or signed in; or forgotten it without the server's hearing of it.
        do { session = try keeper.reloaded().session ?? known } catch {
            guard let known else { throw error }
            session = known
        }
        let underWay = refreshes.underWay
        var kept: SessionError?
        do { try close { $0.session = nil } } catch { kept = error }
        do throws(SessionError) {
            if let session { try await end(session, underWay, revoke) }
        } catch { throw kept ?? error }
        if let kept { throw kept }
    }

    /// The session is over by the person's own wish: it wins over a refresh under way.
    ///
    /// - Parameter change: what is to be left of the document.
    func close(_ change: (inout SessionDocument) -> Void) throws(SessionError) {
        refreshes.renounce()
        endedCode = nil
        defer { announce() }
        try keeper.change(change)
    }

    private func end(
        _ session: StoredSession, _ underWay: Task<Result<StoredSession?, SessionError>, Never>?,
        _ revoke: @Sendable (String) async throws(SessionError) -> HTTPAnswer
    ) async throws(SessionError) {
        if session.isUnexpired(now()) {
            let answer = try await revoke(session.accessToken)
            if !answer.refusesSession { return try answer.require(204) }
        }
        // The token has expired, or is refused though it should be good: only a refresh can say whether there is a
        // session to end. One under way ends first, so that two don't rotate one token.
        if let underWay { _ = try? await outcome(of: underWay) }
        let answer = try await server.send("v1/sessions/refresh", ["refreshToken": .string(session.refreshToken)])
        if answer.status == 401, answer.problemCode != nil { return }
        let refreshed = try answer.body(SessionWire.self).session(
            of: session.accountID, sentAt: now(), answer.requestID)
        let second = try await revoke(refreshed.accessToken)
        if !second.refusesSession { try second.require(204) }
    }
}
