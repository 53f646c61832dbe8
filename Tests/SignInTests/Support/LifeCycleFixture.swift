import Accounts
import Curl
import JOSE
import KeyRing
import OpenSSL
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// The use cases with codes, refresh tokens and their ends. Apple and Google are a sandbox in a process of its own, whose
/// clock stands still at the same moment as the service's.
struct LifeCycleFixture: ServiceFixture {
    static let appleClient = SignInFixture.appleClient
    static let webClient = "com.example.lamp.web"
    static let appAndWeb = [appleClient, webClient]
    static let redirectURI = "https://lamp.example.com/callback"
    static let serverClient = SignInFixture.googleClient
    static let team = "SANDBOX001"
    static let keyID = "LAMPKEY001"
    static let googleSecret = "lamp-secret"
    static let googleProject = GoogleTokenEndpoint.Configuration.Project(
        clientIDs: [ProviderClientID(serverClient)], serverClientID: ProviderClientID(serverClient),
        serverClientSecret: googleSecret)

    let sandbox: Sandbox
    /// Of Apple's client secrets.
    let teamKey: P256PrivateKey
    let clock = ManualClock(at: SignInFixture.start)
    let database: Database
    let keyRing: KeyRing
    let storage: ServiceDatabase
    let apple: AppleProvider
    let google: GoogleProvider
    private let resources: SignInService.Resources
    private let configuration: SignInService.Configuration
    let endpoints: TokenEndpoints
    let service: SignInService
    let revocations: RevocationWorker
    let checks: GrantCheckWorker
    let sweeper: RetentionSweeper
    let client = Caller(requestID: "test", address: "192.0.2.1", device: nil)

    static func run(_ body: (LifeCycleFixture) async throws -> Void) async throws { try await run(poolSize: 4, body) }

    /// - Parameters:
    ///   - appleClients: Apple's clients of the service, all of one team.
    ///   - hasLongTimeouts: whether the timeouts of code exchanges are long enough for a busy machine.
    static func run(
        appleClients: [String] = [appleClient], poolSize: Int = 4, hasLongTimeouts: Bool = true,
        configure: (inout SignInService.Configuration) -> Void = { _ in },
        _ body: (LifeCycleFixture) async throws -> Void
    ) async throws {
        try await Sandbox.run { sandbox in
            try await ScratchDatabase.withMigratedPool(configure: { $0.poolSize = poolSize }) { database in
                try await body(
                    try await LifeCycleFixture(
                        sandbox: sandbox, database: database, appleClients: appleClients,
                        hasLongTimeouts: hasLongTimeouts, configure: configure))
            }
        }
    }

    private init(
        sandbox: Sandbox, database: Database, appleClients: [String], hasLongTimeouts: Bool,
        configure: (inout SignInService.Configuration) -> Void
    ) async throws {
        try await sandbox.setClock(clock.now().rfc3339)
        teamKey = try P256PrivateKey()
        try await sandbox.registerAppleKey(team: Self.team, keyID: Self.keyID, teamKey)
        try await sandbox.registerGoogleClient(Self.serverClient, secret: Self.googleSecret)
        for person in ["kim", "ada"] {
            let members = #"{"email":"\#(person)@example.com"}"#
            try await sandbox.addApplePerson(person, members)
            try await sandbox.addGooglePerson(person, members)
        }
        apple = AppleProvider(
            configuration: .init(teams: [.init(clientIDs: appleClients.map { ProviderClientID($0) })]),
            keys: .fixed(try await Self.keys(at: sandbox.appleKeysURL, of: sandbox)))
        let google = GoogleProvider(
            configuration: .init(clientIDs: [ProviderClientID(Self.serverClient)]),
            keys: .fixed(try await Self.keys(at: sandbox.googleKeysURL, of: sandbox)))
        endpoints = TokenEndpoints(
            apple: Self.appleEndpoint(
                apple, of: sandbox, team: Self.team, keyID: Self.keyID, key: teamKey, clientIDs: appleClients),
            google: Self.googleEndpoint(google, of: sandbox))
        self.sandbox = sandbox
        self.database = database
        keyRing = try SignInFixture.makeKeyRing()
        storage = ServiceDatabase(database, keyRing: keyRing)
        let accessTokens = try await AccessTokens(
            configuration: .init(issuer: "https://auth.example.com", audience: "lamp-api", lifetime: 900),
            store: storage.signingKeys, keyRing: keyRing, clock: clock, logger: .silent)
        self.google = google
        resources = SignInService.Resources(
            database: storage, accessTokens: accessTokens,
            passwordHasher: try PasswordHasher(cost: SignInFixture.cheap), clock: clock, logger: .silent)
        var timeout = CodeExchangeTimeout()
        if hasLongTimeouts {
            (timeout.besideToken, timeout.forRevocations, timeout.alone) = (.seconds(60), .seconds(30), .seconds(60))
        }
        var configuration = SignInService.Configuration(
            verifiedEmailPolicy: .prompt, refreshLifetime: 5_184_000, redirectURIs: [Self.redirectURI])
        configuration.codeExchangeTimeout = timeout
        configure(&configuration)
        self.configuration = configuration
        service = SignInService(
            configuration: configuration, apple: apple, google: google, endpoints: endpoints, resources: resources)
        revocations = RevocationWorker(store: storage.revocations, endpoints: endpoints, clock: clock, logger: .silent)
        checks = GrantCheckWorker(store: storage.grants, endpoints: endpoints, clock: clock, logger: .silent)
        sweeper = storage.sweeper(clock: clock)
    }

