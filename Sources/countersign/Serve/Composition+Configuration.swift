import Accounts
import Curl
import Foundation
import HTTPServer
import JSON
import KeyRing
import Logging
import OAuthServer
import Postgres
import Providers
import ServiceLifecycle
import SignIn
import Storage
import Version
import Webhooks

extension Database.Configuration {
    init(_ configuration: DatabaseConfiguration) {
        self.init(
            url: configuration.url, poolSize: configuration.poolSize,
            preparedStatements: configuration.preparedStatements)
    }

    /// The connections of the requests. A lone statement is waited for five seconds, the wait for a connection included; a
    /// transaction two seconds for its connection, then five for each statement and two for the COMMIT. A lock is given up
    /// before: the server's own answer says why.
    static func service(_ configuration: DatabaseConfiguration) -> Self {
        var service = Self(configuration)
        service.answerTimeout = .seconds(5)
        service.lockTimeout = .seconds(4)
        service.applicationName = ProgramVersion.name(ofProcess: getpid())
        return service
    }

    /// The one connection of the readiness checks, whose answers must not depend on what the requests' connections wait
    /// for. Its limits are those of a check, `Health`'s second, or little above.
    static func health(_ configuration: DatabaseConfiguration) -> Self {
        var health = Self(configuration)
        health.poolSize = 1
        health.acquireTimeout = .seconds(1)
        health.statementTimeout = .seconds(2)
        health.applicationName = "countersign health"
        return health
    }
}

extension CurlFetcher.Configuration {
    /// The connections to receivers of webhooks, apart from those to the providers.
    static var webhooks: Self {
        var webhooks = Self()
        webhooks.maximumInFlight = Webhooks.attempts
        webhooks.maximumIdleConnections = 128
        webhooks.threadName = "webhooks"
        return webhooks
    }
}

extension AppleProvider.Configuration {
    init(_ configuration: AppleConfiguration) {
        self.init(
            teams: configuration.teams.map {
                Team(realm: Realm($0.name), clientIDs: $0.clientIDs.map { ProviderClientID($0) })
            },
            issuers: configuration.issuers, keysURL: configuration.keysURL, nonceForm: configuration.nonceForm)
    }
}

extension GoogleProvider.Configuration {
    init(_ configuration: GoogleConfiguration) {
        self.init(
            clientIDs: configuration.clientIDs.map { ProviderClientID($0) },
            authorizedParties: configuration.authorizedParties.map { ProviderClientID($0) },
            hostedDomains: configuration.hostedDomains, issuers: configuration.issuers,
            keysURL: configuration.keysURL, nonceForm: configuration.nonceForm)
    }
}

extension AppleTokenEndpoint {
    /// Nil when no team has a signing key.
    init?(_ configuration: AppleConfiguration?, provider: AppleProvider?, fetcher: any Fetcher, logger: Logger) {
        guard let configuration, let provider else { return nil }
        let teams = configuration.teams.compactMap { team in
            team.signing.map { signing in
                Configuration.Team(
                    realm: Realm(team.name), teamID: signing.teamID, keyID: signing.keyID,
                    privateKey: signing.privateKey, clientIDs: team.clientIDs.map { ProviderClientID($0) })
            }
        }
        guard !teams.isEmpty else { return nil }
        self.init(
            provider: provider,
            configuration: Configuration(
                teams: teams, tokenURL: configuration.tokenURL, revokeURL: configuration.revokeURL,
                userMigrationURL: configuration.userMigrationURL),
            fetcher: fetcher, logger: logger)
    }
}

extension GoogleTokenEndpoint {
    /// Nil when no project has a server client.
    init?(_ configuration: GoogleConfiguration?, provider: GoogleProvider?, fetcher: any Fetcher, logger: Logger) {
        guard let configuration, let provider else { return nil }
        let projects = configuration.projects.compactMap { project in
            project.serverClient.map { client in
                Configuration.Project(
                    clientIDs: project.clientIDs.map { ProviderClientID($0) },
                    serverClientID: ProviderClientID(client.id),
                    serverClientSecret: client.secret)
            }
        }
        guard !projects.isEmpty else { return nil }
        self.init(
            provider: provider,
            configuration: Configuration(
                projects: projects, tokenURL: configuration.tokenURL, revokeURL: configuration.revokeURL),
            fetcher: fetcher, logger: logger)
    }
}

extension SessionLifetimes {
    init(_ configuration: TokensConfiguration) {
        self.init(unused: Int64(configuration.refreshLifetime), absolute: configuration.sessionLifetime.map(Int64.init))
    }
}

