import HTTPServer
import Logging
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct RequestLogTests {
    @Test func `each request gets one line that names its route`() async throws {
        let log = RecordingLog.ofRequests()
        try await withConnection(log: log) { connection in
            for target in ["/v1/ping", "/v1/things/t-1", "/v1/none", "/v1/surprise"] {
                _ = try await connection.exchange(get(target, "X-Request-Id: id\(target.utf8.count)\r\n"))
            }
        }
        let lines = log.requests
        #expect(lines.map { $0.metadata["route"] } == ["/v1/ping", "/v1/things/{thingId}", "-", "/v1/surprise"])
        #expect(lines.map { $0.metadata["status"] } == ["200", "200", "404", "500"])
        #expect(lines.map { $0.metadata["code"] } == [nil, nil, "not_found", "internal_error"])
        #expect(lines.map { $0.metadata["requestId"] } == ["id8", "id14", "id8", "id12"])
        #expect(lines.map(\.level) == [.info, .info, .info, .error])
        #expect(lines.allSatisfy { $0.metadata["method"] == "GET" })
        #expect(lines.allSatisfy { $0.metadata["durationMs"].flatMap(Double.init).map { $0 >= 0 } == true })
    }

    @Test func `nothing that a client sends is logged, at any level`() async throws {
        let log = RecordingLog.ofRequests()
        let secret = Demo.secret
        let requests = [
            get("/v1/list?cursor=\(secret)"),
            get("/v1/\(secret)"),
            "GET /v1/things/\(secret) HTTP/1.1\r\nHost: \(secret)\r\n\r\n",
            get("/v1/who", "Authorization: Bearer \(secret)\r\nUser-Agent: \(secret)\r\n"),
            get("/v1/ping", "X-Request-Id: \(secret)!\r\n"),
            "POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 22\r\n\r\n"
                + #"{"\#(secret)":"a"}"#.padding(22),
            "POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Type: \(secret)\r\nContent-Length: 2\r\n\r\n{}",
            get("/v1/surprise?\(secret)"),
            "GET /v1/ping HTTP/1.1\r\nHost: a\r\n\(secret)\r\n\r\n",
        ]
        try await withServer(log: log) { port in
            for request in requests { _ = try await RawConnection.open(port) { try await $0.exchange(request) } }
        }
        #expect(log.requests.count == requests.count)
        for line in log.entries {
            let text = "\(line.message) \(line.metadata)"
            #expect(!text.contains(secret), "\(text)")
        }
    }

    @Test func `no line break reaches the log`() async throws {
        let log = RecordingLog.ofRequests()
        try await withConnection(log: log) { connection in
            _ = try await connection.exchange(get("/v1/ping?a%0D%0Ab"))
            _ = try await connection.exchange(get("/v1/%0D%0Ax"))
            _ = try await connection.exchange(get("/v1/surprise"))
        }
        for line in log.entries {
            for value in line.metadata.values { #expect(value.utf8.allSatisfy { $0 >= 0x20 }, "\(value)") }
        }
    }
}

extension String {
    /// Padded with spaces.
    fileprivate func padding(_ count: Int) -> String {
        self + String(repeating: " ", count: max(0, count - utf8.count))
    }
}
