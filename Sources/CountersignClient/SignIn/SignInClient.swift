public import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Signs people in with a Countersign server, and keeps them signed in.
///
/// One client per store and process; extensions of an app have a client of their own on the same store. Any number of
/// tasks may use one at a time: a refresh that several need is made once.
///
/// Tokens go only to the host of the base URL and to the named resource hosts, over https.
public actor SignInClient {
    nonisolated let server: Server
    nonisolated let issuer: String
    nonisolated let device: DeviceDescription
    nonisolated let now: @Sendable () -> Date
    nonisolated let sessionStates = SessionStates()

    var keeper: SessionKeeper
    /// Why the last session ended, until the next one shows, or a sign-out.
    var endedCode: String?
    /// Renounced by each sign-in, sign-out and end. The outcome is nil when the session is no longer the client's.
    let refreshes: SharedRefresh<StoredSession?>
    /// Names that Apple has given while the store took nothing.
    var unkeptNames: [String: StoredName] = [:]
    /// Attempts of web sign-in whose code was sent, by their state.
    var spentAttempts: Set<String> = []
    /// Answers to other apps that are being asked for, by the request.
    var answering: [String: Task<URL, Never>] = [:]

    /// - Parameters:
    ///   - baseURL: the public URL of the server, https.
    ///   - store: where the session is kept. A store serves one client, or clients of one server and user.
    ///   - transport: how requests are sent.
    ///   - resourceHosts: hosts besides that of the base URL that may get the token: the app's own APIs.
    ///   - allowsLoopbackHTTP: allows http to 127.0.0.1, ::1 and localhost, for development.
    ///   - device: what the person's list of devices calls this one; `name` may be what the person calls it, if the app
    ///     has asked them.
    ///   - issuer: the `iss` of the server's redirects where it is not the base URL (`tokens.issuer`).
    ///   - now: the clock.
    public init(
        baseURL: URL, store: any SessionStore, transport: any HTTPTransport = URLSessionTransport(),
        resourceHosts: Set<String> = [], allowsLoopbackHTTP: Bool = false,
        device: DeviceDescription = .current, issuer: String? = nil, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        let hosts = resourceHosts.union([SecureHosts.host(of: baseURL) ?? ""])
        server = Server(
            baseURL: baseURL, transport: transport,
            hosts: SecureHosts(hosts, allowsLoopbackHTTP: allowsLoopbackHTTP), allowsLoopbackHTTP: allowsLoopbackHTTP)
        self.device = device
        self.issuer = issuer ?? baseURL.absoluteString
        self.now = now
        keeper = SessionKeeper(store)
        refreshes = SharedRefresh(now: now)
    }

    /// Whether there is a session, as far as this client knows: the store is looked at only while it knows of none. What
    /// an extension of the app has ended shows with the next refresh, or when the server refuses its token. Sends nothing.
    public var canAuthorize: Bool {
        _ = try? loaded()
        return keeper.shown != nil
    }

    /// The state now, then each change, for any number of observers. A stream ends with its client.
    ///
    /// As long as the store can't be loaded, as before the first unlock after a start, there is no state and streams are
    /// silent; each call looks again, and each new stream. A store with a document that this version can't read counts as
    /// signed out: a sign-in replaces it.
    public nonisolated var states: AsyncStream<SessionState> {
        let stream = sessionStates.stream()
        // Every call begins by announcing the state it found, so this one can't come too late.
        if !sessionStates.isSignedIn { Task { await self.begin() } }
        return stream
    }

    /// Announces the state as the store has it; a store that could not be loaded before may be now. Calls without a
    /// session begin with it.
    func begin() {
        guard !sessionStates.isSignedIn else { return }
        _ = try? keeper.current()
        announce()
    }

    /// The document, from memory or the store.
    @discardableResult
    func loaded() throws(SessionError) -> SessionDocument {
        // What can't be read before the first unlock is no other state than the one that is shown.
        let document = try keeper.current()
        announce()
        return document
    }

    /// The session that is signed in, however old its token is.
    func signedIn() throws(SessionError) -> StoredSession {
        guard let session = try loaded().session else { throw .noSession }
        return session
    }

    func announce() {
        if let session = keeper.shown {
            endedCode = nil
            sessionStates.announce(.signedIn(accountID: session.accountID))
        } else if let endedCode {
            sessionStates.announce(.ended(code: endedCode))
        } else if keeper.isStoreKnown || sessionStates.last != nil {
            sessionStates.announce(.signedOut)
        }
    }
}

extension SignInClient: Redacted {
    public nonisolated var description: String { "SignInClient(\(server.baseURL.host ?? ""))" }
}
