import Accounts
import Administration
import Curl
import HTTPAPI
import HTTPServer
import Logging
import Metrics
import Migrator
import OAuthServer
import Postgres
import Prometheus
import Providers
import ServiceLifecycle
import SignIn
import Storage
import UnixSignals
import Version
import WebPages
import Webhooks

/// The composition root of `serve`: everything is built from the bottom up and passed by parameter.
enum Composition {
    /// - Parameters:
    ///   - shown: the configuration as the console shows it.
    ///   - reload: the service that reloads the configuration. Its `adopt` is set here.
    ///   - openLog: is called when database, schema and ports are as the service needs them.
    static func run(
        _ configuration: ServiceConfiguration, shown: ConfigurationListing, reload: ConfigurationReload, logger: Logger,
        openLog: () -> Void
    ) async throws {
        ProcessLimits.adopt()
        // Before any metric is made: a metric keeps the factory that it was made with.
        let metrics = PrometheusRegistry(help: HelpTexts.all)
        MetricsSystem.bootstrap(metrics)
        Gauge(
            label: "countersign_build_info",
            dimensions: [("version", ProgramVersion.number), ("commit", ProgramVersion.commit)]
        ).record(1)
        let clock = SystemClock()
        let database = Database(configuration: .service(configuration.database), logger: logger)
        let healthDatabase = Database(configuration: .health(configuration.database), logger: logger)
        let fetcher = try CurlFetcher()
        let webhookFetcher = try CurlFetcher(configuration: .webhooks)
        let addresses = ListenerAddresses(configuration)
        do {
            // Before any service runs: one that has begun its work would be torn down by a port that is taken.
            for listener in addresses.all { try listener.requireAddress() }
            try await database.requireUTF8()
            let durability = try RequiredDurability(await DatabaseInspection(database: database).durability())
            let migrator = Migrator(database: database, logger: logger)
            try await migrator.requireServableSchema()
            openLog()
            for gap in durability.warnings { logger.warning("\(gap)") }
            let schema = ServedSchema(migrator: Migrator(database: healthDatabase, logger: logger), logger: logger)
            let inspection = DatabaseInspection(database: healthDatabase)
            let waitingCommits = WaitingCommits(inspection: inspection, database: database)

            let storage = ServiceDatabase(database, keyRing: configuration.keyRing)
            let accessTokens = try await AccessTokens(
                configuration: .init(
                    issuer: configuration.tokens.issuer, audience: configuration.tokens.audience,
                    lifetime: Int64(configuration.tokens.accessLifetime)),
                store: storage.signingKeys, keyRing: configuration.keyRing, clock: clock, logger: logger)
            func keySet(_ provider: Provider, at url: String) -> KeySetCache {
                KeySetCache(provider: provider, url: url, fetcher: fetcher, clock: clock, logger: logger)
            }
            let resources = ServiceResources(
                configuration: configuration, fetcher: fetcher, database: storage, accessTokens: accessTokens,
                passwordHasher: try PasswordHasher(
                    foreign: configuration.passwords.foreign, memoryLimit: configuration.passwords.memoryLimit),
                refusals: RefusalAggregator(trail: storage.audit, clock: clock),
                strayGrants: StrayGrants(store: storage.revocations, clock: clock, logger: logger),
                oauthClients: OAuthClients(store: storage.oauthClients),
                appleKeys: configuration.reloadable.apple.map { keySet(.apple, at: $0.keysURL) },
                googleKeys: keySet(.google, at: configuration.reloadable.console.keysURL),
                clock: clock, logger: logger)
            let useCases = Reloadable(UseCases(configuration.reloadable, resources))
            let publicRoutes = Reloadable(useCases.value.publicRoutes(configuration))
            var reload = reload
            reload.adopt = { reloaded in
                let fresh = UseCases(reloaded, resources)
                useCases.value = fresh
                publicRoutes.value = fresh.publicRoutes(configuration)
            }
            let keySets = { @Sendable in useCases.value.keySets }
            let health = Health {
                do {
                    try await schema.require()
                    try await inspection.requireWritable()
                    return Health.Readiness(
                        isReady: true, writes: database.holdsWrites ? .waiting : .taken, keySets: keySets())
                } catch {
                    return Health.Readiness(isReady: false, keySets: keySets())
                }
            }
            let feedNews = FeedNews()
            let sender = WebhookSender(
                fetcher: webhookFetcher, targets: configuration.reloadable.webhooks.targets, clock: clock)
            let webhooks = Webhooks(
                store: storage.webhooks, feed: storage.feed, sender: sender, news: feedNews, clock: clock,
                logger: logger, configuration: { useCases.value.pushed })
            let gauges = GaugeSampler(
                database: database, foreignKeys: Set(configuration.foreignKeys.map(\.provider)),
                useCases: useCases, accessTokens: accessTokens, passwordHasher: resources.passwordHasher, clock: clock)
            let page = MetricsPage {
                gauges.sample()
                return metrics.page()
            }
            let administration = Administration(
                database: storage.pool,
                oauth: configuration.reloadable.oauth.map { oauth in
                    OAuthAdministration(
                        database: storage.pool, scopes: { useCases.value.oauth?.configuration.scopes ?? oauth.scopes })
                },
                feed: Feed(store: storage.feed, keyRing: configuration.keyRing, news: feedNews),
                webhooks: { useCases.value.pushed }, sender: sender, refusals: resources.refusals,
                clock: clock,
                mailLanguages: configuration.mail?.templates.languages ?? [],
                codes: { useCases.value.signIn.supportCodes })
            if let staff = configuration.reloadable.console.google?.staff {
                let taken = try await administration.keyNames(among: staff)
                guard taken.isEmpty else {
                    throw UsageFault(
                        sentence: """
                            console.staff has names that admin keys have: \(taken.joined(separator: ", ")). In the trail \
                            they would be one.
                            """)
                }
            }
            reload.takenNames = { staff in try await administration.keyNames(among: staff) }
            let console = ConsoleAPI(
                administration: administration, inspection: ServiceInspection(database: storage, clock: clock),
                sessions: ConsoleSessions(
                    administration: administration, keyRing: configuration.keyRing,
                    entrance: { useCases.value.entrance }),
                environment: ConsoleEnvironment(
                    version: ProgramVersion.number, commit: ProgramVersion.commit, startedAt: clock.now(),
                    history: resources.metrics.history, health: health,
                    migrator: migrator, keySets: keySets, shown: shown),
                host: ConsoleHost(address: configuration.admin.host, publicHost: configuration.admin.publicHost))
            let listeners = Listeners(
                addresses, routes: publicRoutes.routes,
                administration: AdminAPI(administration: administration).routes + console.routes,
                health: health, metrics: page, logger: logger)
            let mailWorker = MailWorker(
                configuration.mail, store: storage.mails, keyRing: configuration.keyRing, clock: clock, logger: logger)
            // They end in reverse order, each after the one behind it has ended. At the signal shared work stops, since
            // other processes can do it. Upkeep, which answers depend on, goes on until the last request is answered,
            // and so does the private listener, which reports the drain to load balancers.
            let services: [any Service] =
                [reload] + resources.keySets.map { KeySetRefresh(cache: $0, inUse: keySets) } + [
                    ConcurrentServices(
                        "upkeep",
                        RecurringWork.upkeep(
                            storage, accessTokens: accessTokens, refusals: resources.refusals,
                            strayGrants: resources.strayGrants, feedNews: feedNews, waitingCommits: waitingCommits,
                            clock: clock,
                            logger: logger)),
                    ConcurrentServices("private listeners", listeners.privateListeners),
                    ConcurrentServices(
                        "public listener and shared work",
                        [
                            listeners.publicListener,
                            FeedListening(news: feedNews, database: configuration.database, logger: logger),
                            WebhookService(webhooks: webhooks),
                        ]
                            + RecurringWork.shared(
                                useCases, database: storage,
                                lifetimes: SessionLifetimes(configuration.tokens),
                                mailWorker: mailWorker, clock: clock, logger: logger)),
                    ShutdownLimit(
                        limit: .seconds(configuration.server.drainSeconds) + ShutdownLimit.afterDrain, logger: logger),
                ]
            try await ServiceGroup(services: services, logger: logger)
                .run(until: UnixSignalsSequence(trapping: .sigterm, .sigint), logger: logger)
        } catch {
            await close([database, healthDatabase], [fetcher, webhookFetcher])
            throw error
        }
        await close([database, healthDatabase], [fetcher, webhookFetcher])
    }

