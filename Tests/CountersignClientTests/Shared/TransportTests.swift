import Foundation
import Testing

@testable import CountersignClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite struct TransportTests {
    private let transport = URLSessionTransport()

    private func post(_ url: URL, _ body: String = "{}") -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data(body.utf8)
        request.setBearer("token")
        return request
    }

    @Test func `what is sent arrives, and the answer comes back whole`() async throws {
        let body = String(repeating: "ä", count: 200_000)
        let server = try ScriptedServer { _ in .json(201, body, headers: ["X-Mixed-Case": "yes"]) }
        let (data, response) = try await transport.send(post(server.url("/a/b?c=%2F"), body))
        #expect(response.statusCode == 201 && data == Data(body.utf8))
        #expect(response.value(forHTTPHeaderField: "x-mixed-case") == "yes")
        let request = try #require(server.requests.first)
        #expect(request.method == "POST" && request.target == "/a/b?c=%2F" && request.body == Data(body.utf8))
        #expect(request.bearer == "token")
    }

    @Test(arguments: [301, 302, 303, 307, 308]) func `no redirect is followed`(_ status: Int) async throws {
        let other = try ScriptedServer { _ in .json(200, "{}") }
        let target = other.url("/other", host: "localhost").absoluteString
        let server = try ScriptedServer { request in
            .answer(status, "moved", headers: ["Location": request.target == "/here" ? "/there" : target])
        }
        for path in ["/here", "/away"] {
            let (_, response) = try await transport.send(post(server.url(path)))
            #expect(response.statusCode == status)
            #expect(response.value(forHTTPHeaderField: "Location") != nil)
        }
        #expect(server.requests.map(\.target) == ["/here", "/away"])
        #expect(other.requests.isEmpty)
    }

    @Test func `401 with a challenge is an answer as any other`() async throws {
        let server = try ScriptedServer { request in
            .problem(401, "invalid_session", headers: ["WWW-Authenticate": String(request.target.dropFirst())])
        }
        for scheme in ["Bearer", "Basic", "Digest"] {
            let (data, response) = try await transport.send(post(server.url("/\(scheme)")))
            #expect(response.statusCode == 401 && HTTPAnswer(data, response).problemCode == "invalid_session")
        }
        #expect(server.requests.count == 3)
    }

    @Test func `cookies are neither kept nor sent, and nothing is cached`() async throws {
        let server = try ScriptedServer { _ in
            .json(200, "{}", headers: ["Set-Cookie": "a=b; Path=/", "Cache-Control": "max-age=3600", "ETag": "\"1\""])
        }
        for _ in 0..<2 { _ = try await transport.send(URLRequest(url: server.url("/same"))) }
        #expect(server.requests.count == 2)
        #expect(server.requests.allSatisfy { $0["cookie"].isEmpty && $0["if-none-match"].isEmpty })
    }

    @Test func `a request is sent once, also when a connection that was in use has ended`() async throws {
        let server = try ScriptedServer { $0.target == "/first" ? .json(200, "{}") : .drop }
        _ = try await transport.send(post(server.url("/first")))
        await #expect(throws: URLError.self) { try await transport.send(post(server.url("/code"))) }
        #expect(server.requests(to: "/code").count == 1)
    }

    @Test(arguments: ["", "not HTTP at all", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"])
    func `an answer that breaks off is an error`(_ text: String) async throws {
        let server = try ScriptedServer { _ in .raw(text) }
        await #expect(throws: (any Error).self) { try await transport.send(post(server.url())) }
        await #expect(throws: SessionError.transient(retryAfter: nil)) {
            try await transport.exchange(post(server.url()))
        }
    }

    @Test func `nobody at the port is an error`() async throws {
        let server = try ScriptedServer { _ in .drop }
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        _ = server
        await #expect(throws: SessionError.transient(retryAfter: nil)) { try await transport.exchange(post(url)) }
    }

    @Test(arguments: [true, false]) func `an answer that does not end is given up`(_ isSilent: Bool) async throws {
        let server = try ScriptedServer { _ in isSilent ? .silence : .drip }
        let transport = URLSessionTransport(AnswerLimits(time: .milliseconds(300), bytes: 1 << 20))
        await #expect(throws: SessionError.transient(retryAfter: nil)) {
            try await transport.exchange(post(server.url()))
        }
    }

    @Test(arguments: [
        // Announced, or as it comes: in chunks, or until the connection ends.
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1001\r\n\r\n" + String(repeating: "a", count: 1001),
        "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n"
            + String(repeating: "a", count: 1001) + "\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + String(repeating: "a", count: 1001),
    ])
    func `an answer that is too long is given up`(_ answer: String) async throws {
        let server = try ScriptedServer { _ in .raw(answer) }
        let transport = URLSessionTransport(maximumBytes: 1000)
        await #expect { try await transport.send(post(server.url())) } throws: {
            ($0 as? URLError)?.code == .dataLengthExceedsMaximum
        }
        await #expect(throws: SessionError.transient(retryAfter: nil)) {
            try await transport.exchange(post(server.url()))
        }
        let (data, _) = try await URLSessionTransport(maximumBytes: 1001).send(post(server.url()))
        #expect(data.count == 1001)
    }

    @Test func `an answer without an end is given up once it is too long`() async throws {
        let server = try ScriptedServer { _ in .unended(String(repeating: "a", count: 1001)) }
        // Its time would be up long after.
        let transport = URLSessionTransport(AnswerLimits(time: .seconds(600), bytes: 1000))
        await #expect { try await transport.send(post(server.url())) } throws: {
            ($0 as? URLError)?.code == .dataLengthExceedsMaximum
        }
    }

    @Test func `a cancelled task ends at once`() async throws {
        let reached = Gate()
        let server = try ScriptedServer { _ in
            reached.open()
            return .silence
        }
        let request = post(server.url())
        let transport = transport
        let sending = Task { try await transport.send(request) }
        await reached.passed()
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await transport.send(request)
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(server.requests.count == 1)
    }

    @Test func `a transport that ignores cancellation does not keep its caller`() async throws {
        struct Deaf: HTTPTransport {
            let gate: Gate
            func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
                await gate.passed()
                throw URLError(.unknown)
            }
        }
        let gate = Gate()
        defer { gate.open() }
        let request = URLRequest(url: try #require(URL(string: "https://app.example")))
        let sending = Task { try await Deaf(gate: gate).exchange(request) }
        await gate.reached()
        sending.cancel()
        await #expect(throws: SessionError.cancelled) { try await sending.value }
    }

    @Test func `fifty requests at a time each get their own answer`() async throws {
        let server = try ScriptedServer { .json(200, $0.target) }
        let transport = transport
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    let (data, _) = try await transport.send(URLRequest(url: server.url("/\(number)")))
                    #expect(String(decoding: data, as: UTF8.self) == "/\(number)")
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a bearer takes the place of every authorization, however it is spelt`() throws {
        var request = URLRequest(url: try #require(URL(string: "https://app.example")))
        request.setValue("Basic 1", forHTTPHeaderField: "authorization")
        request.addValue("Basic 2", forHTTPHeaderField: "AUTHORIZATION")
        request.setBearer("new")
        let values = (request.allHTTPHeaderFields ?? [:]).filter { $0.key.lowercased() == "authorization" }
        #expect(Array(values.values) == ["Bearer new"])
    }
}
