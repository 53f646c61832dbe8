package import Accounts
package import JOSE
package import Storage

/// Everything a use case can refuse or fail with. The HTTP layer maps each case to one status and code; which credential
/// check failed never leaves the log.
package enum SignInFailure: Error, Sendable {
    /// A provider's token was refused. `retryAfter` in seconds, when a later try may succeed.
    case credentialRejected(TokenRejection, retryAfter: Int64?)
    /// The provider's keys are not to be had.
    case providerUnavailable(retryAfter: Int64)
    /// This deployment does not offer the provider.
    case providerDisabled
    /// A member of the request can't be accepted: its name, and why.
    case invalidField(String, reason: String)
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
    case linkTicketExpired
    /// Too much work is waiting; nothing was done. `retryAfter` in seconds.
    case overloaded(retryAfter: Int64)
    case storage(StorageFailure)
    /// A fault of ours: nothing the caller can change. The operation is a fixed word for the log.
    case fault(operation: String)
}
