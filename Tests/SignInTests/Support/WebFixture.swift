import Accounts
import OpenSSL
import Postgres
import Primitives
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// Browsers that sign in through the sandbox's pages, and the apps and pages of ours to which they come back.
struct WebFixture: ServiceFixture {
    static let publicURL = "https://auth.example.com"
    static let servicesID = LifeCycleFixture.webClient
    static let redirectURI = "https://lamp.example.com/signed-in"
    static let privateURI = "com.example.lamp:/signed-in"
    static let loopbackURI = "http://127.0.0.1/signed-in"
    static let state = "state-of-the-app:0123456789/+="
    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    /// Of ``verifier`` (RFC 7636 appendix B).
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    let base: LifeCycleFixture
    private let google: GoogleProvider
    let service: SignInService
    let web: WebSignIn
    let browser: BrowserSecret

    var clock: ManualClock { base.clock }
    var database: Database { base.database }
    var storage: ServiceDatabase { base.storage }
    var client: Caller { base.client }

    static func run(_ body: (WebFixture) async throws -> Void) async throws { try await run(hostedDomains: [], body) }

    /// - Parameters:
    ///   - configure: changes the configuration, that of the browser's way in among it.
    ///   - hostedDomains: of Google's accounts.
    static func run(
        hostedDomains: [String] = [], configure: (inout SignInService.Configuration) -> Void = { _ in },
        _ body: (WebFixture) async throws -> Void
    ) async throws {
        try await LifeCycleFixture.run(appleClients: [LifeCycleFixture.appleClient, servicesID]) { base in
            try await body(try await WebFixture(base, hostedDomains: hostedDomains, configure))
        }
    }

    private init(
        _ base: LifeCycleFixture, hostedDomains: [String], _ configure: (inout SignInService.Configuration) -> Void
    ) async throws {
        for (provider, client) in [
            (Sandbox.Provider.apple, Self.servicesID), (.google, LifeCycleFixture.serverClient),
        ] {
            try await base.sandbox.registerWebClient(
                provider, client, redirectURIs: ["\(Self.publicURL)/web/callback/\(provider.rawValue)"])
        }
        var rules = base.google.configuration
        rules.hostedDomains = hostedDomains
        try self.init(
            base, google: GoogleProvider(configuration: rules, keys: base.google.keys), browser: .fresh()
        ) { configuration in
            configuration.mailLanguages = ["en"]
            configuration.web = Self.configuration(at: base.sandbox, hostedDomains: hostedDomains)
            configure(&configuration)
        }
    }

    private init(
        _ base: LifeCycleFixture, apple: AppleProvider? = nil, google: GoogleProvider, browser: BrowserSecret,
        _ configure: (inout SignInService.Configuration) -> Void
    ) throws {
        self.base = base
        self.google = google
        self.browser = browser
        service = base.service(
            apple: apple, google: google,
            endpoints: TokenEndpoints(
                apple: base.endpoints.apple, google: LifeCycleFixture.googleEndpoint(google, of: base.sandbox)),
            configure)
        web = try #require(service.web)
    }

    /// The same browser, after the operator has configured the way in differently.
    func reconfigured(_ change: (inout WebSignIn.Configuration) -> Void) throws -> WebFixture {
        var changed = web.configuration
        change(&changed)
        return try WebFixture(base, google: google, browser: browser) { configuration in
            configuration = service.configuration
            configuration.web = changed
        }
    }

    /// The same browser, where Apple's posted tokens are verified by keys that are fetched.
    func fetchingKeys() throws -> WebFixture {
        let cache = KeySetCache(
            provider: .apple, url: base.sandbox.appleKeysURL, fetcher: base.sandbox.fetcher, clock: clock,
            logger: .silent)
        let apple = AppleProvider(configuration: base.apple.configuration, keys: .cache(cache))
        return try WebFixture(base, apple: apple, google: google, browser: browser) { $0 = service.configuration }
    }

    private static func configuration(at sandbox: Sandbox, hostedDomains: [String]) -> WebSignIn.Configuration {
        WebSignIn.Configuration(
            issuer: publicURL, publicURL: publicURL + "/",
            apps: [
                WebApp(
                    id: "lamp", name: "Lamp",
                    redirectURIs: [redirectURI, privateURI, loopbackURI].compactMap(AppRedirectURI.init(registering:)))
            ],
            apple: .init(servicesID: ProviderClientID(servicesID), authorizeURL: sandbox.appleAuthorizeURL),
            google: .init(
                clientID: ProviderClientID(LifeCycleFixture.serverClient), authorizeURL: sandbox.googleAuthorizeURL,
                hostedDomains: hostedDomains),
            offersEmailCode: true)
    }

