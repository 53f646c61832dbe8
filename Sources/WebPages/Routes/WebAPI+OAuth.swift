import Accounts
import HTTPAPI
import HTTPServer
import OAuthServer
import SignIn
import Texts

/// A client of the OAuth server asks for a code: the person signs in and decides.
extension WebAPI {
    static let authorizePath = "/oauth/authorize"
    private static let otherAccountPath = "/oauth/other-account"

    /// None where the OAuth server is off.
    var oauthRoutes: [Route] {
        guard let oauth else { return [] }
        // Shows nothing of the request and leads nowhere: what it asks for is the app's to answer.
        let flip = flipPath.map { path in
            Route(.get, path, priority: .reading) { request in
                response(FlipPage(), to: request, isIsolated: true)
            }
        }
        return [flip].compactMap(\.self) + [
            Route(.get, Self.authorizePath) { request in
                let values = try request.queryValues(plusIsSpace: true, judgesValues: true)
                guard !request.isSpeculative else { return untouched(request) }
                // A client may add a parameter of this name, which is then ignored (RFC 6749 §3.1).
                let isOfClient = ["client_id", "response_type"].contains { !values.all($0).isEmpty }
                guard isOfClient || values.all("flow").isEmpty else { return try await showConsent(oauth, request) }
                return try await open(OAuthQuery(isMalformed: values.isMalformed, values.all), oauth, request)
            },
            Route(.post, Self.authorizePath) { request in try await takeConsent(oauth, request) },
            Route(.post, Self.otherAccountPath, priority: .revoking) { request in
                let (flow, _) = try flowForm(of: request, Self.otherAccountPath) { _ in }
                try await signIn.sessions.end(cookies.session(of: request), by: call(of: request))
                return redirect(to: flow.link()).setting(cookies.endedSession)
            },
        ]
    }

    private func open(_ query: OAuthQuery, _ oauth: OAuthServer, _ request: Request) async throws -> Response {
        let browser = try cookies.browser(of: request) ?? .fresh()
        switch try await oauth.authorize(query, browser: browser, by: call(of: request)) {
        case .unknownClient: throw PageRefusal(.unknownClient, Problem(.invalidRequest, reason: "unknown_client"))
        case .refused(let uri): return redirect(to: uri)
        case .opened(let flow):
            let isSignedIn = try await session(of: request) != nil
            let reference = FlowReference(id: flow.id, browser: browser)
            let target = isSignedIn ? "\(Self.authorizePath)?flow=\(flow.id)" : reference.link()
            return redirect(to: target, flow: flow).setting(cookies.cookie(browser))
        }
    }

    private func session(of request: Request) async throws -> Session? {
        try await signIn.sessions.session(of: cookies.session(of: request), by: call(of: request))
    }

    private func showConsent(_ oauth: OAuthServer, _ request: Request) async throws -> Response {
        let flow = try flowReference(of: request)
        let step = try await oauth.consent(in: flow, session: try await session(of: request), by: call(of: request))
        return try response(to: request, step, flow, oauth)
    }

    private func response(
        to request: Request, _ step: OAuthServer.ConsentStep, _ reference: FlowReference, _ oauth: OAuthServer
    ) throws -> Response {
        func visit(_ flow: WebFlow) -> FlowVisit { FlowVisit(request: request, reference: reference, flow: flow) }
        switch step {
        case .signIn(let flow): return redirect(to: reference.link(), flow: flow)
        case .proveEmail(let flow, let account):
            let page = try confirmPage(visit(flow), .address, of: account.id, email: account.email?.text)
            return response(page, in: visit(flow))
        case .signInOtherwise(let flow):
            throw PageRefusal(
                .reauthenticationRequired, SignInFailure.reauthenticationRequired.problem, retryLink: reference.link(),
                languages: flow.languages)
        case .lackEmail(let flow, let account):
            return response(try missingEmailPage(visit(flow), account), in: visit(flow))
        case .ask(let consent):
            let asked = visit(consent.flow)
            let language = language(of: request, consent.flow.languages)
            let page = ConsentPage(
                client: consent.clientName, account: AccountTitle(consent.account),
                otherAccount: try asked.target(Self.otherAccountPath),
                scopes: consent.scopes.all.map { scope in
                    ConsentPage.Scope(scope, texts: oauth.configuration.scopeTexts[scope] ?? [:], in: language)
                },
                clientPrivacyURL: consent.privacyURL,
                form: try asked.target(Self.authorizePath, about: .account(consent.account.id)))
            return response(page, in: asked)
        }
    }

    private func missingEmailPage(_ visit: FlowVisit, _ account: Account) throws -> MissingEmailPage {
        MissingEmailPage(
            purpose: visit.flow.purpose, account: AccountTitle(account),
            otherAccount: try visit.target(Self.otherAccountPath), form: try visit.target(Self.authorizePath))
    }

