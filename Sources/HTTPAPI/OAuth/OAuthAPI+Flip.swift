package import HTTPServer
import JSON
package import OAuthServer

/// App Flip. Every answer is JSON with the word that the app hands to Google's.
extension OAuthAPI {
    private enum Platform: String, CaseIterable {
        case ios
        case android
    }

    var flipRoute: Route {
        Route(.post, "/oauth/flip") { request in
            let flip = try request.fields { fields in
                let scope = fields.optionalString("scope")
                let flip = OAuthServer.FlipRequest(
                    clientID: fields.string("client_id"),
                    redirectURI: fields.string("redirect_uri", maximumBytes: 2_048),
                    scope: scope?.isEmpty == true ? nil : scope, isConsented: fields.optionalBool("consent") == true)
                _ = fields.choice("platform", of: Platform.self)
                return flip
            }
            var token: [UInt8]?
            if case .token(let bytes) = request.bearer { token = bytes }
            let code = try await server.flip(flip, accessToken: token, by: call(of: request))
            return .json { writer in
                writer.member("code", code.code)
                writer.member("expires_in", code.expiresIn)
            }
        }
        .refused(by: Self.answer(to:), others: Self.answer(to:))
        .refusedEarly { problem, _ in Self.answer(to: problem) }
    }

    @Sendable private static func answer(to refusal: OAuthServer.FlipRefusal) -> Response {
        let problem = refusal.problem
        return switch refusal {
        case .invalidRequest(let message): answer(.badRequest, "invalid_request", message, problem)
        case .accessDenied: answer(.forbidden, "access_denied", "consent is not true", problem)
        case .unrecoverable(let message): answer(.forbidden, "unrecoverable", message, problem)
        case .cancelled(let message): answer(.unauthorized, "cancelled", message, problem)
        case .failed: answer(to: problem)
        }
    }

    /// What is wrong with the request is its own fault; whatever else came between may go better by the browser.
    @Sendable private static func answer(to problem: Problem) -> Response {
        switch problem.code.status.rawValue {
        case 500...: answer(.serviceUnavailable, "cancelled", problem.code.title, problem)
        case 429: answer(problem.code.status, "cancelled", problem.code.title, problem)
        default: answer(problem.code.status, "invalid_request", problem.code.title, problem)
        }
    }

    private static func answer(_ status: Status, _ word: String, _ message: String, _ problem: Problem) -> Response {
        var response = Response.json(status) { writer in
            writer.member("flip_error", word)
            writer.member("message", message)
        }
        response.headers = problem.headers
        if status == .serviceUnavailable, !response.headers.contains(where: { $0.name == "Retry-After" }) {
            response.headers.append(("Retry-After", "2"))
        }
        response.problem = problem
        return response
    }
}

extension OAuthServer.FlipRefusal: ProblemConvertible {
    package var problem: Problem {
        switch self {
        case .invalidRequest(let message): Problem(.invalidRequest, reason: message)
        case .accessDenied: Problem(.forbidden)
        case .unrecoverable(let message): Problem(.accountDisabled, reason: message)
        case .cancelled(let message): Problem(.invalidSession, reason: message)
        case .failed(let failure): failure.problem
        }
    }
}
