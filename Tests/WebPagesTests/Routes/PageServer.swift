import Accounts
import Curl
import HTTPServer
import KeyRing
import OpenSSL
import Postgres
import Providers
import ServiceLifecycle
import SignIn
import Storage
import TestSupport
import Testing
import WebPages

/// The pages on a port, over the real use cases and a database of their own.
struct PageServer: TestFixture {
    static let link = "https://lamp.example.com/in"
    static let scheme = "com.example.lamp:/in"
    /// The one of RFC 7636, appendix B.
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    static let state = "state-of-the-app"
    static let person = (email: "kim@example.com", password: "correct horse battery staple")

    let port: Int
    let database: Database
    let service: SignInService
    let clock: ManualClock
    let fetcher: CurlFetcher
    private let keyRing: KeyRing

    static func run(_ body: (PageServer) async throws -> Void) async throws { try await run(limits: [:], body) }

    /// - Parameter publicURL: of which the port of the listener is no part.
    static func run(
        publicURL: String = "https://auth.example.com", limits: [LimitKind: RateLimit] = [:],
        _ body: (PageServer) async throws -> Void
    ) async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let clock = ManualClock(at: 1_767_225_600)
            let keyRing = try KeyRing(parsing: "k1 \(String(repeating: "A", count: 43))=\n")
            let service = try await service(
                over: ServiceDatabase(database, keyRing: keyRing), publicURL: publicURL, limits: limits, clock: clock)
            let pages = WebAPI(
                signIn: try #require(service.web), accounts: service.accounts, emailCodes: service.emailCodes,
                oauth: nil, flipPath: nil,
                theme: PageTheme(
                    name: "Lamp Accounts", logo: PageAsset(name: "logo", kind: .svg, bytes: Array("<svg/>".utf8))),
                publicURL: publicURL, relayPackages: ["lamp": "com.example.lamp"], calls: service.calls)
            try await withFetcher { fetcher in
                try await listening(pages.routes) { port in
                    try await body(
                        PageServer(
                            port: port, database: database, service: service, clock: clock, fetcher: fetcher,
                            keyRing: keyRing))
                }
            }
        }
    }

    private static func service(
        over storage: ServiceDatabase, publicURL: String, limits: [LimitKind: RateLimit], clock: ManualClock
    ) async throws -> SignInService {
        var configuration = SignInService.Configuration(verifiedEmailPolicy: .prompt, refreshLifetime: 5_184_000)
        configuration.limits = limits
        configuration.mailLanguages = ["en"]
        configuration.web = WebSignIn.Configuration(
            issuer: publicURL, publicURL: publicURL,
            apps: [
                WebApp(
                    id: "lamp", name: "Lamp & Co",
                    redirectURIs: [link, scheme].compactMap(AppRedirectURI.init(registering:)))
            ], apple: .init(servicesID: "com.example.web"), google: .init(clientID: "web.example"),
            offersEmailCode: true)
        let keys = KeySource.fixed(try TokenMint.shared.keySet)
        return SignInService(
            configuration: configuration,
            apple: AppleProvider(configuration: .init(teams: [.init(clientIDs: ["com.example.web"])]), keys: keys),
            google: GoogleProvider(configuration: .init(clientIDs: ["web.example"]), keys: keys), endpoints: .none,
            resources: .init(
                database: storage,
                accessTokens: try await AccessTokens(
                    configuration: .init(issuer: publicURL, audience: "lamp", lifetime: 900),
                    store: storage.signingKeys, keyRing: storage.keyRing, clock: clock, logger: .silent),
                passwordHasher: try PasswordHasher(
                    cost: Scrypt.Cost(n: 16, r: 1, p: 1), slots: 4, maximumWaiting: 1000),
                clock: clock, logger: .silent))
    }

    private static func listening(_ routes: [Route], _ body: (Int) async throws -> Void) async throws {
        var configuration = Listener.Configuration(name: "test", host: "127.0.0.1", port: 0)
        configuration.limits.queueTimeout = .seconds(60)
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let listener = Listener(configuration, routes: routes, logger: .silent) { port.yield($0) }
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: listener, successTerminationBehavior: .ignore)], logger: .silent))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            do {
                try await body(try #require(await ports.first { _ in true }))
            } catch {
                await group.triggerGracefulShutdown()
                throw error
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    // MARK: What is there

    func register() async throws {
        _ = try await service.passwords.register(
            email: Self.person.email, password: Self.person.password, displayName: nil,
            by: service.calls.begin(by: Caller(requestID: "test", address: nil, device: nil)))
    }

    func flows() async throws -> Int64 { try await database.count("web_flows") }

    /// The digits that were mailed to ``person`` to sign in with.
    func mailedCode() async throws -> String {
        let email = try #require(EmailAddress(Self.person.email))
        let codes = try await database.query(
            "SELECT code_id, key_id, expires_at FROM mailed_codes WHERE email = \(email.text) AND purpose = 'signIn'"
        ) { row throws(PostgresError) in
            let (id, keyID, expiresAt) = try row.decode(EmailCodeID.self, String.self, Timestamp.self)
            return EmailCode(id: id, keyID: keyID, email: email, purpose: .signIn, expiresAt: expiresAt)
        }
        let code = try #require(codes.first)
        return try #require(EmailCodes(keyRing: keyRing).digits(of: code))
    }

    // MARK: Browsers

    static func authorize(_ redirectURI: String = link, _ more: String = "") -> String {
        let parameters = [
            ("app", "lamp"), ("redirect_uri", redirectURI), ("code_challenge", challenge),
            ("code_challenge_method", "S256"), ("state", state),
        ]
        return URIQuery.appending(parameters, to: "/web/authorize") + more
    }
}

/// A browser, as far as the pages need one: it keeps cookies, and sends what the form of a page has.
struct PageBrowser {
    let server: PageServer
    var cookies: [String: String] = [:]
    var headers: [(name: String, value: String)] = [("Sec-Fetch-Site", "same-origin")]

    init(_ server: PageServer) { self.server = server }

    struct Page {
        let response: FetchResponse
        var status: Int { response.status }
        var text: String { String(decoding: response.body, as: UTF8.self) }
        var location: String? { response.headers.first("Location") }

        /// The form that is posted to this path.
        func form(_ path: String) throws -> (target: String, csrf: String) {
            for match in text.matches(
                of: #/action="(?<target>[^"]+)"[^<]*<input type="hidden" name="csrf" value="(?<csrf>[^"]+)"/#)
            where match.target.prefix(while: { $0 != "?" }) == path {
                return (String(match.target).replacing("&amp;", with: "&"), String(match.csrf))
            }
            throw NoForm(path: path)
        }
    }

    struct NoForm: Error {
        let path: String
    }

    mutating func get(_ path: String, _ more: [(name: String, value: String)] = []) async throws -> Page {
        try await send(FetchRequest(url: url(path), headers: headers + more))
    }

    mutating func post(
        _ path: String, _ fields: [(String, String)], _ more: [(name: String, value: String)]? = nil
    ) async throws -> Page {
        var request = FetchRequest.form(url: url(path), fields: fields)
        request.headers += more ?? headers
        return try await send(request)
    }

    /// Fills the form of a page in.
    mutating func submit(
        _ page: Page, _ path: String, _ fields: [(String, String)] = [], _ more: [(name: String, value: String)]? = nil
    ) async throws -> Page {
        let form = try page.form(path)
        return try await post(form.target, [("csrf", form.csrf)] + fields, more)
    }

    /// Opens a flow and looks at its first page.
    mutating func chooser(_ redirectURI: String = PageServer.link, _ more: String = "") async throws -> Page {
        try await follow(try await get(PageServer.authorize(redirectURI, more)))
    }

    /// Goes where a redirect of ours leads.
    mutating func follow(_ page: Page) async throws -> Page {
        let location = try #require(page.location, "\(page.status) \(page.text)")
        let path = try #require(location.firstRange(of: "/web/")).lowerBound
        return try await get(String(location[path...]))
    }

    private func url(_ path: String) -> String { "http://127.0.0.1:\(server.port)\(path)" }

    private mutating func send(_ request: FetchRequest) async throws -> Page {
        var request = request
        request.timeout = .seconds(60)
        if !cookies.isEmpty {
            let field = cookies.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
            request.headers.append(("Cookie", field))
        }
        let response = try await server.fetcher.fetch(request)
        for field in response.headers.all("Set-Cookie") {
            let pair = field.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            cookies[String(pair[0])] = field.contains("Max-Age=0") ? nil : String(pair[1])
        }
        return Page(response: response)
    }
}
