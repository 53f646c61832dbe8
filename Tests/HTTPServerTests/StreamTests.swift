import HTTPServer
import JSON
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

/// Responses whose body is made while it is sent.
@Suite(.timeLimit(.minutes(5))) struct StreamTests {
    private static let part = [UInt8](repeating: UInt8(ascii: "x"), count: 64 * 1024)

    private static func streamed(
        _ path: String, _ stream: @escaping @Sendable (BodyWriter) async throws -> Void
    ) -> Route { Route(.get, path, priority: .reading) { _ in .streamed(contentType: "text/plain", stream) } }

    private static let ping = Route(.get, "/v1/ping", priority: .reading) { _ in .json { $0.member("pong", true) } }

    /// What a streamed body that is never read has written, and whether it has ended.
    private final class Flood: Sendable {
        static let parts = 8192
        private let written = Atomic<Int>(0)
        private let end = AsyncStream.makeStream(of: Void.self)

        var count: Int { written.load(ordering: .relaxed) }

        var route: Route {
            streamed("/v1/flood") { body in
                defer { self.end.continuation.yield() }
                for _ in 0..<Self.parts {
                    try await body.write(part)
                    self.written.add(1, ordering: .relaxed)
                }
            }
        }

        func waitForEnd() async { _ = await end.stream.first { _ in true } }
    }

    @Test func `a request that waits sees that its peer has left`() async throws {
        let ends = AsyncStream.makeStream(of: String.self)
        let route = Route(.get, "/v1/wait", priority: .reading) { request in
            while await request.hasPeer() {
                ends.continuation.yield("waits")
                try await Task.sleep(for: .milliseconds(10))
            }
            ends.continuation.yield("ends")
            return .empty()
        }
        try await withServer([route]) { port in
            var ended = ends.stream.makeAsyncIterator()
            try await RawConnection.open(port) { client in
                try await client.send(get("/v1/wait"))
                #expect(await ended.next() == "waits")
            }
            while let word = await ended.next(), word != "ends" {}
        }
    }

    @Test func `a streamed body arrives in chunks and whole, and the connection goes on`() async throws {
        let route = Self.streamed("/v1/parts") { body in
            for size in [3, 0, 1, 200_000] {
                try await body.write([UInt8](repeating: UInt8(ascii: "a") + UInt8(size % 7), count: size))
            }
        }
        try await withConnection([route, Self.ping]) { client in
            try await client.send(get("/v1/parts") + get("/v1/ping"))
            let answer = try await client.answer()
            #expect(answer.status == 200)
            #expect(answer["Transfer-Encoding"] == "chunked")
            #expect(answer["Content-Length"] == nil)
            #expect(answer["Content-Type"] == "text/plain")
            #expect(answer["X-Request-Id"] != nil)
            let rest = String(repeating: "d", count: 200_000)
            #expect(answer.text == "dddb" + rest)
            // Each has a deadline of its own.
            #expect(answer.chunks == [3, 1, 65_536, 65_536, 65_536, 3_392])
            #expect(try await client.answer().json?["pong"]?.bool == true)
        }
    }

    @Test func `HTTP 1_0 gets the body without chunks, and its end by the close`() async throws {
        let route = Self.streamed("/v1/parts") { body in
            try await body.write(Array("one ".utf8))
            try await body.write(Array("two".utf8))
        }
        try await withConnection([route]) { client in
            try await client.send(get("/v1/parts", version: "1.0"))
            let (text, isReset) = try await client.readToCut()
            #expect(text.hasSuffix("\r\n\r\none two"))
            #expect(!text.lowercased().contains("transfer-encoding"))
            #expect(text.contains("Connection: close"))
            #expect(!isReset)
        }
    }

    @Test func `HEAD makes no body`() async throws {
        let route = Self.streamed("/v1/parts") { _ in Issue.record("the body was made") }
        try await withConnection([route, Self.ping]) { client in
            try await client.send(get("/v1/parts", method: "HEAD"))
            let answer = try await client.answer(toHead: true)
            #expect(answer.status == 200)
            #expect(answer["Content-Length"] == nil)
            #expect(try await client.exchange(get("/v1/ping")).status == 200)
        }
    }

    @Test(arguments: ["1.1", "1.0"])
    func `a body that fails in the middle never looks whole, and the log says why`(version: String) async throws {
        let log = RecordingLog.ofRequests()
        let route = Self.streamed("/v1/parts") { body in
            try await body.write(Array("half".utf8))
            throw Demo.Surprise()
        }
        try await withConnection([route], log: log) { client in
            try await client.send(get("/v1/parts", version: version))
            let (text, isReset) = try await client.readToCut()
            #expect(isReset)
            #expect(!text.contains("0\r\n\r\n"))
        }
        let line = try #require(log.entries.first { $0.message == "response cut off" })
        #expect(line.level == .error)
        #expect(line.metadata["error"] == "Surprise(\"line one  line two\")")
        #expect(line.metadata["route"] == "/v1/parts")
        #expect(line.metadata["requestId"] == log.requests.first?.metadata["requestId"])
    }

    @Test func `a client that doesn't read holds up the making of the body, is cut off, and its permit is free`()
        async throws
    {
        let flood = Flood()
        var limits = ServerLimits.uncontended
        // One request that reads at a time.
        limits.concurrentRequests = 2
        limits.writeDeadline = .seconds(1)
        try await withServer([flood.route, Self.ping], limits: limits) { port in
            try await RawConnection.open(port, readsByItself: false) { stalled in
                try await stalled.send(get("/v1/flood"))
                await flood.waitForEnd()
                // What the kernel has taken, far less than the 512 MiB of the whole.
                #expect(flood.count < Flood.parts / 4)
                var status = 503
                while status == 503 {
                    status = try await RawConnection.open(port) { try await $0.exchange(get("/v1/ping")) }.status
                }
                #expect(status == 200)
            }
        }
    }

    @Test func `a body may take longer than the deadline of one of its parts`() async throws {
        let (gate, flood) = (Gate(), Flood())
        let slow = Self.streamed("/v1/slow") { body in
            try await body.write(Array("one ".utf8))
            await gate.pass()
            try await body.write(Array("two".utf8))
        }
        var limits = ServerLimits.uncontended
        limits.writeDeadline = .seconds(1)
        try await withServer([slow, flood.route], limits: limits) { port in
            try await RawConnection.open(port) { client in
                try await client.send(get("/v1/slow"))
                await gate.waitForArrival()
                // Meanwhile the same deadline passes for another connection.
                try await RawConnection.open(port, readsByItself: false) { stalled in
                    try await stalled.send(get("/v1/flood"))
                    await flood.waitForEnd()
                }
                gate.open()
                #expect(try await client.answer().text == "one two")
            }
        }
    }

    @Test func `a request holds its permit while its body is made`() async throws {
        let gate = Gate()
        let slow = Self.streamed("/v1/slow") { _ in await gate.pass() }
        var limits = ServerLimits.uncontended
        // One request that reads at a time.
        limits.concurrentRequests = 2
        try await withServer([slow, Self.ping], limits: limits) { port in
            try await RawConnection.open(port) { client in
                try await client.send(get("/v1/slow"))
                await gate.waitForArrival()
                let other = try await RawConnection.open(port) { try await $0.exchange(get("/v1/ping")) }
                #expect(other.status == 503)
                gate.open()
                #expect(try await client.answer().status == 200)
                #expect(try await client.exchange(get("/v1/ping")).status == 200)
            }
        }
    }

    @Test func `a client that goes away ends the making of the body`() async throws {
        let flood = Flood()
        try await withServer([flood.route]) { port in
            try await RawConnection.open(port, readsByItself: false) { try await $0.send(get("/v1/flood")) }
            await flood.waitForEnd()
            #expect(flood.count < Flood.parts)
        }
    }

    @Test(arguments: ["1.1", "1.0"])
    func `a client that goes away is noticed by a body that has nothing to send`(version: String) async throws {
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let quiet = Self.streamed("/v1/quiet") { body in
            defer { end.finish() }
            try await body.write(Array("one ".utf8))
            while true {
                try await body.write([])
                // On an event loop, which would find no time to read otherwise.
                try await pollingPause()
            }
        }
        try await withConnection([quiet]) { client in
            try await client.send(get("/v1/quiet", version: version))
            client.finishSending()
            for await _ in ended {}
        }
    }

    // MARK: Shutdown

    /// A listener in a group that the body shuts down.
    private static func withGroup(
        _ routes: [Route], finish: Duration, _ body: @Sendable (_ port: Int, ServiceGroup) async throws -> Void
    ) async throws {
        var configuration = Listener.Configuration(name: "public", host: "127.0.0.1", port: 0)
        configuration.limits = .uncontended
        configuration.finish = finish
        try await withServices { [configuration] report in
            [
                Listener(
                    configuration, routes: routes, group: .singletonMultiThreadedEventLoopGroup, logger: .silent,
                    onListening: report)
            ]
        } body: { ports, group in
            try await body(ports[0], group)
        }
    }

    @Test func `a body under way at shutdown is sent to its end`() async throws {
        let gate = Gate()
        let slow = Self.streamed("/v1/slow") { body in
            try await body.write(Array("one ".utf8))
            await gate.pass()
            try await body.write(Array("two".utf8))
        }
        try await Self.withGroup([slow, Self.ping], finish: .seconds(30)) { port, group in
            try await RawConnection.open(port) { client in
                try await client.send(get("/v1/slow"))
                await gate.waitForArrival()
                try await RawConnection.open(port) { idle in
                    #expect(try await idle.exchange(get("/v1/ping")).status == 200)
                    await group.triggerGracefulShutdown()
                    try await idle.expectEnd()
                }
                gate.open()
                #expect(try await client.answer().text == "one two")
                try await client.expectEnd()
            }
        }
    }

    @Test func `a body under way when the shutdown's time is over never looks whole`() async throws {
        let gate = Gate()
        let slow = Self.streamed("/v1/slow") { body in
            try await body.write(Array("one".utf8))
            await gate.pass()
        }
        try await Self.withGroup([slow], finish: .milliseconds(100)) { port, group in
            try await RawConnection.open(port) { client in
                try await client.send(get("/v1/slow", version: "1.0"))
                await gate.waitForArrival()
                await group.triggerGracefulShutdown()
                #expect(try await client.readToCut().isReset)
            }
        }
    }
}
