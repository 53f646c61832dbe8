import MetricsTestKit
import NIOCore
import NIOEmbedded
import NIOPosix
import Primitives
import Testing

@testable import HTTPServer

/// How many connections one network gets, and which go when a listener is nearly full.
@Suite(.timeLimit(.minutes(5))) struct OpenConnectionsTests {
    /// A connection is idle a moment after its answer has been sent. One loop notes that before it reads from another one.
    private static let loop = MultiThreadedEventLoopGroup.singleton.next()

    private static func limits(connections: Int = 2048, perNetwork: Int) -> ServerLimits {
        var limits = ServerLimits.uncontended
        limits.connections = connections
        limits.connectionsPerNetwork = perNetwork
        return limits
    }

    @Test func `one more connection than a network may have is closed without an answer`() async throws {
        try await withServer(limits: Self.limits(perNetwork: 2)) { port in
            try await RawConnection.open(port) { first in
                #expect(try await first.exchange(get()).status == 200)
                try await RawConnection.open(port) { second in
                    #expect(try await second.exchange(get()).status == 200)
                    try await RawConnection.open(port) { try await $0.expectEnd() }
                    #expect(try await second.exchange(get()).status == 200)
                }
                #expect(try await first.exchange(get()).status == 200)
            }
        }
    }

    @Test func `a connection that has ended leaves its place`() async throws {
        try await withServer(limits: Self.limits(perNetwork: 1)) { port in
            for _ in 0..<20 { try await Self.awaitPlace(port) }
        }
    }

    @Test func `a connection that was reset leaves its place when its request has been handled`() async throws {
        let gate = Gate()
        try await withServer(Demo.routes + [gate.route], limits: Self.limits(perNetwork: 1)) { port in
            try await RawConnection.open(port) { left in
                try await left.send(get("/v1/wait"))
                await gate.waitForArrival()
                try await left.reset()
            }
            for _ in 0..<20 { try await RawConnection.open(port) { try await $0.expectEnd() } }
            gate.open()
            try await Self.awaitPlace(port)
        }
    }

    @Test(arguments: [true, false])
    func `a trusted proxy and a listener without a share have no limit`(isTrusted: Bool) async throws {
        let proxies = try #require(TrustedProxies(["127.0.0.1"]))
        try await withServer(
            limits: Self.limits(perNetwork: isTrusted ? 1 : 0), trusting: isTrusted ? proxies : .none
        ) { port in
            try await RawConnection.open(port) { first in
                #expect(try await first.exchange(get()).status == 200)
                try await RawConnection.open(port) { second in
                    let status = try await second.exchange(get()).status
                    #expect(status == 200)
                    #expect(try await first.exchange(get()).status == 200)
                }
            }
        }
    }

    /// Of 16 connections 15 are open; the next closes the one that has been idle longest, and no other.
    @Test func `a nearly full listener closes the connection that has been idle longest`() async throws {
        let limits = Self.limits(connections: 16, perNetwork: 0)
        try await withServer(limits: limits, on: Self.loop) { port in
            try await RawConnection.open(port) { first in
                #expect(try await first.exchange(get()).status == 200)
                try await RawConnection.open(port) { second in
                    #expect(try await second.exchange(get()).status == 200)
                    // The first is used again: the second has been idle for longer.
                    #expect(try await first.exchange(get()).status == 200)
                    try await RawConnection.open(13, port) {
                        try await RawConnection.open(port) { last in
                            #expect(try await last.exchange(get()).status == 200)
                            try await second.expectEnd()
                            #expect(try await first.exchange(get()).status == 200)
                        }
                    }
                }
            }
        }
    }

    @Test func `one whose last answer has been sent makes room too, though its peer keeps it open`() async throws {
        var limits = Self.limits(connections: 16, perNetwork: 0)
        limits.lingerDeadline = .seconds(60)
        try await withServer(limits: limits, on: Self.loop) { port in
            try await RawConnection.open(port) { over in
                try await over.send(get("/v1/ping", "Connection: close\r\n"))
                _ = try await over.answer()
                try await RawConnection.open(port) { idle in
                    #expect(try await idle.exchange(get()).status == 200)
                    try await RawConnection.open(13, port) {
                        try await RawConnection.open(port) { last in
                            let statuses = [
                                try await last.exchange(get()).status,
                                // The older one has been closed.
                                try await idle.exchange(get()).status,
                            ]
                            #expect(statuses == [200, 200])
                        }
                    }
                }
            }
        }
    }

    @Test func `a connection whose request is being handled stays`() async throws {
        let gate = Gate()
        try await withServer(Demo.routes + [gate.route], limits: Self.limits(connections: 16, perNetwork: 0)) { port in
            try await RawConnection.open(port) { busy in
                try await busy.send(get("/v1/wait"))
                await gate.waitForArrival()
                try await RawConnection.open(port) { idle in
                    #expect(try await idle.exchange(get()).status == 200)
                    try await RawConnection.open(13, port) {
                        try await RawConnection.open(port) { last in
                            #expect(try await last.exchange(get()).status == 200)
                            try await idle.expectEnd()
                        }
                    }
                }
                gate.open()
                #expect(try await busy.answer().status == 204)
            }
        }
    }

    /// The channels of ten idle connections, and a listener that is nearly full with them.
    private final class NearlyFull {
        let metrics = TestMetrics()
        let open: OpenConnections
        private(set) var connections: [(channel: EmbeddedChannel, entry: OpenConnections.Entry)] = []

        init() throws {
            open = OpenConnections(
                limits: OpenConnectionsTests.limits(connections: 10, perNetwork: 0), trustedProxies: .none,
                metrics: RequestMetrics(listener: "test", routes: [], factory: metrics))
            for _ in 0..<10 { try accept() }
        }

        deinit { for connection in connections { _ = try? connection.channel.finish(acceptAlreadyClosed: true) } }

        func accept() throws {
            let channel = EmbeddedChannel()
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            let entry = open.entry(of: channel, peer: .unspecified)
            #expect(open.add(entry))
            connections.append((channel, entry))
        }

        /// Lets the event loops do what was asked of them.
        func run() { for connection in connections { connection.channel.embeddedEventLoop.run() } }

        var closed: Int { connections.count { !$0.channel.isActive } }

        func counted() throws -> Int64 {
            try metrics.expectCounter(
                "countersign_http_connections_refused_total", [("listener", "test"), ("reason", "full")]
            ).totalValue
        }
    }

    @Test func `a network has its share of the connections, and the wide network around it twice as many`() throws {
        let open = OpenConnections(
            limits: Self.limits(perNetwork: 2), trustedProxies: .none,
            metrics: RequestMetrics(listener: "test", routes: [], factory: TestMetrics()))
        var channels: [EmbeddedChannel] = []
        defer { for channel in channels { _ = try? channel.finish(acceptAlreadyClosed: true) } }
        func accept(_ address: String) throws -> OpenConnections.Entry? {
            let channel = EmbeddedChannel()
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            channels.append(channel)
            let entry = open.entry(of: channel, peer: try #require(IPAddress(address)))
            return open.add(entry) ? entry : nil
        }
        for (network, wideNetwork) in [("2001:db8:1:1::1", "2001:db8:1:"), ("192.0.1.1", "192.0.")] {
            let first = try #require(try accept(network))
            #expect(try accept(network) != nil)
            #expect(try accept(network) == nil)
            let suffix = wideNetwork.contains(":") ? "::1" : ".1"
            for index in 2..<4 { #expect(try accept("\(wideNetwork)\(index)\(suffix)") != nil) }
            for index in 4..<9 { #expect(try accept("\(wideNetwork)\(index)\(suffix)") == nil) }
            open.remove(first)
            #expect(try accept("\(wideNetwork)9\(suffix)") != nil)
        }
        #expect(try accept("2001:db8:2:1::1") != nil)
        #expect(try accept("198.51.100.1") != nil)
    }

    @Test func `of a burst each connection closes another idle one`() throws {
        let listener = try NearlyFull()
        // No event loop has run yet.
        for _ in 0..<4 { try listener.accept() }
        listener.run()
        #expect(listener.closed == 4)
        #expect(try listener.counted() == 4)
    }

    @Test func `a connection that is used before it could be closed stays, and may be chosen later`() throws {
        let listener = try NearlyFull()
        try listener.accept()
        for connection in listener.connections { connection.entry.becameBusy() }
        listener.run()
        #expect(listener.closed == 0)
        #expect(try listener.counted() == 0)
        for connection in listener.connections { connection.entry.becameIdle() }
        for _ in 0..<11 { try listener.accept() }
        listener.run()
        #expect(listener.closed == 11)
        #expect(try listener.counted() == 11)
    }

    /// Connects until it is answered. The client may see the end of its last connection before the server has counted it; a
    /// place that is never left is the suite's time limit.
    private static func awaitPlace(_ port: Int) async throws {
        var isAnswered = false
        while !isAnswered {
            isAnswered = try await RawConnection.open(port) { connection in
                do {
                    return try await connection.exchange(get()).status == 200
                } catch is RawConnection.ClosedEarly {
                    return false
                } catch is IOError {
                    // Closed before it was read.
                    return false
                }
            }
        }
    }
}
