import Accounts
import HTTPAPI
import HTTPServer
import SignIn

/// Opening a flow, looking at it, giving it up.
extension WebAPI {
    /// The screens of a flow besides the first, which is the chooser, or the choice of *create* or *bind*.
    enum Screen: String {
        /// For a form that leads back there.
        case first
        case password
        case email
        case create
        case bind
    }

    var flowRoutes: [Route] {
        [
            Route(.get, "/web/authorize") { request in try await authorize(request) },
            Route(.get, "/web/sign-in") { request in try await show(request) },
            Route(.post, "/web/cancel") { request in
                let (flow, _) = try flowForm(of: request, "/web/cancel") { _ in }
                if let response = try await refuseConsent(in: flow, request) { return response }
                let step = try await signIn.cancel(flow.id, browser: flow.browser, by: call(of: request))
                return response(to: request, step)
            },
        ]
    }

    private func authorize(_ request: Request) async throws -> Response {
        let values = try request.queryValues()
        guard !request.isSpeculative else { return untouched }
        let query = AuthorizeQuery(
            app: values.all("app"), redirectURI: values.all("redirect_uri"),
            codeChallenge: values.all("code_challenge"), codeChallengeMethod: values.all("code_challenge_method"),
            state: values.all("state"), provider: values.all("provider"),
            // Some libraries write the spaces between tags as a plus.
            uiLocales: values.all("ui_locales").map { $0.replacing("+", with: " ") },
            loginHint: values.all("login_hint"))
        let browser = try cookies.browser(of: request) ?? .fresh()
        switch try await signIn.authorize(query, browser: browser, by: call(of: request)) {
        case .unknownApp:
            throw PageRefusal(.unknownApp, Problem(.invalidRequest, reason: "unknown_app"))
        case .refused(let answer):
            return response(to: request, answer)
        case .opened(let flow):
            var response = redirect(to: FlowReference(id: flow.id, browser: browser).link(), flow: flow)
            if let provider = flow.only, !flow.needsClick {
                let url = try await signIn.start(provider, flow: flow.id, browser: browser, by: call(of: request))
                response = redirect(to: url, flow: flow)
            }
            response.setCookie(cookies.cookie(browser))
            return response
        }
    }

    private func show(_ request: Request) async throws -> Response {
        guard let browser = cookies.browser(of: request) else { throw SignInFailure.webFlowExpired }
        let screen = try request.queryValues().only("with").flatMap(Screen.init)
        let flow = try await signIn.flow(try flowID(of: request), browser: browser, by: call(of: request))
        let reference = FlowReference(id: flow.id, browser: browser)
        let page: WebPage
        if let link = flow.link {
            page = try linkScreen(screen, flow, reference, link)
        } else if flow.status.isOpen {
            page = try chooserScreen(screen, flow, reference, email: flow.loginHint)
        } else {
            throw SignInFailure.webFlowExpired
        }
        return response(page, to: request, flow: flow)
    }

    /// - Parameter email: what stands in the field for the address.
    func chooserScreen(
        _ screen: Screen?, _ flow: WebFlow, _ reference: FlowReference, email: String?
    ) throws -> WebPage {
        switch screen {
        case .password where offersPassword(in: flow):
            return .password(try passwordPage(flow, reference, email: email))
        case .email where offersEmailCode(in: flow):
            return .emailCode(try emailCodePage(flow, reference, .address, email: email))
        case .password, .email, .create, .bind, .first, nil:
            let providers = flow.only.map { [$0] } ?? flow.providers
            return .chooser(
                ChooserPage(
                    purpose: flow.purpose,
                    providers: try providers.map { provider in
                        .init(provider, try reference.target("/web/start/\(provider.rawValue)"))
                    },
                    password: offersPassword(in: flow) ? try reference.target("/web/password") : nil,
                    emailCodeLink: emailCodeLink(in: flow, reference),
                    cancel: try reference.target("/web/cancel"), email: email))
        }
    }

    /// An app that wants one provider gets no other way.
    func offersPassword(in flow: WebFlow) -> Bool { flow.only == nil && signIn.configuration.offersPassword }

    func offersEmailCode(in flow: WebFlow) -> Bool { flow.only == nil && signIn.configuration.offersEmailCode }

    func emailCodeLink(in flow: WebFlow, _ reference: FlowReference) -> String? {
        offersEmailCode(in: flow) ? reference.link(.email) : nil
    }
}

// MARK: - Where a browser goes on

extension WebAPI {
    func response(to request: Request, _ step: WebStep) -> Response {
        switch step {
        case .returned(let answer):
            return response(to: request, answer)
        case .link(let flow), .choose(let flow):
            return redirect(to: "/web/sign-in?flow=\(flow.id)", flow: flow)
        case .signedIn(let flow, let secret):
            var response = redirect(to: flow.continuation, flow: flow)
            response.setCookie(cookies.cookie(secret))
            return response
        case .cancelled:
            return response(.signedOut(SignedOutPage(signInLink: "/web/account")), to: request, isIsolated: true)
        }
    }

    /// Leaves for an app. Browsers follow a redirect to a private scheme after a click alone, so such an app is opened from
    /// a page.
    func response(to request: Request, _ answer: AppReturn) -> Response {
        guard case .privateScheme = answer.kind else { return redirect(to: answer.uri, isIsolated: true) }
        let page = OpenAppPage(appName: answer.appName, uri: answer.uri, outcome: OpenAppPage.Outcome(answer))
        return response(.openApp(page), to: request, targets: [answer.formActionSource], isIsolated: true)
    }
}

extension OpenAppPage.Outcome {
    fileprivate init(_ answer: AppReturn) {
        switch answer.error {
        case nil: self = .signedIn
        case .accessDenied: self = .cancelled
        case .invalidRequest, .serverError, .temporarilyUnavailable: self = .failed
        }
    }
}

extension WebFlow {
    /// Where its browser goes on when its person is signed in.
    fileprivate var continuation: String {
        switch kind {
        case .app, .account: "/web/account"
        case .oauth: "/oauth/authorize?flow=\(id)"
        }
    }

    /// Another app may have claimed the scheme and begun this flow: the person is to see for whom it is (RFC 8252 §8.6).
    fileprivate var needsClick: Bool {
        if case .app(_, .privateScheme) = kind { true } else { false }
    }
}
