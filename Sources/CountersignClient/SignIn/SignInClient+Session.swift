public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

extension SignInClient {
    /// The request with the access token, whatever it said of authorization before. With more than a minute left
    /// nothing is sent; else the session is refreshed first. When that fails for now, the old token is handed out as
    /// long as it has not expired, and the next refresh is tried after `Retry-After`, or 5 s.
    ///
    /// Send the request without following redirects to other hosts, or use ``data(for:)``.
    ///
    /// - Throws: `insecureRequest`; `refused("foreign_host", 0)` for a host that may not get the token; `noSession`;
    ///   `reauthenticate`; `transient`; `storage`; `cancelled`.
    public func authorize(_ request: URLRequest) async throws(SessionError) -> URLRequest {
        try server.hosts.check(request.url)
        var request = request
        request.setBearer(try await usableSession().accessToken)
        return request
    }

    /// Authorizes and sends a request. After 401 the session is refreshed and the request sent once more, unless the
    /// service itself, by its paths `v1/` and `oauth/` below the base URL, names another reason than the session. A
    /// body that is a stream can't be sent again: the 401 is the answer, and the next call refreshes. Redirects are not
    /// followed.
    ///
    /// - Returns: the answer, whatever its status.
    public func data(for request: URLRequest) async throws(SessionError) -> (Data, HTTPURLResponse) {
        try server.hosts.check(request.url)
        let isServer = server.serves(request.url)
        let isStream = request.httpBodyStream != nil
        let answer = try await exchange(isOfServer: isServer, isStream: isStream) { token throws(SessionError) in
            var request = request
            request.setBearer(token)
            return try await server.transport.exchange(request)
        } isRefusal: { answer in
            // What the server itself refuses for another reason must not be sent twice: it may hold a code.
            answer.status == 401 && (!isServer || answer.problemCode == nil || answer.refusesSession)
        }
        return (answer.body, answer.response)
    }

    /// The account that is signed in, from the server.
    public func account() async throws(SessionError) -> ClientAccount {
        try await send("v1/account").body(AccountWire.self).account
    }

    /// Has the session refreshed before its token is used again, also after a restart: an API has answered 401.
    ///
    /// - Throws: `noSession`; `storage`.
    public func setNeedsRefresh() throws(SessionError) { try setNeedsRefresh(of: try signedIn()) }

    private func setNeedsRefresh(of refused: StoredSession) throws(SessionError) {
        guard let known = keeper.known.session, known.accessToken == refused.accessToken, known.needsRefresh != true
        else { return }
        try keeper.change { document in
            // Another process may have refreshed it meanwhile.
            if document.session?.accessToken == refused.accessToken { document.session?.needsRefresh = true }
        }
    }

    /// A request to the server with the session. After 401 `invalid_session` the session is refreshed and the request
    /// sent once more; when that is refused in the same way, the session is over. Nothing is sent as another person than
    /// the one who is signed in as it begins.
    ///
    /// - Parameters:
    ///   - isCode: the body holds a code, which is sent once: after the refresh the call throws `transient`.
    ///   - isRefusal: which answers are worth a refresh. None but `invalid_session` ends the session.
    func send(
        _ path: String, _ body: [String: JSONValue]? = nil, method: String? = nil, isCode: Bool = false,
        isRefusal: (HTTPAnswer) -> Bool = { $0.refusesSession }
    ) async throws(SessionError) -> HTTPAnswer {
        try await exchange(
            isCode: isCode,
            { token throws(SessionError) in try await server.send(path, body, method: method, bearer: token) },
            isRefusal: isRefusal)
    }

    /// - Parameters:
    ///   - isOfServer: whether the server itself answers: no other API can say that the session is over.
    ///   - isStream: whether the body can't be sent again: a refusal is the answer then.
    ///   - send: with an access token.
    ///   - isRefusal: whether an answer refuses the token.
    private func exchange(
        isOfServer: Bool = true, isCode: Bool = false, isStream: Bool = false,
        _ send: (String) async throws(SessionError) -> HTTPAnswer, isRefusal: (HTTPAnswer) -> Bool
    ) async throws(SessionError) -> HTTPAnswer {
        let begun = try await usableSession(isForServer: isOfServer)
        let first = try await send(begun.accessToken)
        guard isRefusal(first) else { return first }
        // Where no refresh follows, or it fails for now, the next call begins with one. A store that fails now fails
        // that one too.
        if isStream || (isOfServer && first.refusesSession) { try? setNeedsRefresh(of: begun) }
        if isStream { return first }
        let session = try await freshSession(replacing: begun)
        if isCode { throw .transient(retryAfter: nil, requestID: first.requestID) }
        let second = try await send(session.accessToken)
        if isOfServer, second.refusesSession { throw end(session, code: "invalid_session", second.requestID) }
        return second
    }

