import HTTPServer
import Logging
import Metrics
import NIOCore
import NIOPosix
import Primitives
import ServiceLifecycle
import Synchronization
import TestSupport

extension ServerLimits {
    /// The limits of the service, with a queue timeout for a machine that is busy with other tests.
    static var uncontended: ServerLimits {
        var limits = ServerLimits()
        limits.queueTimeout = .seconds(60)
        return limits
    }
}

/// A listener in this process, on a port of the kernel's choice, for as long as `body` runs.
func withServer<Result: Sendable>(
    _ routes: [Route] = Demo.routes, limits: ServerLimits? = nil, trusting proxies: TrustedProxies = .none,
    log: RecordingLog = .ofRequests(), metrics: any MetricsFactory = MetricsSystem.factory,
    runsHandlersOnEventLoops: Bool = true, on group: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup,
    _ body: @Sendable (_ port: Int) async throws -> Result
) async throws -> Result {
    var configuration = Listener.Configuration(name: "test", host: "127.0.0.1", port: 0)
    configuration.limits = limits ?? .uncontended
    configuration.trustedProxies = proxies
    configuration.finish = .seconds(5)
    configuration.runsHandlersOnEventLoops = runsHandlersOnEventLoops
    return try await withServices { port in
        [
            Listener(
                configuration, routes: routes, group: group, logger: log.logger, metrics: metrics, onListening: port)
        ]
    } body: { ports, _ in
        try await body(ports[0])
    }
}

/// A connection to a listener of its own, for as long as `body` runs.
func withConnection<Result: Sendable>(
    _ routes: [Route] = Demo.routes, limits: ServerLimits? = nil, log: RecordingLog = .ofRequests(),
    readsByItself: Bool = true, _ body: @Sendable (inout RawConnection) async throws -> Result
) async throws -> Result {
    try await withServer(routes, limits: limits, log: log) { port in
        try await RawConnection.open(port, readsByItself: readsByItself) { try await body(&$0) }
    }
}

/// Runs services in a group until `body` is done, then shuts the group down and waits for its end.
///
/// - Parameter make: gets the closure to which each listener reports its port.
func withServices<Result: Sendable>(
    _ make: (@escaping @Sendable (Int) async -> Void) -> [any Service],
    body: @Sendable (_ ports: [Int], ServiceGroup) async throws -> Result
) async throws -> Result {
    let (bound, report) = AsyncStream.makeStream(of: Int.self)
    let services = make { port in report.yield(port) }
    let group = ServiceGroup(
        configuration: .init(
            services: services.map { .init(service: $0, successTerminationBehavior: .ignore) }, logger: .silent))
    return try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await group.run() }
        let ports = await bound.prefix(services.count).reduce(into: []) { $0.append($1) }
        let result: Result
        do {
            result = try await body(ports, group)
        } catch {
            await group.triggerGracefulShutdown()
            throw error
        }
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
        return result
    }
}

/// A gate in a handler: the test waits for a request to arrive, and decides when it continues.
final class Gate: Sendable {
    private let arrivals = AsyncStream.makeStream(of: Void.self)
    private let permits = AsyncStream.makeStream(of: Void.self)

    /// Called by the handler. Returns when the test opens the gate, or when the task is cancelled.
    func pass() async {
        arrivals.continuation.yield()
        _ = await permits.stream.first { _ in true }
    }

    /// A route whose requests wait at the gate.
    var route: Route {
        Route(.get, "/v1/wait") { _ in
            await self.pass()
            return .empty()
        }
    }

    func waitForArrival() async { _ = await arrivals.stream.first { _ in true } }

    func open() { permits.continuation.yield() }
}

extension RecordingLog {
    /// With the metadata of the request in which an entry is logged.
    static func ofRequests() -> RecordingLog { RecordingLog(context: RequestContext.metadataProvider) }

    /// The entries about requests, one for each.
    var requests: [Entry] { entries.filter { $0.message == "request" } }
}
