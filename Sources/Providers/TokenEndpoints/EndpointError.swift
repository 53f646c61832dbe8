/// The `error` members that we know (RFC 6749 §5.2, RFC 7009 §2.2.1, and Google's own). Any other one means nothing to us,
/// and `error_description` is prose.
enum EndpointError: String {
    case invalidRequest = "invalid_request"
    case invalidClient = "invalid_client"
    case invalidGrant = "invalid_grant"
    case unauthorizedClient = "unauthorized_client"
    case unsupportedGrantType = "unsupported_grant_type"
    case invalidScope = "invalid_scope"
    case invalidToken = "invalid_token"
    case deletedClient = "deleted_client"
    case redirectURIMismatch = "redirect_uri_mismatch"
    case adminPolicyEnforced = "admin_policy_enforced"

    /// The part of a request that an `invalid_request` is taken to be about.
    enum InvalidRequestMeaning {
        /// The fields that we send: then every such request fails.
        case configuration
        /// The token or the subject in one of them.
        case content
        /// The code and its redirect URI: both come from the client, so neither is a fault of the configuration.
        case code
    }

    /// - Parameter keyID: the key that the request was authenticated with.
    func refusal(keyID: String, invalidRequestMeans: InvalidRequestMeaning) -> EndpointRefusal {
        switch self {
        case .invalidGrant, .adminPolicyEnforced:
            .grantRejected(error: rawValue)
        case .invalidRequest where invalidRequestMeans == .code,
            .redirectURIMismatch where invalidRequestMeans == .code:
            .grantRejected(error: rawValue)
        case .invalidRequest where invalidRequestMeans == .content:
            .requestRejected(error: rawValue)
        case .invalidRequest, .invalidClient, .unauthorizedClient, .unsupportedGrantType, .invalidScope, .deletedClient,
            .redirectURIMismatch:
            .clientRejected(error: rawValue, keyID: keyID)
        case .invalidToken:
            // About a bearer token, which the next one replaces.
            .unavailable(detail: rawValue)
        }
    }
}
