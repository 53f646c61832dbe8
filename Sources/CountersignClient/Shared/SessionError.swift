/// Everything that the library throws. No case holds a token, a code or an address; server codes are shown as they came
/// because they are checked to be names.
public enum SessionError: Error, Sendable, Equatable {
    /// The session is over and no longer stored; ask the person to sign in. `invalid_refresh_token`,
    /// `refresh_token_reused`, `invalid_session` right after a refresh, or `invalid_grant` of an OAuth server.
    case reauthenticate(code: String)
    /// Nothing is lost; try again later, after `retryAfter` seconds where the server says so. No network, 429, 5xx, a
    /// redirect, or an answer that is not what the protocol says.
    case transient(retryAfter: Int?)
    /// The URL is not https. Nothing was sent.
    case insecureRequest
    /// Nobody is signed in.
    case noSession
    /// The caller's task was cancelled, or the session was stopped. A refresh that others wait for goes on.
    case cancelled
    /// The server said no, with one of its codes, or the library did with status 0 and sent nothing. Repeating the call
    /// does not help; the session is as it was.
    case refused(code: String, status: Int)
    /// The store failed, or holds what this version can't read. What it holds is left as it is.
    case storage(String)
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
