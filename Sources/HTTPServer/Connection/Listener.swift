import Glibc
import HummingbirdCore
package import Logging
package import Metrics
package import NIOCore
import NIOPosix
import ServiceLifecycle

/// A service on one port with its own routes: no path of one listener answers on another.
///
/// On graceful shutdown it goes on answering for `drain`, each response closing its connection, while load balancers
/// notice that `/health/ready` says 503. Then it stops accepting, lets the requests in flight finish within `finish`,
/// and `run` returns.
package struct Listener: Service {
    package struct Configuration: Sendable {
        /// The name in log lines, metrics and errors: `public`, `private`, `health`.
        package var name: String
        package var host: String
        /// 0 lets the kernel choose; `onListening` gets the choice.
        package var port: Int
        package var limits = ServerLimits()
        package var trustedProxies = TrustedProxies.none
        /// Whether handlers run on the event loop of their connection while few requests are handled. It spares them changes
        /// of thread and holds up its other connections: for handlers that neither block nor compute for milliseconds.
        package var runsHandlersOnEventLoops = false
        package var drain = Duration.zero
        /// Waits for ``drain`` to pass. Tests end it when they have seen what they look for.
        package var drained: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        package var finish = Duration.seconds(30)

        package init(name: String, host: String, port: Int) {
            self.name = name
            self.host = host
            self.port = port
        }
    }

    /// The failure to listen on an address; the description names the address and the reason for the operator.
    package struct BindError: Error, CustomStringConvertible {
        package let description: String

        init(_ configuration: Configuration, _ error: any Error) {
            let reason = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
            description =
                "The \(configuration.name) listener can't use \(configuration.host):\(configuration.port): \(reason)."
        }
    }

    private let configuration: Configuration
    private let connections: Connections
    private let group: any EventLoopGroup
    private let logger: Logger
    private let onListening: @Sendable (_ port: Int) async -> Void
    private let onShutdown: @Sendable () -> Void

    /// - Parameters:
    ///   - metrics: creates the metrics of requests and connections.
    ///   - onListening: is called with the port that is bound.
    ///   - onShutdown: is called as soon as graceful shutdown begins, before the drain.
    package init(
        _ configuration: Configuration, routes: [Route],
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory,
        onListening: @escaping @Sendable (_ port: Int) async -> Void = { _ in },
        onShutdown: @escaping @Sendable () -> Void = {}
    ) {
        self.configuration = configuration
        self.group = group
        self.logger = logger
        self.onListening = onListening
        self.onShutdown = onShutdown
        let metrics = RequestMetrics(listener: configuration.name, routes: routes, factory: metrics)
        let responder = Responder(
            routes: routes, limits: configuration.limits,
            admission: AdmissionController(limits: configuration.limits, metrics: metrics),
            trustedProxies: configuration.trustedProxies, logger: logger, metrics: metrics)
        self.connections = Connections(
            limits: configuration.limits, responder: responder,
            runsHandlersOnEventLoops: configuration.runsHandlersOnEventLoops,
            open: OpenConnections(
                limits: configuration.limits, trustedProxies: configuration.trustedProxies, metrics: metrics))
    }

    package func run() async throws {
        let server = server()
        // Detached, because Hummingbird's server would stop accepting as soon as the graceful shutdown of its task
        // began; `shutDown` stops it when the drain is over.
        let serving = Task.detached { try await server.run() }
        try await withTaskCancellationHandler {
            let result = await withTaskGroup(of: Void.self) { group in
                group.addTask { await shutDown(server, serving) }
                let result = await serving.result
                group.cancelAll()
                return result
            }
            // A shutdown that begins before the port is bound makes the server fail with an error of its own.
            guard !connections.responder.admission.isDraining, !Task.isCancelled else { return }
            switch result {
            case .failure(let error): throw BindError(configuration, error)
            // The socket was closed under it: the process has to end, or it would be ready and answer nobody.
            case .success: throw BindError(configuration, ChannelError.ioOnClosedChannel)
            }
        } onCancel: {
            serving.cancel()
        }
    }

    private func server() -> Server<Connections> {
        Server(
            childChannelSetup: connections,
            configuration: ServerConfiguration(
                address: .hostname(configuration.host, port: configuration.port), backlog: 1024,
                availableConnectionsDelegate: MaximumAvailableConnections(
                    configuration.limits.connections, logger: logger)),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? 0) },
            eventLoopGroup: group, logger: logger)
    }

    /// Waits for graceful shutdown and carries it out; returns early when the server ends by itself.
    private func shutDown(_ server: Server<Connections>, _ serving: Task<Void, any Error>) async {
        do {
            try await gracefulShutdown()
            onShutdown()
            connections.responder.admission.drain()
            try await configuration.drained(configuration.drain)
            async let quiesced: Void = server.shutdownGracefully()
            try await Task.sleep(for: configuration.finish)
            logger.warning(
                "shutdown timed out, open connections closed", metadata: ["listener": .string(configuration.name)])
            serving.cancel()
            try await quiesced
        } catch {
            // Cancelled: there is no server left to shut down.
        }
    }
}