    /// The session with a token that is good for another minute, or with the old one when there is no other for now.
    ///
    /// - Parameter isForServer: the token goes to the server itself, which is not sent one again that was refused.
    private func usableSession(isForServer: Bool = false) async throws(SessionError) -> StoredSession {
        let begun = try signedIn()
        func isUsable(_ session: StoredSession) -> Bool {
            session.accountID == begun.accountID && session.isUnexpired(now())
                && !(isForServer && session.needsRefresh == true)
        }
        if refreshes.isPaused, isUsable(begun) { return begun }
        do {
            return try await freshSession()
        } catch {
            guard case .transient = error, let session = keeper.known.session, isUsable(session) else { throw error }
            return session
        }
    }

    /// The session with a token that is good for another minute, refreshed if need be. It is of the account that the call
    /// began with: what was asked for as one person is not done as another who has signed in meanwhile.
    ///
    /// - Parameter refused: the session whose access token was refused, so that another is wanted.
    /// - Throws: `cancelled` when it is another person's now.
    func freshSession(replacing refused: StoredSession? = nil) async throws(SessionError) -> StoredSession {
        var owner = refused?.accountID
        while true {
            let session = try signedIn()
            if let owner, session.accountID != owner { throw .cancelled }
            owner = session.accountID
            if session.isFresh(now()), session.accessToken != refused?.accessToken { return session }
            // Of an earlier token the refresh has been made already.
            let refreshed = try await refreshes.outcome { [self] generation throws(SessionError) in
                try await refresh(session, generation)
            }
            if let refreshed, refreshed.accountID == owner { return refreshed }
        }
    }

    /// - Returns: the session with new tokens; nil after a sign-in or sign-out meanwhile, or a later refresh of another
    ///   process.
    private func refresh(_ stale: StoredSession, _ generation: Int) async throws(SessionError) -> StoredSession? {
        // An extension of the app may have refreshed, or signed out.
        defer { announce() }
        guard let session = try keeper.reloaded().session else { throw .noSession }
        if session.accessToken != stale.accessToken, session.isFresh(now()) { return session }
        let sentAt = now()
        let answer: HTTPAnswer
        do throws(SessionError) {
            answer = try await server.send("v1/sessions/refresh", ["refreshToken": .string(session.refreshToken)])
        } catch {
            guard generation == refreshes.generation else { return nil }
            // The transport gave up by itself; this task was not cancelled.
            throw error == .cancelled ? .transient(retryAfter: nil) : error
        }
        guard generation == refreshes.generation else { return nil }
        if answer.status == 401, let code = answer.problemCode,
            ["invalid_refresh_token", "refresh_token_reused"].contains(code)
        {
            throw end(session, code: code, answer.requestID)
        }
        var refreshed = try answer.body(SessionWire.self).session(
            of: session.accountID, sentAt: sentAt, answer.requestID)
        refreshed.openedBy = session.openedBy
        var isOurs = true
        try keeper.change { document in
            // Another process may have refreshed it once more while this answer was on its way: this token is dead then.
            isOurs = document.session?.refreshToken == session.refreshToken
            if isOurs { document.session = refreshed }
        }
        return isOurs ? refreshed : nil
    }

    /// Forgets a session that the server has ended.
    ///
    /// - Returns: what the call that found out has to throw.
    private func end(_ session: StoredSession, code: String, _ requestID: String?) -> SessionError {
        defer { announce() }
        _ = try? keeper.reloaded()
        guard let known = keeper.known.session else {
            // Another call was faster, or the person has signed out.
            return endedCode.map { .reauthenticate(code: $0, requestID: requestID) } ?? .noSession
        }
        // Another process has refreshed the session, or replaced it by a sign-in.
        guard known.refreshToken == session.refreshToken else {
            return .transient(retryAfter: nil, requestID: requestID)
        }
        refreshes.renounce()
        endedCode = code
        // A store that fails now is asked again before the next call.
        try? keeper.change { $0.session = nil }
        return .reauthenticate(code: code, requestID: requestID)
    }
}