extension SignInService.Configuration {
    init(_ configuration: ReloadableConfiguration, fixed: ServiceConfiguration) {
        let relays = configuration.web?.relayRedirectURIs(publicURL: fixed.server.publicURL) ?? []
        self.init(
            verifiedEmailPolicy: configuration.verifiedEmail,
            refreshLifetime: Int64(fixed.tokens.refreshLifetime),
            redirectURIs: (configuration.apple?.redirectURIs ?? []) + relays)
        relayRedirectURIs = relays
        sessionLifetime = fixed.tokens.sessionLifetime.map(Int64.init)
        strayAccountPolicy = configuration.strayAccount
        noncePolicy = configuration.noncePolicy
        limits = configuration.limits.byKind
        mailLanguages = fixed.mail?.templates.languages ?? []
        if configuration.web != nil || configuration.oauth != nil {
            web = WebSignIn.Configuration(configuration.web, configuration, fixed: fixed)
        }
    }
}

extension WebSignIn.Configuration {
    /// - Parameter web: nil where people sign in here for clients of the OAuth server alone.
    init(_ web: WebConfiguration?, _ configuration: ReloadableConfiguration, fixed: ServiceConfiguration) {
        self.init(
            issuer: fixed.tokens.issuer, publicURL: fixed.server.publicURL, apps: web?.apps ?? [],
            apple: configuration.apple.flatMap(Apple.init), google: configuration.google.flatMap(Google.init),
            offersEmailCode: fixed.mail != nil)
    }
}

extension WebSignIn.Configuration.Apple {
    /// The first team with a Services ID; nil without one.
    fileprivate init?(_ configuration: AppleConfiguration) {
        guard let team = configuration.webTeam, let servicesID = team.servicesID else { return nil }
        self.init(
            servicesID: ProviderClientID(servicesID), realm: Realm(team.name), authorizeURL: configuration.authorizeURL)
    }
}

extension WebSignIn.Configuration.Google {
    /// Nil without a server client.
    fileprivate init?(_ configuration: GoogleConfiguration) {
        guard let client = configuration.webClient else { return nil }
        self.init(
            clientID: ProviderClientID(client.id), authorizeURL: configuration.authorizeURL,
            hostedDomains: configuration.hostedDomains, requireIssuer: configuration.requiresAnswerIssuer)
    }
}

extension OAuthServer.Configuration {
    init(_ oauth: OAuthConfiguration, fixed: ServiceConfiguration) {
        self.init(
            issuer: fixed.tokens.issuer, publicURL: fixed.server.publicURL, scopes: oauth.scopes,
            scopeTexts: oauth.scopeTexts, accessLifetime: oauth.accessLifetime, codeLifetime: oauth.codeLifetime,
            flipMaxAuthAge: oauth.flipMaxAuthAge)
    }
}

extension MailWorker {
    /// Nil when no mail is configured.
    convenience init?(
        _ configuration: MailConfiguration?, store: MailStore, keyRing: KeyRing,
        allowsNotice: @escaping @Sendable (String, EmailAddress) async throws -> Bool, clock: any WallClock,
        logger: Logger
    ) {
        guard let configuration else { return nil }
        self.init(
            store: store, transport: SMTPTransport(server: configuration.server), templates: configuration.templates,
            sender: configuration.from, codes: EmailCodes(keyRing: keyRing), allowsNotice: allowsNotice,
            hold: { duration in
                try? await cancelWhenGracefulShutdown { try await Task.sleep(for: duration) }
            }, clock: clock, logger: logger)
    }
}

extension Health {
    /// - Parameters:
    ///   - inspection: of a connection of its own, as that of the schema is.
    ///   - database: whose writes may be held.
    convenience init(
        inspection: DatabaseInspection, schema: ServedSchema, database: Database,
        keySets: @escaping @Sendable () -> [KeySetCache]
    ) {
        self.init {
            do {
                try await schema.require()
                try await inspection.requireWritable()
                return Readiness(isReady: true, writes: database.holdsWrites ? .waiting : .taken, keySets: keySets())
            } catch {
                return Readiness(isReady: false, keySets: keySets())
            }
        }
    }
}

extension Health.Readiness {
    /// Whether writes succeed. While commits wait for a standby the process answers what only reads, and keeps its requests.
    enum Writes: String {
        case taken, waiting
    }

    /// Reports the writes, where the database was reached, and the age of the key sets. Neither is a reason not to be
    /// ready: sign-in uses the keys in memory.
    init(isReady: Bool, writes: Writes? = nil, keySets: [KeySetCache]) {
        self.init(isReady: isReady) { writer in
            if let writes { writer.member("writes", writes.rawValue) }
            writer.objects("keySets", of: keySets) { cache, writer in
                let status = cache.status
                writer.member("provider", cache.provider.rawValue)
                writer.member("keys", status.keyCount)
                if let age = status.age { writer.member("ageSeconds", age) }
            }
        }
    }
}
