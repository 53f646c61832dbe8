import Accounts
package import HTTPServer
import JOSE
import JSON
import Logging
package import SignIn

/// What Apple and Google call when something happens to a person's account there. The token authenticates the sender:
/// nothing else of the request is believed.
package struct EventsAPI: Sendable {
    let events: ProviderEvents

    package init(events: ProviderEvents) {
        self.events = events
    }

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
            // Whatever its media type says: Google's isn't documented (RFC 8935 §2.1).
            Route(.post, "/v1/events/google", priority: .revoking) { request in
                do {
                    try await events.take(request.body, from: .google)
                } catch SignInFailure.credentialRejected(let rejection, _) {
                    request.logger.info("an event was refused", metadata: ["reason": "\(rejection.rawValue)"])
                    return .refusedEvent(rejection)
                }
                return .empty(.accepted)
            },
        ]
    }
}

extension Response {
    /// RFC 8935 §2.3 and §2.4.
    fileprivate static func refusedEvent(_ rejection: TokenRejection) -> Response {
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
    /// An error code of RFC 8935 §2.4, and a sentence that says no more than it.
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
