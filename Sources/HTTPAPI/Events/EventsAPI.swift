import Accounts
package import HTTPServer
import JOSE
import JSON
import Logging
package import SignIn

/// The endpoints that Apple and Google call with events of their accounts. The token authenticates the sender: nothing
/// else of the request is trusted.
///
/// They go before sign-ins, though anyone may post one: they end sessions, and Apple does not say that it sends again what was
/// refused. What is forged holds its permit for a signature check, or in one of few places to wait for a key.
package struct EventsAPI: Sendable {
    let events: ProviderEvents

    package init(events: ProviderEvents) { self.events = events }

    package var routes: [Route] {
        [
            Route(.post, "/v1/events/apple", priority: .revoking) { request in
                guard let payload = try? JSONValue(parsing: request.body, limits: .requestBody)["payload"]?.stringBytes
                else { throw Problem(.invalidRequest, detail: "The body is not a JSON object with a payload.") }
                do {
                    try await events.take(payload, from: .apple)
                } catch SignInFailure.credentialRejected(let rejection, _) {
                    throw Problem(.invalidRequest, reason: rejection.rawValue)
                }
                return .empty(.ok)
            },
            // The media type (RFC 8935 §2.1) is not checked, because Google doesn't document the one that it sends.
            Route(.post, "/v1/events/google", priority: .revoking) { request in
                do {
                    try await events.take(request.body, from: .google)
                } catch SignInFailure.credentialRejected(let rejection, _) {
                    request.logger.info("provider event rejected", metadata: ["reason": "\(rejection.rawValue)"])
                    return .rejectedEvent(rejection)
                }
                return .empty(.accepted)
            },
        ]
    }
}

extension Response {
    /// The error response of RFC 8935 §2.3 and §2.4.
    fileprivate static func rejectedEvent(_ rejection: TokenRejection) -> Response {
        let (code, description) = rejection.deliveryError
        var response = Response.json(.badRequest) { writer in
            writer.member("err", code)
            writer.member("description", description)
        }
        response.headers.append(("Content-Language", "en"))
        return response
    }
}

extension TokenRejection {
    /// The error code of RFC 8935 §2.4, and a sentence that reveals no more than the code.
    fileprivate var deliveryError: (code: String, description: String) {
        switch self {
        case .keyUnknown, .signatureMismatch, .algorithmRejected:
            ("invalid_key", "The token is not signed by a key of the issuer.")
        case .issuerRejected:
            ("invalid_issuer", "The issuer is not accepted here.")
        case .audienceRejected, .partyRejected:
            ("invalid_audience", "The token is for another audience.")
        case .malformed, .tooLarge, .headerRejected, .keysUnavailable, .expired, .notYetValid, .lifetimeRejected,
            .claimMissing, .claimInvalid, .eventToken, .nonceMissing, .nonceMismatch, .nonceSpent, .hashMismatch,
            .subjectMismatch, .codeRejected, .clientRejected:
            ("invalid_request", "The body is not a security event token as it is expected here.")
        }
    }
}
