package import Accounts
package import JOSE
import Storage

/// Everything a use case can refuse or fail with. The HTTP layer maps each case to one status and code; which credential
/// check failed never leaves the log.
package enum SignInFailure: Error, Equatable, Sendable {
    /// A provider's token was refused. `retryAfter` in seconds, when a later try may succeed.
    case credentialRejected(TokenRejection, retryAfter: Int64?)
    /// The provider could not be used. `retryAfter` in seconds; the reason is for the log.
    case providerUnavailable(retryAfter: Int64, reason: String)
    /// This deployment does not offer the provider.
    case providerDisabled
    /// The request carries no credential; the value names the missing member.
    case missingCredential(String)
    /// The request has a member, named by the value, that its ticket does not take.
    case memberNotAllowed(String)
    /// A code without a token, which could belong to any of several clients.
    case clientIDRequired
    /// The code's redirect URI is not a configured one.
    case redirectURIRefused
    case malformedEmail
    /// The account has no address, and the operation needs one.
    case emailRequired
    case weakPassword(PasswordPolicy.Weakness)
    case invalidCredentials
    case invalidSession
    case invalidRefreshToken
    case refreshTokenReused
    case accountDisabled
    /// The provider has disabled the account there that the identity is of. Other ways may open the account here.
    case identityBlocked
    case reauthenticationRequired
    case emailTaken
    case identityAlreadyLinked
    /// The account has another identity of the provider: this one.
    case providerAlreadyLinked(Identity)
    case lastSignInMethod
    /// There is no such identity, or it belongs to another account.
    case identityNotFound
    case linkTicketExpired
    /// The proof of the account no longer holds. Never answered: callers turn it into the failure of the proof, or offer a
    /// link ticket.
    case proofNoLongerValid
    /// A mailed code leads into this account, which its person has yet to see. Never answered: *bind* shows it.
    case holderNotShown(Account)
    /// There is no such web flow, it is over, or it belongs to another browser.
    case webFlowExpired
    /// No web flow waits for this answer of a provider from this browser.
    case webAnswerRefused
    /// One waits for it, of a browser that has lost its cookie on the way, or of another one.
    case webCookieMissing
    /// The code of a web flow is unknown, spent, expired or another app's.
    case webCodeRejected
    /// A limit is used up; `retryAfter` in seconds.
    case rateLimited(LimitKind, retryAfter: Int64)
    /// This deployment sends no mail.
    case mailUnavailable
    /// There is no such session, or it belongs to another account.
    case sessionNotFound
    /// Too much work is waiting; nothing was done. `retryAfter` in seconds.
    case overloaded(retryAfter: Int64)
    /// The database is away, restarting, full or busy. The detail is for the log.
    case storageUnavailable(detail: String)
    /// The current signing key can't be opened by this process, so it signs no tokens. The reason is for the log.
    case signingUnavailable(reason: String)
    /// A fault of ours: nothing the caller can change. The operation is for the log.
    case fault(operation: String)

    /// Whether the database failed, so that it is unknown what is stored.
    var isOfStorage: Bool {
        switch self {
        case .storageUnavailable, .fault: true
        default: false
        }
    }

    /// What a storage call threw: a refusal of the change, a failure, or what a closure of ours threw in it.
    package init(stored error: any Error) {
        if let failure = error as? SignInFailure {
            self = failure
            return
        }
        guard let refusal = error as? Refusal else {
            let failure = StorageFailure(error)
            self =
                failure.isTemporary
                ? .storageUnavailable(detail: failure.debugDescription) : .fault(operation: failure.debugDescription)
            return
        }
        self =
            switch refusal {
            case .sessionGone, .accountNotFound: .invalidSession
            case .sessionNotFresh: .reauthenticationRequired
            case .accountDisabled: .accountDisabled
            case .identityNotFound: .identityNotFound
            case .lastSignInMethod: .lastSignInMethod
            case .ticketExpired: .linkTicketExpired
            case .proofNoLongerValid: .proofNoLongerValid
            case .holderNotShown(let account): .holderNotShown(account)
            case .identityAlreadyLinked: .identityAlreadyLinked
            case .providerAlreadyLinked(let existing): .providerAlreadyLinked(existing)
            case .codeGone: .invalidCredentials
            case .emailTaken: .emailTaken
            case .emailRequired: .emailRequired
            case .emailUnchanged, .emailNotAllowed: .fault(operation: "\(refusal)")
            }
    }
}

/// Runs a storage call and turns its error into a failure of the use case.
package func stored<Result: Sendable>(_ operation: () async throws -> Result) async throws(SignInFailure) -> Result {
    do {
        return try await operation()
    } catch {
        throw SignInFailure(stored: error)
    }
}
