import Foundation

extension SignInClient {
    /// Signs out here. The phone forgets the session whatever the server says, and wins over a refresh under way.
    ///
    /// - Throws: when the server did not hear of it, so that the session goes on there until it expires; `storage` when the
    ///   store did not let go of it.
    public func signOut() async throws(SessionError) {
        let session: StoredSession?
        do { session = try loaded().session } catch {
            guard let known = keeper.known.session else { throw error }
            session = known
        }
        let underWay = refreshing
        generation += 1
        refreshing = nil
        endedCode = nil
        var kept: SessionError?
        do { try keeper.change { $0.session = nil } } catch { kept = error }
        announce()
        if let session { try await revoke(session, underWay) }
        if let kept { throw kept }
    }

    private func revoke(
        _ session: StoredSession, _ underWay: Task<Result<StoredSession?, SessionError>, Never>?
    ) async throws(SessionError) {
        if session.isUnexpired(now()) {
            let answer = try await revoke(session.accessToken)
            if !answer.refusesSession { return try answer.require(204) }
        }
        // The token has expired, or is refused though it should be good: only a refresh can say whether there is a
        // session to end. One under way ends first, so that two don't rotate one token.
        if let underWay { _ = try? await outcome(of: underWay) }
        let answer = try await server.send(
            "v1/sessions/refresh", ["refreshToken": .string(session.refreshToken)])
        if answer.status == 401, answer.problemCode != nil { return }
        let refreshed = try answer.body(SessionWire.self).session(of: session.accountID, sentAt: now())
        let second = try await revoke(refreshed.accessToken)
        if !second.refusesSession { try second.require(204) }
    }

    private func revoke(_ token: String) async throws(SessionError) -> HTTPAnswer {
        try await server.send("v1/sessions/revoke", ["scope": "current"], bearer: token)
    }
}
