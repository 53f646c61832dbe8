import MetricsTestKit
import NIOCore
import NIOEmbedded
import NIOHTTP1
import TestSupport
import Testing

@testable import HTTPServer

/// A connection with `LoadSheddingHandler` before the decoder and the handler of every connection; its listener has one
/// permit.
struct LoadSheddingHandlerTests {
    private static let request = "POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"

    private final class Listener {
        let metrics = TestMetrics()
        let admission: AdmissionController
        let responder: Responder

        init() {
            let routes = [
                Route(.post, "/v1/sign-in") { _ in .empty() },
                Route(.get, "/v1/list", priority: .reading) { _ in .empty() },
                Route(.get, "/v1/sessions/{sessionId}") { _ in .empty() },
                Route(.get, "/health", priority: .observing) { _ in .empty() },
            ]
            let requestMetrics = RequestMetrics(listener: "test", routes: routes, factory: metrics)
            var limits = ServerLimits.uncontended
            limits.concurrentRequests = 1
            admission = AdmissionController(limits: limits, metrics: requestMetrics)
            responder = Responder(
                routes: routes, limits: limits, admission: admission, trustedProxies: .none,
                logger: .silent, metrics: requestMetrics)
        }
    }

    /// Stands for a peer that reads nothing: no write ends before the connection does.
    private final class FullSocket: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private var promises: [EventLoopPromise<Void>] = []

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if let promise { promises.append(promise) }
            context.write(data, promise: nil)
        }

        func drain() {
            for promise in promises { promise.succeed() }
            promises = []
        }
    }

    private final class Connection {
        private let channel = EmbeddedChannel()
        private let socket = FullSocket()
        /// Requests that were decoded with no unanswered one before them.
        private(set) var decoded = 0

        init(to listener: Listener, shedsLoad: Bool = true, isRead: Bool = true) throws {
            let open = OpenConnections(limits: .uncontended, trustedProxies: .none, metrics: listener.responder.metrics)
            let entry = open.entry(of: channel, peer: .unspecified)
            let handler = ConnectionHandler(limits: .uncontended, open: open, entry: entry) {
                [unowned self] request in
                decoded += 1
                return listener.responder.admit(request, peer: .unspecified)
            }
            let pipeline = channel.pipeline.syncOperations
            if !isRead { try pipeline.addHandler(socket) }
            if shedsLoad {
                try pipeline.addHandler(
                    LoadSheddingHandler(rejections: listener.responder.rejections, connection: handler))
            }
            try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
            try pipeline.addHandler(handler)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }

        deinit {
            socket.drain()
            _ = try? channel.finish(acceptAlreadyClosed: true)
        }

        /// Receives the texts in one burst.
        func receive(_ reads: String...) {
            for text in reads { channel.pipeline.fireChannelRead(ByteBuffer(string: text)) }
            channel.pipeline.fireChannelReadComplete()
        }

        /// The next event that was dispatched.
        func event() throws -> InboundEvent? { try channel.readInbound() }

        func answer(_ text: String) throws {
            try channel.writeOutbound(EncodedResponse(bytes: ByteBuffer(string: text), closes: false))
        }

        func sent() throws -> String? { try channel.readOutbound(as: ByteBuffer.self).map { String(buffer: $0) } }
    }

    private let listener = Listener()

    /// Takes the permit, and the log line of this second.
    private func takePermit() throws -> Permit {
        let permit = try listener.admission.acquire(.signingIn, for: nil)
        let connection = try Connection(to: listener)
        for _ in 1...2 { connection.receive(Self.request) }
        return permit
    }

    @Test func `a plain request is rejected undecoded while there is no permit`() throws {
        let connection = try Connection(to: listener)
        connection.receive(Self.request)
        #expect(connection.decoded == 1)
        #expect(try connection.sent() == nil)
        // It is not handled, and releases its permit when it is dropped.
        #expect(try connection.event() != nil)
        try connection.answer("1")
        #expect(try connection.sent() == "1")
        let permit = try takePermit()
        for _ in 1...3 {
            connection.receive(Self.request)
            #expect(connection.decoded == 1)
            #expect(try connection.sent()?.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n") == true)
        }
        permit.release()
        connection.receive(Self.request)
        #expect(connection.decoded == 2)
        #expect(try connection.sent() == nil)
    }

    @Test func `all refusals are counted, and one of them leaves a line`() throws {
        let permit = try listener.admission.acquire(.signingIn, for: nil)
        defer { permit.release() }
        let connection = try Connection(to: listener)
        for _ in 1...5 { connection.receive(Self.request) }
        // The one with the line. A second may end before the fifth.
        #expect(1...2 ~= connection.decoded)
        let shed = [("listener", "test"), ("reason", "no_place")]
        #expect(try listener.metrics.expectCounter("countersign_http_shed_total", shed).totalValue == 5)
        let route = [("method", "POST"), ("route", "/v1/sign-in")]
        let answers = try listener.metrics.expectCounter("countersign_http_requests_total", route + [("status", "5xx")])
        #expect(answers.totalValue == 5)
        #expect(try listener.metrics.expectTimer("countersign_http_request_seconds", route).values.count == 5)
    }

    @Test func `nothing overtakes an outstanding response`() throws {
        let connection = try Connection(to: listener)
        connection.receive(Self.request)
        _ = try #require(try connection.event())
        let permit = try takePermit()
        defer { permit.release() }
        for number in 1...2 {
            connection.receive(Self.request)
            #expect(try connection.sent() == nil)
            try connection.answer("\(number)")
            #expect(try connection.sent() == "\(number)")
        }
        try connection.answer("3")
        #expect(try connection.sent() == "3")
        #expect(connection.decoded == 1)
        connection.receive(Self.request)
        #expect(try connection.sent()?.hasPrefix("HTTP/1.1 503") == true)
        #expect(connection.decoded == 1)
    }

    @Test func `of two in one burst the first is refused, and the second waits for its turn`() throws {
        let permit = try takePermit()
        defer { permit.release() }
        let connection = try Connection(to: listener)
        connection.receive(Self.request, Self.request)
        #expect(connection.decoded == 0)
        #expect(try connection.sent()?.hasPrefix("HTTP/1.1 503") == true)
        #expect(try connection.sent() == nil)
        guard case .request? = try connection.event() else {
            Issue.record("The second was not dispatched.")
            return
        }
    }

    @Test func `behind a refusal that the peer has not read no other is written`() throws {
        let permit = try takePermit()
        defer { permit.release() }
        let connection = try Connection(to: listener, isRead: false)
        for _ in 1...3 { connection.receive(Self.request) }
        #expect(try connection.sent()?.hasPrefix("HTTP/1.1 503") == true)
        #expect(try connection.sent() == nil)
    }

    @Test func `while the listener drains, a refusal is the last answer`() throws {
        let permit = try takePermit()
        defer { permit.release() }
        listener.admission.drain()
        let connection = try Connection(to: listener)
        connection.receive(Self.request, Self.request)
        #expect(connection.decoded == 0)
        #expect(try connection.sent()?.contains("\r\nConnection: close\r\n") == true)
        #expect(try connection.sent() == nil)
        #expect(try connection.event() == nil)
    }

    @Test(arguments: [
        "GET /health HTTP/1.1\r\nHost: a\r\n\r\n", "GET /v1/sessions/1 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /v1/nothing HTTP/1.1\r\nHost: a\r\n\r\n", "PUT /v1/sign-in HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /v1/sign-in?a=b HTTP/1.1\r\nHost: a\r\n\r\n", "POST http://a/v1/sign-in HTTP/1.1\r\nHost: a\r\n\r\n",
        "HEAD /v1/list HTTP/1.1\r\nHost: a\r\n\r\n", "POST  /v1/sign-in HTTP/1.1\r\nHost: a\r\n\r\n",
    ])
    func `what needs no permit or is not known by its request line is decoded`(request: String) throws {
        let permit = try takePermit()
        defer { permit.release() }
        let connection = try Connection(to: listener)
        connection.receive(request)
        #expect(connection.decoded == 1)
    }

    @Test func `a body in pieces is decoded, and the next request is not`() throws {
        let permit = try takePermit()
        defer { permit.release() }
        let connection = try Connection(to: listener)
        connection.receive("POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\n\r\n{")
        connection.receive(String(repeating: " ", count: 38))
        connection.receive("}")
        #expect(connection.decoded == 1)
        for request in [Self.request, "GET /v1/list HTTP/1.1\r\nHost: a\r\n\r\n"] {
            _ = try connection.sent()
            connection.receive(request)
            #expect(try connection.sent()?.hasPrefix("HTTP/1.1 503") == true)
        }
        #expect(connection.decoded == 1)
    }

    @Test func `what looks like a request within another's header section is none`() throws {
        let permit = try takePermit()
        defer { permit.release() }
        let connection = try Connection(to: listener)
        connection.receive("POST /v1/sign-in HTTP/1.1\r\nA: ")
        connection.receive("GET /v1/list HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(connection.decoded == 1)
        #expect(try connection.sent()?.hasPrefix("HTTP/1.1 503") == true)
        #expect(try connection.sent() == nil)
    }

    /// Requests of all kinds, one after the other, cut at random: the responses don't show whether there is a
    /// `LoadSheddingHandler`.
    @Test func `with and without load shedding the responses are the same`() throws {
        var random = SplitMix64(seed: 0x6A7E)
        let requests = [
            Self.request, "GET /v1/list HTTP/1.1\r\nHost: a\r\nX-Request-Id: r\r\n\r\n",
            "POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nX-Request-Id: r\r\nContent-Length: 20\r\n\r\nGET /v1/list HTTP/1.1",
            "POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            "GET /v1/nothing HTTP/1.1\r\nHost: a\r\n\r\n", "\r\nGET /v1/list HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /v1/list HTTP/1.1\r\nHost: a\r\nProxy-Connection: close\r\n\r\n",
            "GET /v1/list HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET /v1/list HTTP/1.1\nHost: a\r\n\r\n",
        ]
        let permit = try takePermit()
        defer { permit.release() }
        let streams = SoakCases.areAll ? 2_000 : 300
        var undecoded = 0
        for _ in 0..<streams {
            let shedding = try Connection(to: listener)
            let baseline = try Connection(to: listener, shedsLoad: false)
            // The usual ones more often than those that end a connection.
            var stream = ""
            for _ in 0...random.next() % 4 {
                stream +=
                    requests[Int(min(random.next() % UInt64(requests.count), random.next() % UInt64(requests.count)))]
            }
            var rest = Array(stream.utf8)[...]
            while !rest.isEmpty {
                // Most of the pieces are what is left of a request.
                let ends = [[UInt8]("\r\n\r\n".utf8), [UInt8]("{}".utf8)].compactMap {
                    rest.firstRange(of: $0)?.upperBound
                }
                let end = random.next() % 8 != 0 ? ends.max() : nil
                let piece = rest[..<(end ?? rest.startIndex + 1 + Int(random.next() % UInt64(rest.count)))]
                rest = rest[piece.endIndex...]
                let text = String(decoding: piece, as: UTF8.self)
                shedding.receive(text)
                baseline.receive(text)
                #expect(try Self.answers(of: shedding) == Self.answers(of: baseline), "\(stream.debugDescription)")
            }
            undecoded += baseline.decoded - shedding.decoded
        }
        #expect(undecoded > streams / 4)
    }

    /// The sent responses without what differs each time. Dispatched events are answered first.
    private static func answers(of connection: Connection) throws -> [String] {
        while let event = try connection.event() {
            switch event {
            case .request(let request): try connection.answer("answered \(request.head.uri) \(request.closes)")
            case .rejection(let problem, _, _): try connection.answer("rejected \(problem.code)")
            }
        }
        var answers: [String] = []
        while let sent = try connection.sent() {
            let lines = sent.split(separator: "\r\n").filter { line in
                line == "X-Request-Id: r" || !["Date:", "X-Requ", "Retry-", "{"].contains(where: line.hasPrefix)
            }
            answers.append(lines.joined(separator: "\n"))
        }
        return answers
    }

    @Test(arguments: [false, true])
    func `a prebuilt rejection has the bytes of one that is rendered each time`(closes: Bool) {
        for id in ["r", String(repeating: "1", count: 128)] {
            var problem = Overload.noPermit.problem
            problem.retryAfter = 2
            let framing = Response.Framing(requestID: id, date: "d", closes: closes, omitsBody: false)
            let prebuilt = PrebuiltRejection(closes: closes).encoded(requestID: id, date: "d", retryAfter: 2)
            #expect(prebuilt.bytes == problem.response(requestID: id).encoded(framing).bytes)
            #expect(prebuilt.closes == closes)
        }
    }
}
