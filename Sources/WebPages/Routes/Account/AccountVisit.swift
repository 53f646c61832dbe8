import Accounts
import HTTPServer
import SignIn

/// A request of who is signed in to the pages.
struct AccountVisit: Sendable {
    let secret: WebSessionSecret
    /// A fresh one where the browser has none, to be set by a page with a form that is good for it.
    let browser: BrowserSecret
    let session: Session
    let account: Account
    let call: Call
    /// What the person comes back to by another sign-in.
    let errand: AccountErrand?
    /// Those that the request names. They stay from page to page.
    let languages: [String]

    /// Whether that sign-in was to another account than the one that they were about to change.
    var isOfOtherAccount: Bool { errand?.account.map { $0 != session.accountID } ?? false }

    /// Where a form of the page goes: its token is good for this session and this act.
    ///
    /// - Parameter subject: that the token is to name, for when the session is gone.
    func target(_ action: String, about subject: FormSubject? = nil) throws -> FormTarget {
        try target(action, about: subject, under: secret.text)
    }

    /// Where a form of the page goes that is good for this browser, also when its person has signed in again.
    func browserTarget(_ action: String, about subject: FormSubject? = nil) throws -> FormTarget {
        try target(action, about: subject, under: browser.text)
    }

    private func target(_ action: String, about subject: FormSubject?, under secret: String) throws -> FormTarget {
        FormTarget(
            action: action.naming(languages),
            csrf: try FormToken.text(secret: secret, flow: "", action: action, about: subject))
    }

    /// Back to the page of the account.
    var accountLink: String { AccountPath.account.naming(languages) }
}

extension WebAPI {
    /// Runs what only the person of an account may do: in the browser's session, or after another sign-in, from which they
    /// come back to the page of the act with what they had typed.
    ///
    /// - Parameters:
    ///   - act: what they are about to do; `nil` for a look at the account.
    ///   - isFresh: whether they must have signed in within ten minutes.
    ///   - over: what is answered instead where the session is over.
    func visit(
        _ request: Request, for act: AccountAct?, isFresh: Bool, over: () async throws -> Response? = { nil },
        _ body: (AccountVisit) async throws -> Response
    ) async throws -> Response {
        let call = call(of: request)
        let secret = cookies.session(of: request)
        guard let secret, let live = try await signIn.sessions.account(of: secret, by: call) else {
            if let response = try await over() { return response }
            let account = try await signIn.sessions.lastAccount(of: secret)
            return try await signIn(request, for: act.map { AccountErrand($0, of: account) }, by: call)
        }
        let browser = try cookies.browser(of: request) ?? .fresh()
        let session = live.session
        let errand = try await errand(of: request, by: call)
        if isFresh, !session.isFresh(at: call.now) {
            // Who has signed in just now has done so by what a provider vouched for long ago. It would again.
            guard errand == nil else {
                let back = AccountPath.account.naming(uiLocales(of: request))
                throw PageRefusal(.staleProof, Problem(.reauthenticationRequired), retryLink: back)
            }
            return try await signIn(request, for: act.map { AccountErrand($0, of: session.accountID) }, by: call)
        }
        let place = try request.isSafe ? nil : accounts.changes.begin(by: session)
        defer { withExtendedLifetime(place) {} }
        do {
            return try await body(
                AccountVisit(
                    secret: secret, browser: browser, session: session, account: live.account, call: call,
                    errand: errand, languages: uiLocales(of: request)))
        } catch SignInFailure.invalidSession {
            // It ended meanwhile, as by the same button pressed twice.
            if let response = try await over() { return response }
            return try await signIn(request, for: act.map { AccountErrand($0, of: session.accountID) }, by: call)
        }
    }

    /// Shows a page of the account, by GET. HEAD opens no flow, nor does what may not be looked at.
    func show(
        _ request: Request, for act: AccountAct?, isFresh: Bool = false,
        _ page: (AccountVisit) async throws -> any WebPage
    ) async throws -> Response {
        guard !request.isSpeculative else { return untouched(request) }
        return try await visit(request, for: act, isFresh: isFresh) { visit in
            response(account: try await page(visit), to: request)
        }
    }

    /// Reads a form of one of the account's pages.
    func accountForm<Value>(
        of request: Request, _ action: String, _ read: (inout Fields) throws -> Value
    ) throws -> Value {
        try request.ownForm(secret: cookies.session(of: request)?.text, flow: "", action: action, read)
    }

    /// Reads a form that is good for its browser, whichever of its sessions the page was of.
    func browserForm<Value>(
        of request: Request, _ action: String, _ read: (inout Fields) throws -> Value
    ) throws -> Value {
        try request.ownForm(secret: cookies.browser(of: request)?.text, flow: "", action: action, read)
    }

    /// A page of the account. Its forms may lead to a provider.
    func response(account page: any WebPage, _ status: Status = .ok, to request: Request) -> Response {
        response(page, status, to: request, targets: signIn.configuration.formActionSources, isIsolated: true)
    }

    /// A form of the account that was refused, shown again.
    ///
    /// - Throws: a failure that another try doesn't mend.
    func response(
        to request: Request, after failure: SignInFailure, wrong: FormError,
        _ page: (FormError) async throws -> any WebPage
    ) async throws -> Response {
        guard let fault = FormError(failure, wrong: wrong) else { throw failure }
        return response(
            try await page(fault), after: failure, to: request, targets: signIn.configuration.formActionSources,
            isIsolated: true)
    }

    /// Back to the page of the account, which says what was done.
    func done(_ notice: AccountPage.Notice?, _ visit: AccountVisit) throws -> Response {
        guard let word = notice?.word else { return redirect(to: visit.accountLink, isIsolated: true) }
        let link = try DoneLink.link(to: AccountPath.account, saying: word, secret: visit.secret.text)
        return redirect(to: link.naming(visit.languages), isIsolated: true)
    }

    private func errand(of request: Request, by call: Call) async throws -> AccountErrand? {
        guard let id = try request.queryValues().only("flow").flatMap(WebFlowID.init) else { return nil }
        return try await signIn.errand(of: id, browser: cookies.browser(of: request), by: call)
    }

    private func signIn(_ request: Request, for errand: AccountErrand?, by call: Call) async throws -> Response {
        let browser = try cookies.browser(of: request) ?? .fresh()
        let flow = try await signIn.openAccountFlow(
            for: errand, browser: browser, by: call, languages: uiLocales(of: request))
        return redirect(to: FlowReference(id: flow.id, browser: browser).link(), flow: flow)
            .setting(cookies.cookie(browser))
    }
}
