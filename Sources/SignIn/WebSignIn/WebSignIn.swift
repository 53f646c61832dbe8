package import Accounts
import Logging
import Primitives
import Storage

/// Signing in in a browser: from an app's request to the code that the app exchanges, or to our own page of the account.
///
/// A flow belongs to the browser that opened it. In one that ends at an app no account is decided on, and no session opened,
/// before the app exchanges its code (docs/decisions/0020-web-flows.md).
package final class WebSignIn: Sendable {
    package struct Configuration: Sendable {
        package struct Apple: Sendable {
            package var servicesID: ProviderClientID
            package var realm: Realm
            package var authorizeURL: String

            package init(
                servicesID: ProviderClientID, realm: Realm = .main,
                authorizeURL: String = "https://appleid.apple.com/auth/authorize"
            ) {
                self.servicesID = servicesID
                self.realm = realm
                self.authorizeURL = authorizeURL
            }
        }

        package struct Google: Sendable {
            package var clientID: ProviderClientID
            package var authorizeURL: String
            /// The Workspace domains that may sign in; empty for all accounts.
            package var hostedDomains: [String]
            /// Whether an answer must name its issuer.
            package var requireIssuer: Bool

            package init(
                clientID: ProviderClientID, authorizeURL: String = "https://accounts.google.com/o/oauth2/v2/auth",
                hostedDomains: [String] = [], requireIssuer: Bool = false
            ) {
                self.clientID = clientID
                self.authorizeURL = authorizeURL
                self.hostedDomains = hostedDomains
                self.requireIssuer = requireIssuer
            }
        }

        /// Our own, which answers to apps name.
        package var issuer: String
        /// Without a slash at its end.
        package var publicURL: String
        package var apps: [WebApp]
        package var apple: Apple?
        package var google: Google?
        package var offersPassword = true
        /// Whether mail is sent.
        package var offersEmailCode: Bool

        package init(
            issuer: String, publicURL: String, apps: [WebApp], apple: Apple?, google: Google?, offersEmailCode: Bool
        ) {
            self.issuer = issuer
            self.publicURL = publicURL.hasSuffix("/") ? String(publicURL.dropLast()) : publicURL
            self.apps = apps
            self.apple = apple
            self.google = google
            self.offersEmailCode = offersEmailCode
        }

        /// The providers that a browser can be sent to, in the order in which they are shown.
        package var providers: [Provider] { (apple == nil ? [] : [.apple]) + (google == nil ? [] : [.google]) }

        /// The origins of the providers' pages.
        package var formActionSources: [String] {
            [apple?.authorizeURL, google?.authorizeURL].compactMap { url in
                guard let url, let scheme = url.firstRange(of: "://") else { return nil }
                return String(url[..<(url[scheme.upperBound...].firstIndex(of: "/") ?? url.endIndex)])
            }
        }

        /// Where a provider sends the browser back to.
        package func callbackURL(of provider: Provider) -> String { "\(publicURL)/web/callback/\(provider.rawValue)" }
    }

    package let configuration: Configuration
    /// The sessions of browsers.
    package let sessions: WebSessions
    let store: WebFlowStore
    let codes: WebCodes
    let registrations: WebRegistrationStore
    let accounts: AccountStore
    let credentials: WebCredentials
    let persons: ProvenPersons
    let tickets: LinkTickets
    let linking: TicketLinking
    let identities: IdentityLinking
    let passwords: PasswordSignIn
    let emailCodes: EmailCodeSignIn
    let limits: RateLimiter
    let refusals: RefusalAggregator
    let calls: Calls
    let logger: Logger
    let steps = WebStepCounters()

    init(
        configuration: Configuration, sessions: WebSessions, store: WebFlowStore, codes: WebCodes,
        registrations: WebRegistrationStore, accounts: AccountStore, credentials: WebCredentials,
        persons: ProvenPersons, tickets: LinkTickets, linking: TicketLinking, identities: IdentityLinking,
        passwords: PasswordSignIn, emailCodes: EmailCodeSignIn, limits: RateLimiter, refusals: RefusalAggregator,
        calls: Calls, logger: Logger
    ) {
        self.configuration = configuration
        self.sessions = sessions
        self.store = store
        self.codes = codes
        self.registrations = registrations
        self.accounts = accounts
        self.credentials = credentials
        self.persons = persons
        self.tickets = tickets
        self.linking = linking
        self.identities = identities
        self.passwords = passwords
        self.emailCodes = emailCodes
        self.limits = limits
        self.refusals = refusals
        self.calls = calls
        self.logger = logger
    }

    // MARK: Opening

    /// Opens a flow for an app (`GET /web/authorize`).
    package func authorize(
        _ query: AuthorizeQuery, browser: BrowserSecret, by call: Call
    ) async throws(SignInFailure) -> AuthorizeOutcome {
        try await steps.counting(.open, as: \.stepOutcome) { () throws(SignInFailure) in
            let decision = AppAuthorization.decide(
                query, apps: configuration.apps, offered: configuration.providers, issuer: configuration.issuer)
            switch decision {
            case .refuseUnknownApp: return .unknownApp
            case .refuse(let answer): return .refused(answer)
            case .open(let app):
                return .opened(
                    try await open(
                        .app, app, browser: browser, by: call, languages: app.languages,
                        loginHint: app.loginHint))
            }
        }
    }

    /// Opens a flow that ends at our own page of the account.
    ///
    /// - Parameter errand: what the person then goes on with.
    package func openAccountFlow(
        for errand: AccountErrand? = nil, browser: BrowserSecret, by call: Call, languages: [String] = []
    ) async throws(SignInFailure) -> WebFlow {
        try await steps.counting(.open) { () throws(SignInFailure) in
            try await open(
                .account, nil, errand: errand, browser: browser, by: call, languages: languages, loginHint: nil)
        }
    }

    /// Opens a flow that ends at the consent of the OAuth server.
    ///
    /// - Parameter clientName: what the flow's pages call the client.
    package func openOAuthFlow(
        _ authorization: OAuthAuthorization, clientName: String, languages: [String], loginHint: String?,
        browser: BrowserSecret, by call: Call
    ) async throws(SignInFailure) -> WebFlow {
        try await steps.counting(.open) { () throws(SignInFailure) in
            let request = OAuthFlowRequest(authorization: authorization, clientName: clientName)
            return try await open(
                .oauth, nil, oauthRequest: request.stored, browser: browser, by: call, languages: languages,
                loginHint: loginHint)
        }
    }

    private func open(
        _ kind: WebFlowKind, _ app: AppAuthorization?, oauthRequest: String? = nil, errand: AccountErrand? = nil,
        browser: BrowserSecret, by call: Call, languages: [String], loginHint: String?
    ) async throws(SignInFailure) -> WebFlow {
        try await limits.drawNetworks(.webFlowsPerNetwork, by: call)
        let flow = NewWebFlow(
            id: try .fresh(at: call.now), kind: kind, browserHash: browser.hash, app: app, oauthRequest: oauthRequest,
            errand: errand, languages: languages, loginHint: loginHint, network: call.caller.network,
            expiresAt: call.now.advanced(bySeconds: Lifetimes.webFlowSeconds))
        return try await page(of: try await stored { try await store.open(flow, by: call) }, by: call)
    }

    // MARK: Looking and leaving

    /// A flow in which its browser can still do something.
    package func flow(_ reference: FlowReference, by call: Call) async throws(SignInFailure) -> WebFlow {
        try await page(of: try await read(reference, by: call), by: call)
    }

    /// Keeps an open flow for as long as a code is good that was just mailed on its pages.
    package func prolong(_ reference: FlowReference, by call: Call) async throws(SignInFailure) {
        try await stored { try await store.prolong(reference.id, of: reference.browser.hash, by: call) }
    }

    /// Gives a flow up.
    package func cancel(_ reference: FlowReference, by call: Call) async throws(SignInFailure) -> WebStep {
        try await steps.counting(.cancel) { () throws(SignInFailure) in
            let flow = try await read(reference, by: call)
            if let ticket = flow.linkTicket { try await linking.cancel(linkTicket: ticket, by: call) }
            guard try await stored({ try await store.cancel(reference.id, of: reference.browser.hash, by: call) })
            else { throw .webFlowExpired }
            guard flow.kind == .app else { return .cancelled(try await page(of: flow, as: .failed, by: call)) }
            return .returned(try appReturn(.error(.accessDenied), of: flow))
        }
    }

    // MARK: What the steps share

    func read(_ reference: FlowReference, by call: Call) async throws(SignInFailure) -> StoredWebFlow {
        let flow = try await stored { try await store.read(reference.id, of: reference.browser.hash, by: call) }
        guard let flow else { throw .webFlowExpired }
        return flow
    }

    /// To be called before the proof of a flow's person is used up.
    func requireSigner(toEnd flow: StoredWebFlow, by call: Call) throws(SignInFailure) {
        if flow.opensSession { try tickets.issuer.requireSigner(by: call) }
    }

    /// A flow whose person may still choose how to sign in. One whose browser is away to prove the account of a ticket is
    /// none: a form of an older page would end it meanwhile, or come back as that proof.
    func readOpen(_ reference: FlowReference, by call: Call) async throws(SignInFailure) -> StoredWebFlow {
        let flow = try await read(reference, by: call)
        guard flow.status.isOpen, flow.linkTicket == nil else { throw .webFlowExpired }
        return flow
    }

    /// - Parameters:
    ///   - status: that the flow has by now.
    ///   - link: what its person has to choose; looked up if absent.
    func page(
        of flow: StoredWebFlow, as status: WebFlowStatus? = nil, link: LinkRequired? = nil, by call: Call
    ) async throws(SignInFailure) -> WebFlow {
        let status = status ?? flow.status
        var sources = configuration.formActionSources
        let kind: WebFlow.Kind
        switch flow.kind {
        case .account: kind = .account
        case .oauth:
            guard let request = OAuthFlowRequest(stored: flow.oauthRequest) else { throw .webFlowExpired }
            kind = .oauth(request.authorization, client: request.clientName)
            if let source = request.formActionSource { sources.append(source) }
        case .app:
            let (app, registered, _) = try self.app(of: flow)
            kind = .app(name: app.name, registered.kind)
            sources.append(registered.formActionSource)
        }
        var link = link
        // Its person may have come back from a provider by themselves.
        let isBack = status == flow.status && status.isOpen
        if link == nil, status == .linking || isBack, let ticket = flow.linkTicket {
            link = try await linkRequired(ticket, by: call)
        }
        return WebFlow(
            id: flow.id, kind: kind, status: status, providers: configuration.providers,
            only: flow.onlyProvider, languages: flow.languages, loginHint: flow.loginHint, formActionSources: sources,
            link: link, errand: flow.errand)
    }

    func appReturn(_ outcome: AppReturn.Outcome, of flow: StoredWebFlow) throws(SignInFailure) -> AppReturn {
        let (app, registered, requested) = try self.app(of: flow)
        return AppReturn(
            outcome, to: requested, registered: registered, of: app, state: flow.appState, issuer: configuration.issuer,
            languages: flow.languages)
    }

    /// The app of a flow, which may be configured no more.
    func app(
        of flow: StoredWebFlow
    ) throws(SignInFailure) -> (app: WebApp, registered: AppRedirectURI, requested: String) {
        guard let id = flow.appID, let requested = flow.redirectURI,
            let app = configuration.apps.first(where: { $0.id.hasSameBytes(as: id) }),
            let registered = app.redirectURI(matching: requested)
        else { throw .webFlowExpired }
        return (app, registered, requested)
    }

    /// Ends the flow of a proven person: at its app, with a code, or here. Where that fails it ends all the same, and the app or
    /// the client hears of it.
    ///
    /// - Parameters:
    ///   - flow: is being verified.
    ///   - reference: with what has proven the person: a form, or a provider's answer.
    func settle(
        _ flow: StoredWebFlow, _ person: ProvenPerson, answering reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        do throws(SignInFailure) {
            switch flow.kind {
            case .app: return try await handOver(person, of: flow, answering: reference, by: call)
            case .account, .oauth: return try await enter(flow, person, answering: reference, by: call)
            }
        } catch {
            switch error {
            case .webFlowExpired: throw error
            case .accountDisabled, .identityBlocked:
                // They may have another account, or another way into it.
                try await stored { try await store.reopen(flow.id, by: call) }
                return .choose(try await page(of: flow, as: .new, by: call), after: .refused(error))
            default: return try await fail(flow, error, by: call)
            }
        }
    }

    /// Gives the app a code for the person that a provider has proven.
    private func handOver(
        _ person: ProvenPerson, of flow: StoredWebFlow, answering reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        let code: OpaqueSecret
        do throws(SignInFailure) {
            code = try codes.code(in: reference)
            let new = try newCode(code, of: flow, by: call)
            guard try await stored({ try await store.keep(person, of: flow.id, for: new, by: call) }) else {
                throw .webFlowExpired
            }
        } catch {
            await credentials.abandon(person, after: error, by: call)
            throw error
        }
        return .returned(try appReturn(.code(code.text), of: flow))
    }

    /// - Parameter flow: ends at an app.
    func newCode(_ code: OpaqueSecret, of flow: StoredWebFlow, by call: Call) throws(SignInFailure) -> NewWebCode {
        let seconds = Lifetimes.webCodeSeconds(for: try app(of: flow).registered.kind)
        return NewWebCode(hash: code.hash, expiresAt: call.now.advanced(bySeconds: seconds))
    }

    /// Decides on the account of a person whose flow ends here.
    private func enter(
        _ flow: StoredWebFlow, _ person: ProvenPerson, answering reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        // The way of such a flow is that to the provider alone.
        guard flow.errand?.session == nil else { throw .webFlowExpired }
        switch try await persons.signIn(person, by: call) {
        case .signedIn(let signedIn): return try await enter(flow, signedIn, answering: reference, by: call)
        case .linkRequired(let link): return try await choose(flow, link, by: call)
        }
    }

    /// Opens the browser's session.
    ///
    /// - Parameter reference: with the form, or the provider's answer, that it is the answer to.
    func enter(
        _ flow: StoredWebFlow, _ signedIn: SignedIn, answering reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        let id = signedIn.session.id
        let secret = WebSessionSecret(try codes.sent(to: .browser(id)).code(in: reference))
        try await sessions.open(id, secret, by: call)
        guard flow.kind == .oauth else {
            try await end(flow, as: .spent, in: id)
            return .signedIn(try await page(of: flow, as: .spent, by: call), secret)
        }
        // The person has yet to consent, and may still take another account.
        try await stored { try await store.reopen(flow.id, in: id, by: call) }
        return .signedIn(try await page(of: flow, as: .new, by: call), secret)
    }

    func choose(_ flow: StoredWebFlow, _ link: LinkRequired, by call: Call) async throws(SignInFailure) -> WebStep {
        let isKept = try await stored {
            try await store.keep(linkTicket: link.linkTicket, of: flow.id, until: link.expiresAt)
        }
        guard isKept else { throw .webFlowExpired }
        return .link(try await page(of: flow, as: .linking, link: link, by: call))
    }

    /// - Parameter session: the browser's, if the flow has opened it.
    func end(
        _ flow: StoredWebFlow, as status: WebFlowStatus, in session: SessionID? = nil
    ) async throws(SignInFailure) {
        try await stored { try await store.end(flow.id, as: status, in: session) }
    }

    /// Notes why a browser or an app was refused. It is never answered.
    func note(_ reason: WebRejection, provider: Provider? = nil, by call: Call) {
        refusals.note(.credentialRejected, provider: provider, reason: reason.rawValue, by: call)
    }
}

extension StoredWebFlow {
    /// Whether the request that proves its person opens their session: not where the app exchanges a code for it, or where
    /// there is one to link to.
    var opensSession: Bool { kind != .app && errand?.session == nil }
}
