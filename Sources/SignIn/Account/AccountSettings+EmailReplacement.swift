package import Accounts
import Storage

/// The replacement of an account's address that an administrator has requested, seen from a session of the account.
extension AccountSettings {
    package func emailReplacement(of session: Session) async throws(SignInFailure) -> EmailReplacement? {
        try await stored { try await replacements.pending(of: session.accountID) }
    }

    /// Stops the replacement, if there is one. Any live session may, however old its authentication is: who finds out late
    /// that somebody has deceived an administrator has to be quick.
    package func cancelEmailReplacement(of session: Session, client: Client) async throws(SignInFailure) {
        let now = clock.now()
        let isLive = try await stored {
            try await replacements.cancel(in: session, at: now, from: mailLanguages.origin(of: client))
        }
        guard isLive else { throw .invalidSession }
    }
}