    // MARK: The browser

    static func query(_ redirectURI: String = redirectURI) -> AuthorizeQuery {
        AuthorizeQuery(
            app: ["lamp"], redirectURI: [redirectURI], codeChallenge: [challenge], codeChallengeMethod: ["S256"],
            state: [state])
    }

    /// Opens a flow that ends at the app.
    func open(
        _ redirectURI: String = redirectURI, from network: Network? = nil,
        of wideNetwork: Network? = nil, _ change: (inout AuthorizeQuery) -> Void = { _ in }
    ) async throws -> WebFlow {
        var query = Self.query(redirectURI)
        change(&query)
        let outcome = try await web.authorize(
            query, browser: browser, by: call(by: base.caller(from: network, of: wideNetwork)))
        guard case .opened(let flow) = outcome else { throw SignInFixture.Unexpected.succeeded }
        return flow
    }

    /// Opens a flow that ends at our own page.
    func openAccountFlow() async throws -> WebFlow { try await web.openAccountFlow(browser: browser, by: call) }

    /// A flow, in the browser of the fixture.
    func reference(_ flow: WebFlow) -> FlowReference { FlowReference(id: flow.id, browser: browser) }

    func start(_ provider: Provider, _ flow: WebFlow) async throws -> String {
        try await web.start(provider, in: reference(flow), by: call)
    }

    /// What Apple's page makes the browser post.
    func appleAnswer(
        _ flow: WebFlow, _ person: String = "kim", action: String = "continue", name: (String, String)? = nil
    ) async throws -> AppleAnswer {
        try await appleAnswer(at: try await start(.apple, flow), person, action: action, name: name)
    }

    /// - Parameter url: of the page.
    func appleAnswer(
        at url: String, _ person: String = "kim", action: String = "continue", name: (String, String)? = nil
    ) async throws -> AppleAnswer {
        let fields = name.map { [("givenName", $0.0), ("familyName", $0.1)] } ?? []
        let answer = try await base.sandbox.authorize(at: url, person: person, action: action, fields: fields)
        #expect(answer.isForm)
        return AppleAnswer(
            state: try #require(answer["state"]), code: answer["code"], idToken: answer["id_token"],
            user: answer["user"], error: answer["error"])
    }

    func hold(_ answer: AppleAnswer) async throws -> String { try await web.hold(answer, by: call) }

    /// Finishes Apple's answer that is held.
    func finish(handle: String) async throws -> WebStep {
        try await web.finishApple(handle: handle, browser: browser, by: call)
    }

    func finish(_ answer: AppleAnswer) async throws -> WebStep { try await finish(handle: try await hold(answer)) }

    /// What Google sends the browser back with.
    func googleAnswer(
        _ flow: WebFlow, _ person: String = "kim", action: String = "continue"
    ) async throws -> GoogleAnswer {
        try await googleAnswer(at: try await start(.google, flow), person, action: action)
    }

