import Curl
import JSON
import Synchronization
import TestSupport
import Testing

extension Neighbours {
    /// Two processes behind the real HAProxy, with the configuration that docs/operations has for it.
    @Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct HAProxyTests {
        /// The settings of both processes. The drain takes longer than two health checks of HAProxy, even if both are late.
        private static func settings(_ scratch: ScratchDatabase, _ sandbox: Sandbox) throws -> Countersign.Settings {
            try World.settings(scratch, sandbox).merging([
                "server.publicUrl": "https://lamp.example.com", "server.trustedProxies": "127.0.0.1",
                "server.drainSeconds": "6",
                // One person signs in again and again.
                "limits.sessionsPerAccount": "0",
            ]) { _, own in own }
        }

        /// Asks about 320 times a second until the load is over, from 16 clients over persistent connections.
        private func produce(_ load: Load, _ requests: [FetchRequest], _ fetcher: CurlFetcher) async throws {
            try await concurrently(0..<16) { client in
                var number = client
                while !load.isOver {
                    load.count(await Self.outcome(of: requests[number % requests.count], fetcher))
                    number += 1
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
        }

        /// A 503 is a loss too, HAProxy's as well as the service's own: nothing here asks for more than it can do.
        private static func outcome(of request: FetchRequest, _ fetcher: CurlFetcher) async -> String {
            do {
                let response = try await fetcher.fetch(request)
                let body = response.status == 200 ? "" : String(decoding: response.body, as: UTF8.self)
                return "\(response.status)\(body)"
            } catch {
                return String(reflecting: error)
            }
        }

        private func requests(_ port: UInt16, _ world: World) async throws -> [FetchRequest] {
            let access = try await world.newAccount("kim").bearer()
            let token = try await world.appleToken("kim")
            let body: TokenMint.Members = ["identityToken": .string(token)]
            return [
                FetchRequest(
                    url: "http://127.0.0.1:\(port)/v1/account",
                    headers: [(name: "Authorization", value: "Bearer \(access)")]
                ).uncontended,
                FetchRequest(
                    .post, url: "http://127.0.0.1:\(port)/v1/sign-in/apple",
                    headers: [(name: "Content-Type", value: "application/json")], body: body.bytes
                ).uncontended,
            ]
        }

        @Test func `one process after the other is restarted behind HAProxy, and no request is lost`() async throws {
            try await ScratchDatabase.withMigrated { scratch in
                try await Sandbox.run { sandbox in
                    let free = try FreePort.choose(3)
                    let (port, healthPorts) = (free[0], free[1...].map(String.init))
                    let settings = try healthPorts.map {
                        try Self.settings(scratch, sandbox).merging(["health.port": $0]) { _, own in own }
                    }
                    var services = [try await Countersign.start(settings[0]), try await Countersign.start(settings[1])]
                    let servers = zip(services, healthPorts).map { ("127.0.0.1:\($0.port)", $1) }
                    try await Neighbours.haproxy(port, before: servers) { haproxy in
                        let world = World(service: services[0], sandbox: sandbox, scratch: scratch)
                        let load = Load()
                        let requests = try await self.requests(port, world)
                        let fetcher = try CurlFetcher()
                        try await eventually("HAProxy to pass requests on") {
                            let keys = FetchRequest(url: "http://127.0.0.1:\(port)/.well-known/jwks.json")
                            return (try? await fetcher.fetch(keys).status) == 200
                        }
                        try await withThrowingTaskGroup(of: Void.self) { group in
                            group.addTask { try await produce(load, requests, fetcher) }
                            do {
                                try await eventually("answers") { load.counts["200", default: 0] > 100 }
                                for index in services.indices {
                                    let old = services[index]
                                    let ending = await old.stop()
                                    #expect(ending.status == 0)
                                    services[index] = try await Countersign.start(
                                        settings[index], ports: (old.port, old.privatePort))
                                    let new = services[index]
                                    try await eventually("requests for the new process") {
                                        try await new.metric(
                                            "countersign_http_requests_total", #"route="/v1/sign-in/apple""#,
                                            #"status="2xx""#) > 10
                                    }
                                }
                            } catch {
                                load.end()
                                throw error
                            }
                            load.end()
                            try await group.waitForAll()
                        }
                        await fetcher.shutdown()
                        #expect(
                            Set(load.counts.keys) == ["200"], "\(load.counts); HAProxy: \(haproxy.log.suffix(1_000))")
                        #expect(load.counts["200", default: 0] > 500)
                    }
                    for service in services { await service.stop() }
                }
            }
        }

        @Test func `half-sent bodies hold no connection behind HAProxy`() async throws {
            try await ScratchDatabase.withMigrated { scratch in
                try await Sandbox.run { sandbox in
                    let free = try FreePort.choose(2)
                    let (port, healthPort) = (free[0], String(free[1]))
                    let settings = try Self.settings(scratch, sandbox).merging(["health.port": healthPort]) { $1 }
                    let service = try await Countersign.start(settings)
                    try await Neighbours.haproxy(port, before: [("127.0.0.1:\(service.port)", healthPort)]) { haproxy in
                        let ask = "GET /.well-known/jwks.json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
                        try await eventually("HAProxy to pass requests on") {
                            (try? await RawConnection.exchange(port, ask).status) == 200
                        }
                        let half =
                            "POST /v1/nonces HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                            + "Content-Length: 5000\r\n\r\n{"
                        let slow = try (0..<100).map { _ in try RawConnection(port) }
                        for connection in slow { connection.send(half) }
                        // What is asked after them is answered after HAProxy has read them.
                        for _ in 0..<20 { #expect(try await RawConnection.exchange(port, ask).status == 200) }
                        let open = try await service.metric("countersign_http_connections", #"listener="public""#)
                        #expect(open < 50, "HAProxy: \(haproxy.log.suffix(1_000))")
                    }
                    await service.stop()
                }
            }
        }

        @Test func `what ends TLS in front of HAProxy has no share of the connections`() async throws {
            let server = try LoopbackServer { _ in [.respond(200), .close] }
            let backend = (address: "127.0.0.1:\(server.port)", healthPort: String(server.port))
            for (proxies, isExempt) in [("10.0.0.0/8", false), ("10.0.0.0/8 127.0.0.1", true)] {
                let port = try FreePort.choose(1)[0]
                let settings = ["COUNTERSIGN_TLS_PROXIES": proxies, "COUNTERSIGN_CONNECTIONS_PER_NETWORK": "2"]
                try await Neighbours.haproxy(port, before: [backend, backend], settings) { haproxy in
                    let ask = "GET /v1/account HTTP/1.1\r\nHost: a\r\n"
                    try await eventually("HAProxy to pass requests on") {
                        (try? await RawConnection.exchange(port, ask + "Connection: close\r\n\r\n").status) == 200
                    }
                    var held: [RawConnection] = []
                    for _ in 0..<8 {
                        let connection = try RawConnection(port)
                        connection.send(ask + "\r\n")
                        if await !connection.readSome().isEmpty { held.append(connection) }
                    }
                    #expect(isExempt ? held.count == 8 : held.count <= 2, "\(held.count); \(haproxy.log.suffix(1_000))")
                }
            }
        }

        @Test func `where the service breaks off, or no process is ready, HAProxy answers as the service would`()
            async throws
        {
            let isReady = Mutex(true)
            let server = try LoopbackServer { request in
                guard request.target == "/health/ready" else { return [.close] }
                return [.respond(isReady.withLock(\.self) ? 200 : 503), .close]
            }
            let port = try FreePort.choose(1)[0]
            let backend = (address: "127.0.0.1:\(server.port)", healthPort: String(server.port))
            try await Neighbours.haproxy(port, before: [backend, backend]) { _ in
                let fetcher = try CurlFetcher()
                for status in [502, 503] {
                    isReady.withLock { $0 = status == 502 }
                    var answer: Answer?
                    try await eventually("a \(status)") {
                        let request = FetchRequest(url: "http://127.0.0.1:\(port)/v1/account")
                        answer = (try? await fetcher.fetch(request)).map(Answer.init)
                        return answer?.status == status
                    }
                    #expect(answer?.header("Content-Type") == "application/problem+json")
                    #expect(answer?.code == "temporarily_unavailable")
                    #expect(answer?.json?["status"]?.integer == Int64(status))
                    #expect(answer?.retryAfter == 2)
                }
                await fetcher.shutdown()
            }
        }
    }
}
