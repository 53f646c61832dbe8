/// Everything that the library throws. No case holds a token, a code or an address; server codes are shown as they came
/// because they are checked to be names.
///
/// `requestID` is the server's name for the request, for its operator and for support; equality ignores it.
public enum SessionError: Error, Sendable, Equatable {
    /// The session is over and no longer stored; ask the person to sign in. `invalid_refresh_token`,
    /// `refresh_token_reused`, `invalid_session` right after a refresh, or `invalid_grant` of an OAuth server.
    case reauthenticate(code: String, requestID: String? = nil)
    /// Nothing is lost; try again later, after `retryAfter` seconds where the server says so. No network, 429, 5xx, a
    /// redirect, or an answer that is not what the protocol says. The call may have been done all the same: <doc:SignIn>
    /// names those that are not to be repeated.
    case transient(retryAfter: Int?, requestID: String? = nil)
    /// The URL is not https. Nothing was sent.
    case insecureRequest
    /// There is no session.
    case noSession
    /// The caller's task was cancelled, the session was stopped, or another person has signed in since the call began: it
    /// is not done as them. A refresh that others wait for goes on.
    case cancelled
    /// The server said no, with one of its codes, or the library did with status 0 and sent nothing. Repeating the call
    /// does not help; the session is as it was. `invalid_token` may also mean a key of the provider's that the server does
    /// not have yet: another sign-in after a minute may succeed.
    case refused(code: String, status: Int, requestID: String? = nil)
    /// The store failed, or holds what this version can't read. What it holds is left as it is.
    case storage(String)
}

extension SessionError {
    /// The server's name for the request (`X-Request-Id`); nil where there was no answer, or none with one.
    public var requestID: String? {
        switch self {
        case .reauthenticate(_, let id), .transient(_, let id), .refused(_, _, let id): id
        case .insecureRequest, .noSession, .cancelled, .storage: nil
        }
    }

    public static func == (one: Self, other: Self) -> Bool {
        switch (one, other) {
        case (.reauthenticate(let code, _), .reauthenticate(let otherCode, _)): code == otherCode
        case (.transient(let seconds, _), .transient(let otherSeconds, _)): seconds == otherSeconds
        case (.refused(let code, let status, _), .refused(let otherCode, let otherStatus, _)):
            code == otherCode && status == otherStatus
        case (.storage(let text), .storage(let otherText)): text == otherText
        case (.insecureRequest, .insecureRequest), (.noSession, .noSession), (.cancelled, .cancelled): true
        default: false
        }
    }
}

extension SessionError {
    /// The failure of a store or a source of the caller's. Its own description stays out, as it may quote what it was
    /// to store.
    init(storing error: any Error) {
        self = (error as? SessionError) ?? .storage("the store failed: \(type(of: error))")
    }

    /// The failure of a transport.
    init(sending error: any Error) {
        switch error {
        case let error as SessionError: self = error
        case is CancellationError: self = .cancelled
        default: self = .transient(retryAfter: nil)
        }
    }
}