    private static func close(_ databases: [Database], _ fetchers: [CurlFetcher]) async {
        for fetcher in fetchers { await fetcher.shutdown() }
        for database in databases { await database.shutdown() }
    }
}

/// Where the listeners of `serve` listen, and how they end.
private struct ListenerAddresses {
    let `public`: Listener.Configuration
    let `private`: Listener.Configuration
    let health: Listener.Configuration?

    var all: [Listener.Configuration] { [`public`, `private`] + [health].compactMap(\.self) }

    init(_ configuration: ServiceConfiguration) {
        var forClients = Listener.Configuration(
            name: "public", host: configuration.server.host, port: configuration.server.port)
        forClients.runsHandlersOnEventLoops = true
        forClients.drain = .seconds(configuration.server.drainSeconds)
        forClients.finish = ShutdownLimit.forRequests
        forClients.trustedProxies = configuration.server.trustedProxies
        forClients.limits.connectionsPerNetwork = configuration.server.connectionsPerNetwork
        `public` = forClients
        var forOperators = Listener.Configuration(
            name: "private", host: configuration.admin.host, port: configuration.admin.port)
        forOperators.finish = ShutdownLimit.forPrivateListeners
        `private` = forOperators
        health = configuration.admin.healthPort.map { port in
            var forHealth = Listener.Configuration(name: "health", host: configuration.server.host, port: port)
            forHealth.finish = ShutdownLimit.forPrivateListeners
            return forHealth
        }
    }
}

/// The listeners of `serve`.
private struct Listeners {
    let publicListener: Listener
    /// The private one and the one for health. They answer until the public one has ended.
    let privateListeners: [Listener]

    init(
        _ addresses: ListenerAddresses, routes: [Route], administration: [Route], health: Health,
        metrics: MetricsPage, logger: Logger
    ) {
        publicListener = Listener(addresses.public, routes: routes, logger: logger, onShutdown: health.stop)
        let forOperators = Listener(
            addresses.private, routes: administration + health.routes + metrics.routes, logger: logger)
        let forHealth = addresses.health.map { Listener($0, routes: health.routes, logger: logger) }
        privateListeners = [forOperators] + [forHealth].compactMap(\.self)
    }
}

/// Keeps one provider's keys fresh while the service runs and its configuration has them used.
private struct KeySetRefresh: Service {
    let cache: KeySetCache
    let inUse: @Sendable () -> [KeySetCache]

    func run() async throws {
        await cancelWhenGracefulShutdown { await cache.run { inUse().contains { $0 === cache } } }
    }
}
