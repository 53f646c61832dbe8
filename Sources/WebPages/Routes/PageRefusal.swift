import Accounts
import HTTPServer
import OAuthServer
import SignIn

/// A refusal that its page explains better than its code does.
struct PageRefusal: ProblemConvertible {
    let failure: FailurePage.Failure
    let problem: Problem
    /// A page from which the person can begin again.
    let retryLink: String?
    /// The app or the client that it is of, if it is none of ours.
    let appName: String?
    /// Those of its flow, if it is of one.
    let languages: [String]?

    init(
        _ failure: FailurePage.Failure, _ problem: Problem, retryLink: String? = nil, appName: String? = nil,
        languages: [String]? = nil
    ) {
        self.failure = failure
        self.problem = problem
        self.retryLink = retryLink
        self.appName = appName
        self.languages = languages
    }
}

extension WebAPI {
    /// The refusal of a flow that is not under way.
    func refusal(
        _ failure: FailurePage.Failure, _ problem: Problem, of past: PastWebFlow?
    ) async throws(SignInFailure) -> PageRefusal {
        var link: String?
        var appName: String?
        switch past?.wayBack {
        case .account?: link = AccountPath.account.naming(past?.languages ?? [])
        case .app(let answer)?:
            link = answer.uri
            appName = answer.appName
        case .client(let authorization, let name)?:
            link = try await oauth?.wayBack(from: authorization)
            if link != nil { appName = name }
        case nil: break
        }
        return PageRefusal(failure, problem, retryLink: link, appName: appName, languages: past?.languages)
    }
}

extension FailurePage.Failure {
    /// The page of an error that a handler has thrown.
    init(_ error: any Error, _ problem: Problem) {
        switch error {
        case let refusal as PageRefusal: self = refusal.failure
        case SignInFailure.webFlowExpired, SignInFailure.linkTicketExpired: self = .flowExpired
        case SignInFailure.webAnswerRefused: self = .answerRefused
        case SignInFailure.webCookieMissing: self = .cookiesMissing
        default: self.init(problem.code)
        }
    }

    private init(_ code: Problem.Code) {
        switch code {
        case .invalidToken: self = .answerRefused
        case .invalidRequest, .weakPassword, .invalidCredentials, .invalidSession, .invalidRefreshToken,
            .cursorExpired, .refreshTokenReused, .emailTaken, .identityAlreadyLinked, .providerAlreadyLinked,
            .lastSignInMethod,
            .payloadTooLarge, .unsupportedMediaType:
            self = .invalidRequest
        case .accountDisabled: self = .accountDisabled
        case .forbidden: self = .formExpired
        case .reauthenticationRequired: self = .reauthenticationRequired
        case .notFound: self = .notFound
        case .methodNotAllowed: self = .methodNotAllowed
        case .linkTicketExpired: self = .flowExpired
        case .rateLimited: self = .tooManyRequests
        case .internalError: self = .internalError
        case .providerUnavailable, .temporarilyUnavailable: self = .unavailable
        }
    }
}

extension FormError {
    /// What a form says that is shown again; `nil` for a failure that another try doesn't mend.
    ///
    /// - Parameter wrong: what wrong credentials are in this form.
    init?(_ failure: SignInFailure, wrong: FormError) {
        switch failure {
        case .invalidCredentials: self = wrong
        case .malformedEmail: self = .invalidEmail
        case .missingCredential("password"): self = .missingPassword
        case .missingCredential("currentPassword"): self = .wrongCurrentPassword
        case .missingCredential("code"), .missingCredential("emailCode"): self = .missingCode
        case .weakPassword: self = .weakPassword
        case .emailTaken: self = .emailTaken
        case .identityAlreadyLinked: self = .identityAlreadyLinked
        case .providerAlreadyLinked: self = .providerAlreadyLinked
        case .lastSignInMethod: self = .lastSignInMethod
        case .accountDisabled: self = .accountDisabled
        case .identityBlocked: self = .identityBlocked
        case .rateLimited: self = .tooManyTries
        case .mailUnavailable: self = .mailUnavailable
        case .providerUnavailable: self = .providerUnavailable
        default: return nil
        }
    }
}
