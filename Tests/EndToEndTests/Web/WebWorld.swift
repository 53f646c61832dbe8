import OpenSSL
import Postgres
import Primitives
import TestSupport
import Testing

/// A world whose service is behind a proxy with a certificate, and serves the pages of the web sign-in; mail arrives.
enum WebWorld {
    static let publicURL = "https://auth.example.com"
    static let appleCallback = publicURL + "/web/callback/apple"
    static let googleCallback = publicURL + "/web/callback/google"
    static let servicesID = "com.example.lamp.web"
    /// The name of the app that people see.
    static let appName = "Lamp & Co"

    /// An app link, addresses of a desktop, a private scheme; and another app, to which nothing of the first belongs.
    static let appLink = "https://app.example.com/signed-in"
    static let loopback = "http://127.0.0.1/signed-in"
    static let loopbackIPv6 = "http://[::1]/signed-in"
    static let privateScheme = "com.example.lamp:/signed-in"
    static let otherLink = "https://other.example.com/signed-in"

    static let settings: Countersign.Settings = [
        "server.publicUrl": publicURL, "server.trustedProxies": "127.0.0.1", "web.apps": "lamp,other",
        "web.app.lamp.name": appName,
        "web.app.lamp.redirectUris": [appLink, loopback, loopbackIPv6, privateScheme].joined(separator: ","),
        "web.app.other.redirectUris": otherLink, "apple.servicesId": servicesID, "pages.name": "Lamp Accounts",
        "pages.privacyUrl": "https://example.com/privacy",
    ]

    /// Runs one for as long as the closure runs.
    static func run(_ settings: Countersign.Settings = [:], _ body: (World) async throws -> Void) async throws {
        try await MailedWorld.withServer { mail in
            let all = Self.settings.merging(mail) { _, own in own }.merging(settings) { _, asked in asked }
            try await World.run(all, addresses, prepare: { try await register(at: $0) }) { try await body($0) }
        }
    }

    static func addresses(_ sandbox: Sandbox) -> Countersign.Settings {
        [
            "apple.authorizeUrl": sandbox.url + "/apple/auth/authorize",
            "google.authorizeUrl": sandbox.url + "/google/o/oauth2/v2/auth",
        ]
    }

    /// The clients of a browser, as in Apple's and Google's consoles.
    static func register(at sandbox: Sandbox, _ base: String = publicURL) async throws {
        try await sandbox.registerWebClient(.apple, servicesID, redirectURIs: [base + "/web/callback/apple"])
        try await sandbox.registerWebClient(
            .google, Countersign.googleClient, redirectURIs: [base + "/web/callback/google"])
    }
}

extension Trait where Self == FixtureTrait<World> {
    static func webWorld(_ settings: Countersign.Settings) -> Self {
        sharedFixture { try await WebWorld.run(settings, $0) }
    }

    static var webWorld: Self { webWorld([:]) }
}

/// One attempt of an app to have somebody signed in: what it keeps, and what it opens in the browser.
struct AppAttempt: Sendable {
    var app = "lamp"
    var redirectURI = WebWorld.appLink
    let verifier: String
    let state: String

    init(app: String = "lamp", redirectURI: String = WebWorld.appLink) throws {
        self.app = app
        self.redirectURI = redirectURI
        verifier = Base64URL.encode(try SecureRandom.bytes(32))
        state = Base64URL.encode(try SecureRandom.bytes(16))
    }

    var challenge: String { Base64URL.encode(SHA256.hash(Array(verifier.utf8))) }

    /// - Parameter changes: of the parameters: `nil` leaves one out.
    func url(_ changes: [String: String?] = [:]) -> String {
        let parameters: [(name: String, value: String)] = [
            ("app", app), ("redirect_uri", redirectURI), ("code_challenge", challenge),
            ("code_challenge_method", "S256"), ("state", state),
        ]
        return "\(WebWorld.publicURL)/web/authorize?\(FormEncoding.query(parameters.with(changes)))"
    }
}

/// What came back to an app.
struct AppAnswer: Sendable {
    let uri: String
    let parameters: [(name: String, value: String)]

    /// The address at which the browser left, or that a page of a private scheme opens.
    init(_ page: Browser.Page, _ location: SourceLocation = #_sourceLocation) throws {
        uri = try #require(
            page.handedOver ?? page.html.refresh, "\(page.status) \(page.answer.body)", sourceLocation: location)
        parameters = FormEncoding.parameters(of: uri)
    }

    /// The one value of a parameter.
    subscript(_ name: String) -> String? {
        let values = parameters.filter { $0.name == name }
        return values.count == 1 ? values[0].value : nil
    }

    func code(_ location: SourceLocation = #_sourceLocation) throws -> String {
        try #require(self["code"], "\(uri)", sourceLocation: location)
    }

    /// Without its parameters.
    var address: String { String(uri.prefix { $0 != "?" }) }
}

// MARK: What people and apps do

extension World {
    /// - Parameters:
    ///   - address: the client's; one of a network of its own by default.
    ///   - others: the ports of further origins that answer.
    func browser(
        languages: String? = "en", address: String? = nil, reaching others: [String: UInt16] = [:]
    ) -> Browser {
        let sandboxPort = sandbox.url.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
        let ports = [WebWorld.publicURL: service.port, service.url: service.port, sandbox.url: sandboxPort]
        return Browser(ports: ports.merging(others) { $1 }, languages: languages, address: address)
    }

