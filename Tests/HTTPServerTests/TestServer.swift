import HTTPServer
import Logging
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
    log: LogRecorder = LogRecorder(), runsHandlersOnEventLoops: Bool = true,
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
                configuration, routes: routes, group: .singletonMultiThreadedEventLoopGroup, logger: log.logger,
                onListening: port)
        ]
    } body: { ports, _ in
        try await body(ports[0])
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
            services: services.map { .init(service: $0, successTerminationBehavior: .ignore) },
            logger: .silent))
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

/// A log handler that keeps its lines.
final class LogRecorder: Sendable {
    struct Line: Sendable {
        let level: Logger.Level
        let message: String
        let metadata: [String: String]
        /// Personal data, which the log of the service may leave out.
        let personal: [String: String]
    }

    private let recorded = Mutex<[Line]>([])

    var lines: [Line] { recorded.withLock { $0 } }

    /// The lines about requests, one for each.
    var requests: [Line] { lines.filter { $0.message == "request" } }

    var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(recorder: self) }
        logger.logLevel = .trace
        return logger
    }

    fileprivate func record(_ line: Line) { recorded.withLock { $0.append(line) } }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let context = RequestContext.metadataProvider.get()
            let merged = metadata.merging(context) { $1 }.merging(event.metadata ?? [:]) { $1 }
            let personal = merged.compactMapValues { value in
                if case .stringConvertible(let text as PersonalText) = value { text.revealed } else { nil as String? }
            }
            recorder.record(
                Line(
                    level: event.level, message: "\(event.message)", metadata: merged.mapValues { "\($0)" },
                    personal: personal))
        }
    }
}
