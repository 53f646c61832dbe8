import HTTPServer
import Logging
import MetricsTestKit
import TestSupport
import Testing

/// Bodies that do not arrive: whom they leave without a connection.
@Suite(.timeLimit(.minutes(5))) struct ReceivedBodyTests {
    private static func limits(connections: Int = 2048, perNetwork: Int = 0, bodies: Int = 512) -> ServerLimits {
        var limits = ServerLimits.uncontended
        limits.connections = connections
        limits.connectionsPerNetwork = perNetwork
        limits.bodies = bodies
        // Nothing here ends by its deadline.
        limits.bodyDeadline = .seconds(600)
        return limits
    }

    /// The beginning of a request whose body has ten bytes.
    private static func half(from address: String? = nil) -> String {
        let forwarded = address.map { "X-Forwarded-For: \($0)\r\n" } ?? ""
        return "POST /v1/echo HTTP/1.1\r\nHost: a\r\n\(forwarded)Content-Length: 10\r\n\r\nhalf"
    }

    /// Begins a request and returns when the server has read its header section.
    private static func begin(_ connection: inout RawConnection, from address: String? = nil) async throws {
        let head = half(from: address).replacing("Content-Length", with: "Expect: 100-continue\r\nContent-Length")
        try await connection.send(head)
        #expect(try await connection.answer().status == 100)
    }

    @Test func `a nearly full listener closes the connection that has been receiving a body for longest`() async throws
    {
        // Of 16 connections 15 are open; the next closes one.
        try await withServer(limits: Self.limits(connections: 16)) { port in
            try await RawConnection.open(port) { first in
                try await Self.begin(&first)
                try await RawConnection.open(14, port) {
                    try await RawConnection.open(port) { last in
                        #expect(try await last.exchange(get()).status == 200)
                        try await first.expectEnd()
                    }
                }
            }
        }
    }

    @Test func `one body more than a network may send is answered 503, and the next one when another has come`()
        async throws
    {
        // A quarter of four.
        try await withServer(limits: Self.limits(perNetwork: 4)) { port in
            try await RawConnection.open(port) { first in
                try await Self.begin(&first)
                try await RawConnection.open(port) { second in
                    let refused = try await second.exchange(Self.half())
                    #expect(refused.status == 503)
                    #expect(refused.code == "temporarily_unavailable")
                    #expect(refused["Retry-After"] != nil)
                    try await second.expectEnd()
                }
                // What comes whole does not count.
                try await RawConnection.open(port) { third in
                    let status = try await third.exchange(Self.half() + "th bod").status
                    #expect(status != 503)
                }
                let status = try await first.exchange("ten by").status
                #expect(status != 503)
                try await RawConnection.open(port) { try await Self.begin(&$0) }
            }
        }
    }

    @Test func `one network's body too many is no error of the service's, and is counted and logged by its route`()
        async throws
    {
        let log = RecordingLog.ofRequests()
        let metrics = TestMetrics()
        try await withServer(limits: Self.limits(perNetwork: 4), log: log, metrics: metrics) { port in
            try await RawConnection.open(port) { first in
                try await Self.begin(&first)
                try await RawConnection.open(port) { second in
                    let status = try await second.exchange(Self.half()).status
                    #expect(status == 503)
                }
            }
        }
        let line = try #require(log.requests.first { $0.metadata["reason"] == "bodies" })
        #expect(line.level == .info)
        #expect(line.metadata["method"] == "POST" && line.metadata["route"] == "/v1/echo")
        #expect(line.personal["client"] == "127.0.0.1")
        let operation = [("method", "POST"), ("route", "/v1/echo"), ("status", "5xx")]
        #expect(try metrics.expectCounter("countersign_http_requests_total", operation).totalValue == 1)
        let shed = [("listener", "test"), ("reason", "bodies")]
        #expect(try metrics.expectCounter("countersign_http_shed_total", shed).totalValue == 1)
    }

    @Test func `one network's bodies take no line of an overload that is everybody's`() async throws {
        let log = RecordingLog.ofRequests()
        var limits = Self.limits(perNetwork: 4)
        limits.queueTimeout = .nanoseconds(-1)
        try await withServer(limits: limits, log: log) { port in
            try await RawConnection.open(port) { first in
                try await Self.begin(&first)
                for body in ["", "th bod"] {
                    try await RawConnection.open(port) { second in
                        let status = try await second.exchange(Self.half() + body).status
                        #expect(status == 503)
                    }
                }
            }
        }
        #expect(log.requests.first { $0.metadata["reason"] == "bodies" }?.level == .info)
        #expect(log.requests.first { $0.metadata["reason"] == "waited_too_long" }?.level == .error)
    }

    /// By the client, or by the server at its deadline.
    @Test(arguments: [Duration.seconds(600), .milliseconds(100)])
    func `a connection that ends leaves its body's place`(deadline: Duration) async throws {
        var limits = Self.limits(perNetwork: 4)
        limits.bodyDeadline = deadline
        try await withServer(limits: limits) { port in
            // The client may see the end of its connection before the server does; a place that is never left is the
            // suite's time limit.
            var begun = 0
            while begun < 10 {
                begun += try await RawConnection.open(port) { connection in
                    try await connection.send(
                        Self.half().replacing("Content-Length", with: "Expect: 100-continue\r\nContent-Length"))
                    guard try await connection.answer().status == 100 else { return 0 }
                    if deadline < .seconds(1) { try await connection.expectEnd() }
                    return 1
                }
            }
        }
    }

    @Test func `behind a proxy the share is that of the forwarded address, and of the wide network around it`()
        async throws
    {
        let proxies = try #require(TrustedProxies(["127.0.0.1"]))
        try await withServer(limits: Self.limits(perNetwork: 4), trusting: proxies) { port in
            try await RawConnection.open(port) { first in
                try await Self.begin(&first, from: "2001:db8:1:1::1")
                try await RawConnection.open(port) { same in
                    let status = try await same.exchange(Self.half(from: "2001:db8:1:1::2")).status
                    #expect(status == 503)
                }
                try await RawConnection.open(port) { second in
                    try await Self.begin(&second, from: "2001:db8:1:2::1")
                    try await RawConnection.open(port) { third in
                        let status = try await third.exchange(Self.half(from: "2001:db8:1:3::1")).status
                        #expect(status == 503)
                    }
                    try await RawConnection.open(port) { try await Self.begin(&$0, from: "2001:db8:2:1::1") }
                }
            }
        }
    }

    @Test func `beyond all places the network that sends most bodies loses the longest, not who came last`()
        async throws
    {
        let proxies = try #require(TrustedProxies(["127.0.0.1"]))
        try await withServer(limits: Self.limits(perNetwork: 40, bodies: 3), trusting: proxies) { port in
            try await RawConnection.open(port) { alone in
                try await Self.begin(&alone, from: "198.51.100.1")
                try await RawConnection.open(port) { first in
                    try await Self.begin(&first, from: "2001:db8:1:1::1")
                    try await RawConnection.open(port) { second in
                        try await Self.begin(&second, from: "2001:db8:1:2::1")
                        try await RawConnection.open(port) { late in
                            try await Self.begin(&late, from: "203.0.113.1")
                            try await first.expectEnd()
                            for index in 0..<2 {
                                let answer =
                                    index == 0 ? try await alone.exchange("ten by") : try await late.exchange("ten by")
                                #expect(answer.status != 503)
                            }
                        }
                    }
                }
            }
        }
    }

    @Test func `chunk extensions count for the body that they come with`() async throws {
        try await withConnection(limits: Self.limits()) { connection in
            let chunk = "1;\(String(repeating: "x", count: 8_000))\r\na\r\n"
            try await connection.send("POST /v1/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            // 800 kB for a hundred bytes; the server may answer and close before they are all sent.
            connection.sendEventually(Array(String(repeating: chunk, count: 100).utf8))
            let answer = try await connection.answer()
            #expect(answer.status == 400)
            #expect(answer.code == "invalid_request")
        }
    }
}
