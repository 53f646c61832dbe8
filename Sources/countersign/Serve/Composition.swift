import Accounts
import HTTPAPI
import HTTPFetch
import Logging
import Metrics
import Migrator
import Postgres
import Providers
import ServiceLifecycle
import SignIn
import Storage
import UnixSignals

/// Everything that `serve` is made of, built from the bottom up and handed over by parameter.
enum Composition {
    static func run(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        ProcessLimits.adopt()
        // Before anything that counts is made, for it counts in what it was made with.
        let metrics = PrometheusRegistry()
        MetricsSystem.bootstrap(metrics)
        let clock = SystemClock()
        let database = Database(configuration: .init(configuration.database), logger: logger)
        let fetcher = try CurlFetcher()
        do {
            try await database.requireUTF8()
            let migrator = Migrator(database: database, logger: logger)
            try await migrator.requireCurrentSchema()

            let apple = configuration.apple.map {
                AppleProvider(configuration: .init($0), fetcher: fetcher, clock: clock, logger: logger)
            }
            let google = configuration.google.map {
                GoogleProvider(configuration: .init($0), fetcher: fetcher, clock: clock, logger: logger)
            }
            let endpoints = TokenEndpoints(
                apple: AppleTokenEndpoint(configuration.apple, provider: apple, fetcher: fetcher, logger: logger),
                google: GoogleTokenEndpoint(configuration.google, provider: google, fetcher: fetcher, logger: logger))
            let stores = Stores(database: database, keyRing: configuration.keyRing)
            let accessTokens = try await AccessTokens(
                configuration: .init(
                    issuer: configuration.tokens.issuer, audience: configuration.tokens.audience,
                    lifetime: Int64(configuration.tokens.accessLifetime)),
                store: stores.signingKeys, keyRing: configuration.keyRing, clock: clock)
            let signIn = SignInService(
                configuration: .init(configuration),
                apple: apple, google: google, endpoints: endpoints, stores: stores, accessTokens: accessTokens,
                keyRing: configuration.keyRing, passwordHasher: try PasswordHasher(), clock: clock, logger: logger)

            let events = ProviderEvents(
                apple: apple, google: google,
                policy: .init(
                    consentRevoked: configuration.events.consentRevoked,
                    accountDeleted: configuration.events.accountDeleted),
                store: stores.providerEvents, clock: clock, logger: logger)

            let keySets = [apple?.keys, google?.keys].compactMap(\.self)
            let health = Health {
                do {
                    try await migrator.requireCurrentSchema()
                    return Health.Readiness(isReady: true, keySets: keySets)
                } catch {
                    return Health.Readiness(isReady: false, keySets: keySets)
                }
            }
            // They end in reverse order, each when the one after it is done: the private listener tells load balancers
            // of the drain until the public one has answered its last request.
            var services: [any Service] = keySets.compactMap(KeySetRefresh.init)
            services += RecurringWork.all(
                stores: stores, refreshLifetime: Int64(configuration.tokens.refreshLifetime), endpoints: endpoints,
                events: events,
                mailing: Mailing(
                    configuration.mail, store: stores.mails, keyRing: configuration.keyRing, clock: clock,
                    logger: logger),
                journal: signIn.journal, clock: clock, logger: logger)
            services += listeners(
                configuration,
                routes: MobileAPI(service: signIn, publicURL: configuration.server.publicURL).routes
                    + EventsAPI(events: events).routes,
                administration: AdminAPI(administration: Administration(stores: stores, clock: clock)).routes,
                health: health, metrics: MetricsPage(render: metrics.page), logger: logger)
            var group = ServiceGroupConfiguration(
                services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
            group.maximumGracefulShutdownDuration = .seconds(configuration.server.drainSeconds + 60)
            try await ServiceGroup(configuration: group).run()
        } catch {
            await close(database, fetcher)
            throw error
        }
        await close(database, fetcher)
    }

    private static func close(_ database: Database, _ fetcher: CurlFetcher) async {
        await fetcher.shutdown()
        await database.shutdown()
    }

    private static func listeners(
        _ configuration: ServiceConfiguration, routes: [Route], administration: [Route], health: Health,
        metrics: MetricsPage, logger: Logger
    ) -> [Listener] {
        var open = Listener.Configuration(
            name: "public", host: configuration.server.host, port: configuration.server.port)
        open.drain = .seconds(configuration.server.drainSeconds)
        open.trustedProxies = configuration.server.trustedProxies
        let closed = Listener.Configuration(
            name: "private", host: configuration.admin.host, port: configuration.admin.port)
        var listeners = [Listener(closed, routes: administration + health.routes + metrics.routes, logger: logger)]
        if let port = configuration.admin.healthPort {
            let extra = Listener.Configuration(name: "health", host: configuration.server.host, port: port)
            listeners.append(Listener(extra, routes: health.routes, logger: logger))
        }
        listeners.append(Listener(open, routes: routes, logger: logger, onShutdown: health.stop))
        return listeners
    }
}

/// Keeps one provider's keys fresh while the service runs.
private struct KeySetRefresh: Service {
    let cache: KeySetCache

    init?(_ source: KeySource) {
        guard case .cache(let cache) = source else { return nil }
        self.cache = cache
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { await cache.run() }
    }
}
