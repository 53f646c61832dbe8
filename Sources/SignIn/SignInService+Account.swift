package import Accounts
import Storage

extension SignInService {
    /// Deletes the account of the session, and promises the end of what its owner authorized at the providers.
    package func deleteAccount(of session: Session, client: Client) async throws(SignInFailure) {
        let now = clock.now()
        guard session.isFresh(at: now) else { throw .reauthenticationRequired }
        let event = AuditEvent(.accountDeleted, by: .person, requestID: client.requestID)
        guard try await stored({ try await stores.accounts.delete(session.accountID, by: event, at: now) }) else {
            throw .invalidSession
        }
    }

    /// Unlinks one of the account's identities, ends the sessions that it opened, and promises the end of its
    /// authorization.
    package func unlink(
        _ identityID: IdentityID, of session: Session, client: Client
    ) async throws(SignInFailure) {
        let now = clock.now()
        guard session.isFresh(at: now) else { throw .reauthenticationRequired }
        let event = AuditEvent(.identityUnlinked, by: .person, requestID: client.requestID)
        let outcome = try await stored {
            try await stores.accounts.unlink(identityID, from: session.accountID, by: event, at: now)
        }
        switch outcome {
        case .unlinked, .kept: return
        case .lastSignInMethod: throw .lastSignInMethod
        case .notFound: throw .identityNotFound
        }
    }
}
