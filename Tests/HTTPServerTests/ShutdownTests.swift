import HTTPServer
import JSON
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ShutdownTests {
    /// Two listeners as in production: the private one with the health routes first, so that it is shut down last.
    ///
    /// - Parameter drain: is passed at the end of the drain; `nil` for one that is over at once.
    private static func services(
        drain: Gate? = nil, finish: Duration = .seconds(600), gate: Gate = Gate(),
        _ report: @escaping @Sendable (Int) async -> Void
    ) -> [any Service] {
        let health = Health(deadline: .seconds(600)) { Health.Readiness(isReady: true) }
        var `private` = Listener.Configuration(name: "private", host: "127.0.0.1", port: 0)
        `private`.limits = .uncontended
        var configuration = Listener.Configuration(name: "public", host: "127.0.0.1", port: 0)
        configuration.limits = .uncontended
        // What ends a connection is the shutdown, and not a deadline of its own.
        configuration.limits.headerDeadline = .seconds(600)
        configuration.limits.bodyDeadline = .seconds(600)
        configuration.limits.idleDeadline = .seconds(600)
        configuration.drained = { _ in await drain?.pass() }
        configuration.finish = finish
        return [
            Listener(
                `private`, routes: health.routes,
                group: .singletonMultiThreadedEventLoopGroup, logger: .silent, onListening: report),
            Listener(
                configuration, routes: Demo.routes + [gate.route], group: .singletonMultiThreadedEventLoopGroup,
                logger: .silent, onListening: report, onShutdown: { health.stop() }),
        ]
    }

    /// The ports of the private and the public listener, which are reported in either order.
    private static func identify(_ ports: [Int]) async throws -> (private: Int, public: Int) {
        let answer = try await RawConnection.open(ports[0]) { try await $0.exchange(get("/health/live")) }
        return answer.status == 200 ? (ports[0], ports[1]) : (ports[1], ports[0])
    }

    @Test
    func `on shutdown readiness goes first, then keep-alive, then accepting, and requests in flight are finished`()
        async throws
    {
        let (drain, gate) = (Gate(), Gate())
        try await withServices { report in
            Self.services(drain: drain, gate: gate, report)
        } body: { ports, group in
            let port = try await Self.identify(ports)
            try await RawConnection.open(port.public) { inFlight in
                try await inFlight.send(get("/v1/wait"))
                await gate.waitForArrival()
                try await RawConnection.open(port.public) { kept in
                    #expect(try await kept.exchange(get("/v1/ping"))["Connection"] == nil)
                    await group.triggerGracefulShutdown()

                    var ready = 200
                    while ready == 200 {
                        let answer = try await RawConnection.open(port.private) { health in
                            try await health.exchange(get("/health/ready"))
                        }
                        ready = answer.status
                        if ready != 200 { #expect(answer.json?["readiness"]?.string == "stopping") }
                    }
                    #expect(ready == 503)

                    let last = try await kept.exchange(get("/v1/ping"))
                    #expect(last.status == 200)
                    #expect(last["Connection"] == "close")
                    try await kept.expectEnd()
                }
                let late = try await RawConnection.open(port.public) { try await $0.exchange(get("/v1/ping")) }
                #expect(late.status == 200)
                #expect(late["Connection"] == "close")

                drain.open()
                await #expect(throws: (any Error).self) {
                    while true {
                        let answer = try await RawConnection.open(port.public) { connection in
                            try await connection.exchange(get("/v1/ping"))
                        }
                        #expect(answer.status == 200)
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }
                let live = try await RawConnection.open(port.private) { try await $0.exchange(get("/health/live")) }
                #expect(live.status == 200)
                gate.open()
                let finished = try await inFlight.answer()
                #expect(finished.status == 204)
                #expect(finished["Connection"] == "close")
            }
        }
    }

    @Test func `connections that wait for a request are closed when the drain is over`() async throws {
        try await withServices { report in
            Self.services(report)
        } body: { ports, group in
            let port = try await Self.identify(ports)
            try await RawConnection.open(port.public) { untouched in
                try await RawConnection.open(port.public) { idle in
                    #expect(try await idle.exchange(get("/v1/ping")).status == 200)
                    await group.triggerGracefulShutdown()
                    try await idle.expectEnd()
                    try await untouched.expectEnd()
                }
            }
        }
    }

    @Test func `a request that has begun to come in when the drain ends is answered`() async throws {
        try await withServices { report in
            Self.services(report)
        } body: { ports, group in
            let port = try await Self.identify(ports)
            try await RawConnection.open(port.public) { beginning in
                let head = "POST /v1/ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
                #expect(try await beginning.exchange(head).status == 100)
                try await beginning.send("a")
                try await RawConnection.open(port.public) { idle in
                    #expect(try await idle.exchange(get("/v1/ping")).status == 200)
                    await group.triggerGracefulShutdown()
                    try await idle.expectEnd()
                }
                let answer = try await beginning.exchange("bc")
                #expect(answer.status == 204)
                #expect(answer["Connection"] == "close")
            }
        }
    }

    @Test func `what has not finished in time is cut off`() async throws {
        let gate = Gate()
        try await withServices { report in
            Self.services(finish: .milliseconds(100), gate: gate, report)
        } body: { ports, group in
            let port = try await Self.identify(ports)
            try await RawConnection.open(port.public) { stuck in
                try await stuck.send(get("/v1/wait"))
                await gate.waitForArrival()
                await group.triggerGracefulShutdown()
                try await stuck.expectEnd()
            }
        }
    }

    @Test func `an address that is taken is named in the error`() async throws {
        try await withServer { port in
            let second = Listener(
                .init(name: "public", host: "127.0.0.1", port: port), routes: [],
                group: .singletonMultiThreadedEventLoopGroup, logger: .silent)
            let error = await #expect(throws: Listener.BindError.self) { try await second.run() }
            #expect(error?.description == "The public listener can't use 127.0.0.1:\(port): Address already in use.")
        }
    }
}
