public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// Keeps the tokens of an OAuth server fresh, and puts them into requests.
///
/// One per grant and process; extensions of an app have one of their own on the same store. Any number of tasks may use
/// one at a time: a refresh that several need is made once. Tokens go to the token endpoint over https; where requests
/// with an access token go is for the app to decide.
public actor OAuthSession {
    public nonisolated let configuration: OAuthConfiguration
    public nonisolated let clientID: String
    private let store: any SessionStore
    private let transport: any HTTPTransport
    private let additionalRefreshParameters: @Sendable () async -> [String: String]
    private let now: @Sendable () -> Date

    /// As the store has it, or as it was given.
    private var current: StoredOAuthSession
    /// What the store did not take in place of `current`. It may have the only refresh token that is still good, so it
    /// is saved before anything else is done, if the store still has the refresh token of `current`.
    private var unsaved: StoredOAuthSession?
    /// The store has this session, so what it holds is the truth: another process may have refreshed it, or ended it.
    private var isKept: Bool
    /// Its outcome is an access token.
    private let refreshes: SharedRefresh<String>

    /// A session with tokens that the app has got. It is in the store after ``save()`` or the first refresh.
    ///
    /// - Parameters:
    ///   - clientID: the client that the tokens were granted to.
    ///   - additionalRefreshParameters: asked before each refresh; names of the protocol's own are left out.
    public init(
        configuration: OAuthConfiguration, clientID: String, clientSecret: String? = nil, tokens: OAuthTokens,
        store: any SessionStore, transport: any HTTPTransport = URLSessionTransport(),
        additionalRefreshParameters: @escaping @Sendable () async -> [String: String] = { [:] },
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.configuration = configuration
        self.clientID = clientID
        self.store = store
        self.transport = transport
        self.additionalRefreshParameters = additionalRefreshParameters
        self.now = now
        refreshes = SharedRefresh(now: now)
        current = StoredOAuthSession(
            configuration: configuration, clientID: clientID, clientSecret: clientSecret, tokens: tokens.labelled())
        isKept = false
    }

    /// The session that a store has; nil when it is empty.
    public init?(
        restoringFrom store: any SessionStore, transport: any HTTPTransport = URLSessionTransport(),
        additionalRefreshParameters: @escaping @Sendable () async -> [String: String] = { [:] },
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(SessionError) {
        guard let stored = try StoredOAuthSession.read(try store.document()) else { return nil }
        configuration = stored.configuration
        clientID = stored.clientID
        self.store = store
        self.transport = transport
        self.additionalRefreshParameters = additionalRefreshParameters
        self.now = now
        refreshes = SharedRefresh(now: now)
        current = stored
        isKept = true
    }

    /// The tokens as they were last stored, with the labels of the ID token where it can be read. Labels alone when the
    /// session is over.
    public var tokens: OAuthTokens { current.tokens }

    /// Whether there is something to authorize with, as far as the phone knows. Sends nothing.
    public var canAuthorize: Bool { current.tokens.isUsable }

    /// Saves the session as it is, without refreshing it. What another process has made of a session that was saved
    /// before is newer, and taken over instead.
    ///
    /// - Throws: `noSession` when it is over, or another process has removed or replaced it; `storage`.
    public func save() throws(SessionError) {
        guard canAuthorize else { throw .noSession }
        if isKept { try reload() } else { try keep(unsaved ?? current) }
    }

    /// The request with the access token, whatever it said of authorization before. With more than a minute left
    /// nothing is sent; else the session is refreshed first. When that fails for now, the old token is handed out as
    /// long as it has not expired, and the next refresh is tried after `Retry-After`, or 5 s.
    ///
    /// - Throws: `insecureRequest`; `noSession`, also for an old token without a refresh token; `reauthenticate`;
    ///   `transient`; `refused`; `storage`; `cancelled`.
    public func authorize(_ request: URLRequest) async throws(SessionError) -> URLRequest {
        try SecureHosts.checkScheme(request.url)
        guard canAuthorize else { throw .noSession }
        var request = request
        request.setBearer(try await usableToken())
        return request
    }

    /// Has the session refreshed before its token is used again, also after a restart: an API has answered 401.
    ///
    /// - Throws: `noSession` without a refresh token; `storage`.
    public func setNeedsRefresh() throws(SessionError) {
        guard current.refreshToken != nil else { throw .noSession }
        let refused = current.tokens.accessToken
        try reload()
        // Another process may have refreshed it meanwhile.
        guard current.tokens.accessToken == refused else { return }
        var next = current
        next.needsRefresh = true
        try keep(next)
    }

    /// Ends the calls that wait, with `cancelled`. A refresh under way is finished and kept; later calls work.
    public func stop() { refreshes.releaseWaiters() }
}

extension OAuthSession {
    private func usableToken() async throws(SessionError) -> String {
        if unsaved == nil,
            let token = refreshes.isPaused ? current.unexpiredToken(now()) : current.freshToken(now())
        {
            return token
        }
        do {
            return try await refreshes.outcome { [self] _ throws(SessionError) in try await refresh() }
        } catch {
            guard case .transient = error, let token = current.unexpiredToken(now()) else { throw error }
            return token
        }
    }

    private func refresh() async throws(SessionError) -> String {
        try reload()
        if let token = current.freshToken(now()) { return token }
        guard let sent = current.refreshToken else { throw .noSession }
        try SecureHosts.checkScheme(configuration.tokenEndpoint)
        let endpoint = TokenEndpoint(
            url: configuration.tokenEndpoint, clientID: clientID, clientSecret: current.clientSecret)
        let request = endpoint.refreshRequest(sent, additional: await additionalRefreshParameters())
        let sentAt = now()
        do {
            return try take(try await transport.exchange(request), sentAt: sentAt, for: sent)
        } catch .reauthenticate(let code, let requestID) {
            return try end(sent, .reauthenticate(code: code, requestID: requestID))
        } catch .cancelled {
            // The transport gave up by itself; this task was not cancelled.
            throw .transient(retryAfter: nil)
        }
    }

    /// Makes what was granted the session's, and saves it before it is used: a server that rotates takes the old refresh
    /// token for stolen. A grant that is malformed, or whose ID token is not one for this client, is not used; but the
    /// refresh token in it is by now the only one that the server takes.
    private func take(_ answer: HTTPAnswer, sentAt: Date, for sent: String) throws(SessionError) -> String {
        let members = try answer.granted()
        var next = unsaved ?? current
        // A call meanwhile has found that another process has signed in or refreshed.
        guard next.refreshToken == sent else { return try storedToken() }
        guard let grant = TokenGrant(members, sentAt: sentAt), isAcceptable(grant) else {
            if let rotated = members["refresh_token"]?.string, !rotated.isEmpty, rotated != next.refreshToken {
                next.tokens.refreshToken = rotated
                try keep(next)
            }
            throw .transient(retryAfter: nil, requestID: answer.requestID)
        }
        next.apply(grant)
        try keep(next)
        guard current == next else { return try storedToken() }
        return grant.accessToken
    }

    private func isAcceptable(_ grant: TokenGrant) -> Bool {
        guard let idToken = grant.idToken else { return true }
        guard let claims = IDTokenClaims(idToken) else { return false }
        // The same person's as before (OpenID Connect Core §12.2).
        let before = current.tokens.idToken.flatMap(IDTokenClaims.init)
        return claims.isIssued(to: clientID, by: configuration.issuer, at: now())
            && before.map { $0.subject == claims.subject } ?? true
    }

    /// Forgets the session that the server has ended, unless another process has got newer tokens for it.
    private func end(_ sent: String, _ error: SessionError) throws(SessionError) -> String {
        if isKept, let found = try stored(), found.isSession(of: current) {
            guard found.refreshToken == sent else {
                takeOver(found)
                return try storedToken()
            }
            try store.forget()
        }
        throw over(error)
    }

    /// The token that another process has stored. When that is old too the next call refreshes it.
    private func storedToken() throws(SessionError) -> String {
        guard let token = current.freshToken(now()) else { throw .transient(retryAfter: nil) }
        return token
    }

    /// Takes over what another process has made of the session, or saves what the store did not take.
    private func reload() throws(SessionError) {
        if isKept {
            guard let found = try stored(), found.isSession(of: current) else { throw over(.noSession) }
            takeOver(found)
        }
        guard let next = unsaved else { return }
        try store.keep(try StoredForm.write(next))
        (current, unsaved, isKept) = (next, nil, true)
    }

    /// What has another refresh token is newer than what the store did not take.
    private func takeOver(_ found: StoredOAuthSession) {
        if found.refreshToken != current.refreshToken { unsaved = nil }
        current = found
    }

    private func stored() throws(SessionError) -> StoredOAuthSession? {
        try StoredOAuthSession.read(try store.document())
    }

    /// Saves a session in place of `current`, unless another process has done so by now.
    private func keep(_ next: StoredOAuthSession) throws(SessionError) {
        unsaved = next
        try reload()
    }

    /// The session is over here. What the store has by now is not its own.
    private func over(_ error: SessionError) -> SessionError {
        current.tokens = current.tokens.withoutSecrets
        current.needsRefresh = nil
        isKept = false
        unsaved = nil
        return error
    }
}

extension OAuthSession: Redacted {
    public nonisolated var description: String { "OAuthSession(\(configuration.tokenEndpoint.host ?? ""))" }
}
