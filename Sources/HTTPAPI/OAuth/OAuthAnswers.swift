import HTTPServer
import JSON
import OAuthServer

/// Answers in the words of RFC 6749 §5.2 and RFC 6750 §3.
enum OAuthAnswers {
    private static let realm = "countersign"

    static func json(_ status: Status, _ write: (inout JSONWriter) -> Void) -> Response {
        var response = Response.json(status, write)
        response.contentType = "application/json;charset=UTF-8"
        response.headers.append(("Pragma", "no-cache"))
        return response
    }

    /// To whatever the handler of a client's request has thrown.
    static let refusal: Route.Refusal = { error, problem, _ in
        if let failure = error as? OAuthFailure { return answer(to: failure) }
        switch problem.code {
        case .invalidRequest, .unsupportedMediaType:
            return answer(to: .invalidRequest(problem.detail == nil ? "the form is not valid" : "no form came"))
        default:
            var response = json(problem.code.status) { _ in }
            response.headers += problem.headers.filter { $0.name != "WWW-Authenticate" }
            response.problem = problem
            return response
        }
    }

    static func answer(to failure: OAuthFailure) -> Response {
        let status: Status
        var problem = Problem(.invalidRequest)
        var headers: [(name: String, value: String)] = []
        var members: [(String, String)] = []
        switch failure {
        case .invalidRequest(let text):
            (status, members) = (.badRequest, [("error", "invalid_request"), ("error_description", text)])
            problem.reason = text
        case .invalidClient(let usedBasic):
            (status, members) = (.unauthorized, [("error", "invalid_client")])
            problem = Problem(.invalidCredentials, reason: "invalid_client")
            if usedBasic { headers = [("WWW-Authenticate", "Basic realm=\"\(realm)\"")] }
        case .invalidGrant: (status, members) = (.badRequest, [("error", "invalid_grant")])
        case .unauthorizedClient: (status, members) = (.badRequest, [("error", "unauthorized_client")])
        case .unsupportedGrantType: (status, members) = (.badRequest, [("error", "unsupported_grant_type")])
        case .invalidScope: (status, members) = (.badRequest, [("error", "invalid_scope")])
        case .linkingError(let hint):
            (status, members) = (
                .unauthorized, [("error", "linking_error")] + (hint.map { [("login_hint", $0)] } ?? [])
            )
            problem = Problem(.invalidToken, reason: "linking_error")
        case .accountNotFound:
            (status, members) = (.notFound, [("account_found", "false")])
            problem = Problem(.notFound)
        // A client takes any 4xx with an `error` for the end of its link (AppAuth): these say that nothing is known.
        case .rateLimited(let seconds):
            status = .tooManyRequests
            problem = Problem(.rateLimited, retryAfter: Int(seconds))
            headers = problem.headers
        case .unavailable(let seconds, let detail):
            status = .serviceUnavailable
            problem = Problem(.temporarilyUnavailable, reason: detail, retryAfter: Int(seconds))
            headers = problem.headers
        case .fault(let operation):
            status = .internalServerError
            problem = Problem(.internalError, reason: operation)
        }
        if problem.reason == nil { problem.reason = members.first?.1 }
        var response = json(status) { writer in
            for (name, value) in members { writer.member(name, value) }
        }
        response.headers += headers
        response.problem = problem
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
