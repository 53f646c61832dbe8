import Accounts
import SignIn

/// Why a request of a client is refused. The HTTP layer writes the bodies of RFC 6749 §5.2.
package enum OAuthFailure: Error, Equatable, Sendable {
    /// The text is for the client's developer: ASCII without `"` and `\`.
    case invalidRequest(String)
    case invalidClient
    case invalidGrant
    case unauthorizedClient
    case unsupportedGrantType
    case invalidScope
    /// Streamlined linking can't go on; Google falls back to the browser, with this address.
    case linkingError(loginHint: String?)
    /// Streamlined linking's `check` found no account.
    case accountNotFound
    /// `retryAfter` in seconds.
    case rateLimited(retryAfter: Int64)
    /// The database or Google's keys are away: nothing is known of the token. `retryAfter` in seconds; the detail is for
    /// the log.
    case unavailable(retryAfter: Int64, detail: String)
    /// A fault of ours; the operation is for the log.
    case fault(operation: String)

    init(_ failure: SignInFailure) {
        switch failure {
        case .rateLimited(_, let retryAfter): self = .rateLimited(retryAfter: retryAfter)
        case .storageUnavailable(let detail): self = .unavailable(retryAfter: 2, detail: detail)
        case .overloaded(let retryAfter): self = .unavailable(retryAfter: retryAfter, detail: "overloaded")
        case .fault(let operation): self = .fault(operation: operation)
        default: self = .fault(operation: "\(failure)")
        }
    }
}

/// Runs a storage call and turns its error into a failure of a client's request. That of a person's is `SignIn.stored`.
func stored<Value: Sendable>(_ operation: () async throws -> Value) async throws(OAuthFailure) -> Value {
    try await clientCall { () async throws(SignInFailure) in try await SignIn.stored(operation) }
}

/// Runs a use case of signing in for a client.
func clientCall<Value>(_ operation: () async throws(SignInFailure) -> Value) async throws(OAuthFailure) -> Value {
    do throws(SignInFailure) {
        return try await operation()
    } catch {
        throw OAuthFailure(error)
    }
}