    /// The form of the consent, or of the address that the client wants.
    private func takeConsent(_ oauth: OAuthServer, _ request: Request) async throws -> Response {
        enum Decision: String {
            case allow
            case deny
        }
        let (flow, (decision, account, email, code, isAgain)) = try flowForm(of: request, Self.authorizePath) { form in
            (
                form.optionalChoice("consent", of: Decision.self), form.subject()?.account, form.typed("email"),
                form.mailedCode(), form.asksAgain()
            )
        }
        if let email { return try await confirm(email, code, isAgain: isAgain, of: account, flow, oauth, request) }
        guard let decision else { throw Problem(field: "consent", .required) }
        return try await decide(decision == .allow ? .allow(account) : .deny, flow, oauth, request)
    }

    private func decide(
        _ decision: OAuthServer.Decision, _ flow: FlowReference, _ oauth: OAuthServer, _ request: Request
    ) async throws -> Response {
        let decided = try await oauth.decide(
            decision, in: flow, session: try await session(of: request), by: call(of: request))
        switch decided {
        case .redirect(let uri): return redirect(to: uri)
        case .step(let step): return try response(to: request, step, flow, oauth)
        }
    }

    /// Whether the client of a flow, if it is one's, may still ask for what it has asked for. If not, the person would sign in
    /// for nothing.
    func isAccepted(_ flow: WebFlow) async throws(SignInFailure) -> Bool {
        guard case .oauth(let authorization, _) = flow.kind else { return true }
        return try await oauth?.accepts(authorization) == true
    }

    /// The chooser's *Cancel* in a flow of a client, which hears of it.
    ///
    /// - Returns: `nil` for a flow that ends elsewhere.
    func refuseConsent(in flow: FlowReference, _ request: Request) async throws -> Response? {
        guard let oauth else { return nil }
        do {
            guard case .oauth = try await signIn.flow(flow, by: call(of: request)).kind else { return nil }
        } catch SignInFailure.webFlowExpired {
            // The same click may have ended it, and then has the same answer.
        }
        return try await decide(.deny, flow, oauth, request)
    }

    // MARK: The address that a client wants

    /// - Parameter account: the one whose address the page has asked for. Where another is signed in by now, nothing is done,
    ///   and that one is asked.
    private func confirm(
        _ email: String, _ code: String?, isAgain: Bool, of account: AccountID?, _ flow: FlowReference,
        _ oauth: OAuthServer, _ request: Request
    ) async throws -> Response {
        request.note(email: email)
        let call = call(of: request)
        let current = try await session(of: request)
        guard let session = current, session.accountID == account else {
            let step = try await oauth.consent(in: flow, session: current, by: call)
            return try response(to: request, step, flow, oauth)
        }
        // A code is entered by who had it mailed: by then the sign-in may be old.
        let step = code == nil ? try await oauth.consent(in: flow, session: session, by: call) : nil
        if let step, !step.asksEmail { return try response(to: request, step, flow, oauth) }
        let visit = try await visit(flow, request)
        let consent = redirect(to: "\(Self.authorizePath)?flow=\(flow.id)", flow: visit.flow)
        do throws(SignInFailure) {
            if let code {
                try await emailCodes.verifyEmail(code: code, of: session, by: call)
            } else {
                try await accounts.requestEmail(email, of: session, by: call)
                try await signIn.prolong(flow, by: call)
            }
        } catch {
            if code != nil, try await isProven(email, of: session, after: error) { return consent }
            guard let fault = FormError(error, wrong: .wrongCode) else { throw error }
            let step: CodeStep = code == nil ? .address : .code(email: email)
            let page = try confirmPage(visit, step, of: session.accountID, email: email, error: fault)
            return response(page, after: error, in: visit)
        }
        guard code == nil else { return consent }
        let sent = CodeStep.code(email: email, isAgain: isAgain)
        return response(try confirmPage(visit, sent, of: session.accountID), in: visit)
    }

    private func confirmPage(
        _ visit: FlowVisit, _ step: CodeStep, of account: AccountID, email: String? = nil, error: FormError? = nil
    ) throws -> EmailCodePage {
        EmailCodePage(
            purpose: visit.flow.purpose, reason: .confirmAddress, step: step,
            form: try visit.target(Self.authorizePath, about: .account(account)),
            back: .link(visit.reference.link()), email: email,
            otherAccount: try visit.target(Self.otherAccountPath), error: error)
    }
}

extension OAuthServer.ConsentStep {
    fileprivate var asksEmail: Bool { if case .proveEmail = self { true } else { false } }
}

extension ConsentPage.Scope {
    /// - Parameter texts: the operator's sentences, by language.
    fileprivate init(_ scope: OAuthScope, texts: [String: String], in language: Language) {
        if let sentence = texts[language.rawValue] {
            self = .sentence(sentence)
        } else if let sentence = texts[Language.english.rawValue] {
            self = .sentence(sentence, isEnglish: true)
        } else {
            switch scope {
            case .profile: self = .profile
            case .email: self = .email
            default: self = .sentence(scope.text)
            }
        }
    }
}
