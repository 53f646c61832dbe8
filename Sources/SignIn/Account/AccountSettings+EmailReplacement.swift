package import Accounts
import Storage

/// The replacement of an account's address that an administrator has requested, seen from a session of the account.
extension AccountSettings {
    /// Stops the replacement, if there is one. No fresh sign-in is needed: the owner must be able to stop an
    /// impostor's request at once.
    package func cancelEmailReplacement(of session: Session, by call: Call) async throws(SignInFailure) {
        try await stored { try await replacements.cancel(in: session, by: call) }
    }
}
