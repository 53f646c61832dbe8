package import JSON

/// An error response, `application/problem+json` (RFC 9457).
package struct Problem: Error, Sendable {
    /// Every code that this service puts on the wire. Clients switch on them; a test pins them.
    package enum Code: String, CaseIterable, Sendable {
        case invalidRequest = "invalid_request"
        case weakPassword = "weak_password"
        case invalidToken = "invalid_token"
        case invalidCredentials = "invalid_credentials"
        case invalidSession = "invalid_session"
        case invalidRefreshToken = "invalid_refresh_token"
        case refreshTokenReused = "refresh_token_reused"
        case accountDisabled = "account_disabled"
        case forbidden = "forbidden"
        case reauthenticationRequired = "reauthentication_required"
        case notFound = "not_found"
        case methodNotAllowed = "method_not_allowed"
        case emailTaken = "email_taken"
        case identityAlreadyLinked = "identity_already_linked"
        case providerAlreadyLinked = "provider_already_linked"
        case lastSignInMethod = "last_sign_in_method"
        case linkTicketExpired = "link_ticket_expired"
        case cursorExpired = "cursor_expired"
        case payloadTooLarge = "payload_too_large"
        case unsupportedMediaType = "unsupported_media_type"
        case rateLimited = "rate_limited"
        case internalError = "internal_error"
        case providerUnavailable = "provider_unavailable"
        case temporarilyUnavailable = "temporarily_unavailable"
    }

    package var code: Code
    /// A fixed sentence for developers. Never anything that the client sent.
    package var detail: String?
    package var errors: [FieldError]
    /// Seconds. 429 and 503 carry `Retry-After` always, other responses when this is set.
    package var retryAfter: Int?
    /// The cause, for the log line alone: the client can't distinguish problems of one code.
    package var reason: String?
    /// Writes the members that RFC 9457 §3.2 calls extensions.
    package var members: (@Sendable (inout JSONWriter) -> Void)?
    /// The value of `Allow`, which 405 carries.
    var allow: String?
    /// Whether it is part of how the service works although its status is 5xx, and so no error in the log.
    var isExpected: Bool
    /// Whether the connection can't be used for another request.
    var endsConnection = false

    package init(
        _ code: Code, detail: String? = nil, errors: [FieldError] = [], reason: String? = nil, retryAfter: Int? = nil,
        isExpected: Bool = false, members: (@Sendable (inout JSONWriter) -> Void)? = nil
    ) {
        self.code = code
        self.detail = detail
        self.errors = errors
        self.reason = reason
        self.retryAfter = retryAfter
        self.isExpected = isExpected
        self.members = members
    }

    /// One invalid member of the request.
    package init(field: String, _ reason: FieldError.Reason) {
        self.init(.invalidRequest, errors: [FieldError(field: field, reason: reason)])
    }
}

extension Problem.Code {
    package var status: Status {
        switch self {
        case .invalidRequest, .weakPassword: .badRequest
        case .invalidToken, .invalidCredentials, .invalidSession, .invalidRefreshToken, .refreshTokenReused:
            .unauthorized
        case .accountDisabled, .forbidden, .reauthenticationRequired: .forbidden
        case .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .emailTaken, .identityAlreadyLinked, .providerAlreadyLinked, .lastSignInMethod: .conflict
        case .linkTicketExpired, .cursorExpired: .gone
        case .payloadTooLarge: .contentTooLarge
        case .unsupportedMediaType: .unsupportedMediaType
        case .rateLimited: .tooManyRequests
        case .internalError: .internalServerError
        case .providerUnavailable, .temporarilyUnavailable: .serviceUnavailable
        }
    }

    /// The same for every occurrence of the code (RFC 9457 §3.1.3).
    package var title: String {
        switch self {
        case .invalidRequest: "The request is not valid."
        case .weakPassword: "The password is too short, too long or too common."
        case .invalidToken: "The provider's credential was not accepted."
        case .invalidCredentials: "The credentials were not accepted."
        case .invalidSession: "The access token was not accepted; refresh it once."
        case .invalidRefreshToken: "The refresh token was not accepted; sign in again."
        case .refreshTokenReused: "The refresh token was used before; the session has ended."
        case .accountDisabled: "The account is disabled."
        case .forbidden: "This is not allowed."
        case .reauthenticationRequired: "Sign in again to do this."
        case .notFound: "There is nothing here."
        case .methodNotAllowed: "The method is not allowed here."
        case .emailTaken: "The email address belongs to another account."
        case .identityAlreadyLinked: "The identity is linked to an account already."
        case .providerAlreadyLinked: "The account has another identity of this provider."
        case .lastSignInMethod: "The last way to sign in can't be removed."
        case .linkTicketExpired: "The link ticket is unknown, used or expired."
        case .cursorExpired: "What follows the cursor is not kept any more."
        case .payloadTooLarge: "The body is too large."
        case .unsupportedMediaType: "The content type or encoding is not supported."
        case .rateLimited: "There were too many requests; try again later."
        case .internalError: "Something went wrong here."
        case .providerUnavailable: "The provider can't be reached; try again later."
        case .temporarilyUnavailable: "The service is not available at the moment; try again later."
        }
    }

    /// Seconds. Jitter, so that rejected clients don't retry in lockstep.
    static let shortRetryAfter = 1...3

    /// The `Retry-After` of a problem without one of its own; `nil` for a status that doesn't need the header.
    private var defaultRetryAfter: Int? {
        switch status {
        case .tooManyRequests: 60
        case .serviceUnavailable: self == .providerUnavailable ? 5 : Int.random(in: Self.shortRetryAfter)
        default: nil
        }
    }

    func retryAfter(_ seconds: Int?) -> Int? { seconds ?? defaultRetryAfter }
}

extension Problem: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { code.title }

    package var debugDescription: String { reason.map { "\(code.rawValue) (\($0))" } ?? code.rawValue }
}

extension Problem {
    /// The header fields of a response with this problem, whatever the form of its body.
    package var headers: [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        if code.status == .unauthorized { headers.append(("WWW-Authenticate", "Bearer")) }
        if let allow { headers.append(("Allow", allow)) }
        if let seconds = code.retryAfter(retryAfter) { headers.append(("Retry-After", String(seconds))) }
        return headers
    }

    /// The response with the problem's members as JSON.
    func response(requestID: String) -> Response {
        let body = JSONWriter.object { writer in
            writer.member("type", "/problems/" + code.rawValue)
            writer.member("title", code.title)
            writer.member("status", code.status.rawValue)
            writer.member("code", code.rawValue)
            writer.member("requestId", requestID)
            writer.member("detail", detail)
            if !errors.isEmpty {
                writer.objects("errors", of: errors) { error, writer in
                    writer.member("field", error.field)
                    writer.member("reason", error.reason.rawValue)
                }
            }
            members?(&writer)
        }
        var response = Response(code.status, contentType: "application/problem+json", body: body)
        response.headers = headers
        return response
    }
}

/// An error of another layer that has a problem of its own. The mapping is an exhaustive switch, so that a new failure
/// can't become a 500 unnoticed.
package protocol ProblemConvertible: Error {
    var problem: Problem { get }
}

extension Problem {
    /// The problem of an error that a route has thrown; `nil` for an unexpected error.
    init?(_ error: any Error) {
        switch error {
        case let problem as Problem: self = problem
        case let error as any ProblemConvertible: self = error.problem
        default: return nil
        }
    }
}
