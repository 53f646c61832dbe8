import Accounts
import HTTPAPI
package import HTTPServer
package import OAuthServer
package import SignIn
import Texts

/// The pages of the web sign-in: `/web`.
///
/// A handler reads a request, calls a use case of ``WebSignIn``, and shows its outcome. Every error of a handler is a page
/// too, which repeats nothing of the request.
package struct WebAPI: Sendable {
    let signIn: WebSignIn
    let accounts: AccountSettings
    let emailCodes: EmailCodeSignIn
    /// Nil where it is off.
    let oauth: OAuthServer?
    /// The path of the links that apps open for App Flip, if there are apps.
    let flipPath: String?
    let pages: Pages
    /// The URL of the public listener, without a final slash.
    let publicURL: String
    /// The Android packages of the apps with a relay, by the apps' names.
    let relayPackages: [String: String]
    let cookies: PageCookies
    let headers: PageHeaders
    let calls: Calls

    package init(
        signIn: WebSignIn, accounts: AccountSettings, emailCodes: EmailCodeSignIn, oauth: OAuthServer?,
        flipPath: String?, theme: PageTheme, publicURL: String,
        relayPackages: [String: String], calls: Calls
    ) {
        self.signIn = signIn
        self.accounts = accounts
        self.emailCodes = emailCodes
        self.oauth = oauth
        self.flipPath = flipPath
        self.pages = Pages(theme: theme)
        self.publicURL = publicURL
        self.relayPackages = relayPackages
        self.cookies = PageCookies(publicURL: publicURL)
        self.headers = PageHeaders(isSecure: cookies.isSecure)
        self.calls = calls
    }

    package var routes: [Route] {
        let routes =
            flowRoutes + providerRoutes + formRoutes + registrationRoutes + linkRoutes + accountRoutes + oauthRoutes + [
                relayRoute, assetRoute,
            ]
        return routes.map { route in
            explained(route).refused { error, problem, request in failure(error, problem, request) }
                .refusedEarly { problem, request in request.flatMap { unread(problem, $0) } }
        } + [unknownRoute]
    }

    /// The same operation, which says what became of a flow that is not under way.
    private func explained(_ route: Route) -> Route {
        Route(route.method, route.template, priority: route.priority) { request in
            do {
                return try await route.handler(request)
            } catch SignInFailure.webFlowExpired {
                throw try await refusal(ofPastFlow: request, isForm: route.method == .post)
            }
        }
    }

    private func refusal(ofPastFlow request: Request, isForm: Bool) async throws -> any Error {
        let expired = SignInFailure.webFlowExpired
        guard let id = try? flowID(of: request) else { return expired }
        let browser = cookies.browser(of: request)
        let past = try await signIn.pastFlow(id, browser: browser, by: call(of: request))
        // A form of it that was sent before, or belongs to an earlier step: the page of the flow has the one at hand.
        if isForm, let past, !past.isOver, !past.hasExpired, past.isOfBrowser {
            return PageRefusal(
                .formExpired, expired.problem, retryLink: FlowReference.link(id), languages: past.languages)
        }
        let failure: FailurePage.Failure =
            if past?.isOver == true {
                .flowOver
            } else if browser == nil, past?.hasExpired == false {
                // The cookie lives longer than the flow does.
                .cookiesMissing
            } else {
                .flowExpired
            }
        return try await refusal(failure, expired.problem, of: past)
    }

    /// The answer to a browser whose request has reached no handler. One that opens the address of a form as a page, as it
    /// does when what the form has shown is loaded again, is led to the page of the flow that the form is of.
    private func unread(_ problem: Problem, _ request: Request) -> Response? {
        guard request.acceptsHTML else { return nil }
        if problem.code == .methodNotAllowed, let flow = try? flowID(of: request) {
            return redirect(to: FlowReference.link(flow))
        }
        return failure(problem, problem, request)
    }

    /// What is no address of this listener: a page for a browser, JSON for everybody else and below `/v1`.
    private var unknownRoute: Route {
        Route(.get, "/*", priority: .reading) { request in
            let problem = Problem(.notFound)
            guard request.acceptsHTML, request.path != "/v1", !request.path.hasPrefix("/v1/") else { throw problem }
            var response = failure(problem, problem, request)
            response.problem = problem
            return response
        }
    }

    /// The style sheet and the pictures. Their paths change with their bytes.
    private var assetRoute: Route {
        Route(.get, "/web/assets/{asset}", priority: .reading) { request in
            try .asset(of: pages.assets, at: request, headers: headers.forAssets)
        }
    }
}

