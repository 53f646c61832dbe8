import JSON
import Logging
import MetricsTestKit
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

/// Which requests are answered when there are more than permits, eight in these tests.
@Suite(.timeLimit(.minutes(5))) struct OverloadTests {
    private static let capacity = 8

    /// Requests that take permits and hold them until they are released.
    private final class HeldRequests: Sendable {
        private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])
        private let arrivals = AsyncStream.makeStream(of: Void.self)

        var route: Route {
            Route(.get, "/v1/hold", priority: .revoking) { _ in
                await withCheckedContinuation { continuation in
                    self.waiting.withLock { $0.append(continuation) }
                    self.arrivals.continuation.yield()
                }
                return .empty()
            }
        }

        func waitForArrivals(_ count: Int) async { for await _ in arrivals.stream.prefix(count) {} }

        func release() {
            let released = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            for continuation in released { continuation.resume() }
        }
    }

    private static func routes(_ held: HeldRequests) -> [Route] {
        [
            held.route,
            Route(.get, "/v1/list", priority: .reading) { _ in .empty() },
            Route(.post, "/v1/sign-in", priority: .signingIn) { _ in .empty() },
            Route(.delete, "/v1/session", priority: .revoking) { _ in .empty() },
            Route(.get, "/health", priority: .observing) { _ in .empty() },
        ]
    }

    /// - Parameter client: whose address a proxy forwards.
    private static func ask(_ operation: String, _ port: Int, from client: String? = nil) async throws -> Answer {
        let forwarded = client.map { "X-Forwarded-For: \($0)\r\n" } ?? ""
        return try await RawConnection.open(port) {
            try await $0.exchange("\(operation) HTTP/1.1\r\nHost: a\r\n\(forwarded)\r\n")
        }
    }

    private static func expectRejected(_ answer: Answer, _ location: SourceLocation = #_sourceLocation) {
        #expect(answer.status == 503, sourceLocation: location)
        #expect(answer.code == "temporarily_unavailable", sourceLocation: location)
        #expect((1...3).contains(answer["Retry-After"].flatMap { Int($0) } ?? 0), sourceLocation: location)
    }

    /// Runs `body` while `count` permits are held; afterwards each request that held one gets its response.
    private static func withPermitsHeld(
        _ count: Int, limits: ServerLimits = .uncontended, log: RecordingLog = .ofRequests(),
        _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        try await withPermitsHeld(by: Array(repeating: nil, count: count), limits: limits, log: log, body)
    }

    /// The same, by clients behind a proxy.
    private static func withPermitsHeld(
        by clients: [String?], limits: ServerLimits = .uncontended, log: RecordingLog = .ofRequests(),
        metrics: TestMetrics = TestMetrics(), _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        let held = HeldRequests()
        var limits = limits
        limits.concurrentRequests = capacity
        let proxies = try #require(TrustedProxies(clients.contains(nil) ? [] : ["127.0.0.1"]))
        try await withServer(routes(held), limits: limits, trusting: proxies, log: log, metrics: metrics) { port in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for client in clients { group.addTask { try await ask("GET /v1/hold", port, from: client).status } }
                await held.waitForArrivals(clients.count)
                do {
                    try await body(port)
                } catch {
                    held.release()
                    throw error
                }
                held.release()
                for try await status in group { #expect(status == 204) }
            }
            // All permits are free again.
            let answer = try await ask("GET /v1/list", port, from: clients.first ?? nil)
            #expect(answer.status == 204)
        }
    }

    @Test(arguments: [
        (held: 3, answered: ["GET /v1/list", "POST /v1/sign-in", "DELETE /v1/session", "GET /health"], rejected: []),
        (4, ["POST /v1/sign-in", "DELETE /v1/session", "GET /health"], ["GET /v1/list"]),
        (6, ["DELETE /v1/session", "GET /health"], ["GET /v1/list", "POST /v1/sign-in"]),
        (8, ["GET /health"], ["GET /v1/list", "POST /v1/sign-in", "DELETE /v1/session"]),
    ])
    func `a list is refused before a sign-in, a sign-in before a revocation, and health never`(
        held: Int, answered: [String], rejected: [String]
    ) async throws {
        try await Self.withPermitsHeld(held) { port in
            for operation in answered {
                let answer = try await Self.ask(operation, port)
                #expect(answer.status == 204, "\(operation)")
            }
            for operation in rejected { Self.expectRejected(try await Self.ask(operation, port)) }
        }
    }

    /// One network may have four of the eight permits, and a wide one five.
    @Test(arguments: [
        (held: ["203.0.1.1", "203.0.1.2", "203.0.1.3", "203.0.1.4"], refused: "203.0.1.9", admitted: "203.0.2.1"),
        (["203.0.1.1", "203.0.1.2", "203.0.1.3", "203.0.2.1", "203.0.2.2"], "203.0.3.1", "198.51.100.1"),
        ((1...4).map { "2001:db8:1:1::\($0)" }, "2001:db8:1:1::9", "2001:db8:1:2::1"),
    ])
    func `a network with its share of the permits is refused, and a sign-in or a revocation from elsewhere is not`(
        held: [String], refused: String, admitted: String
    ) async throws {
        let (log, metrics) = (RecordingLog.ofRequests(), TestMetrics())
        try await Self.withPermitsHeld(by: held, log: log, metrics: metrics) { port in
            for operation in ["POST /v1/sign-in", "DELETE /v1/session"] {
                Self.expectRejected(try await Self.ask(operation, port, from: refused))
                let status = try await Self.ask(operation, port, from: admitted).status
                #expect(status == 204, "\(operation)")
            }
            // The second acquires its permit behind the first.
            try await RawConnection.open(port) { connection in
                let request = "DELETE /v1/session HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: \(refused)\r\n\r\n"
                try await connection.send(request + request)
                for _ in 1...2 { Self.expectRejected(try await connection.answer()) }
            }
            let health = try await Self.ask("GET /health", port, from: refused)
            #expect(health.status == 204)
        }
        let lines = log.requests.filter { $0.metadata["status"] == "503" }
        #expect(!lines.isEmpty && lines.allSatisfy { $0.metadata["reason"] == "share" && $0.level == .info })
        let shed = [("listener", "test"), ("reason", "share")]
        #expect(try metrics.expectCounter("countersign_http_shed_total", shed).totalValue == 4)
    }

    @Test func `a rejection for want of a permit takes none, and the log says why`() async throws {
        let log = RecordingLog.ofRequests()
        try await Self.withPermitsHeld(6, log: log) { port in
            for _ in 0..<20 { Self.expectRejected(try await Self.ask("POST /v1/sign-in", port)) }
            let status = try await Self.ask("DELETE /v1/session", port).status
            #expect(status == 204)
        }
        let refused = log.requests.filter { $0.metadata["status"] == "503" }
        #expect(1...20 ~= refused.count)
        #expect(refused.allSatisfy { $0.metadata["reason"] == "no_place" && $0.metadata["route"] == "/v1/sign-in" })
        #expect(refused.allSatisfy { $0.personal["client"] == "127.0.0.1" && $0.metadata["method"] == "POST" })
        #expect(refused.allSatisfy { $0.metadata["requestId"]?.isEmpty == false })
    }

    /// Requests that are rejected by their bytes, and requests that have to be decoded first.
    @Test(arguments: ["X-Request-Id: r.1\r\n", "X-Request-Id: not one\r\n", ""])
    func `however a request comes, its refusal is the same`(id: String) async throws {
        try await Self.withPermitsHeld(6) { port in
            try await RawConnection.open(port) { connection in
                let head = "POST /v1/sign-in HTTP/1.1\r\nHost: a\r\n\(id)"
                var answers: [Answer] = []
                // The first in a second may be decoded, for its log line.
                for _ in 1...3 { answers.append(try await connection.exchange(head + "Content-Length: 2\r\n\r\n{}")) }
                answers.append(
                    try await connection.exchange(head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"))
                for answer in answers {
                    Self.expectRejected(answer)
                    #expect(answer.fields.map(\.name) == answers[3].fields.map(\.name))
                    let requestID = try #require(answer["X-Request-Id"])
                    #expect(id.contains("r.1") ? requestID == "r.1" : requestID.utf8.count == 36)
                    #expect(answer.json?["requestId"]?.string == requestID)
                    for name in ["Content-Type", "Cache-Control", "X-Content-Type-Options", "Content-Length"] {
                        #expect(answer[name] == answers[3][name])
                    }
                    #expect(
                        answer.text.replacing(requestID, with: "")
                            == answers[3].text.replacing(
                                answers[3]["X-Request-Id"] ?? "", with: ""))
                }
                #expect(id.contains("r.1") || Set(answers.map { $0["X-Request-Id"] }).count == answers.count)
            }
        }
    }

    @Test func `of the rejections of a second one leaves a line, and the next line says how many did not`() {
        let log = OverloadLog()
        let start = ContinuousClock.now
        #expect(log.sample(at: start) == 0)
        for milliseconds in 1...500 { #expect(log.sample(at: start + .milliseconds(milliseconds)) == nil) }
        #expect(log.sample(at: start + .seconds(1)) == 500)
        #expect(log.sample(at: start + .milliseconds(1_500)) == nil)
        #expect(log.sample(at: start + .seconds(60)) == 1)
        #expect(log.sample(at: start + .seconds(120)) == 0)
    }

    @Test func `a connection is answered in order, and goes on after a refusal`() async throws {
        try await Self.withPermitsHeld(6) { port in
            try await RawConnection.open(port) { connection in
                let operations = ["POST /v1/sign-in", "DELETE /v1/session", "POST /v1/sign-in", "GET /v1/nothing"]
                for _ in 0..<3 {
                    try await connection.send(operations.map { "\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined())
                    for expected in [503, 204, 503, 404] { #expect(try await connection.answer().status == expected) }
                }
                let last = try await connection.exchange(
                    "POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                Self.expectRejected(last)
                #expect(last["Connection"] == "close")
                try await connection.expectEnd()
            }
        }
    }

    @Test func `a client that reads no rejection is sent no more of them, and cut off`() async throws {
        var limits = ServerLimits.uncontended
        limits.writeDeadline = .seconds(2)
        try await Self.withPermitsHeld(6, limits: limits) { port in
            try await RawConnection.open(port, readsByItself: false) { connection in
                let request =
                    "POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nX-Request-Id: \(String(repeating: "a", count: 128))\r\n\r\n"
                // Apart from each other, so that few come in one piece.
                let stalled = try await ContinuousClock().measure {
                    try await connection.sendUntilCut(Array(request.utf8), every: .milliseconds(1))
                }
                #expect(stalled >= .seconds(2), "it was cut off before it had the time to read")
            }
        }
    }

    /// A client that has read `Connection: close` may send the requests behind it again on another connection.
    @Test func `what comes behind a last refusal is not begun`() async throws {
        let (held, drain) = (HeldRequests(), Gate())
        let log = RecordingLog.ofRequests()
        var configuration = Listener.Configuration(name: "test", host: "127.0.0.1", port: 0)
        configuration.limits = .uncontended
        configuration.limits.concurrentRequests = Self.capacity
        configuration.limits.headerDeadline = .seconds(600)
        configuration.drained = { _ in await drain.pass() }
        try await withServices { port in
            [
                Listener(
                    configuration, routes: Self.routes(held), group: .singletonMultiThreadedEventLoopGroup,
                    logger: log.logger, onListening: port)
            ]
        } body: { ports, group in
            try await withThrowingTaskGroup(of: Int.self) { requests in
                for _ in 0..<6 { requests.addTask { try await Self.ask("GET /v1/hold", ports[0]).status } }
                await held.waitForArrivals(6)
                try await RawConnection.open(ports[0]) { connection in
                    await group.triggerGracefulShutdown()
                    while try await Self.ask("GET /health", ports[0])["Connection"] != "close" {}
                    let both = ["POST /v1/sign-in", "DELETE /v1/session"].map { "\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }
                    try await connection.send(both.joined())
                    let answer = try await connection.answer()
                    Self.expectRejected(answer)
                    #expect(answer["Connection"] == "close")
                    try await connection.expectEnd()
                }
                held.release()
                for try await status in requests { #expect(status == 204) }
                drain.open()
            }
        }
        #expect(!log.requests.contains { $0.metadata["method"] == "DELETE" })
    }

    @Test func `an unknown path needs no permit`() async throws {
        try await Self.withPermitsHeld(8) { port in
            let unknown = try await Self.ask("GET /v1/nothing", port)
            #expect(unknown.status == 404)
            let notAllowed = try await Self.ask("PUT /v1/list", port)
            #expect(notAllowed.status == 405)
        }
    }

    @Test func `a request that the machine gets to too late is not begun`() async throws {
        let log = RecordingLog.ofRequests()
        var limits = ServerLimits()
        limits.queueTimeout = .nanoseconds(-1)
        try await withServer(Self.routes(HeldRequests()), limits: limits, log: log) { port in
            for operation in ["GET /v1/list", "POST /v1/sign-in", "DELETE /v1/session"] {
                Self.expectRejected(try await Self.ask(operation, port))
            }
            let status = try await Self.ask("GET /health", port).status
            #expect(status == 204)
        }
        #expect(1...3 ~= log.requests.count { $0.metadata["reason"] == "waited_too_long" })
    }

    /// Only the delay by the machine counts: earlier requests on the connection are the client's choice.
    @Test func `a request behind a slow one of its connection is not late`() async throws {
        let gate = Gate()
        let slow = Route(.get, "/v1/slow", priority: .observing) { _ in
            await gate.pass()
            return .empty()
        }
        try await Self.expectBegun(behind: slow) {
            await gate.waitForArrival()
        } release: {
            gate.open()
        }
    }

    @Test func `a request behind a response that the client takes late is not late`() async throws {
        let (firstOnes, first) = AsyncStream.makeStream(of: Void.self)
        let large = Route(.get, "/v1/large", priority: .observing) { _ in
            first.yield()
            return .html(.ok, [UInt8](repeating: 0x2E, count: 8 * 1024 * 1024))
        }
        try await Self.expectBegun(behind: large) { _ = await firstOnes.first { true } }
    }

    /// Expects that a request is begun behind one of `route`, which is never late itself and takes longer than
    /// `queueTimeout`, until its response is read.
    private static func expectBegun(
        behind route: Route, arrival: @escaping @Sendable () async -> Void, release: @escaping @Sendable () -> Void = {}
    ) async throws {
        let queueTimeout = Duration.seconds(5)
        var limits = ServerLimits()
        limits.queueTimeout = queueTimeout
        // The suite's own limit comes first.
        limits.writeDeadline = .seconds(600)
        try await withServer(routes(HeldRequests()) + [route], limits: limits) { port in
            // A machine that pauses may be late once.
            let isBegun = try await onceOfThree {
                try await RawConnection.open(port, readsByItself: false) { connection in
                    let paths = [route.template, "/v1/list"]
                    try await connection.send(paths.map { get($0) }.joined())
                    await arrival()
                    try await Task.sleep(for: queueTimeout)
                    release()
                    try await connection.startReading()
                    _ = try await connection.answer()
                    return try await connection.answer().status == 204
                }
            }
            #expect(isBegun)
        }
    }
}