    /// The app opens the page on which a person chooses how to sign in.
    func chooser(
        _ attempt: AppAttempt, _ browser: Browser, _ changes: [String: String?] = [:],
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> Browser.Page {
        try await browser.open(attempt.url(changes)).expecting(200, sourceLocation: location)
    }

    /// The app does so in a browser of its own.
    func begin(
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> (attempt: AppAttempt, browser: Browser, chooser: Browser.Page) {
        let (attempt, own) = (try AppAttempt(), browser())
        return (attempt, own, try await chooser(attempt, own, [:], location))
    }

    /// The person presses a provider's button. Returns the provider's page.
    func press(
        _ provider: Sandbox.Provider, on page: Browser.Page, _ browser: Browser,
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> Browser.Page {
        let form = try page.form("/web/start/\(provider.rawValue)", location)
        let shown = try await browser.submit(form, on: page)
        #expect(shown.blocked == nil, sourceLocation: location)
        #expect(
            shown.status == 200 && shown.url.hasPrefix(sandbox.url), "\(shown.answer.text)", sourceLocation: location)
        return shown
    }

    /// The person consents at the provider, or cancels. Returns the page with the form that is sent to us (Apple), or where
    /// the redirects led (Google).
    func consent(
        _ person: String, at page: Browser.Page, _ browser: Browser, cancel: Bool = false, hidesEmail: Bool? = nil,
        following: Bool = true
    ) async throws -> Browser.Page {
        var fields = [(name: "person", value: person), (name: "action", value: cancel ? "cancel" : "continue")]
        if cancel { fields.removeFirst() }
        if let hidesEmail { fields.append(("hideEmail", "\(hidesEmail)")) }
        return try await browser.send(fields, to: "", on: page, following: following)
    }

    /// The whole way with a provider, from the page that offers it to where the browser ends.
    func signIn(
        _ person: String, with provider: Sandbox.Provider, on page: Browser.Page, _ browser: Browser,
        cancel: Bool = false, hidesEmail: Bool? = nil, _ location: SourceLocation = #_sourceLocation
    ) async throws -> Browser.Page {
        let shown = try await press(provider, on: page, browser, location)
        let answer = try await consent(person, at: shown, browser, cancel: cancel, hidesEmail: hidesEmail)
        guard provider == .apple else { return answer }
        let form = try #require(
            answer.html.forms.first { $0.attributes["id"] == "answer" }, "\(answer.answer.text)",
            sourceLocation: location)
        return try await browser.submit(form, on: answer)
    }

    /// Signs in on our own page of the account.
    func signIn(
        _ person: String, with provider: Sandbox.Provider, in browser: Browser,
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> Browser.Page {
        let chooser = try await browser.openAccount().expecting(200, sourceLocation: location)
        return try await signIn(person, with: provider, on: chooser, browser, location)
    }

    /// An app signs somebody in by a provider: what came back to it.
    func answer(
        to attempt: AppAttempt, _ person: String, with provider: Sandbox.Provider, _ browser: Browser? = nil,
        hidesEmail: Bool? = nil, _ location: SourceLocation = #_sourceLocation
    ) async throws -> AppAnswer {
        let browser = browser ?? self.browser()
        let page = try await chooser(attempt, browser, [:], location)
        return try AppAnswer(
            try await signIn(person, with: provider, on: page, browser, hidesEmail: hidesEmail, location), location)
    }

    /// The code that an app gets for somebody.
    func code(
        for attempt: AppAttempt, _ person: String, _ location: SourceLocation = #_sourceLocation
    ) async throws -> String { try await answer(to: attempt, person, with: .google, nil, location).code(location) }

    /// The app turns a code into a session or a question.
    func exchange(_ code: String, _ attempt: AppAttempt, device: TokenMint.Literal? = nil) async throws -> Answer {
        let members: TokenMint.Members = [
            "code": .string(code), "codeVerifier": .string(attempt.verifier),
            "redirectUri": .string(attempt.redirectURI),
        ]
        return try await service.post("/v1/sign-in/web", members.with("device", device))
    }

    /// Everything, until the app has its answer.
    func signInByWeb(
        _ person: String, with provider: Sandbox.Provider, hidesEmail: Bool? = nil,
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> Answer {
        let attempt = try AppAttempt()
        let answer = try await self.answer(to: attempt, person, with: provider, nil, hidesEmail: hidesEmail, location)
        return try await exchange(try answer.code(location), attempt)
    }

    /// The screen of a password or of a mailed code, wherever it is: on the chooser, or behind a link or a button on it.
    func screen(
        _ path: String, from page: Browser.Page, _ browser: Browser, _ location: SourceLocation = #_sourceLocation
    ) async throws -> (page: Browser.Page, form: HTML.Form) {
        if let form = page.html.forms.first(where: { $0.path == path }) { return (page, form) }
        let word = path == "/web/password" ? "password" : "email"
        let next = try await browser.go(to: word, on: page, location)
        return (next, try next.form(path, location))
    }

    func sessionCount() async throws -> Int64 { try await count("SELECT count(*) FROM sessions") }
}
