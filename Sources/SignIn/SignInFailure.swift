package import Accounts
package import JOSE
import Storage

/// Everything a use case can refuse or fail with. The HTTP layer maps each case to one status and code; which credential
/// check failed never leaves the log.
package enum SignInFailure: Error, Sendable {
    /// A provider's token was refused. `retryAfter` in seconds, when a later try may succeed.
    case credentialRejected(TokenRejection, retryAfter: Int64?)
    /// The provider can't be asked, for a reason that is for the log; `retryAfter` in seconds.
    case providerUnavailable(retryAfter: Int64, reason: String)
    /// This deployment does not offer the provider.
    case providerDisabled
    /// The request brought nothing to sign in with: the member that would.
    case missingCredential(String)
    /// A code came alone, and it could be for any of several clients.
    case clientIDRequired
    /// Codes of this redirect URI are not taken.
    case redirectURIRefused
    case malformedEmail
    /// The account has no address, and what was asked for needs one.
    case emailRequired
    case weakPassword
    case invalidCredentials
    case invalidSession
    case invalidRefreshToken
    case refreshTokenReused
    case accountDisabled
    case reauthenticationRequired
    case emailTaken
    case identityAlreadyLinked
    /// The account has another identity of the provider: this one.
    case providerAlreadyLinked(Identity)
    case lastSignInMethod
    /// There is no such identity, or it is somebody else's.
    case identityNotFound
    case linkTicketExpired
    /// What proved the account no longer does. Told to nobody: it becomes the failure of the proof, or a question.
    case proofNoLongerValid
    /// A limit is used up; `retryAfter` in seconds.
    case rateLimited(LimitKind, retryAfter: Int64)
    /// No mail is sent here.
    case mailUnavailable
    /// There is no such session, or it is somebody else's.
    case sessionNotFound
    /// Too much work is waiting; nothing was done. `retryAfter` in seconds.
    case overloaded(retryAfter: Int64)
    /// The database is away, restarting, full or busy. The detail is for the log.
    case storageUnavailable(detail: String)
    /// The key whose turn it is can't be opened by this process, so it signs no tokens. The reason is for the log.
    case signingUnavailable(reason: String)
    /// A fault of ours: nothing the caller can change. The operation is for the log.
    case fault(operation: String)

    init(_ failure: StorageFailure) {
        self =
            failure.isTemporary
            ? .storageUnavailable(detail: failure.debugDescription) : .fault(operation: failure.debugDescription)
    }
}
