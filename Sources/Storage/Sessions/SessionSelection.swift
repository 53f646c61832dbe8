import Accounts
import Postgres

/// The sessions that a change ends.
enum SessionSelection: Sendable {
    case session(SessionID)
    /// One that has not expired, of that account if one is given.
    case live(SessionID, of: AccountID? = nil)
    case ofAccount(AccountID, except: SessionID? = nil)
    /// Those of web pages, which end with the link of a client.
    case inBrowsers(of: AccountID, except: SessionID?)
    /// Those that sign-ins with an identity have opened; with a time, those whose authentication is not later.
    case openedBy(IdentityID, authenticatedUntil: Timestamp? = nil)

    /// The condition on `sessions`, named `s`.
    func condition(at now: Timestamp) -> SQL {
        switch self {
        case .session(let id):
            return "s.session_id = \(id)"
        case .live(let id, let account):
            let isOfAccount: SQL = if let account { "s.account_id = \(account)" } else { "true" }
            return "s.session_id = \(id) AND \(isOfAccount) AND s.expires_at > \(now)"
        case .ofAccount(let id, except: nil):
            return "s.account_id = \(id)"
        case .ofAccount(let id, let kept?):
            return "s.account_id = \(id) AND s.session_id <> \(kept)"
        case .inBrowsers(let id, let kept):
            return """
                s.account_id = \(id) AND s.session_id IS DISTINCT FROM \(kept)
                    AND s.session_id IN (SELECT w.session_id FROM web_sessions w)
                """
        case .openedBy(let id, authenticatedUntil: nil):
            return "s.identity_id = \(id)"
        case .openedBy(let id, let time?):
            return "s.identity_id = \(id) AND COALESCE(s.provider_auth_time, s.auth_time) <= \(time)"
        }
    }
}