    var strayGrants: StrayGrants { resources.strayGrants }

    /// The same service after its operator has configured another key of Apple's.
    ///
    /// - Parameter rules: Apple's rules with other keys; `nil` for the fixture's.
    func service(with endpoint: AppleTokenEndpoint, rules: AppleProvider? = nil) -> SignInService {
        SignInService(
            configuration: configuration, apple: rules ?? apple, google: google,
            endpoints: TokenEndpoints(apple: endpoint, google: endpoints.google), resources: resources)
    }

    /// The same service, configured differently.
    ///
    /// - Parameters:
    ///   - apple: Apple's rules; `nil` for the fixture's.
    ///   - google: the same of Google's.
    ///   - endpoints: `nil` for the fixture's.
    func service(
        apple: AppleProvider? = nil, google: GoogleProvider? = nil, endpoints: TokenEndpoints? = nil,
        _ configure: (inout SignInService.Configuration) -> Void
    ) -> SignInService {
        var configuration = configuration
        configure(&configuration)
        return SignInService(
            configuration: configuration, apple: apple ?? self.apple, google: google ?? self.google,
            endpoints: endpoints ?? self.endpoints, resources: resources)
    }

    private static func keys(at url: String, of sandbox: Sandbox) async throws -> KeySet {
        try KeySet(parsing: try await sandbox.fetcher.fetch(FetchRequest(url: url).uncontended).body)
    }

    static func appleEndpoint(
        _ provider: AppleProvider, of sandbox: Sandbox, realm: Realm = .main, team: String, keyID: String,
        key: P256PrivateKey, clientIDs: [String] = [appleClient], fetcher: (any Fetcher)? = nil
    ) -> AppleTokenEndpoint {
        AppleTokenEndpoint(
            provider: provider,
            configuration: .init(
                teams: [
                    .init(
                        realm: realm, teamID: team, keyID: keyID, privateKey: key,
                        clientIDs: clientIDs.map { ProviderClientID($0) })
                ],
                tokenURL: sandbox.appleTokenURL, revokeURL: sandbox.appleRevokeURL,
                userMigrationURL: sandbox.appleUserMigrationURL),
            fetcher: fetcher ?? sandbox.fetcher, logger: .silent)
    }

    static func googleEndpoint(
        _ provider: GoogleProvider, of sandbox: Sandbox,
        projects: [GoogleTokenEndpoint.Configuration.Project] = [googleProject]
    ) -> GoogleTokenEndpoint {
        GoogleTokenEndpoint(
            provider: provider,
            configuration: .init(
                projects: projects, tokenURL: sandbox.googleTokenURL, revokeURL: sandbox.googleRevokeURL),
            fetcher: sandbox.fetcher, logger: .silent)
    }

    /// Advances the clock, here and at the providers.
    func advance(by seconds: Int64) async throws { try await move(to: clock.now().advanced(bySeconds: seconds)) }

    /// Sets the clock to `moment`, or to the first whole second after it, here and at the providers.
    func move(to moment: Timestamp) async throws {
        clock.set(to: moment.advanced(bySeconds: moment == Timestamp(seconds: moment.seconds) ? 0 : 1).seconds)
        try await sandbox.setClock(clock.now().rfc3339)
    }

    // MARK: Signing in

    /// The token and the code that a provider's SDK gave the phone.
    struct Consent: Sendable {
        let provider: Provider
        let token: String
        let code: String
    }

    /// The part of a consent that the phone posts.
    enum Evidence: CaseIterable, Sendable { case token, code, both }

