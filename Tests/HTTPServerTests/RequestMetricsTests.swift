import HTTPServer
import Metrics
import MetricsTestKit
import NIOPosix
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct RequestMetricsTests {
    private static let requests = "countersign_http_requests_total"
    private static let seconds = "countersign_http_request_seconds"

    private let metrics = TestMetrics()

    /// Sends each request on a connection of its own to a listener that counts in `metrics`.
    private func send(_ requests: String...) async throws {
        try await withServer(metrics: metrics, runsHandlersOnEventLoops: false) { port in
            for request in requests {
                _ = try await RawConnection.open(port) { connection in
                    try await connection.send(request)
                    return try await connection.answer(toHead: request.hasPrefix("HEAD"))
                }
            }
        }
    }

    /// The counters that are not 0, as `METHOD route class count`.
    private var counted: [String] {
        metrics.counters(label: Self.requests).filter { $0.totalValue > 0 }.map { counter in
            let values = Dictionary(uniqueKeysWithValues: counter.dimensions)
            return "\(values["method"] ?? "") \(values["route"] ?? "") \(values["status"] ?? "") \(counter.totalValue)"
        }.sorted()
    }

    private func times(_ method: String, _ route: String) throws -> [Int64] {
        try metrics.expectTimer(Self.seconds, [("method", method), ("route", route)]).values
    }

    @Test func `an answer is counted by method, route and class of status, and timed`() async throws {
        try await send(
            "GET /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /v1/things/t-1 HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /v1/things/t-2 HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /v1/things/other HTTP/1.1\r\nHost: a\r\n\r\n",
            "DELETE /v1/things/t-1 HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /v1/redirect HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /v1/surprise HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(
            counted == [
                "DELETE /v1/things/{thingId} 2xx 1", "GET /v1/ping 2xx 1", "GET /v1/redirect 3xx 1",
                "GET /v1/surprise 5xx 1", "GET /v1/things/{thingId} 2xx 2", "GET /v1/things/{thingId} 4xx 1",
            ])
        let times = try times("GET", "/v1/things/{thingId}")
        #expect(times.count == 3)
        #expect(times.allSatisfy { 0 < $0 && $0 < 60_000_000_000 })
        #expect(try self.times("GET", "/v1/ping").count == 1)
    }

    @Test func `HEAD counts as GET`() async throws {
        try await send("HEAD /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(counted == ["GET /v1/ping 2xx 1"])
    }

    @Test func `no client can make a series`() async throws {
        try await send()
        let made = (metrics.counters.count, metrics.timers.count)
        #expect(made.0 > 0 && made.1 > 0)
        try await send(
            "GET /none HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /v1/ping/more HTTP/1.1\r\nHost: a\r\n\r\n",
            "POST /v1/ping HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
            "PROPFIND /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET - HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /v1/ping HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        #expect(counted == ["- - 4xx 6"])
        #expect(try times("-", "-").count == 6)
        #expect((metrics.counters.count, metrics.timers.count) == made)
    }

    @Test func `the series of a route come with its first request, all of them, and no others`() async throws {
        try await send()
        let before = metrics.counters(label: Self.requests)
        #expect(Set(before.flatMap { $0.dimensions.map(\.1) }) == ["-", "2xx", "3xx", "4xx", "5xx"])
        try await send("DELETE /v1/things/t-1 HTTP/1.1\r\nHost: a\r\n\r\n")
        for (status, count) in [("2xx", 1), ("3xx", 0), ("4xx", 0), ("5xx", 0)] {
            let dimensions = [("method", "DELETE"), ("route", "/v1/things/{thingId}"), ("status", status)]
            #expect(try metrics.expectCounter(Self.requests, dimensions).totalValue == Int64(count))
        }
        #expect(try times("DELETE", "/v1/things/{thingId}").count == 1)
        #expect(metrics.counters(label: Self.requests).count == 8)
    }
}
