import HTTPServer
import JSON
import Testing

@Suite(.timeLimit(.minutes(5))) struct LimitTests {
    private static func fields(_ count: Int) -> String { (0..<count).map { "X\($0): y\r\n" }.joined() }

    // MARK: Header section

    @Test func `100 header fields are taken and 101 are not`() async throws {
        try await withConnection { connection in
            let most = try await connection.exchange(get("/v1/ping", Self.fields(99)))
            #expect(most.status == 200)
            let tooMany = try await connection.exchange(get("/v1/ping", Self.fields(100)))
            #expect(tooMany.status == 400)
            #expect(tooMany.code == "invalid_request")
            try await connection.expectEnd()
        }
    }

    @Test(arguments: [257, 5000])
    func `many more header fields are refused as well`(count: Int) async throws {
        try await withConnection { connection in
            let answer = try await connection.exchange(get("/v1/ping", Self.fields(count)))
            #expect(answer.status == 400)
            try await connection.expectEnd()
        }
    }

    @Test func `16 KiB of target and fields are taken and one byte more is not`() async throws {
        // What the limit counts: the target, "Host", "a", "X" and the padding.
        let counted = "/v1/ping".utf8.count + "Host".utf8.count + 1 + 1
        let padding = 16 * 1024 - counted
        try await withConnection { connection in
            let most = try await connection.exchange(
                get("/v1/ping", "X: " + String(repeating: "y", count: padding) + "\r\n"))
            #expect(most.status == 200)
            let tooMuch = try await connection.exchange(
                get("/v1/ping", "X: " + String(repeating: "y", count: padding + 1) + "\r\n"))
            #expect(tooMuch.status == 400)
            #expect(tooMuch.json?["detail"]?.string == "The header section is too large.")
            try await connection.expectEnd()
        }
    }

    @Test func `a header section of 81 KiB is refused before it has come`() async throws {
        try await withConnection { connection in
            let answer = try await connection.exchange(
                "GET /v1/ping HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "y", count: 81 * 1024))
            #expect(answer.status == 400)
        }
    }

    @Test func `trailers count as header fields`() async throws {
        try await withConnection { connection in
            let answer = try await connection.exchange(
                "POST /v1/ignore HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
                    + Self.fields(99) + "\r\n")
            #expect(answer.status == 400)
        }
    }

    @Test func `a target of 8 KiB is taken and one byte more is not`() async throws {
        let path = "/v1/ping?"
        let most = path + String(repeating: "x", count: 8192 - path.utf8.count)
        try await withConnection { connection in
            let taken = try await connection.exchange(get(most))
            #expect(taken.status == 200)
            let refused = try await connection.exchange(get(most + "x"))
            #expect(refused.status == 400)
            #expect(refused.json?["detail"]?.string == "The request target is too long.")
            try await connection.expectEnd()
        }
    }

    // MARK: Body

    private static func post(_ count: Int) -> String {
        "POST /v1/ignore HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n"
    }

    private static func expectTooLarge(_ answer: Answer) {
        #expect(answer.status == 413)
        #expect(answer.code == "payload_too_large")
        #expect(answer["Connection"] == "close")
    }

    @Test func `a body of 64 KiB is taken`() async throws {
        let body = [UInt8](repeating: 0x61, count: 64 * 1024)
        try await withConnection { connection in
            try await connection.send(Self.post(body.count))
            try await connection.send(body)
            #expect(try await connection.answer().status == 204)
            try await connection.send("POST /v1/ignore HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            try await connection.send("10000\r\n")
            try await connection.send(body)
            try await connection.send("\r\n0\r\n\r\n")
            #expect(try await connection.answer().status == 204)
        }
    }

    @Test func `a longer body is refused before it has come, and then dropped`() async throws {
        try await withConnection { connection in
            try await connection.send(Self.post(64 * 1024 + 1))
            Self.expectTooLarge(try await connection.answer())
            try await connection.send([UInt8](repeating: 0x61, count: 64 * 1024 + 1))
            try await connection.expectEnd()
        }
    }

    @Test func `a client that writes 1 MiB before it reads gets the refusal`() async throws {
        try await withConnection(readsByItself: false) { connection in
            let count = 1024 * 1024
            try await connection.send(Self.post(count))
            try await connection.send([UInt8](repeating: 0x61, count: count))
            try await connection.startReading()
            Self.expectTooLarge(try await connection.answer())
            try await connection.expectEnd()
        }
    }

    @Test func `a chunked body is refused when it passes 64 KiB`() async throws {
        try await withConnection { connection in
            try await connection.send("POST /v1/ignore HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "1000\r\n" + String(repeating: "a", count: 0x1000) + "\r\n"
            for _ in 0..<17 { try await connection.send(chunk) }
            Self.expectTooLarge(try await connection.answer())
            try await connection.send("0\r\n\r\n")
            try await connection.expectEnd()
        }
    }

    @Test func `an endless body is cut off`() async throws {
        try await withConnection { connection in
            try await connection.send(Self.post(1 << 40))
            let block = [UInt8](repeating: 0x61, count: 64 * 1024)
            await #expect(throws: (any Error).self) {
                // Far more than the 1 MiB that are dropped and the buffers of both kernels.
                for _ in 0..<1024 { try await connection.send(block) }
            }
        }
    }

    @Test func `endless requests behind a refused one are cut off`() async throws {
        var limits = ServerLimits.uncontended
        limits.lingerDeadline = .seconds(300)
        try await withConnection(limits: limits) { connection in
            let request = "GET / HTTP/1.1\r\nX-Filler: \(String(repeating: "a", count: 4_000))\r\n\r\n"
            let block = String(repeating: request, count: 16)
            await #expect(throws: (any Error).self) { for _ in 0..<1024 { try await connection.send(block) } }
        }
    }

    // MARK: Expect

    @Test func `a client that waits for 100 Continue gets it`() async throws {
        try await withConnection { connection in
            let interim = try await connection.exchange(
                "POST /v1/ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            #expect(interim.statusLine == "HTTP/1.1 100 Continue")
            #expect(try await connection.exchange("abc").status == 204)
        }
    }

    @Test func `a client that waits for 100 Continue with too much is refused`() async throws {
        try await withConnection { connection in
            Self.expectTooLarge(
                try await connection.exchange(
                    "POST /v1/ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\nExpect: 100-continue\r\n\r\n"))
            try await connection.expectEnd()
        }
    }

    // MARK: Connections and load

    @Test func `a connection ends after the most requests that may wait on it`() async throws {
        let gate = Gate()
        let routes = Demo.routes + [gate.route]
        var limits = ServerLimits.uncontended
        limits.pipelinedRequests = 4
        try await withConnection(routes, limits: limits) { connection in
            let waiting = get("/v1/wait")
            try await connection.send(waiting + String(repeating: get(), count: 9))
            gate.open()
            #expect(try await connection.answer().status == 204)
            for _ in 0..<2 { #expect(try await connection.answer()["Connection"] == nil) }
            #expect(try await connection.answer()["Connection"] == "close")
            try await connection.expectEnd()
        }
    }

    @Test func `a connection too many waits until another one ends`() async throws {
        var limits = ServerLimits.uncontended
        limits.connections = 1
        try await withServer(limits: limits) { port in
            try await RawConnection.open(port) { first in
                #expect(try await first.exchange(get()).status == 200)
                try await RawConnection.open(port) { second in
                    try await second.send(get())
                    let last = try await first.exchange(get("/v1/ping", "Connection: close\r\n"))
                    #expect(last.status == 200)
                    first.finishSending()
                    #expect(try await second.answer().status == 200)
                }
            }
        }
    }

    @Test func `a client that has closed its side is not waited for after the last answer`() async throws {
        var limits = ServerLimits.uncontended
        limits.connections = 1
        limits.lingerDeadline = .seconds(600)
        try await withServer(limits: limits) { port in
            try await RawConnection.open(port) { first in
                try await first.send(get("/v1/ping", "Connection: close\r\n"))
                first.finishSending()
                #expect(try await first.answer().status == 200)
                try await RawConnection.open(port) { second in
                    let answer = try await second.exchange(get())
                    #expect(answer.status == 200)
                }
            }
        }
    }

    @Test func `what comes after the last request of a connection does not cost it its answer`() async throws {
        let gate = Gate()
        let routes = Demo.routes + [gate.route]
        try await withServer(routes) { port in
            try await RawConnection.open(port) { connection in
                try await connection.send(get("/v1/wait", "Connection: close\r\n"))
                await gate.waitForArrival()
                connection.sendEventually([UInt8](repeating: 0x61, count: 2 * 1024 * 1024))
                // Time enough for the server to read it all, if it were to.
                try await RawConnection.open(port) { other in
                    for _ in 0..<200 { _ = try await other.exchange(get()) }
                }
                gate.open()
                #expect(try await connection.answer().status == 204)
            }
        }
    }
}