// MARK: - Requests

extension WebAPI {
    /// Its mails are in the language of the page.
    func call(of request: Request) -> Call {
        let caller = request.caller(device: .browser(userAgent: request.header("User-Agent")))
        return calls.begin(by: caller.preferring(uiLocales(of: request)))
    }

    func flowID(of request: Request) throws -> WebFlowID {
        guard let id = try request.queryValues().only("flow").flatMap(WebFlowID.init) else {
            throw SignInFailure.webFlowExpired
        }
        return id
    }

    /// The flow of a page, in the browser that looks at it.
    func flowReference(of request: Request) throws -> FlowReference {
        guard let browser = cookies.browser(of: request) else { throw SignInFailure.webFlowExpired }
        return FlowReference(id: try flowID(of: request), browser: browser)
    }

    /// - Throws: for a flow that is over, or another browser's.
    func visit(_ reference: FlowReference, _ request: Request) async throws -> FlowVisit {
        let flow = try await signIn.flow(reference, by: call(of: request))
        return FlowVisit(request: request, reference: reference, flow: flow)
    }

    func flowForm<Value>(
        of request: Request, _ action: String, _ read: (inout Fields) throws -> Value
    ) throws -> (flow: FlowReference, value: Value) {
        let id = try flowID(of: request)
        let browser = cookies.browser(of: request)
        let (value, ticket) = try request.ownForm(secret: browser?.text, flow: id.description, action: action) {
            (try read(&$0), $0.subject()?.ticket)
        }
        guard let browser else { throw SignInFailure.webFlowExpired }
        return (FlowReference(id: id, browser: browser, input: request.body, ticket: ticket), value)
    }
}

/// A request to a flow, as it stands.
struct FlowVisit: Sendable {
    let request: Request
    let reference: FlowReference
    let flow: WebFlow

    /// Where a form of the flow goes. It names the flow's languages, for what is mailed.
    ///
    /// - Parameters:
    ///   - typed: what it posts besides, by name: what was typed before.
    ///   - subject: what the form decides about, if that may change within the flow.
    func target(
        _ action: String, keeping typed: [String: String?] = [:], about subject: FormSubject? = nil
    ) throws -> FormTarget {
        let (id, secret) = (reference.id, reference.browser.text)
        return FormTarget(
            action: "\(action)?flow=\(id)".naming(flow.languages),
            csrf: try FormToken.text(secret: secret, flow: id.description, action: action, about: subject),
            hidden: typed.compactMapValues { $0 })
    }
}

extension FlowReference {
    /// The page of the flow, or one of its further screens.
    func link(_ screen: WebAPI.Screen? = nil) -> String {
        Self.link(id) + (screen.map { "&with=\($0.rawValue)" } ?? "")
    }

    static func link(_ id: WebFlowID) -> String { "/web/sign-in?flow=\(id)" }
}

extension Request {
    /// Whether it is a HEAD, a prefetch or a link preview, which must not open or spend anything.
    var isSpeculative: Bool {
        if isHead { return true }
        let purposes = [header("Sec-Purpose"), header("Purpose"), header("X-Moz")].compactMap { $0?.lowercased() }
        return purposes.contains { $0.hasPrefix("prefetch") || $0.hasPrefix("preview") }
    }
}

extension QueryValues {
    /// The value of a parameter that came once.
    func only(_ name: String) -> String? {
        let values = all(name)
        return values.count == 1 ? values.first : nil
    }
}

extension String {
    /// This address of ours with the languages that its person has asked for.
    func naming(_ languages: [String]) -> String {
        guard !languages.isEmpty else { return self }
        return "\(self)\(contains("?") ? "&" : "?")ui_locales=\(languages.joined(separator: "%20"))"
    }
}

// MARK: - Responses

extension WebAPI {
    /// - Parameters:
    ///   - flow: the one that the page belongs to.
    ///   - languages: those of a flow that has ended.
    ///   - targets: where its forms may end besides.
    func response(
        _ page: any WebPage, _ status: Status = .ok, to request: Request, flow: WebFlow? = nil,
        languages: [String]? = nil, targets: [String] = [], isIsolated: Bool = false
    ) -> Response {
        let language = language(of: request, flow?.languages ?? languages)
        var response = Response.html(status, pages.html(page, language: language))
        response.headers = headers.fields(
            targets: (flow?.formActionSources ?? []) + targets, isIsolated: flow?.isIsolated ?? isIsolated)
        return response
    }

