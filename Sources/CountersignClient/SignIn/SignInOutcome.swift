/// What a sign-in comes to. `linkRequired` leaves a session of before alone.
public enum SignInOutcome: Sendable, Equatable {
    case signedIn(ClientAccount)
    /// The identity is not linked to an account yet: ask the person, then `create` or `bind`.
    case linkRequired(LinkTicket)
}

/// A proof that the account is the person's; exactly one is sent.
public enum BindProof: Sendable {
    /// The session that is signed in; it has to be fresh.
    case session
    case password(email: String, password: String)
    /// A code that `requestCode(to:for:)` had mailed.
    case emailCode(email: String, code: String)
    /// None: for a ticket that proves its holder (``LinkTicket/provesHolder``).
    case ticket
}

extension BindProof: Redacted {
    public var description: String {
        switch self {
        case .session: "session"
        case .password: "password"
        case .emailCode: "emailCode"
        case .ticket: "ticket"
        }
    }
}

/// What *bind* comes to. Without `signedIn` the ticket stays good.
public enum BindOutcome: Sendable, Equatable {
    case signedIn(ClientAccount)
    /// The account has another identity of this provider: bind again with `replacing`, or keep that one.
    case conflict(maskedEmail: String?)
    /// The code was right, and the server shows whose account it is first. Ask the person; the ticket, the same as before,
    /// then binds alone.
    case holder(LinkTicket)
}

/// Whether there is a session.
public enum SessionState: Sendable, Equatable {
    case signedOut
    case signedIn(accountID: String)
    /// The server has ended the session; the code says why.
    case ended(code: String)
}
