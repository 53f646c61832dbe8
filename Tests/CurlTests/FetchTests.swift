import Curl
import TestSupport
import Testing

extension FetchRequest {
    /// A request with long timeouts, so that only a test of a timeout runs into one, however busy the machine is.
    static func forTests(
        _ method: Method = .get, url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
        timeout: Duration = .seconds(50), maximumBodyBytes: Int = 65_536
    ) -> FetchRequest {
        FetchRequest(
            method, url: url, headers: headers, body: body, timeout: timeout, connectTimeout: .seconds(50),
            maximumBodyBytes: maximumBodyBytes)
    }
}

@Suite(.timeLimit(.minutes(5))) struct FetchTests {
    @Test func `a response comes with its status, headers and body`() async throws {
        let server = try LoopbackServer { _ in
            [.respond(404, headers: [("Cache-Control", "max-age=60"), ("X-Empty", "")], text: "nothing here")]
        }
        try await withFetcher { fetcher in
            let response = try await fetcher.fetch(.forTests(url: "\(server.url)/a?b=c"))
            #expect(response.status == 404)
            #expect(response.headers.first("cache-CONTROL") == "max-age=60")
            #expect(response.headers.first("x-empty") == "")
            #expect(response.headers.first("Absent") == nil)
            #expect(response.body == Array("nothing here".utf8))
        }
        let request = try #require(server.history.requests.first)
        #expect(request.method == "GET")
        #expect(request.target == "/a?b=c")
        #expect(request.header("User-Agent") == "countersign")
        #expect(request.header("Accept-Encoding") == nil)
    }

    @Test func `a form is posted percent-encoded`() async throws {
        let server = try LoopbackServer { _ in [.respond()] }
        try await withFetcher { fetcher in
            _ = try await fetcher.fetch(
                .form(url: server.url, fields: [("code", "4/0A b&=+%"), ("nämé", "é"), ("redirect_uri", "")]))
        }
        let request = try #require(server.history.requests.first)
        #expect(request.method == "POST")
        #expect(request.header("Content-Type") == "application/x-www-form-urlencoded")
        #expect(request.header("Accept") == "application/json")
        #expect(
            String(decoding: request.body, as: UTF8.self)
                == "code=4%2F0A%20b%26%3D%2B%25&n%C3%A4m%C3%A9=%C3%A9&redirect_uri=")
    }

    @Test func `a large body is sent with no wait for a continue`() async throws {
        let server = try LoopbackServer { _ in [.respond()] }
        let body = [UInt8](repeating: 0x61, count: 1_200_000)
        try await withFetcher { fetcher in
            _ = try await fetcher.fetch(.forTests(.post, url: server.url, body: body))
        }
        let request = try #require(server.history.requests.first)
        #expect(request.header("Expect") == nil)
        #expect(request.body == body)
    }

    @Test func `headers are sent, an empty one too, and a POST without a body says so`() async throws {
        let server = try LoopbackServer { _ in [.respond(204)] }
        try await withFetcher { fetcher in
            let response = try await fetcher.fetch(
                FetchRequest.forTests(
                    .post, url: server.url, headers: [("Authorization", "Bearer x"), ("X-Empty", "")]))
            #expect(response.status == 204)
        }
        let request = try #require(server.history.requests.first)
        #expect(request.header("authorization") == "Bearer x")
        #expect(request.header("x-empty") == "")
        #expect(request.header("content-length") == "0")
    }

    @Test func `chunks are joined, interim responses and trailers are left out`() async throws {
        let server = try LoopbackServer { _ in
            [
                .send("HTTP/1.1 103 Early Hints\r\nX-Interim: 1\r\n\r\n"),
                .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n"),
                .send("3\r\nabc\r\n2\r\nde\r\n0\r\nX-Late: 1\r\n\r\n"),
            ]
        }
        try await withFetcher { fetcher in
            let response = try await fetcher.fetch(.forTests(url: server.url))
            #expect(response.status == 200)
            #expect(response.body == Array("abcde".utf8))
            #expect(response.headers.first("X-Interim") == nil)
            #expect(response.headers.first("X-Late") == nil)
        }
    }

    @Test func `a redirect is returned and not followed`() async throws {
        let target = try LoopbackServer { _ in [.respond()] }
        let server = try LoopbackServer { _ in [.respond(302, headers: [("Location", target.url)])] }
        try await withFetcher { fetcher in
            let response = try await fetcher.fetch(.forTests(url: server.url))
            #expect(response.status == 302)
            #expect(response.headers.first("Location") == target.url)
        }
        #expect(target.history.opened == 0)
    }

    @Test func `a body of exactly the limit passes and one byte more does not`() async throws {
        let server = try LoopbackServer { request in
            [.respond(body: [UInt8](repeating: 0x61, count: request.target == "/exact" ? 1_000 : 1_001))]
        }
        try await withFetcher { fetcher in
            var request = FetchRequest.forTests(url: "\(server.url)/exact", maximumBodyBytes: 1_000)
            let response = try await fetcher.fetch(request)
            #expect(response.body.count == 1_000)
            request.url = "\(server.url)/over"
            await #expect(throws: FetchError(.tooLarge, requestSent: true)) { try await fetcher.fetch(request) }
        }
    }

    @Test(arguments: ["Content-Length: 104857600\r\n", "", "Transfer-Encoding: chunked\r\n"])
    func `100 MB are cut off at the limit`(framing: String) async throws {
        let chunk = [UInt8](repeating: 0x20, count: 0x10000)
        let framed = framing.hasPrefix("Transfer") ? Array("10000\r\n".utf8) + chunk + Array("\r\n".utf8) : chunk
        let server = try LoopbackServer { _ in
            [.send("HTTP/1.1 200 OK\r\n\(framing)\r\n"), .repeated(framed, times: 1_600), .close]
        }
        try await withFetcher { fetcher in
            await #expect(throws: FetchError(.tooLarge, requestSent: true)) {
                try await fetcher.fetch(.forTests(url: server.url))
            }
            await server.history { $0.closed == 1 }
        }
    }

    @Test func `a compressed body stays as it came`() async throws {
        // 1,000,000 spaces: `printf '%1000000s' '' | gzip -9n | wc -c` gives 1,003 bytes.
        let bomb: [UInt8] = [0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0x02, 0x03] + [UInt8](repeating: 0, count: 993)
        let server = try LoopbackServer { _ in [.respond(headers: [("Content-Encoding", "gzip")], body: bomb)] }
        try await withFetcher { fetcher in
            let response = try await fetcher.fetch(.forTests(url: server.url))
            #expect(response.body == bomb)
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\n" + String(repeating: "X-Field: 0123456789\r\n", count: 2_000),
        "HTTP/1.1 200 OK\r\nX-Field: " + String(repeating: "x", count: 200_000),
        String(repeating: "HTTP/1.1 103 Early Hints\r\nX-Field: 1\r\n\r\n", count: 2_000),
    ])
    func `headers beyond their limit are refused`(headers: String) async throws {
        let server = try LoopbackServer { _ in [.send(headers), .hold] }
        try await withFetcher { fetcher in
            await #expect(throws: FetchError(.tooLarge, requestSent: true)) {
                try await fetcher.fetch(.forTests(url: server.url))
            }
        }
    }

    @Test func `a body byte by byte runs into the total timeout`() async throws {
        let server = try LoopbackServer { _ in
            [
                .send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
                .drip([UInt8](repeating: 0x61, count: 1_000), every: .milliseconds(50)),
            ]
        }
        try await withFetcher { fetcher in
            let started = ContinuousClock.now
            await #expect(throws: FetchError(.timedOut, requestSent: true)) {
                try await fetcher.fetch(.forTests(url: server.url, timeout: .seconds(3)))
            }
            let passed = ContinuousClock.now - started
            #expect(passed >= .seconds(3))
            // The whole body would take 50 s.
            #expect(passed < .seconds(40))
            await server.history { $0.closed == 1 }
        }
    }

    @Test func `a body byte by byte within the timeout arrives`() async throws {
        let server = try LoopbackServer { _ in
            [.drip(Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc".utf8), every: .milliseconds(2))]
        }
        try await withFetcher { fetcher in
            let response = try await fetcher.fetch(.forTests(url: server.url))
            #expect(response.body == Array("abc".utf8))
        }
    }

    static let broken: [(String, [LoopbackServer.Step])] = [
        ("truncated", [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .close]),
        ("truncated chunk", [.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc"), .close]),
        ("reset in the body", [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .reset]),
        ("closed in the headers", [.send("HTTP/1.1 200 OK\r\nContent-"), .close]),
        ("no answer", [.close]),
        ("reset at once", [.reset]),
    ]

    @Test(arguments: broken.indices)
    func `a response that ends early is refused`(index: Int) async throws {
        let (name, steps) = Self.broken[index]
        let server = try LoopbackServer { _ in steps }
        try await withFetcher { fetcher in
            await #expect(throws: FetchError(.closed, requestSent: true), Comment(rawValue: name)) {
                try await fetcher.fetch(.forTests(url: server.url))
            }
        }
    }

    static let unfinished: [(String, [LoopbackServer.Step])] = [
        ("too large", [.respond(text: String(repeating: "a", count: 1_000))]),
        ("breaks off", [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .close]),
        ("does not end", [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .hold]),
    ]

    @Test(arguments: unfinished.indices)
    func `a response whose body may be cut off counts from its headers on`(index: Int) async throws {
        let (name, steps) = Self.unfinished[index]
        let server = try LoopbackServer { _ in steps }
        try await withFetcher { fetcher in
            var request = FetchRequest.forTests(
                url: server.url, timeout: name == "does not end" ? .seconds(3) : .seconds(50), maximumBodyBytes: 100)
            await #expect(throws: FetchError.self, Comment(rawValue: name)) { try await fetcher.fetch(request) }
            request.truncatesBody = true
            let response = try await fetcher.fetch(request)
            #expect(response.status == 200, Comment(rawValue: name))
        }
    }

    @Test func `an interim response is none, whether a body may be cut off or not`() async throws {
        let server = try LoopbackServer { _ in [.send("HTTP/1.1 103 Early Hints\r\n\r\n"), .hold] }
        try await withFetcher { fetcher in
            var request = FetchRequest.forTests(url: server.url, timeout: .seconds(3))
            request.truncatesBody = true
            await #expect(throws: FetchError(.timedOut, requestSent: true)) { try await fetcher.fetch(request) }
        }
    }

    @Test func `what isn't HTTP is refused`() async throws {
        let server = try LoopbackServer { _ in [.send("SSH-2.0-OpenSSH_9.2p1 and some more of that\r\n"), .close] }
        try await withFetcher { fetcher in
            await #expect(throws: FetchError(.other, requestSent: true)) {
                try await fetcher.fetch(.forTests(url: server.url))
            }
        }
    }

    @Test func `a refused connection sent nothing`() async throws {
        try await withFetcher { fetcher in
            // TCPMUX (RFC 1078), which nothing speaks any more.
            await #expect(throws: FetchError(.connect, requestSent: false)) {
                try await fetcher.fetch(.forTests(url: "http://127.0.0.1:1"))
            }
        }
    }

    @Test func `a host that doesn't resolve sent nothing`() async throws {
        try await withFetcher { fetcher in
            // RFC 6761 §6.4: `invalid` never resolves.
            await #expect(throws: FetchError(.resolve, requestSent: false)) {
                try await fetcher.fetch(.forTests(url: "https://host.invalid"))
            }
        }
    }

    @Test func `an error says nothing of the host except to a debugger`() {
        let error = FetchError(.connect, detail: "Failed to connect to host.example")
        #expect("\(error)" == "The outgoing request failed.")
        #expect(String(reflecting: error).contains("host.example"))
        #expect(String(reflecting: error).contains("FetchTests.swift:"))
    }
}
