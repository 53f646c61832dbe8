package import Accounts
package import SignIn
import Storage

/// What a person has linked.
extension OAuthServer {
    package func linkedClients(of session: Session) async throws(SignInFailure) -> [LinkedClient] {
        try await SignIn.stored { try await grants.linkedClients(of: session.accountID) }
    }

    /// Unlinks a client: its tokens and codes are dead at once.
    ///
    /// - Returns: whether it was linked.
    package func unlink(
        _ id: OAuthClientID, of session: Session, client caller: Client
    ) async throws(SignInFailure) -> Bool {
        let now = clock.now()
        let isEnded = try await SignIn.stored {
            try await grants.end(id, in: session, at: now, from: signIn.origin(of: caller))
        }
        guard let isEnded else { throw .invalidSession }
        return isEnded
    }
}
