import Glibc
import TestSupport
import Testing

/// `countersign health`, as a container's health check runs it.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct HealthCommandTests {
    var scratch: ScratchDatabase { .current }

    private func health(_ arguments: [String] = [], at port: UInt16) async throws -> Countersign.Ending {
        try await Countersign.run(["health"] + arguments, ["admin.port": String(port)])
    }

    @Test(.fixture(ScratchDatabase.self))
    func `a service that is ready is asked at its private listener, and at health.port where it has one`()
        async throws
    {
        let healthPort = try FreePort.choose(1)[0]
        let settings = [
            "postgres.url": scratch.url, "apple.keysUrl": "http://127.0.0.1:1/", "health.port": String(healthPort),
        ]
        try await Countersign.serve(settings) { service in
            let ready = try await health(at: service.privatePort)
            #expect((ready.status, ready.output, ready.error) == (0, "ready\n", ""))
            let live = try await health(["--live"], at: service.privatePort)
            #expect((live.status, live.output, live.error) == (0, "live\n", ""))
            let other = try await Countersign.run(
                ["health"], ["admin.port": "1", "health.port": String(healthPort), "server.host": "0.0.0.0"])
            #expect((other.status, other.output, other.error) == (0, "ready\n", ""))
            // It has no path for health.
            let wrong = try await health(at: service.port).expecting(2)
            #expect(wrong.error.contains("is another program, with status 404"), "\(wrong.error)")
        }
    }

    @Test(.fixture(ScratchDatabase.self)) func `a service that is stopping is not ready, and is live`() async throws {
        let settings = [
            "postgres.url": scratch.url, "apple.keysUrl": "http://127.0.0.1:1/", "server.drainSeconds": "300",
        ]
        try await Countersign.serve(settings) { service in
            service.send(SIGTERM)
            try await eventually("it stops") { try await service.privateGet("/health/ready").status == 503 }
            let ready = try await health(at: service.privatePort).expecting(1)
            #expect(ready.output.isEmpty)
            #expect(ready.error == "countersign: The service is not ready: stopping.\n")
            #expect(try await health(["--live"], at: service.privatePort).status == 0)
            await service.kill(SIGKILL)
        }
    }

    @Test func `a port without a listener, a silent one and another program's are no service's`() async throws {
        let free = try FreePort.choose(1)[0]
        let none = try await health(at: free).expecting(2)
        #expect(none.error == "countersign: The service can't be reached at 127.0.0.1:\(free): connect.\n")

        let silent = try LoopbackServer { _ in [.hold] }
        let isInTime = try await onceOfThree {
            let start = ContinuousClock.now
            let waited = try await health(["--live"], at: silent.port).expecting(2)
            #expect(waited.error.hasSuffix(": timed_out.\n"), "\(waited.error)")
            // Two seconds, and a process's start.
            return start.duration(to: .now) < .seconds(5)
        }
        #expect(isInTime)

        for answer in [LoopbackServer.Step.respond(text: "OK"), .respond(503, text: "busy"), .respond(302)] {
            let other = try LoopbackServer { _ in [answer, .close] }
            let ending = try await health(at: other.port).expecting(2)
            #expect(ending.error.contains("is another program"), "\(ending.error)")
        }
    }

    @Test func `a fault of the configuration is named, and nothing is asked`() async throws {
        let ending = try await Countersign.run(["health"], ["admin.port": "x"]).expecting(2)
        #expect(ending.error.hasPrefix("countersign: admin.port (COUNTERSIGN_ADMIN_PORT): expects"), "\(ending.error)")
    }
}
