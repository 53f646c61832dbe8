import Administration
import HTTPAPI
import HTTPServer
import SignIn

/// Signing in with Google, for staff.
extension ConsoleAPI {
    private static let flowCookieName = "csn_console_flow"

    var staffRoutes: [Route] {
        [
            Route(.get, ConsolePath.staff, priority: .reading) { request in try await begin(request) },
            // Google's answer comes from another site: no cookie of the session is there.
            Route(.get, ConsolePath.callback, priority: .reading) { request in try await finish(request) },
        ]
    }

    private func begin(_ request: Request) async throws -> Response {
        if request.isSpeculative { return untouched(request) }
        // A page of others that loads it counts as nothing.
        let isTyped = request.header("Sec-Fetch-Site") == "none"
        guard isTyped || request.isOfOurSite else { return showAlone(signInPage(to: ConsolePath.root)) }
        let asked = String((try request.parameterValue("to") ?? "").prefix { $0 != "?" })
        do throws(AdministrationFailure) {
            let (flow, url) = try await sessions.begin(
                to: Self.isOwnPage(asked) ? asked : ConsolePath.root, redirectURI: redirectURI(of: request),
                by: administration.calls.begin(by: request.caller()))
            return redirect(to: url).setting(cookie(flow.text, for: request))
        } catch {
            return try refused(by: error)
        }
    }

    private func finish(_ request: Request) async throws -> Response {
        if request.isSpeculative { return untouched(request) }
        let outcome: ConsoleSessions.Return
        do throws(AdministrationFailure) {
            outcome = try await sessions.finish(
                Self.answer(in: request), flow: request.cookie(Self.flowCookieName).flatMap(StaffFlow.init(presented:)),
                redirectURI: redirectURI(of: request), by: administration.calls.begin(by: request.caller()))
        } catch {
            return try refused(by: error).setting(cookie("", for: request))
        }
        switch outcome {
        case .opened(let secret, let asked):
            let destination = Self.isOwnPage(asked) ? asked : ConsolePath.root
            // No redirect: a cookie that is `Strict` is not sent after one that began at Google.
            var page = ConsolePage("Signed in", [.paragraph(.link("Go on to the console", to: destination))])
            (page.refreshPath, page.refreshSeconds) = (destination, 0)
            return showAlone(page).setting(cookie(secret, for: request)).setting(cookie("", for: request))
        case .refused(let refusal):
            return refused(Self.sentence(on: refusal), Self.problem(of: refusal)).setting(cookie("", for: request))
        case .stray:
            // The cookie stays: the flow that it binds is not over.
            return refused(Self.sentence(on: .flow), Self.problem(of: .flow))
        }
    }

    /// The answer to a request that must have no effect. Browsers drop a refusal that they have prefetched, and ask again.
    private func untouched(_ request: Request) -> Response {
        showAlone(signInPage(to: ConsolePath.root), request.isHead ? .ok : .forbidden)
    }

    private static func answer(in request: Request) -> StaffSignIn.Answer {
        var answer = StaffSignIn.Answer()
        guard let values = try? request.queryValues(plusIsSpace: true) else { return answer }
        answer.state = values.only("state")
        answer.code = values.only("code")
        answer.error = values.only("error")
        answer.issuer = values.only("iss")
        answer.isAmbiguous = ["state", "code", "error", "iss"].contains { values.all($0).count > 1 }
        return answer
    }

    /// The sign-in form, where the network has used its allowance up, or the database can't be asked.
    private func refused(by failure: AdministrationFailure) throws(AdministrationFailure) -> Response {
        if case .rateLimited(let seconds) = failure {
            let minutes = (seconds + 59) / 60
            return refused("Too many sign-ins from this network. Try again in \(minutes) minutes.", failure.problem)
        }
        guard failure.isTemporary else { throw failure }
        return refused("Nobody can be signed in right now. Try again in a moment.", failure.problem)
    }

    /// The sign-in form, with the reason.
    func refused(_ sentence: String, _ problem: Problem, to destination: String = ConsolePath.root) -> Response {
        var page = signInPage(to: destination)
        page.notice = .error(sentence)
        return showAlone(page, problem.code.status).refusing(problem)
    }

    private func redirectURI(of request: Request) -> String {
        host.origin(request.header("Host") ?? "") + ConsolePath.callback
    }

    /// The cookie that binds the way to this browser: sent when the browser comes back from Google.
    ///
    /// - Parameter value: empty to delete it.
    private func cookie(_ value: String, for request: Request) -> ResponseCookie {
        ResponseCookie(
            name: Self.flowCookieName, value: value, path: ConsolePath.callbacks, sameSite: .lax,
            isSecure: cookie(nil, for: request).isSecure, maximumAge: value.isEmpty ? 0 : 600)
    }

    private static func problem(of refusal: StaffSignIn.Refusal) -> Problem {
        switch refusal {
        case .flow, .cancelled: Problem(.invalidRequest, reason: refusal.reason)
        case .notAllowed: Problem(.invalidCredentials, reason: refusal.reason)
        case .unavailable(let detail): Problem(.providerUnavailable, reason: detail, retryAfter: 5)
        }
    }

    private static func sentence(on refusal: StaffSignIn.Refusal) -> String {
        switch refusal {
        case .flow: "This sign-in was not begun in this browser, or is over. Begin again."
        case .cancelled: "Nobody was signed in at Google."
        case .notAllowed: "This Google account may not use the console."
        case .unavailable: "Google can't be asked right now. Try again in a moment."
        }
    }
}
