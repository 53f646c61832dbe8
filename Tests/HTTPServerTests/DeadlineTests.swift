import HTTPServer
import Synchronization
import Testing

/// Each of these clients holds the only connection that the listener accepts. The response to a second one proves that
/// the first was cut off.
@Suite(.timeLimit(.minutes(5))) struct DeadlineTests {
    /// - Parameters:
    ///   - deadline: the one to shorten, so that it passes.
    ///   - length: long enough for what is to be done within it on a busy machine.
    private static func withOneConnection(
        _ deadline: WritableKeyPath<ServerLimits, Duration>, of length: Duration = .seconds(1),
        headerBytes: Int = 16 * 1024, readsByItself: Bool = true,
        _ hold: @Sendable (inout RawConnection) async throws -> Void
    ) async throws {
        var limits = ServerLimits.uncontended
        limits.connections = 1
        limits.headerBytes = headerBytes
        limits[keyPath: deadline] = length
        try await withServer(limits: limits) { port in
            try await RawConnection.open(port, readsByItself: readsByItself) { slow in
                try await hold(&slow)
                #expect(try await answered(port).status == 200)
            }
        }
    }

    /// The answer to a request on a connection of its own. The deadline of the test holds for that too: on a busy
    /// machine it may pass before the request has been read, and then another connection tries.
    private static func answered(_ port: Int) async throws -> Answer {
        for _ in 0..<20 {
            do {
                return try await RawConnection.open(port) { other in try await other.exchange(get()) }
            } catch is RawConnection.ClosedEarly { continue }
        }
        return try await RawConnection.open(port) { other in try await other.exchange(get()) }
    }

    /// Sends a little 60,000 times, each time into a packet of its own: the whole takes far longer than the deadlines
    /// here.
    private static func trickle(_ piece: String, into slow: RawConnection) async throws {
        for _ in 0..<60_000 { try await slow.send(piece) }
    }

    @Test func `a connection on which nothing comes is closed at the header deadline`() async throws {
        try await Self.withOneConnection(\.headerDeadline) { slow in
            try await slow.expectEnd()
        }
    }

    @Test func `a header section that trickles in is cut off at its deadline`() async throws {
        try await Self.withOneConnection(\.headerDeadline, of: .milliseconds(300), headerBytes: 1024 * 1024) { slow in
            await #expect(throws: (any Error).self) {
                // Byte after byte, and in the end a whole request that would be answered.
                try await slow.send("GET /v1/ping HTTP/1.1\r\nHost: a\r\nX: ")
                try await Self.trickle("y", into: slow)
                _ = try await slow.exchange("\r\n\r\n")
            }
        }
    }

    @Test func `empty lines before a request do not extend its header deadline`() async throws {
        try await Self.withOneConnection(\.headerDeadline, of: .milliseconds(300)) { slow in
            await #expect(throws: (any Error).self) {
                try await Self.trickle("\r\n", into: slow)
                _ = try await slow.exchange(get())
            }
        }
    }

    @Test func `the header deadline holds for a later request of a connection too`() async throws {
        try await Self.withOneConnection(\.headerDeadline, of: .seconds(5)) { slow in
            #expect(try await slow.exchange(get()).status == 200)
            try await slow.send("GET /v1/pi")
            try await slow.expectEnd()
        }
    }

    @Test func `a body that trickles in is cut off at its deadline`() async throws {
        try await Self.withOneConnection(\.bodyDeadline, of: .milliseconds(300)) { slow in
            await #expect(throws: (any Error).self) {
                try await slow.send("POST /v1/ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n")
                try await Self.trickle("a", into: slow)
                _ = try await slow.answer()
            }
        }
    }

    @Test func `a body that stops coming is cut off without an answer`() async throws {
        try await Self.withOneConnection(\.bodyDeadline) { slow in
            try await slow.send("POST /v1/ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc")
            try await slow.expectEnd()
        }
    }

    @Test func `a connection without a next request is closed at the idle deadline`() async throws {
        try await Self.withOneConnection(\.idleDeadline, of: .seconds(5)) { slow in
            #expect(try await slow.exchange(get()).status == 200)
            try await slow.expectEnd()
        }
    }

    @Test func `an idle connection outlives that of a proxy, which sends over it until it closes it`() {
        // Of nginx's `keepalive_timeout` and a load balancer of AWS.
        #expect(ServerLimits().idleDeadline > .seconds(60))
    }

    @Test func `a client that does not take its answer is cut off at the write deadline`() async throws {
        try await Self.withOneConnection(\.writeDeadline, readsByItself: false) { slow in
            try await slow.send(get("/v1/large"))
        }
    }

    @Test func `of a client that takes no answers the further requests are not begun`() async throws {
        let begun = Atomic(0)
        let (firstOnes, first) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
        let large = Route(.get, "/v1/large") { _ in
            begun.add(1, ordering: .relaxed)
            first.yield()
            return .html(.ok, [UInt8](repeating: 0x2E, count: 64 * 1024))
        }
        var limits = ServerLimits.uncontended
        limits.connections = 1
        limits.pipelinedRequests = 2000
        limits.writeDeadline = .seconds(1)
        try await withServer([large, Route(.get, "/v1/ping") { _ in .empty() }], limits: limits) { port in
            try await RawConnection.open(port, readsByItself: false) { slow in
                // Of their 125 MiB of answers the kernel takes a part.
                let requests = String(repeating: get("/v1/large"), count: 1999)
                slow.sendEventually(Array(requests.utf8))
                _ = await firstOnes.first { true }
                let cutOff = try await Self.answered(port)
                #expect(cutOff.status == 204)
            }
        }
        #expect(1..<1000 ~= begun.load(ordering: .relaxed))
    }

    @Test func `a client that keeps its side open after the last answer is cut off`() async throws {
        try await Self.withOneConnection(\.lingerDeadline, of: .seconds(5)) { slow in
            let answer = try await slow.exchange(get("/v1/ping", "Connection: close\r\n"))
            #expect(answer.status == 200)
            try await slow.expectEnd()
        }
    }

    @Test func `a handler may take longer than any deadline of the connection`() async throws {
        let gate = Gate()
        let routes = [gate.route, Route(.get, "/v1/ping") { _ in .empty() }]
        var limits = ServerLimits.uncontended
        limits.headerDeadline = .seconds(5)
        limits.bodyDeadline = .seconds(5)
        limits.writeDeadline = .seconds(5)
        limits.idleDeadline = .seconds(5)
        try await withServer(routes, limits: limits) { port in
            try await RawConnection.open(port) { slow in
                try await slow.send(get("/v1/wait"))
                await gate.waitForArrival()
                // Meanwhile the same deadlines hold for another connection, and close it.
                try await RawConnection.open(port) { other in
                    #expect(try await other.exchange(get()).status == 204)
                    try await other.expectEnd()
                }
                gate.open()
                #expect(try await slow.answer().status == 204)
            }
        }
    }
}
