import TestSupport
import Testing

/// Where two readers of the same bytes could see different requests, this one sees none: 400, and the connection ends.
@Suite(.timeLimit(.minutes(5))) struct FramingTests {
    /// What follows each ambiguous request on the wire; it must never be answered as a request of its own.
    static let smuggled = get()

    private static func post(_ fields: String, _ body: String) -> String {
        "POST /v1/ignore HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n\(body)"
    }

    private static func chunked(_ body: String) -> String { post("Transfer-Encoding: chunked", body) }

    @Test func `an ambiguous or malformed request gets 400 and ends the connection`() async throws {
        let log = RecordingLog.ofRequests()
        let ambiguous: [String: String] = try DataFile("Fixtures/ambiguous-requests.json").decoded()
        try #require(ambiguous.count == 67)
        try await withServer(log: log) { port in
            for (name, bytes) in ambiguous {
                try await RawConnection.open(port) { connection in
                    try await connection.send(bytes + Self.smuggled)
                    let answer = try await connection.answer()
                    #expect(answer.status == 400, "\(name)")
                    #expect(answer.code == "invalid_request", "\(name)")
                    #expect(answer["Connection"] == "close", "\(name)")
                    try await connection.expectEnd()
                }
            }
        }
        #expect(log.requests.count == ambiguous.count)
        #expect(log.requests.allSatisfy { $0.metadata["status"] == "400" && $0.metadata["route"] == "-" })
    }

    @Test func `a request before a malformed one is answered first`() async throws {
        try await withConnection { connection in
            try await connection.send(Self.smuggled + "GET /v1/ping HTTP/1.1\r\nHost : a\r\n\r\n")
            #expect(try await connection.answer().status == 200)
            #expect(try await connection.answer().status == 400)
            try await connection.expectEnd()
        }
    }

    @Test func `unusual but unambiguous framing is read`() async throws {
        let requests: [(name: String, bytes: String, status: Int)] = [
            ("empty lines before a request", "\r\n\r\nGET /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n", 200),
            ("an empty Host", "GET /v1/ping HTTP/1.1\r\nHost:\r\n\r\n", 200),
            ("an IPv6 Host", "GET /v1/ping HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", 200),
            ("spaces around a length", Self.post("Content-Length:  1 ", "a"), 204),
            ("a chunk extension", Self.chunked("1;a=b\r\na\r\n0\r\n\r\n"), 204),
            ("a trailer", Self.chunked("1\r\na\r\n0\r\nX: y\r\n\r\n"), 204),
            ("CHUNKED", Self.post("Transfer-Encoding: CHUNKED", "1\r\na\r\n0\r\n\r\n"), 204),
            ("a body with GET", "GET /v1/ping HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\naa", 200),
            ("a target with its origin", "GET http://a/v1/ping?x=y HTTP/1.1\r\nHost: a\r\n\r\n", 200),
        ]
        try await withConnection { connection in
            for (name, bytes, status) in requests {
                let answer = try await connection.exchange(bytes)
                #expect(answer.status == status, "\(name)")
            }
        }
    }

    @Test func `a request may come in pieces of one byte`() async throws {
        try await withConnection { connection in
            for byte in Self.chunked("1;x\r\na\r\n0\r\n\r\n").utf8 { try await connection.send([byte]) }
            #expect(try await connection.answer().status == 204)
        }
    }

    @Test func `requests sent at once are answered in their order`() async throws {
        try await withConnection { connection in
            let paths = ["/v1/ping", "/v1/none", "/v1/things/t-1", "/v1/things/x"]
            try await connection.send(paths.map { get($0) }.joined())
            for status in [200, 404, 200, 404] { #expect(try await connection.answer().status == status) }
        }
    }

    @Test(arguments: [
        "GET /v1/ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /v1/ping HTTP/1.0\r\n\r\n",
        "GET /v1/ping HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "GET /v1/ping HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        "POST /v1/ignore HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 1\r\n\r\na",
        "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n",
    ])
    func `no request follows on a connection that closes, upgrades or connects`(bytes: String) async throws {
        try await withConnection { connection in
            let answer = try await connection.exchange(bytes + Self.smuggled)
            #expect(answer["Connection"] == "close")
            try await connection.expectEnd()
        }
    }

    @Test func `a client that closes its side still gets its answer`() async throws {
        try await withConnection { connection in
            try await connection.send(Self.smuggled)
            connection.finishSending()
            #expect(try await connection.answer().status == 200)
            try await connection.expectEnd()
        }
    }

    @Test func `a client that leaves in the middle of a request gets no answer`() async throws {
        try await withConnection { connection in
            try await connection.send("POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
            connection.finishSending()
            try await connection.expectEnd()
        }
    }
}