    /// - Parameter languages: those of its flow, if it is of one.
    func language(of request: Request, _ languages: [String]?) -> Language {
        Language.choose(uiLocales: languages ?? uiLocales(of: request), acceptLanguage: request.acceptedLanguages)
    }

    /// A page with a form that was refused, shown again.
    func response(
        _ page: any WebPage, after failure: SignInFailure, to request: Request, flow: WebFlow? = nil,
        targets: [String] = [], isIsolated: Bool = false
    ) -> Response {
        let problem = failure.problem
        return response(
            page, problem.code.status, to: request, flow: flow, targets: targets, isIsolated: isIsolated
        ).refusing(problem)
    }

    /// A page of a flow.
    ///
    /// - Parameter failure: why its form was refused, if it is shown again.
    func response(_ page: any WebPage, after failure: SignInFailure? = nil, in visit: FlowVisit) -> Response {
        guard let failure else { return response(page, to: visit.request, flow: visit.flow) }
        return response(page, after: failure, to: visit.request, flow: visit.flow)
    }

    /// Sends the browser on, to a path of ours or out of here.
    func redirect(to target: String, flow: WebFlow? = nil, isIsolated: Bool = false) -> Response {
        var response = Response.redirect(to: target.hasPrefix("/") ? publicURL + target : target)
        response.headers += headers.fields(isIsolated: flow?.isIsolated ?? isIsolated)
        return response
    }

    /// The answer to a request that must have no effect. What a browser has prefetched it shows at the click, where 204 leaves
    /// it on the page that it is on; a refusal it drops, and asks again.
    func untouched(_ request: Request) -> Response {
        var response = Response.empty(request.isHead ? .noContent : .forbidden)
        response.headers = headers.fields()
        return response
    }

    func failure(_ error: any Error, _ problem: Problem, _ request: Request) -> Response {
        let failure = FailurePage.Failure(error, problem)
        let refusal = error as? PageRefusal
        let page = FailurePage(
            failure: failure, retryLink: refusal?.retryLink ?? retryLink(after: failure, request),
            appName: refusal?.appName, requestID: request.id)
        var response = response(page, problem.code.status, to: request, languages: refusal?.languages)
        response.headers += problem.headers
        return response
    }

    private func retryLink(after failure: FailurePage.Failure, _ request: Request) -> String? {
        let account = AccountPath.account.naming(uiLocales(of: request))
        return switch failure {
        case .reauthenticationRequired: account
        // What the account's forms are refused with leads to the account as it is now.
        case .methodNotAllowed, .formExpired:
            request.path == AccountPath.signOut || request.path.hasPrefix(AccountPath.account + "/") ? account : nil
        // The address of the page itself, which need not be repeated there. That of a form leads to what the form is of.
        // A provider's answer is taken once.
        case .unavailable, .internalError: request.path.hasPrefix("/web/callback/") ? nil : ""
        case .tooManyRequests: flowLink(of: request)
        default: nil
        }
    }

    /// The page of the flow that a request is of, on which nothing has changed.
    private func flowLink(of request: Request) -> String? {
        guard let flow = try? flowID(of: request) else { return nil }
        return request.path == Self.authorizePath ? "\(Self.authorizePath)?flow=\(flow)" : FlowReference.link(flow)
    }

    /// The languages that a request names; those of a flow are kept with it, and named by its forms.
    func uiLocales(of request: Request) -> [String] {
        guard let tags = try? request.queryValues().only("ui_locales") else { return [] }
        return AppAuthorization.languages(tags.replacing("+", with: " "))
    }
}

extension Request {
    fileprivate var acceptedLanguages: [String] { AcceptLanguage.tags(header("Accept-Language")) }
}

extension WebFlow {
    /// Whether its pages may leave the group of the page that opened them. A client of the OAuth server may wait for its
    /// pop-up.
    fileprivate var isIsolated: Bool {
        switch kind {
        case .app, .account: true
        case .oauth: false
        }
    }

    var purpose: SignInPurpose {
        switch kind {
        case .app(let name, _): .app(name)
        case .account: .account
        case .oauth(_, let client): .client(client)
        }
    }
}
