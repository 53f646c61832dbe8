package import Accounts
package import SignIn
import Storage

/// What a person has linked.
extension OAuthServer {
    package func linkedClients(of session: Session, by call: Call) async throws(SignInFailure) -> [LinkedClient] {
        try await SignIn.stored { try await grants.linkedClients(of: session.accountID, by: call) }
    }

    /// Unlinks a client: its tokens and codes are dead at once.
    ///
    /// - Returns: whether it was linked.
    package func unlink(_ id: OAuthClientID, of session: Session, by call: Call) async throws(SignInFailure) -> Bool {
        try await SignIn.stored { try await grants.end(id, in: session, by: call) }
    }

    /// Counts a link that a client asks for.
    func countLink(of account: AccountID, by call: Call) async throws(OAuthFailure) {
        try await clientCall { () throws(SignInFailure) in
            try await signIn.accounts.countLink(of: account, by: call)
        }
    }
}
