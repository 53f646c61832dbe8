import Accounts
import HTTPAPI
import HTTPServer
import OAuthServer
import SignIn

/// Opening a flow, looking at it, giving it up.
extension WebAPI {
    /// The screens of a flow besides the first, which is the chooser, or the choice of *create* or *bind*.
    enum Screen: String {
        /// For a form that leads back there.
        case first
        case password
        case email
        case register
        case forgot
        case create
        case bind
        /// After a right code: whether the account that is shown is the person's.
        case confirm
        /// After a proof at a provider: whether another identity of the account is replaced.
        case replace
    }

    var flowRoutes: [Route] {
        [
            Route(.get, "/web/authorize") { request in try await authorize(request) },
            Route(.get, "/web/sign-in") { request in try await show(request) },
            Route(.post, "/web/cancel") { request in
                let (flow, _) = try flowForm(of: request, "/web/cancel") { _ in }
                if let response = try await refuseConsent(in: flow, request) { return response }
                let step = try await signIn.cancel(flow, by: call(of: request))
                return try await response(to: request, step)
            },
        ]
    }

    private func authorize(_ request: Request) async throws -> Response {
        let values = try request.queryValues(judgesValues: true)
        guard !request.isSpeculative else { return untouched(request) }
        let query = AuthorizeQuery(
            app: values.all("app"), redirectURI: values.all("redirect_uri"),
            codeChallenge: values.all("code_challenge"), codeChallengeMethod: values.all("code_challenge_method"),
            state: values.all("state"), provider: values.all("provider"),
            // Some libraries write the spaces between tags as a plus.
            uiLocales: values.all("ui_locales").map { $0.replacing("+", with: " ") },
            loginHint: values.all("login_hint"), isMalformed: values.isMalformed)
        let browser = try cookies.browser(of: request) ?? .fresh()
        switch try await signIn.authorize(query, browser: browser, by: call(of: request)) {
        case .unknownApp:
            throw PageRefusal(.unknownApp, Problem(.invalidRequest, reason: "unknown_app"))
        case .refused(let answer):
            var response = response(to: request, answer)
            response.problem = Problem(.invalidRequest, reason: answer.refusedParameter)
            return response
        case .opened(let flow):
            var target = FlowReference(id: flow.id, browser: browser).link()
            if let provider = flow.only, !flow.needsClick {
                target = try await signIn.start(provider, flow, browser: browser, by: call(of: request))
            }
            return redirect(to: target, flow: flow).setting(cookies.cookie(browser))
        }
    }

    private func show(_ request: Request) async throws -> Response {
        let reference = try flowReference(of: request)
        let values = try request.queryValues()
        let screen = values.only("with").flatMap(Screen.init)
        let visit = try await visit(reference, request)
        let flow = visit.flow
        guard try await isAccepted(flow) else { throw SignInFailure.webFlowExpired }
        // It goes to a provider and back, and has no pages.
        guard flow.errand?.session == nil else { return redirect(to: AccountPath.account.naming(flow.languages)) }
        let page: any WebPage
        let fault = values.only("fault").flatMap(FormError.init(ofRedirect:))
        if let link = flow.link {
            if screen == .replace, let conflict = try conflictPage(at: values, visit, link) {
                page = conflict
            } else {
                page = try linkScreen(screen, visit, link, fault: fault)
            }
        } else if flow.status.isOpen {
            page = try chooserScreen(screen, visit, email: flow.loginHint, fault: fault)
        } else {
            throw SignInFailure.webFlowExpired
        }
        return response(page, in: visit)
    }

    /// - Parameters:
    ///   - email: what stands in the field for the address.
    ///   - name: what stands in that for a new person's name.
    ///   - fault: what has become of the step before.
    func chooserScreen(
        _ screen: Screen?, _ visit: FlowVisit, email: String?, name: String? = nil, isPasswordReset: Bool = false,
        fault: FormError? = nil
    ) throws -> any WebPage {
        let flow = visit.flow
        switch screen {
        case .password where offersPassword(in: flow):
            return try passwordPage(visit, email: email)
        case .email where offersEmailCode(in: flow):
            return try emailCodePage(visit, .address, email: email)
        case .register where offersRegistration(in: flow):
            return try registerPage(visit, email: email, name: name)
        case .forgot where offersEmailCode(in: flow):
            return try forgotPage(visit, .address, email: email)
        case .password, .email, .register, .forgot, .create, .bind, .confirm, .replace, .first, nil:
            let providers = flow.only.map { [$0] } ?? flow.providers
            return ChooserPage(
                purpose: flow.purpose,
                providers: try providers.map { provider in
                    .init(provider: provider, form: try visit.target("/web/start/\(provider.rawValue)"))
                },
                password: offersPassword(in: flow) ? try visit.target("/web/password") : nil,
                emailCodeLink: offersEmailCode(in: flow) ? visit.reference.link(.email) : nil,
                offersRegistration: offersRegistration(in: flow),
                cancel: try visit.target("/web/cancel"), email: email, isPasswordReset: isPasswordReset,
                act: flow.errand?.act, isAgain: flow.errand?.account != nil, error: fault)
        }
    }

    /// An app that wants one provider gets no other way.
    func offersPassword(in flow: WebFlow) -> Bool { flow.only == nil && signIn.configuration.offersPassword }

    func offersEmailCode(in flow: WebFlow) -> Bool { flow.only == nil && signIn.configuration.offersEmailCode }

    /// Who is about to change their account, or to delete it, has one.
    func offersRegistration(in flow: WebFlow) -> Bool { offersEmailCode(in: flow) && flow.errand == nil }
}

// MARK: - Where a browser goes on

