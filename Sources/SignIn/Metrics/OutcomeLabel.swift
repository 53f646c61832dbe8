import Accounts
import JOSE

/// The outcome of a use case as the labels of a metric.
struct OutcomeLabel: Hashable, Sendable {
    enum Outcome: String, CaseIterable {
        case signedIn = "signed_in"
        case linkRequired = "link_required"
        case linked
        case refreshed
        /// Refused by a rule; the service is in order.
        case refused
        /// A dependency of this service was missing, or the service itself failed.
        case unavailable
    }

    let outcome: Outcome
    /// One of our own codes; `-` where nothing went wrong.
    let reason: String

    init(_ outcome: Outcome, _ reason: String = "-") {
        self.outcome = outcome
        self.reason = reason
    }
}

extension OutcomeLabel {
    /// The label of a failure: a credential's reason code, a limit's name, otherwise the code in the client's answer.
    init(_ failure: SignInFailure) {
        switch failure {
        case .credentialRejected(let rejection, _): self.init(.refused, rejection.rawValue)
        case .rateLimited(let kind, _): self.init(.refused, kind.rawValue)
        case .providerDisabled, .missingCredential, .memberNotAllowed, .clientIDRequired, .redirectURIRefused,
            .malformedEmail,
            .emailRequired, .webFlowExpired, .webAnswerRefused, .webCookieMissing:
            self.init(.refused, "invalid_request")
        case .weakPassword: self.init(.refused, "weak_password")
        case .invalidCredentials, .proofNoLongerValid, .holderNotShown: self.init(.refused, "invalid_credentials")
        case .invalidSession: self.init(.refused, "invalid_session")
        case .invalidRefreshToken: self.init(.refused, "invalid_refresh_token")
        case .webCodeRejected: self.init(.refused, "invalid_token")
        case .refreshTokenReused: self.init(.refused, "refresh_token_reused")
        case .accountDisabled, .identityBlocked: self.init(.refused, "account_disabled")
        case .reauthenticationRequired: self.init(.refused, "reauthentication_required")
        case .emailTaken: self.init(.refused, "email_taken")
        case .identityAlreadyLinked: self.init(.refused, "identity_already_linked")
        case .providerAlreadyLinked: self.init(.refused, "provider_already_linked")
        case .lastSignInMethod: self.init(.refused, "last_sign_in_method")
        case .identityNotFound, .sessionNotFound: self.init(.refused, "not_found")
        case .linkTicketExpired: self.init(.refused, "link_ticket_expired")
        case .providerUnavailable(_, TokenRejection.keysUnavailable.rawValue):
            self.init(.unavailable, TokenRejection.keysUnavailable.rawValue)
        case .providerUnavailable: self.init(.unavailable, "provider_unavailable")
        case .mailUnavailable: self.init(.unavailable, "mail_unavailable")
        case .overloaded: self.init(.unavailable, "overloaded")
        case .storageUnavailable: self.init(.unavailable, "database_unavailable")
        case .signingUnavailable, .fault: self.init(.unavailable, "internal_error")
        }
    }

    static let unavailable = ["overloaded", "database_unavailable", "internal_error"].map {
        OutcomeLabel(.unavailable, $0)
    }

    static func refused(_ reasons: String...) -> [OutcomeLabel] { reasons.map { OutcomeLabel(.refused, $0) } }

    static func refused(_ kinds: LimitKind...) -> [OutcomeLabel] { kinds.map { OutcomeLabel(.refused, $0.rawValue) } }

    /// The failures in which a provider's credential can end.
    static let ofCredential =
        TokenRejection.allCases.filter { $0 != .keysUnavailable }.map { OutcomeLabel(.refused, $0.rawValue) }
        + refused("invalid_request") + refused(.junkCodesPerNetwork) + unavailable
        + [OutcomeLabel(.unavailable, "keys_unavailable"), OutcomeLabel(.unavailable, "provider_unavailable")]
}
