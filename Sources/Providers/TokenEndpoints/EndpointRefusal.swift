/// The reason why a provider's endpoint did not do what was asked. Its texts hold fixed codes, never the provider's text.
package enum EndpointRefusal: Error, Sendable, Equatable {
    /// The code or refresh token is not valid and never will be.
    case grantRejected(error: String)
    /// The token or subject of a well-formed request was not accepted. Apple answers so to the check of a token whose owner
    /// has withdrawn, and in other cases too: to be confirmed before anything is ended.
    case requestRejected(error: String)
    /// Our configuration: every request with this key (Apple's key ID, Google's client ID) will fail like this.
    case clientRejected(error: String, keyID: String)
    /// No answer, or one that means nothing for the code or token: `timed_out`, `connect`, `http_500`, `not_json`.
    case unavailable(detail: String)
    /// The client has no signing key (Apple), or is not the server client (Google).
    case notConfigured
    /// The ID token in the answer was refused. `leaving` is the authorization that came with it all the same; `nil` when no
    /// refresh token came, or nothing proves whose it is.
    case credentialRejected(CredentialRefusal, leaving: StrayGrant?)
}

extension EndpointRefusal {
    /// Whether the posted code may be what was refused, rather than something of ours: it was made up, spent or another
    /// client's.
    package var mayBeAboutCode: Bool {
        switch self {
        case .grantRejected, .requestRejected: true
        // Google's answer to the code of a client that is not the server client, too.
        case .clientRejected(let error, _): error == EndpointError.unauthorizedClient.rawValue
        case .unavailable, .notConfigured, .credentialRejected: false
        }
    }
}

extension EndpointRefusal: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { "The provider's endpoint did not do what was asked." }

    package var debugDescription: String {
        switch self {
        case .grantRejected(let error): "EndpointRefusal(grant rejected: \(error))"
        case .requestRejected(let error): "EndpointRefusal(request rejected: \(error))"
        case .clientRejected(let error, let keyID): "EndpointRefusal(client rejected: \(error), key \(keyID))"
        case .unavailable(let detail): "EndpointRefusal(unavailable: \(detail))"
        case .notConfigured: "EndpointRefusal(not configured)"
        case .credentialRejected(let refusal, _): "EndpointRefusal(\(refusal.debugDescription))"
        }
    }
}
