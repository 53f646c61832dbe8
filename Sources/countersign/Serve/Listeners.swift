import HTTPServer
import Logging

/// Where the listeners of `serve` listen, and how they end.
struct ListenerAddresses {
    let `public`: Listener.Configuration
    let `private`: Listener.Configuration
    let health: Listener.Configuration?

    var all: [Listener.Configuration] { [`public`, `private`] + [health].compactMap(\.self) }

    init(_ configuration: ServiceConfiguration) {
        let connections = ProcessLimits.connections(ofEachOf: configuration.admin.healthPort == nil ? 2 : 3)
        func bounded(_ listener: Listener.Configuration) -> Listener.Configuration {
            var listener = listener
            listener.limits.connections = min(listener.limits.connections, connections)
            return listener
        }
        var forClients = Listener.Configuration(
            name: "public", host: configuration.server.host, port: configuration.server.port)
        forClients.runsHandlersOnEventLoops = true
        forClients.drain = .seconds(configuration.server.drainSeconds)
        forClients.finish = ShutdownLimit.forRequests
        forClients.trustedProxies = configuration.server.trustedProxies
        forClients.limits.connectionsPerNetwork = configuration.server.connectionsPerNetwork
        `public` = bounded(forClients)
        var forOperators = Listener.Configuration(
            name: "private", host: configuration.admin.host, port: configuration.admin.port)
        forOperators.finish = ShutdownLimit.forPrivateListeners
        // Whatever is pasted into a search of the console is answered by its page.
        forOperators.limits.targetBytes = forOperators.limits.headerBytes
        `private` = bounded(forOperators)
        health = configuration.admin.healthPort.map { port in
            var forHealth = Listener.Configuration(name: "health", host: configuration.server.host, port: port)
            forHealth.finish = ShutdownLimit.forPrivateListeners
            return bounded(forHealth)
        }
    }
}

/// The listeners of `serve`.
struct Listeners {
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
