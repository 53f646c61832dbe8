import Accounts
package import HTTPServer
import JOSE
import JSON
package import SignIn

extension SignInFailure: ProblemConvertible {
    package var problem: Problem {
        switch self {
        case .credentialRejected(let rejection, let retryAfter):
            Problem(.invalidToken, reason: rejection.rawValue, retryAfter: retryAfter.map(Int.init(clamping:)))
        case .providerUnavailable(let retryAfter, let reason):
            Problem(.providerUnavailable, reason: reason, retryAfter: Int(clamping: retryAfter))
        case .providerDisabled:
            Problem(.notFound, detail: "This provider is not enabled here.")
        case .missingCredential(let member): Problem(field: member, .required)
        case .memberNotAllowed(let member): Problem(field: member, .notAllowed)
        case .clientIDRequired: Problem(field: "clientId", .required)
        case .redirectURIRefused: Problem(field: "redirectUri", .invalid)
        case .malformedEmail: Problem(field: "email", .invalid)
        case .emailRequired:
            Problem(.invalidRequest, detail: "The account has no email address; set one first.")
        case .weakPassword(let weakness): Problem(.weakPassword, detail: weakness.detail)
        case .invalidCredentials, .proofNoLongerValid, .holderNotShown: Problem(.invalidCredentials)
        case .invalidSession: Problem(.invalidSession)
        case .invalidRefreshToken: Problem(.invalidRefreshToken)
        case .refreshTokenReused: Problem(.refreshTokenReused)
        case .accountDisabled: Problem(.accountDisabled)
        case .identityBlocked:
            Problem(.accountDisabled, detail: "The provider has disabled the person's account there.")
        case .reauthenticationRequired: Problem(.reauthenticationRequired)
        case .emailTaken: Problem(.emailTaken)
        case .identityAlreadyLinked: Problem(.identityAlreadyLinked)
        case .providerAlreadyLinked(let existing):
            Problem(.providerAlreadyLinked) { $0.conflict(with: existing) }
        case .lastSignInMethod: Problem(.lastSignInMethod)
        case .identityNotFound, .sessionNotFound: Problem(.notFound)
        case .linkTicketExpired: Problem(.linkTicketExpired)
        case .webFlowExpired: Problem(.invalidRequest, detail: "This sign-in is over; begin again.")
        case .webAnswerRefused, .webCookieMissing: Problem(.invalidRequest)
        case .webCodeRejected: Problem(.invalidToken)
        case .rateLimited(let kind, let retryAfter):
            Problem(.rateLimited, reason: kind.rawValue, retryAfter: Int(clamping: retryAfter))
        case .mailUnavailable: Problem(.temporarilyUnavailable, reason: "no mail is configured", retryAfter: 3600)
        case .overloaded(let retryAfter):
            Problem(.temporarilyUnavailable, reason: "overloaded", retryAfter: Int(clamping: retryAfter))
        case .storageUnavailable(let reason), .signingUnavailable(let reason):
            Problem(.temporarilyUnavailable, reason: reason)
        case .fault(let operation): Problem(.internalError, reason: operation)
        }
    }
}

extension SignInFailure {
    /// The problem of a *bind*, which alone can resolve a conflict, and has more proofs than the member that it lacks.
    var problemOfBind: Problem {
        switch self {
        case .missingCredential(let member):
            Problem(
                .invalidRequest,
                detail: "This ticket alone proves no account. "
                    + "A proof is a session in Authorization, email and password, or email and emailCode.",
                errors: [FieldError(field: member, reason: .required)])
        case .providerAlreadyLinked(let existing):
            Problem(.providerAlreadyLinked) { writer in
                writer.conflict(with: existing)
                writer.member("resolutions", ["replace", "keep"])
            }
        default: problem
        }
    }
}

extension PasswordPolicy.Weakness {
    fileprivate var detail: String {
        switch self {
        case .tooShort: "The password has less than \(PasswordPolicy.bytes.lowerBound) bytes."
        case .tooLong: "The password has more than \(PasswordPolicy.bytes.upperBound) bytes."
        case .tooCommon: "The password is one of those that are guessed first."
        }
    }
}

extension JSONWriter {
    /// The conflicting identity, with no more than its owner needs to recognise it.
    fileprivate mutating func conflict(with existing: Identity) {
        object("existing") { writer in
            writer.member("email", existing.email?.masked)
            writer.member("linkedAt", existing.linkedAt.rfc3339)
        }
    }
}