    /// - Parameter url: of the page.
    func googleAnswer(
        at url: String, _ person: String = "kim", action: String = "continue"
    ) async throws -> GoogleAnswer {
        let answer = try await base.sandbox.authorize(at: url, person: person, action: action)
        return GoogleAnswer(
            state: try #require(answer["state"]), code: answer["code"], issuer: answer["iss"], error: answer["error"])
    }

    func finish(_ answer: GoogleAnswer) async throws -> WebStep {
        try await web.finishGoogle(answer, browser: browser, by: call)
    }

    /// The whole way through a provider's page, back to ours.
    func sign(in flow: WebFlow, at provider: Provider, _ person: String = "kim") async throws -> WebStep {
        switch provider {
        case .apple: try await finish(try await appleAnswer(flow, person))
        case .google: try await finish(try await googleAnswer(flow, person))
        }
    }

    /// The way to a provider's page, where the person cancels.
    func cancel(_ flow: WebFlow, at provider: Provider) async throws -> WebStep {
        switch provider {
        case .apple: try await finish(try await appleAnswer(flow, action: "cancel"))
        case .google: try await finish(try await googleAnswer(flow, action: "cancel"))
        }
    }

    // MARK: Our own pages

    func page(_ flow: WebFlow) async throws -> WebFlow { try await web.flow(reference(flow), by: call) }

    func cancel(_ flow: WebFlow) async throws -> WebStep { try await web.cancel(reference(flow), by: call) }

    func enter(_ email: String, password: String = SignInFixture.password, in flow: WebFlow) async throws -> WebStep {
        try await web.password(email: email, password: password, in: reference(flow), by: call)
    }

    func create(in flow: WebFlow, _ displayName: DisplayName? = nil) async throws -> WebStep {
        try await web.create(in: reference(flow), displayName: displayName, by: call)
    }

    func bind(in flow: WebFlow, _ credential: BindCredential) async throws -> WebStep {
        try await web.bind(in: reference(flow), credential: credential, by: call)
    }

    func session(_ cookie: WebSessionSecret?) async throws -> Session? {
        try await web.sessions.session(of: cookie, by: call)
    }

    // MARK: The app

    /// The code that the app gets for a person.
    func code(
        _ provider: Provider = .apple, _ person: String = "kim", to redirectURI: String = redirectURI
    ) async throws -> String { try await sign(in: try await open(redirectURI), at: provider, person).code }

    func exchange(
        _ code: String, verifier: String = verifier, redirectURI: String = redirectURI
    ) async throws -> SignInAnswer {
        try await web.exchange(code: code, codeVerifier: verifier, redirectURI: redirectURI, by: call)
    }

    // MARK: The database

    /// The digits that were mailed for a purpose, whichever ticket or flow they belong to.
    func mailedCode(_ purpose: EmailCodePurpose, to email: String) async throws -> String {
        let hashes = try await database.query(
            "SELECT ticket_hash FROM mailed_codes WHERE email = \(email) AND purpose = \(purpose.rawValue)",
            as: SecretHash?.self)
        let code = try await MailedCode.read(
            purpose, to: email, ticketHash: hashes.first ?? nil, at: clock.now(), from: database, keyRing: base.keyRing)
        return try #require(code).digits
    }

    func status(_ flow: WebFlow) async throws -> String? {
        try await base.texts("SELECT status FROM web_flows WHERE flow_id = \(flow.id)").first ?? nil
    }

    /// The columns of a flow that hold something sealed.
    func sealed(_ flow: WebFlow) async throws -> [String] {
        try await base.texts(
            """
            SELECT name
            FROM web_flows, unnest(
                ARRAY['secrets', 'answer', 'person', 'ticket'],
                ARRAY[sealed_secrets, sealed_answer, sealed_person, sealed_ticket]) AS c (name, value)
            WHERE flow_id = \(flow.id) AND value IS NOT NULL
            """
        ).compactMap(\.self)
    }

    /// The reasons of the refusals so far, as they stand in the audit trail.
    func refusals() async throws -> [String] {
        try await service.refusals.flush()
        return try await base.texts(
            "SELECT reason FROM audit_events WHERE type = 'credential_rejected' ORDER BY created_at, reason"
        ).compactMap(\.self)
    }

    /// The requests to a provider's token endpoint.
    func exchanges(at provider: Provider) async throws -> [Sandbox.Request] {
        try await base.sandbox.history(path: LifeCycleFixture.tokenPath(provider))
    }
}

extension WebStep {
    /// Where the browser is sent.
    var appReturn: AppReturn {
        get throws {
            guard case .returned(let answer) = self else { throw SignInFixture.Unexpected.succeeded }
            return answer
        }
    }

    /// The code that the app gets.
    var code: String {
        get throws {
            let answer = try appReturn
            return try #require(answer.uri.firstMatch(of: /[?&]code=([\w-]{43})(&|$)/)).1.description
        }
    }

    /// The error that the app gets.
    var error: String? {
        get throws {
            let answer = try appReturn
            #expect(answer.isError)
            return answer.uri.firstMatch(of: /[?&]error=([a-z_]+)(&|$)/)?.1.description
        }
    }

    /// What the person chooses.
    var link: (flow: WebFlow, required: LinkRequired) {
        get throws {
            guard case .link(let flow) = self else { throw SignInFixture.Unexpected.signedIn }
            return (flow, try #require(flow.link))
        }
    }

    /// The cookie of the session that was opened.
    var cookie: WebSessionSecret {
        get throws {
            guard case .signedIn(_, let secret) = self else { throw SignInFixture.Unexpected.linkRequired }
            return secret
        }
    }
}

extension Trait where Self == FixtureTrait<WebFixture> {
    /// The service is configured differently.
    static func web(_ configure: @escaping @Sendable (inout SignInService.Configuration) -> Void) -> Self {
        .fixture { try await WebFixture.run(configure: configure, $0) }
    }
}
