import Accounts
import Administration
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
struct Composition {
    private let configuration: ServiceConfiguration
    private let connections: OutgoingConnections
    private let clock: any WallClock
    private let logger: Logger

    /// - Parameters:
    ///   - shown: the configuration as the console shows it.
    ///   - reload: the service that reloads the configuration. What it calls is set here.
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
        let connections = try OutgoingConnections(configuration.database, logger: logger)
        let composition = Composition(
            configuration: configuration, connections: connections, clock: SystemClock(), logger: logger)
        do {
            let addresses = ListenerAddresses(configuration)
            try await composition.check(addresses, openLog: openLog)
            let services = try await composition.services(addresses, metrics: metrics, shown: shown, reload: reload)
            try await ServiceGroup(services: services, logger: logger)
                .run(until: UnixSignalsSequence(trapping: .sigterm, .sigint), logger: logger)
        } catch {
            await connections.close()
            throw error
        }
        await connections.close()
    }

    /// Before any service runs: one that has begun its work would be torn down by a port that is taken.
    private func check(_ addresses: ListenerAddresses, openLog: () -> Void) async throws {
        for listener in addresses.all { try listener.requireAddress() }
        let database = connections.database
        try await database.requireUTF8()
        let durability = try RequiredDurability(await DatabaseInspection(database: database).durability())
        try await Migrator(database: database, logger: logger).requireServableSchema()
        openLog()
        for gap in durability.warnings { logger.warning("\(gap)") }
        if configuration.database.preparedStatements, (try? await database.isPooled()) == true {
            logger.warning(
                "prepared statements behind a pooler",
                metadata: ["key": "\(Settings.Postgres.preparedStatements.name)"])
        }
        let teams = configuration.reloadable.apple?.teams.map(\.name) ?? []
        logger.warn(ofUnnamed: await DatabaseInspection(database: database).appleTeams(besides: teams))
        guard addresses.public.limits.connections < ServerLimits().connections else { return }
        logger.warning(
            "few file descriptors",
            metadata: [
                "limit": "\(ProcessLimits.descriptors)", "connections": "\(addresses.public.limits.connections)",
            ])
    }

    /// They end in reverse order, each after the one behind it has ended. At the signal shared work stops, since other
    /// processes can do it. Upkeep, which answers depend on, goes on until the last request is answered, and so does the
    /// private listener, which reports the drain to load balancers, and has readers of the feed wait.
    private func services(
        _ addresses: ListenerAddresses, metrics: PrometheusRegistry, shown: ConfigurationListing,
        reload: ConfigurationReload
    ) async throws -> [any Service] {
        let database = connections.database
        let resources = try await ServiceResources(configuration, connections, clock: clock, logger: logger)
        let storage = resources.database
        let useCases = Reloadable(UseCases(configuration.reloadable, resources))
        let publicRoutes = Reloadable(useCases.value.publicRoutes)
        let keySets = { @Sendable in useCases.value.keySets }
        let inspection = DatabaseInspection(database: connections.healthDatabase)
        let health = Health(
            inspection: inspection,
            schema: ServedSchema(
                migrator: Migrator(database: connections.healthDatabase, logger: logger), logger: logger),
            database: database, keySets: keySets)
        let feedNews = FeedNews()
        let sender = WebhookSender(
            fetcher: connections.webhookFetcher, targets: configuration.reloadable.webhooks.targets, clock: clock)
        let webhooks = Webhooks(
            store: storage.webhooks, feed: storage.feed, sender: sender, news: feedNews, clock: clock,
            logger: logger, configuration: { useCases.value.configuration.webhooks.pushed })
        let accessTokens = resources.signIn.accessTokens
        let gauges = GaugeSampler(
            database: database, useCases: useCases, accessTokens: accessTokens,
            passwordHasher: resources.signIn.passwordHasher, webhooks: webhooks, clock: clock)
        let page = MetricsPage {
            gauges.sample()
            return metrics.page()
        }
        let administration = administration(useCases, resources, feedNews: feedNews, sender: sender)
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
        var reload = reload
        reload.adopt = { reloaded in
            let fresh = UseCases(reloaded, resources)
            useCases.value = fresh
            publicRoutes.value = fresh.publicRoutes
        }
        reload.unnamedTeams = { await DatabaseInspection(database: database).appleTeams(besides: $0) }
        reload.takenNames = { staff in try await administration.keyNames(among: staff) }
        let console = ConsoleAPI(
            administration: administration, inspection: ServiceInspection(database: storage, clock: clock),
            sessions: ConsoleSessions(
                administration: administration, keyRing: configuration.keyRing,
                entrance: { useCases.value.entrance }),
            environment: ConsoleEnvironment(
                version: ProgramVersion.number, commit: ProgramVersion.commit, startedAt: clock.now(),
                history: resources.signIn.metrics.history, health: health,
                migrator: Migrator(database: database, logger: logger), keySets: keySets,
                canSign: { [clock] in accessTokens.canSign(at: clock.now()) }, shown: shown),
            host: ConsoleHost(address: configuration.admin.host, publicHost: configuration.admin.publicHost))
        let listeners = Listeners(
            addresses, routes: publicRoutes.routes,
            administration: AdminAPI(administration: administration).routes + console.routes,
            health: health, metrics: page, logger: logger)
        let mailWorker = MailWorker(
            configuration.mail, store: storage.mails, keyRing: configuration.keyRing,
            allowsNotice: { notice, address in try await useCases.value.signIn.notices.draw(notice, to: address) },
            clock: clock, logger: logger)
        return [reload] + resources.keySets.map { KeySetRefresh(cache: $0, inUse: keySets) } + [
            ConcurrentServices(
                "upkeep",
                RecurringWork.upkeep(
                    resources, feedNews: feedNews,
                    waitingCommits: WaitingCommits(inspection: inspection, database: database))),
            ConcurrentServices(
                "private listeners",
                [FeedListening(news: feedNews, database: configuration.database, logger: logger)]
                    + listeners.privateListeners),
            ConcurrentServices(
                "public listener and shared work",
                [listeners.publicListener, WebhookService(webhooks: webhooks)]
                    + RecurringWork.shared(useCases, resources, mailWorker: mailWorker)),
            ShutdownLimit(
                limit: .seconds(configuration.server.drainSeconds) + ShutdownLimit.afterDrain, logger: logger,
                ending: {
                    async let written = try? resources.signIn.refusals.flush()
                    await resources.signIn.strayGrants.endAll()
                    _ = await written
                }),
        ]
    }

    private func administration(
        _ useCases: Reloadable<UseCases>, _ resources: ServiceResources, feedNews: FeedNews, sender: WebhookSender
    ) -> Administration {
        let storage = resources.database
        return Administration(
            database: storage.pool,
            oauth: configuration.reloadable.oauth.map { oauth in
                OAuthAdministration(
                    database: storage.pool, scopes: { useCases.value.oauth?.configuration.scopes ?? oauth.scopes })
            },
            feed: Feed(store: storage.feed, keyRing: configuration.keyRing, news: feedNews),
            webhooks: { useCases.value.configuration.webhooks.pushed }, sender: sender,
            refusals: resources.signIn.refusals, clock: clock,
            mailLanguages: configuration.mail?.templates.languages ?? [],
            codes: { useCases.value.signIn.supportCodes })
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
