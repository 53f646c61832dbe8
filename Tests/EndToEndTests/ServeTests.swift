import Foundation
import JSON
import Postgres
import TestSupport
import Testing

/// The conditions under which `serve` starts.
@Suite(.limitedConcurrency, .fixture(ScratchDatabase.self), .timeLimit(.minutes(30))) struct ServeTests {
    var scratch: ScratchDatabase { .current }

    /// Expects one sentence on standard error, without a source location.
    private func expectRefusal(
        _ ending: Countersign.Ending, saying words: String, status: Int32 = 1,
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(ending.status == status, sourceLocation: location)
        #expect(ending.error.contains(words), "\(ending.error)", sourceLocation: location)
        #expect(ending.error.hasPrefix("countersign: "), "\(ending.error)", sourceLocation: location)
        #expect(ending.error.split(separator: "\n").count == 1, "\(ending.error)", sourceLocation: location)
        #expect(ending.output.isEmpty, sourceLocation: location)
    }

    @Test(.fixture { try await ScratchDatabase.withFresh($0) })
    func `a database without a schema is refused with what to do about it`() async throws {
        let ending = try await scratch.run(["serve"])
        expectRefusal(ending, saying: "run `countersign migrate up`")
    }

    @Test(.fixture { try await ScratchDatabase.withFresh($0) })
    func `an older schema is refused, and served once it is brought up`() async throws {
        let settings = ["postgres.url": scratch.url, "apple.keysUrl": "http://127.0.0.1:1/"]
        #expect(try await Countersign.run(["migrate", "up", "--to", "2"], settings).status == 0)
        expectRefusal(try await Countersign.run(["serve"], settings), saying: "behind this binary")
        try await Countersign.serve(settings, arguments: ["--migrate"]) { service in
            try await eventually("readiness") { try await service.isReady() }
        }
    }

    @Test(.noFixture(ScratchDatabase.self))
    func `a database that can't be reached is reported in one sentence, without its password`() async throws {
        let ending = try await Countersign.run(
            ["serve"], ["postgres.url": "postgresql://a:canary-password@127.0.0.1:1/countersign"])
        expectRefusal(ending, saying: "countersign: The database can't be reached")
        #expect(!ending.error.contains("canary-password"))
    }

    @Test
    func `a database that acknowledges before it has written is refused, and a smaller risk is logged`() async throws {
        func settings(_ level: String) -> Countersign.Settings {
            let options = "options=-c%20synchronous_commit%3D\(level)"
            return [
                "postgres.url": scratch.url + (scratch.url.contains("?") ? "&" : "?") + options,
                "apple.keysUrl": "http://127.0.0.1:1/",
            ]
        }
        let ending = try await Countersign.run(["serve"], settings("off"))
        expectRefusal(ending, saying: "synchronous_commit is off: ")
        let fsync = try await scratch.texts("SHOW fsync")
        try await Countersign.serve(settings("local")) { service in
            #expect(service.log.contains("fsync is off: ") == (fsync == ["off"]))
            #expect(!service.log.contains("synchronous_commit"))
        }
    }

    @Test func `the log begins with the version and ends with the reason, the metrics and the console have it too`()
        async throws
    {
        let version = try await Countersign.run(["--version"]).output.split(separator: "\n")
        let number = version[0].dropFirst("countersign ".count)
        let commit = version[1].dropFirst("commit ".count)
        let settings = ["postgres.url": scratch.url, "apple.keysUrl": "http://127.0.0.1:1/", "servr.drainSeconds": "7"]
        for (signal, name) in [(SIGTERM, "SIGTERM"), (SIGINT, "SIGINT")] {
            let service = try await Countersign.start(settings)
            let metrics = try await service.privateGet("/metrics").text
            #expect(
                metrics.contains("countersign_build_info{commit=\"\(commit)\",version=\"\(number)\"} 1\n")
                    || metrics.contains("countersign_build_info{version=\"\(number)\",commit=\"\(commit)\"} 1\n"))
            let first = try #require(try service.logLines().first)
            #expect(first["message"]?.string == "starting")
            #expect(first["version"]?.string == String(number))
            #expect(first["commit"]?.string == String(commit))
            let last = await service.kill(signal).error.split(separator: "\n").last
            #expect(last?.contains(#""message":"ended","reason":"\#(name)""#) == true, "\(last ?? "")")
        }
    }

    @Test func `a variable that belongs to no key is logged`() async throws {
        let settings = ["postgres.url": scratch.url, "apple.keysUrl": "http://127.0.0.1:1/", "servr.drainSeconds": "7"]
        try await Countersign.serve(settings) { service in
            let variables = try service.logLines().compactMap { $0["variable"]?.string }
            #expect(variables == ["COUNTERSIGN_SERVR_DRAIN_SECONDS"])
        }
    }

    @Test(.noFixture(ScratchDatabase.self))
    func `a provider without client IDs is refused before anything is touched`() async throws {
        let ending = try await Countersign.run(
            ["serve"], ["postgres.url": "postgresql://127.0.0.1:1/none", "apple.clientIds": ""])
        expectRefusal(ending, saying: "apple.clientIds", status: 2)
    }

    @Test func `a port that is taken is reported with its address`() async throws {
        let settings = ["postgres.url": scratch.url, "apple.keysUrl": "http://127.0.0.1:1/"]
        try await Countersign.serve(settings) { service in
            let taken = settings.merging(["server.port": String(service.port)]) { _, new in new }
            let ending = try await Countersign.run(["serve"], taken)
            expectRefusal(
                ending, saying: "The public listener can't use 127.0.0.1:\(service.port): Address already in use.")
            #expect(service.isRunning)
        }
    }

    @Test(.fixture { try await ScratchDatabase.withFresh($0) })
    func `two that start at once on an empty database share their signing key, and each other's sessions`()
        async throws
    {
        try await Sandbox.run { sandbox in
            let settings = try World.settings(scratch, sandbox)
                .merging(["tokens.issuer": "https://a.example", "tokens.audience": "a"]) { _, new in new }
            async let starting = [
                Countersign.start(settings, arguments: ["--migrate"]),
                Countersign.start(settings, arguments: ["--migrate"]),
            ]
            let services = try await starting
            let published = try await concurrently(services) { try await $0.get("/.well-known/jwks.json").body }
            #expect(published[0] == published[1])
            let world = World(service: services[0], sandbox: sandbox, scratch: scratch)
            let created = try await world.newAccount("kim")
            let access = try created.bearer()
            #expect(try await services[1].get("/v1/account", bearer: access).status == 200)
            let refreshed = try await services[1].refresh(try created.refreshToken()).expecting(200)
            try await services[1].signOut("current", bearer: try refreshed.text("accessToken")).expecting(204)
            #expect(try await services[0].get("/v1/account", bearer: access).status == 401)
            for service in services { #expect(await service.stop().status == 0) }
        }
    }
}
