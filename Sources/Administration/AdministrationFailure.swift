import Accounts
package import Postgres
import SignIn
import Storage

/// The reason why an administrator's call failed.
package enum AdministrationFailure: Error, Equatable, Sendable {
    /// No such key, or one that was revoked.
    case unknownKey
    /// The key lacks the scope.
    case forbidden
    case notFound
    /// The configuration has the endpoint, and the service has not seen it there.
    case endpointUnseen
    /// No cursor of ours, and no event of the feed.
    case unknownCursor
    /// What follows it in the feed is not kept any more.
    case cursorExpired
    /// The identity is the last sign-in method of an account that is in use.
    case lastSignInMethod
    /// The account has no sign-in method left: enabling it needs an address.
    case emailRequired
    /// The account has a sign-in method, so only its owner may set its address.
    case emailNotAllowed
    case emailTaken
    /// The account has no address to which anything could be mailed.
    case addressMissing
    /// The account has the address that it is to be given.
    case emailUnchanged
    case accountDisabled
    /// This deployment sends no mail.
    case mailUnavailable
    /// The address has had as many codes as it may; `retryAfter` in seconds.
    case rateLimited(retryAfter: Int64)
    /// Too many exports are being made, or as much else of one kind; `retryAfter` in seconds.
    case overloaded(retryAfter: Int)
    /// The endpoint has as many replays as it may; whether one of them ends soon.
    case replaysUnderWay(oneEndsSoon: Bool)
    case database(PostgresError)
    /// The database failed a use case of sign-in, and may soon do what was asked. The detail is for the log.
    case storageUnavailable(detail: String)
    /// The task was cancelled: the process is ending.
    case cancelled
    case fault(operation: String)
}

extension AdministrationFailure {
    /// What a storage call threw: a refusal of the change, or a failure.
    package init(stored error: any Error) {
        guard let refusal = error as? Refusal else {
            self =
                switch error {
                case let error as PostgresError: .database(error)
                case is WebhookStore.Unseen: .endpointUnseen
                case let error as WebhookStore.ReplaysUnderWay: .replaysUnderWay(oneEndsSoon: error.oneEndsSoon)
                case is CancellationError: .cancelled
                default: .fault(operation: String(reflecting: error))
                }
            return
        }
        self =
            switch refusal {
            case .accountNotFound, .identityNotFound, .sessionGone: .notFound
            case .accountDisabled: .accountDisabled
            case .lastSignInMethod: .lastSignInMethod
            case .emailTaken: .emailTaken
            case .emailUnchanged: .emailUnchanged
            case .emailRequired: .emailRequired
            case .emailNotAllowed: .emailNotAllowed
            case .ticketExpired, .proofNoLongerValid, .holderNotShown, .identityAlreadyLinked, .providerAlreadyLinked,
                .codeGone, .sessionNotFresh:
                .fault(operation: "\(refusal)")
            }
    }
}

extension AdministrationFailure {
    /// Whether the same call may succeed soon.
    package var isTemporary: Bool {
        switch self {
        case .database(let error): error.isTemporary
        case .storageUnavailable, .rateLimited, .overloaded, .replaysUnderWay, .mailUnavailable, .cancelled: true
        default: false
        }
    }

    /// What a limit threw, or mailing a code.
    init(limiting failure: SignInFailure) {
        self =
            switch failure {
            case .rateLimited(_, let retryAfter): .rateLimited(retryAfter: retryAfter)
            case .mailUnavailable: .mailUnavailable
            case .overloaded(let retryAfter): .overloaded(retryAfter: Int(clamping: retryAfter))
            case .storageUnavailable(let detail): .storageUnavailable(detail: detail)
            case .credentialRejected, .providerUnavailable, .providerDisabled, .missingCredential, .memberNotAllowed,
                .clientIDRequired, .redirectURIRefused, .malformedEmail, .emailRequired, .weakPassword,
                .invalidCredentials, .invalidSession, .invalidRefreshToken, .refreshTokenReused, .accountDisabled,
                .identityBlocked, .reauthenticationRequired, .emailTaken, .identityAlreadyLinked,
                .providerAlreadyLinked, .lastSignInMethod, .identityNotFound, .linkTicketExpired, .proofNoLongerValid,
                .holderNotShown, .webFlowExpired, .webAnswerRefused, .webCookieMissing, .webCodeRejected,
                .sessionNotFound,
                .signingUnavailable, .fault:
                .fault(operation: "limit: \(failure)")
            }
    }

    /// For a log: no parameter and no row.
    package var detail: String { if case .database(let error) = self { error.debugDescription } else { "\(self)" } }

    /// Why an act can't be done, where another try or another act may help; `nil` for the others.
    package var sentence: String? {
        switch self {
        case .endpointUnseen: "The service has not seen this endpoint yet: start or reload it with this configuration."
        case .lastSignInMethod: "It is the last way to sign in to an account that is in use."
        case .emailRequired: "The account has no way to sign in left: give it an address."
        case .emailNotAllowed: "The account has a way to sign in: only its owner sets its address."
        case .emailTaken: "Another account has this address."
        case .emailUnchanged: "The account has this address already."
        case .accountDisabled: "The account is disabled: enable it first."
        case .mailUnavailable: "This deployment sends no mail."
        case .addressMissing: "The account has no address."
        case .rateLimited(let seconds):
            "The address has had as many codes as it may. Try again in \((seconds + 59) / 60) minutes."
        case .overloaded(let seconds): "Too much of this is under way. Try again in \(seconds) s."
        case .storageUnavailable: "The database can't be used right now. Try again in a moment."
        case .replaysUnderWay(let oneEndsSoon):
            """
            \(WebhookStream.maximumReplays) replays to this endpoint are under way, which is the most. Try again in a \
            \(oneEndsSoon ? "second." : "minute; while it is paused, none of them ends.")
            """
        case .unknownKey, .forbidden, .notFound, .unknownCursor, .cursorExpired, .database, .cancelled, .fault: nil
        }
    }
}

/// Runs a storage call.
func stored<Value: Sendable>(_ operation: () async throws -> Value) async throws(AdministrationFailure) -> Value {
    do {
        return try await operation()
    } catch {
        throw AdministrationFailure(stored: error)
    }
}

/// Runs a storage call that says whether there was what it changes.
func changed(_ operation: () async throws -> Bool) async throws(AdministrationFailure) {
    guard try await stored(operation) else { throw .notFound }
}

/// Runs a storage call that finds something.
func found<Value: Sendable>(_ operation: () async throws -> Value?) async throws(AdministrationFailure) -> Value {
    guard let value = try await stored(operation) else { throw .notFound }
    return value
}
