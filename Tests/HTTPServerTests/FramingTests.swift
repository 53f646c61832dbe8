import Testing

/// Where two readers of the same bytes could see different requests, this one sees none: 400, and the connection ends.
@Suite(.timeLimit(.minutes(5)))
struct FramingTests {
    /// What follows each ambiguous request on the wire; it must never be answered as a request of its own.
    static let smuggled = "GET /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n"

    static let ambiguous: [(name: String, bytes: String)] = [
        ("Content-Length and Transfer-Encoding", post("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
        ("Transfer-Encoding and Content-Length", post("Transfer-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n")),
        ("the same Content-Length twice", post("Content-Length: 1\r\nContent-Length: 1", "a")),
        ("two Content-Lengths", post("Content-Length: 1\r\nContent-Length: 2", "aa")),
        ("a list of Content-Lengths", post("Content-Length: 1, 1", "a")),
        ("a signed Content-Length", post("Content-Length: +1", "a")),
        ("a negative Content-Length", post("Content-Length: -1", "a")),
        ("a hexadecimal Content-Length", post("Content-Length: 0x1", "a")),
        ("a Content-Length of 2^64 + 1", post("Content-Length: 18446744073709551617", "a")),
        ("an empty Content-Length", post("Content-Length:", "a")),
        ("a Content-Length with a space in it", post("Content-Length: 1 1", "a")),
        ("gzip, chunked", post("Transfer-Encoding: gzip, chunked", "0\r\n\r\n")),
        ("chunked, gzip", post("Transfer-Encoding: chunked, gzip", "0\r\n\r\n")),
        ("chunked twice in a field", post("Transfer-Encoding: chunked, chunked", "0\r\n\r\n")),
        ("chunked in two fields", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
        ("identity", post("Transfer-Encoding: identity", "")),
        ("xchunked", post("Transfer-Encoding: xchunked", "0\r\n\r\n")),
        ("chunked after a vertical tab", post("Transfer-Encoding: \u{0B}chunked", "0\r\n\r\n")),
        ("chunked on a folded line", post("Transfer-Encoding:\r\n chunked", "0\r\n\r\n")),
        ("chunked in HTTP/1.0", "POST /v1/ignore HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ("a chunk size that ends with bare LF", chunked("1\na\r\n0\r\n\r\n")),
        ("a chunk size with a prefix", chunked("0x1\r\na\r\n0\r\n\r\n")),
        ("a chunk size before a space", chunked("1 \r\na\r\n0\r\n\r\n")),
        ("a chunk size of 2^64 + 1", chunked("10000000000000001\r\na\r\n0\r\n\r\n")),
        ("a chunk without its CR LF", chunked("1\r\naXX0\r\n\r\n")),
        ("a chunk that ends with bare LF", chunked("1\r\na\n0\r\n\r\n")),
        ("a chunk extension with bare LF", chunked("1;a\nb\r\na\r\n0\r\n\r\n")),
        ("a last chunk that ends with bare LF", chunked("1\r\na\r\n0\r\n\n")),
        ("a Content-Length among the trailers", chunked("0\r\nContent-Length: 5\r\n\r\n")),
        ("bare LF after the request line", "GET /v1/ping HTTP/1.1\nHost: a\r\n\r\n"),
        ("bare LF everywhere", "GET /v1/ping HTTP/1.1\nHost: a\n\n"),
        ("bare LF after a field", get("X: a\nY: b")),
        ("bare LF at the end of the header", "GET /v1/ping HTTP/1.1\r\nHost: a\r\n\n"),
        ("bare CR in a field", get("X: a\rY: b")),
        ("CR CR LF", "GET /v1/ping HTTP/1.1\r\r\nHost: a\r\n\r\n"),
        ("a folded field", get("X: a\r\n b")),
        ("a field folded with a tab", get("X: a\r\n\tb")),
        ("a folded first field", "GET /v1/ping HTTP/1.1\r\n Host: a\r\n\r\n"),
        ("a space before a colon", "GET /v1/ping HTTP/1.1\r\nHost : a\r\n\r\n"),
        ("a tab before a colon", "GET /v1/ping HTTP/1.1\r\nHost\t: a\r\n\r\n"),
        ("a space in a name", get("X Y: a")),
        ("no name", get(": a")),
        ("no colon", get("X")),
        ("NUL in a value", get("X: a\u{0}b")),
        ("a control character in a value", get("X: a\u{1}b")),
        ("DEL in a value", get("X: a\u{7F}b")),
        ("NUL in the target", "GET /v1/ping\u{0} HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a tab in the target", "GET /v1/\tping HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a space in the target", "GET /v1/ ping HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a target that is not ASCII", "GET /v1/pïng HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a target without a slash", "GET v1/ping HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a tab after the method", "GET\t/v1/ping HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a space before the method", " GET /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a method in lower case", "get /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("an unknown method", "BREW /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("HTTP/0.9", "GET /v1/ping\r\n\r\n"),
        ("HTTP/1.2", "GET /v1/ping HTTP/1.2\r\nHost: a\r\n\r\n"),
        ("HTTP/11.1", "GET /v1/ping HTTP/11.1\r\nHost: a\r\n\r\n"),
        ("HTTP/2 in the request line", "GET /v1/ping HTTP/2.0\r\nHost: a\r\n\r\n"),
        ("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        ("http in lower case", "GET /v1/ping http/1.1\r\nHost: a\r\n\r\n"),
        ("the hello of TLS", "\u{16}\u{03}\u{01}\u{02}\u{00}\u{01}\u{00}\u{01}\u{7C}\u{03}\u{03}"),
        ("no Host", "GET /v1/ping HTTP/1.1\r\nX: a\r\n\r\n"),
        ("two Hosts", get("Host: b")),
        ("a Host with a path in it", "GET /v1/ping HTTP/1.1\r\nHost: a/b\r\n\r\n"),
        ("a Host with user information", "GET /v1/ping HTTP/1.1\r\nHost: a@b\r\n\r\n"),
        ("two Hosts in HTTP/1.0", "GET /v1/ping HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"),
    ]

    private static func get(_ fields: String) -> String {
        "GET /v1/ping HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n"
    }

    private static func post(_ fields: String, _ body: String) -> String {
        "POST /v1/ignore HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n\(body)"
    }

    private static func chunked(_ body: String) -> String { post("Transfer-Encoding: chunked", body) }

    @Test func `an ambiguous or malformed request gets 400 and ends the connection`() async throws {
        let log = LogRecorder()
        try await withServer(log: log) { port in
            for (name, bytes) in Self.ambiguous {
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
        #expect(log.requests.count == Self.ambiguous.count)
        #expect(log.requests.allSatisfy { $0.metadata["status"] == "400" && $0.metadata["route"] == "-" })
    }

    @Test func `a request before a malformed one is answered first`() async throws {
        try await withServer { port in
            try await RawConnection.open(port) { connection in
                try await connection.send(Self.smuggled + "GET /v1/ping HTTP/1.1\r\nHost : a\r\n\r\n")
                #expect(try await connection.answer().status == 200)
                #expect(try await connection.answer().status == 400)
                try await connection.expectEnd()
            }
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
        try await withServer { port in
            try await RawConnection.open(port) { connection in
                for (name, bytes, status) in requests {
                    let answer = try await connection.exchange(bytes)
                    #expect(answer.status == status, "\(name)")
                }
            }
        }
    }

    @Test func `a request may come in pieces of one byte`() async throws {
        try await withServer { port in
            try await RawConnection.open(port) { connection in
                for byte in Self.chunked("1;x\r\na\r\n0\r\n\r\n").utf8 { try await connection.send([byte]) }
                #expect(try await connection.answer().status == 204)
            }
        }
    }

    @Test func `requests sent at once are answered in their order`() async throws {
        try await withServer { port in
            try await RawConnection.open(port) { connection in
                let paths = ["/v1/ping", "/v1/none", "/v1/things/t-1", "/v1/things/x"]
                try await connection.send(paths.map { "GET \($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined())
                for status in [200, 404, 200, 404] { #expect(try await connection.answer().status == status) }
            }
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
        try await withServer { port in
            try await RawConnection.open(port) { connection in
                let answer = try await connection.exchange(bytes + Self.smuggled)
                #expect(answer["Connection"] == "close")
                try await connection.expectEnd()
            }
        }
    }

    @Test func `a client that closes its side still gets its answer`() async throws {
        try await withServer { port in
            try await RawConnection.open(port) { connection in
                try await connection.send(Self.smuggled)
                connection.finishSending()
                #expect(try await connection.answer().status == 200)
                try await connection.expectEnd()
            }
        }
    }

    @Test func `a client that leaves in the middle of a request gets no answer`() async throws {
        try await withServer { port in
            try await RawConnection.open(port) { connection in
                try await connection.send("POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
                connection.finishSending()
                try await connection.expectEnd()
            }
        }
    }
}
