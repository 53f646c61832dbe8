import Accounts
import Administration
import KeyRing
import Logging
import OAuthServer
import OpenSSL
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// The configured policies of a walk.
struct WalkPolicy: Sendable, CustomTestStringConvertible {
    let verifiedEmail: VerifiedEmailPolicy
    let strayAccount: StrayAccountPolicy

    static let all = VerifiedEmailPolicy.allCases.flatMap { verifiedEmail in
        StrayAccountPolicy.allCases.map { WalkPolicy(verifiedEmail: verifiedEmail, strayAccount: $0) }
    }

    /// The policies for Apple's events, each tied to one of the others, so that the four walks cover all of their values.
    var accountDeleted: AccountDeletedPolicy { strayAccount == .merge ? .deleteAccount : .unlink }
    var consentRevoked: ConsentRevokedPolicy { verifiedEmail == .automatic ? .keep : .unlink }

    var testDescription: String { "\(verifiedEmail) \(strayAccount)" }
}

/// The service and its workers over one database, both providers, a clock that walkers move, and what they remember.
struct WalkWorld: Sendable {
    static let refreshLifetime: Int64 = 5_184_000

    let people: [WalkPerson]
    let policy: WalkPolicy
    let database: Database
    let clock = ManualClock(at: SignInFixture.start)
    let memory = WalkMemory()
    let providers: WalkProviders
    let storage: ServiceDatabase
    let keyRing: KeyRing
    let service: SignInService
    let oauth: OAuthServer
    /// A client that people link, by App Flip and in a browser, and its secret.
    let oauthClient: OAuthAdministration.CreatedClient
    let administration: Administration
    let adminSecret: AdminSecret
    let revocations: RevocationWorker
    let checks: GrantCheckWorker
    let sweeper: RetentionSweeper

    /// Three people on a database of their own.
    static func run(_ policy: WalkPolicy, poolSize: Int = 4, _ body: (WalkWorld) async throws -> Void) async throws {
        // Many transactions wait for the same rows, and hold a connection meanwhile.
        let longAcquireTimeout: (inout Database.Configuration) -> Void = { configuration in
            configuration.poolSize = poolSize
            configuration.acquireTimeout = .seconds(300)
        }
        try await ScratchDatabase.withMigratedPool(configure: longAcquireTimeout) { database in
            try await body(try await WalkWorld(people: WalkPerson.crowd(3), policy: policy, database: database))
        }
    }