extension WebAPI {
    func response(to request: Request, _ step: WebStep) async throws(SignInFailure) -> Response {
        switch step {
        case .returned(let answer):
            return response(to: request, answer)
        case .refusedClient(let authorization, let error, let failure):
            var response: Response
            if let target = try await oauth?.wayBack(from: authorization, saying: error) {
                response = redirect(to: target)
            } else {
                let over = SignInFailure.webFlowExpired.problem
                response = self.failure(PageRefusal(.flowOver, over), over, request)
            }
            response.problem = failure.problem
            return response
        case .failed(let flow, let failure):
            let page = FailurePage(
                failure: FailurePage.Failure(failure, failure.problem),
                retryLink: AccountPath.account.naming(flow.languages), requestID: request.id)
            return response(page, after: failure, to: request, flow: flow)
        case .link(let flow):
            return redirect(to: flow.page(), flow: flow)
        case .confirm(let flow):
            return redirect(to: flow.page(.confirm), flow: flow)
        case .unproven(let flow, .conflict(let existing, let prover)):
            // A page of its own: the address at which the browser has come back asks nothing when it is loaded again.
            let question = "\(flow.page(.replace))&by=\(prover.rawValue)&existing=\(existing.id)"
            var response = redirect(to: question, flow: flow)
            response.problem = SignInFailure.providerAlreadyLinked(existing).problem
            return response
        case .unproven(let flow, let reason):
            var response = redirect(to: flow.page(.bind, fault: FormError(reason)), flow: flow)
            if case .refused(let failure) = reason { response.problem = failure.problem }
            return response
        case .passwordReset(let flow):
            return redirect(to: flow.page(), flow: flow)
        case .choose(let flow, let reason):
            var response = redirect(to: flow.page(fault: reason.map { FormError($0) }), flow: flow)
            if case .refused(let failure)? = reason { response.problem = failure.problem }
            return response
        case .signedIn(let flow, let secret):
            await signIn.sessions.replace(cookies.session(of: request), with: secret, by: call(of: request))
            return redirect(to: flow.continuation, flow: flow).setting(cookies.cookie(secret))
        case .linked(let provider, let languages):
            let notice = provider.map { "?linked=\($0.rawValue)" } ?? ""
            return redirect(to: "\(AccountPath.account)\(notice)".naming(languages), isIsolated: true)
        case .notLinked(let failure, let languages):
            let said = failure.map { FormError(ofLinking: $0) } ?? .cancelledAtProvider
            var response = redirect(
                to: "\(AccountPath.account)?fault=\(said.rawValue)".naming(languages), isIsolated: true)
            response.problem = failure?.problem
            return response
        case .cancelled(let flow):
            return redirect(to: AccountPath.signedOut.naming(flow.languages), flow: flow)
        }
    }

    /// Leaves for an app. Browsers follow a redirect to a private scheme after a click alone, so such an app is opened from
    /// a page.
    func response(to request: Request, _ answer: AppReturn) -> Response {
        guard case .privateScheme = answer.kind else { return redirect(to: answer.uri, isIsolated: true) }
        let page = OpenAppPage(appName: answer.appName, uri: answer.uri, outcome: OpenAppPage.Outcome(answer))
        return response(
            page, to: request, languages: answer.languages, targets: [answer.formActionSource],
            isIsolated: true)
    }
}

extension OpenAppPage.Outcome {
    fileprivate init(_ answer: AppReturn) {
        switch answer.error {
        case nil: self = .signedIn
        case .accessDenied: self = .cancelled
        default: self = .failed
        }
    }
}

extension FormError {
    fileprivate init(_ reason: UnprovenReason) {
        self =
            switch reason {
            case .cancelled: .cancelledAtProvider
            case .otherIdentity: .otherIdentity
            case .conflict: .providerAlreadyLinked
            case .refused(let failure): Self(failure, wrong: .providerRefused) ?? .providerRefused
            }
    }

    /// What a redirect may have a page of a flow say: what a way to a provider has come to.
    fileprivate init?(ofRedirect text: String) {
        guard let fault = Self(rawValue: text), fault.fields.isEmpty else { return nil }
        self = fault
    }

    /// The same of the page of the account, to which any link may lead: nothing that may not be so.
    init?(ofLinking text: String) {
        let all: [Self] = [
            .cancelledAtProvider, .providerRefused, .providerUnavailable, .linkedElsewhere, .providerAlreadyLinked,
        ]
        guard let fault = Self(rawValue: text), all.contains(fault) else { return nil }
        self = fault
    }

    fileprivate init(ofLinking failure: SignInFailure) {
        switch Self(failure, wrong: .providerRefused) {
        // To sign in by it once more would open that account, and link nothing.
        case .identityAlreadyLinked: self = .linkedElsewhere
        case let fault?: self = Self(ofLinking: fault.rawValue) ?? .providerRefused
        case nil: self = .providerRefused
        }
    }
}

extension WebFlow {
    /// The address of one of its pages.
    fileprivate func page(_ screen: WebAPI.Screen? = nil, fault: FormError? = nil) -> String {
        let with = screen.map { "&with=\($0.rawValue)" } ?? ""
        return "\(FlowReference.link(id))\(with)\(fault.map { "&fault=\($0.rawValue)" } ?? "")"
    }

    /// Where its browser goes on when its person is signed in.
    fileprivate var continuation: String {
        switch kind {
        case .app, .account:
            (errand.map { "\($0.act.path)?flow=\(id)" } ?? AccountPath.account).naming(languages)
        case .oauth: "/oauth/authorize?flow=\(id)"
        }
    }

    /// Another app may have claimed the scheme and begun this flow: the person is to see for whom it is (RFC 8252 §8.6).
    fileprivate var needsClick: Bool { if case .app(_, .privateScheme) = kind { true } else { false } }
}