    /// - Parameter isForced: whether Google is made to ask the person once more, so that the exchange brings a refresh
    ///   token as Apple's do. Otherwise only Google's first exchange does.
    func consent(
        _ provider: Provider, _ person: String = "kim", nonce: String? = nil, appleClient: String = appleClient,
        redirectURI: String? = nil, isForced: Bool = true, token: Sandbox.TokenChanges = .init(),
        exchange: Sandbox.ExchangeChanges = .init()
    ) async throws -> Consent {
        switch provider {
        case .apple:
            let credential = try await sandbox.authorizeApple(
                person, clientID: appleClient, nonce: nonce.map(NonceForm.sha256Hex.text), repeatEmail: true,
                token: token, redirectURI: redirectURI, exchange: exchange)
            return Consent(provider: .apple, token: credential.identityToken, code: credential.authorizationCode)
        case .google:
            let credential = try await sandbox.authorizeGoogle(
                person, clientID: Self.serverClient, nonce: nonce, token: token, forceConsent: isForced,
                exchange: exchange)
            return Consent(provider: .google, token: credential.idToken, code: credential.serverAuthCode)
        }
    }

    func signIn(
        _ consent: Consent, _ evidence: Evidence = .both, nonce: String? = nil, clientID: String? = nil,
        redirectURI: String? = nil, fullName: DisplayName? = nil, from network: Network? = nil,
        of wideNetwork: Network? = nil
    ) async throws -> SignInAnswer {
        let credential = ProviderCredential(
            token: evidence == .code ? nil : consent.token, code: evidence == .token ? nil : consent.code, nonce: nonce,
            clientID: clientID.map { ProviderClientID($0) }, redirectURI: redirectURI, fullName: fullName)
        return try await service.providers.signIn(
            with: consent.provider, credential, by: service.calls.begin(by: caller(from: network, of: wideNetwork)))
    }

    func caller(from network: Network?, of wideNetwork: Network? = nil) -> Caller {
        Caller(
            requestID: client.requestID, address: client.address, network: network, wideNetwork: wideNetwork,
            device: nil)
    }

    /// Signs in a person who has an account.
    func session(
        _ consent: Consent, _ evidence: Evidence = .both, fullName: DisplayName? = nil
    ) async throws -> SignedIn { try await signIn(consent, evidence, fullName: fullName).session }

    /// The ticket of a person who has no account yet.
    func ticket(
        _ consent: Consent, _ evidence: Evidence = .both, clientID: String? = nil, redirectURI: String? = nil,
        fullName: DisplayName? = nil
    ) async throws -> LinkRequired {
        try await signIn(consent, evidence, clientID: clientID, redirectURI: redirectURI, fullName: fullName).ticket
    }

    func bind(_ ticket: LinkRequired, to session: SignedIn, replacing: Bool = false) async throws -> SignedIn {
        try await service.tickets.bind(
            linkTicket: ticket.linkTicket, credential: session.session.credential, replacing: replacing, by: call
        ).session
    }

    /// A new account of a person, signed up with token and code.
    func account(_ provider: Provider, _ person: String = "kim") async throws -> SignedIn {
        try await create(try await ticket(try await consent(provider, person)))
    }

    /// An account that was made with Apple and has Google too: the sessions that the two opened.
    func both() async throws -> (apple: SignedIn, google: SignedIn) {
        let apple = try await account(.apple)
        let google = try await bind(try await ticket(try await consent(.google)), to: apple)
        return (apple, google)
    }

    func link(_ consent: Consent, to signedIn: SignedIn) async throws -> Identity {
        try await link(consent.provider, .init(token: consent.token, code: consent.code), to: signedIn)
    }

    /// Ends the providers' faults, and attempts what is due ten seconds later.
    func endOutage() async throws {
        try await sandbox.clearFaults()
        try await advance(by: 10)
        try await revokeDue()
    }

    /// Attempts the revocations that are due until none is.
    func revokeDue() async throws {
        for provider in Provider.allCases { while try await revocations.attemptDue(at: provider) > 0 {} }
    }
}

extension Trait where Self == FixtureTrait<LifeCycleFixture> {
    /// Apple's team has a client of the app and one of the web.
    static var appAndWeb: Self {
        .fixture { try await LifeCycleFixture.run(appleClients: LifeCycleFixture.appAndWeb, $0) }
    }

    static func configured(_ configure: @escaping @Sendable (inout SignInService.Configuration) -> Void) -> Self {
        .fixture { try await LifeCycleFixture.run(configure: configure, $0) }
    }
}