    init(people: [WalkPerson], policy: WalkPolicy, database: Database) async throws {
        self.people = people
        self.policy = policy
        self.database = database
        try await WalkLedger.install(in: database)
        providers = WalkProviders(clock: clock)
        keyRing = try SignInFixture.makeKeyRing()
        storage = ServiceDatabase(database, keyRing: keyRing)
        let logger = Logger(label: "walk") { [memory] _ in WalkLog(memory: memory) }
        let (apple, google) = try SignInFixture.providers()
        let endpoints = TokenEndpoints(
            apple: AppleTokenEndpoint(
                provider: apple,
                configuration: .init(
                    teams: [
                        .init(
                            teamID: "WALKTEAM01", keyID: "WALKKEY001", privateKey: try P256PrivateKey(),
                            clientIDs: [ProviderClientID(SignInFixture.appleClient)])
                    ], tokenURL: WalkProviders.tokenURL, revokeURL: WalkProviders.revokeURL),
                fetcher: providers, logger: logger),
            google: GoogleTokenEndpoint(
                provider: google,
                configuration: .init(
                    projects: [
                        .init(
                            clientIDs: [ProviderClientID(SignInFixture.googleClient)],
                            serverClientID: ProviderClientID(SignInFixture.googleClient),
                            serverClientSecret: "walk-secret")
                    ],
                    tokenURL: WalkProviders.tokenURL, revokeURL: WalkProviders.revokeURL),
                fetcher: providers, logger: logger))
        // The access token outlives the walk, so that the session's row alone decides whether it is live.
        let accessTokens = try await AccessTokens(
            configuration: .init(
                issuer: "https://auth.example.com", audience: "lamp-api", lifetime: 100 * 365 * 86_400),
            store: storage.signingKeys, keyRing: keyRing, clock: clock, logger: logger)
        service = SignInService(
            configuration: WalkWorld.configuration(policy), apple: apple, google: google, endpoints: endpoints,
            resources: .init(
                database: storage, accessTokens: accessTokens,
                passwordHasher: try PasswordHasher(cost: SignInFixture.cheap, slots: 4, maximumWaiting: 1_000),
                clock: clock, logger: logger))
        oauth = OAuthServer(
            configuration: .init(issuer: WalkClient.issuer, publicURL: WalkClient.issuer), signIn: service,
            database: storage, google: nil, clients: OAuthClients(store: storage.oauthClients),
            metrics: OAuthMetrics(), logger: logger)
        oauthClient = try await OAuthAdministration(
            database: storage.pool, scopes: { OAuthScopes([.profile, .email]) }
        ).create(named: "Lamps", redirectURIs: WalkClient.redirectURIs, by: clock.call(by: .commandLine))
        administration = Administration(database: storage.pool, clock: clock, mailLanguages: ["en"])
        adminSecret = try await AdministrationFixture.makeKey(
            Set(AdminKey.Scope.allCases), in: storage, at: clock.now()
        ).secret
        revocations = RevocationWorker(store: storage.revocations, endpoints: endpoints, clock: clock, logger: logger)
        checks = GrantCheckWorker(store: storage.grants, endpoints: endpoints, clock: clock, logger: logger)
        sweeper = storage.sweeper(clock: clock, lifetimes: SessionLifetimes(unused: WalkWorld.refreshLifetime))
    }

    private static func configuration(_ policy: WalkPolicy) -> SignInService.Configuration {
        var configuration = SignInService.Configuration(
            verifiedEmailPolicy: policy.verifiedEmail, refreshLifetime: refreshLifetime)
        configuration.strayAccountPolicy = policy.strayAccount
        configuration.mailLanguages = ["en"]
        configuration.web = WalkClient.browsers
        // Drawn on and given back, and never used up, also not by a call during which the clock is moved on.
        configuration.limits = Dictionary(
            uniqueKeysWithValues: LimitKind.allCases.map { ($0, .limit(count: 100_000_000, seconds: 100 * 86_400)) })
        configuration.codeExchangeTimeout.besideToken = .seconds(60)
        configuration.codeExchangeTimeout.forRevocations = .seconds(30)
        configuration.codeExchangeTimeout.alone = .seconds(60)
        return configuration
    }

    /// A provider's token, issued now, which is good for an hour.
    static func token(
        _ provider: Provider, _ subject: String, _ claims: [(String, TokenMint.Literal?)] = [], at now: Timestamp
    ) throws -> String {
        let changes = [("exp", TokenMint.Literal.integer(now.seconds + 3_600))] + claims
        return try SignInFixture.token(provider, subject, changes, at: now)
    }
}

extension WalkWorld {
    /// The number of deadlocks that the database has broken, as far as its connections have reported them: each does so
    /// within a second of its next statement. The transaction that loses is tried again, so no caller sees it.
    func deadlocks() async throws -> Int64 {
        let counts = try await database.query(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()", as: Int64.self)
        return counts.first ?? 0
    }
}

/// A log handler that counts each warning of the background work as a fault of the walk.
private struct WalkLog: LogHandler {
    let memory: WalkMemory
    var logLevel = Logger.Level.warning
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        // Walkers do this on purpose.
        guard !"\(event.message)".hasPrefix("refresh token reused") else { return }
        memory.note(fault: "\(event.message) \(event.metadata ?? [:])")
    }
}
