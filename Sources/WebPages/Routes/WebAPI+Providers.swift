import Accounts
import HTTPAPI
import HTTPServer
import SignIn

/// The way to Apple and Google, and back.
extension WebAPI {
    var providerRoutes: [Route] {
        [
            Route(.post, "/web/start/apple") { request in try await start(.apple, request) },
            Route(.post, "/web/start/google") { request in try await start(.google, request) },
            // Comes from a page of Apple's, so without our cookies (SameSite) and without a token of ours. The answer is
            // held, and the browser is sent for it by GET, to which it adds the cookie.
            Route(.post, "/web/callback/apple") { request in
                let answer = try appleAnswer(in: request)
                return try await taking {
                    let handle = try await signIn.hold(answer, by: call(of: request))
                    return redirect(to: "/web/callback/apple/finish?h=\(handle)")
                } late: {
                    try await signIn.lateFlow(ofApple: answer.state, by: call(of: request))
                }
            },
            Route(.get, "/web/callback/apple/finish") { request in
                guard let handle = try request.queryValues().only("h") else { throw SignInFailure.webAnswerRefused }
                guard !request.isSpeculative else { return untouched(request) }
                return try await taking {
                    let step = try await signIn.finishApple(
                        handle: handle, browser: cookies.browser(of: request), by: call(of: request))
                    return try await response(to: request, step)
                } late: {
                    try await signIn.lateFlow(
                        ofHandle: handle, browser: cookies.browser(of: request), by: call(of: request))
                }
            },
            Route(.get, "/web/callback/google") { request in
                let answer = try googleAnswer(in: try request.queryValues())
                guard !request.isSpeculative else { return untouched(request) }
                return try await taking {
                    let step = try await signIn.finishGoogle(
                        answer, browser: cookies.browser(of: request), by: call(of: request))
                    return try await response(to: request, step)
                } late: {
                    try await signIn.lateFlow(
                        of: answer, browser: cookies.browser(of: request), by: call(of: request))
                }
            },
        ]
    }

    /// Takes a provider's answer. Who has brought it too late goes back to where they began, and who brings it once more reads
    /// that the flow is over.
    private func taking(
        _ take: () async throws -> Response, late: () async throws -> PastWebFlow?
    ) async throws -> Response {
        do {
            return try await take()
        } catch SignInFailure.webAnswerRefused {
            let refused = SignInFailure.webAnswerRefused
            guard let flow = try await late() else { throw refused }
            throw try await refusal(flow.isOver ? .flowOver : .flowExpired, refused.problem, of: flow)
        }
    }

    private func start(_ provider: Provider, _ request: Request) async throws -> Response {
        let (flow, _) = try flowForm(of: request, "/web/start/\(provider.rawValue)") { _ in }
        let url = try await signIn.start(provider, in: flow, by: call(of: request))
        return redirect(to: url)
    }

    private func appleAnswer(in request: Request) throws -> AppleAnswer {
        do {
            return try request.form(ignoringUnknown: true) { form in
                AppleAnswer(
                    state: form.string("state", maximumBytes: 256), code: form.optionalString("code"),
                    idToken: form.optionalString("id_token", maximumBytes: 16 * 1024),
                    // Of another length than a name has it is passed over, and the rest counts.
                    user: form.optionalString("user", maximumBytes: 64 * 1024, allowsControls: true),
                    error: form.optionalString("error", maximumBytes: 256))
            }
        } catch let problem as Problem where problem.code == .unsupportedMediaType {
            throw SignInFailure.webAnswerRefused
        }
    }

    private func googleAnswer(in values: QueryValues) throws -> GoogleAnswer {
        // Google sends each parameter once. A repeated one was injected, and which of the two can't be known.
        for name in ["state", "code", "iss", "error"] where values.all(name).count > 1 {
            throw SignInFailure.webAnswerRefused
        }
        guard let state = values.only("state") else { throw SignInFailure.webAnswerRefused }
        return GoogleAnswer(
            state: state, code: values.only("code"), issuer: values.only("iss"), error: values.only("error"))
    }

    /// Hands what Apple posts on to an Android app, unread: Flutter's `sign_in_with_apple` opens Apple's page by itself and
    /// names this address. Any app may have claimed the scheme, so the app's raw nonce is what proves the sign-in.
    var relayRoute: Route {
        Route(.post, "/web/relay/apple/{app}") { request in
            let package = try request.parameter("app") { relayPackages[$0] }
            let names = ["code", "id_token", "state", "user", "error"]
            let parameters = try request.form(ignoringUnknown: true) { form in
                names.compactMap { name in
                    form.optionalString(name, maximumBytes: 16 * 1024, allowsControls: true).map { (name, $0) }
                }
            }
            let uri = URIQuery.appending(parameters, to: "intent://callback")
            return redirect(to: "\(uri)#Intent;package=\(package);scheme=signinwithapple;end")
        }
    }
}
