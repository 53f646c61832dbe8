import HTTPTypes
import Hummingbird

/// An error response of the provider side.
protocol ProviderRefusal: HTTPResponseError {
    /// The reason, for the history alone; a provider's response doesn't contain it.
    var reason: String { get }
}

/// The codes of errors, at the endpoints and on the pages.
enum OAuthError: String, Sendable {
    case invalidRequest = "invalid_request"
    case invalidClient = "invalid_client"
    case invalidGrant = "invalid_grant"
    case invalidScope = "invalid_scope"
    case unsupportedGrantType = "unsupported_grant_type"
    case unsupportedResponseType = "unsupported_response_type"
    // Google's alone.
    case deletedClient = "deleted_client"
    case disallowedUserAgent = "disallowed_useragent"
    case invalidToken = "invalid_token"
    case orgInternal = "org_internal"
    case redirectURIMismatch = "redirect_uri_mismatch"
    case unauthorizedClient = "unauthorized_client"
}

/// An error response of a token endpoint (RFC 6749 §5.2).
struct EndpointRefusal: ProviderRefusal {
    let status: HTTPResponse.Status
    let code: OAuthError
    /// `error_description`, where the provider gives one.
    let description: String?
    let reason: String

    /// Apple's response: always 400, and nothing but the code.
    static func apple(_ code: OAuthError, _ reason: String) -> EndpointRefusal {
        EndpointRefusal(status: .badRequest, code: code, description: nil, reason: reason)
    }

    /// Google's response: 401 when the client is not authenticated or authorized, else 400, and a sentence.
    static func google(_ code: OAuthError, _ description: String, _ reason: String? = nil) -> EndpointRefusal {
        let status: HTTPResponse.Status =
            switch code {
            case .invalidClient, .deletedClient, .unauthorizedClient: .unauthorized
            default: .badRequest
            }
        return EndpointRefusal(status: status, code: code, description: description, reason: reason ?? description)
    }

    func response(from request: Request, context: some RequestContext) -> Response {
        .uncached(["error": code.rawValue, "error_description": description], status: status)
    }
}

extension Response {
    /// A response of a token endpoint (RFC 6749 §5.1).
    static func uncached(_ answer: JSONObject, status: HTTPResponse.Status = .ok) -> Response {
        var response = Response.json(answer, status: status)
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
