package import HTTPServer
import JSON
package import OAuthServer

/// Answers in the words of RFC 6749 §5.2 and RFC 6750 §3.
enum OAuthAnswers {
    private static let realm = "countersign"

    static func json(_ status: Status, _ write: (inout JSONWriter) -> Void) -> Response {
        var response = Response.json(status, write)
        response.contentType = "application/json;charset=UTF-8"
        response.headers.append(("Pragma", "no-cache"))
        return response
    }

    /// To what the handler of a client's request has thrown besides its own failures.
    @Sendable static func answer(to problem: Problem) -> Response {
        switch problem.code {
        case .unsupportedMediaType: return answer(to: .invalidRequest("no form came"))
        case .invalidRequest: return answer(to: .invalidRequest("the form is empty or not valid"))
        default: return unread(problem)
        }
    }

    /// To a request of which nothing is known.
    @Sendable static func unread(_ problem: Problem) -> Response {
        var response = json(problem.code.status) { _ in }
        response.headers += problem.headers.filter { $0.name != "WWW-Authenticate" }
        response.problem = problem
        return response
    }

    @Sendable static func answer(to failure: OAuthFailure) -> Response {
        let status: Status
        var headers: [(name: String, value: String)] = []
        var members: [(String, String)] = []
        switch failure {
        case .invalidRequest(let text):
            (status, members) = (.badRequest, [("error", "invalid_request"), ("error_description", text)])
        case .invalidClient: (status, members) = (.unauthorized, [("error", "invalid_client")])
        case .invalidGrant: (status, members) = (.badRequest, [("error", "invalid_grant")])
        case .unauthorizedClient: (status, members) = (.badRequest, [("error", "unauthorized_client")])
        case .unsupportedGrantType: (status, members) = (.badRequest, [("error", "unsupported_grant_type")])
        case .invalidScope: (status, members) = (.badRequest, [("error", "invalid_scope")])
        case .linkingError(let hint):
            (status, members) = (
                .unauthorized, [("error", "linking_error")] + (hint.map { [("login_hint", $0)] } ?? [])
            )
        case .accountNotFound: (status, members) = (.notFound, [("account_found", "false")])
        // A client takes any 4xx with an `error` for the end of its link (AppAuth): these say that nothing is known.
        case .rateLimited: (status, headers) = (.tooManyRequests, failure.problem.headers)
        case .unavailable: (status, headers) = (.serviceUnavailable, failure.problem.headers)
        case .fault: status = .internalServerError
        }
        var response = json(status) { writer in
            for (name, value) in members { writer.member(name, value) }
        }
        response.headers += headers
        // Every 401 names a scheme (RFC 9110 §15.5.2), also where the client has sent its secret in the form.
        if status == .unauthorized { response.headers.append(("WWW-Authenticate", "Basic realm=\"\(realm)\"")) }
        response.problem = failure.problem
        return response
    }

    /// An answer to a bearer of a token (RFC 6750 §3): without an error where no token came.
    static func bearer(_ status: Status, _ error: String?, scope: String? = nil) -> Response {
        var response = Response.empty(status)
        var field = "Bearer realm=\"\(realm)\""
        if let error { field += ", error=\"\(error)\"" }
        if let scope { field += ", scope=\"\(scope)\"" }
        response.headers.append(("WWW-Authenticate", field))
        response.problem = Problem(
            status == .forbidden ? .forbidden : status == .badRequest ? .invalidRequest : .invalidSession, reason: error
        )
        return response
    }
}

extension OAuthFailure: ProblemConvertible {
    /// What the log and the metrics know of it, and the answer where that is a problem.
    package var problem: Problem {
        switch self {
        case .invalidRequest(let text): Problem(.invalidRequest, reason: text)
        case .invalidClient: Problem(.invalidCredentials, reason: "invalid_client")
        case .invalidGrant: Problem(.invalidRequest, reason: "invalid_grant")
        case .unauthorizedClient: Problem(.invalidRequest, reason: "unauthorized_client")
        case .unsupportedGrantType: Problem(.invalidRequest, reason: "unsupported_grant_type")
        case .invalidScope: Problem(.invalidRequest, reason: "invalid_scope")
        case .linkingError: Problem(.invalidToken, reason: "linking_error")
        case .accountNotFound: Problem(.notFound, reason: "account_not_found")
        case .rateLimited(let seconds): Problem(.rateLimited, retryAfter: Int(seconds))
        case .unavailable(let seconds, let detail):
            Problem(.temporarilyUnavailable, reason: detail, retryAfter: Int(seconds))
        case .fault(let operation): Problem(.internalError, reason: operation)
        }
    }
}
