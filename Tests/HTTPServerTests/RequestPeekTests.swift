import NIOCore
import NIOEmbedded
import NIOHTTP1
import TestSupport
import Testing

@testable import HTTPServer

/// Bytes that are one whole request for `RequestPeek` have to be one for the decoder as well.
struct RequestPeekTests {
    private static let limits = ServerLimits()
    /// By what keeps them from being plain.
    private static let others = Result {
        try DataFile("Fixtures/not-plain-requests.json").decoded(as: [String: [String]].self)
    }

    private static func plain(_ text: String) -> RequestPeek? { plain(Array(text.utf8)) }
    private static func plain(_ bytes: [UInt8]) -> RequestPeek? { RequestPeek(bytes.span, limits: limits) }

    @Test(arguments: [
        ("GET /v1/session HTTP/1.1\r\nHost: a\r\n\r\n", 0),
        ("POST /v1/sign-in HTTP/1.1\r\nHost: api.example.com:443\r\nContent-Length: 2\r\n\r\n{}", 0),
        ("POST /v1/sign-in HTTP/1.1\r\nhOST:a\r\ncontent-length:\t 12\r\nConnection: Keep-Alive\r\n\r\n{", 11),
        ("POST /v1/sign-in HTTP/1.1\r\nHost: \r\nX-Other: a \"b\", c\r\nContent-Length: 65536\r\n\r\n", 65_536),
    ])
    func `what clients and proxies send is plain`(request: String, missingBytes: Int) throws {
        let plain = try #require(Self.plain(request))
        #expect(plain.missingBytes == missingBytes)
        #expect(request.utf8.prefix(plain.line.count).elementsEqual(request.prefix { $0 != "\r\n" }.utf8))
    }

    @Test func `the id of a request is found`() throws {
        let request = "GET / HTTP/1.1\r\nHost: a\r\nX-REQUEST-ID:  one.two\r\n\r\n"
        let plain = try #require(Self.plain(request))
        let id = try #require(plain.requestID)
        #expect(Array(request.utf8)[id].elementsEqual("one.two".utf8))
    }

    @Test(arguments: try others.get().values.flatMap(\.self))
    func `everything else is not`(bytes: String) { #expect(Self.plain(bytes) == nil) }

    @Test func `what is beyond a limit is not plain`() {
        let fields = String(repeating: "a: b\r\n", count: 99)
        #expect(Self.plain("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n") != nil)
        #expect(Self.plain("GET / HTTP/1.1\r\nHost: a\r\na: b\r\n\(fields)\r\n") == nil)
        let long = String(repeating: "c", count: Self.limits.headerBytes)
        #expect(Self.plain("GET / HTTP/1.1\r\nHost: a\r\na: \(long)\r\n\r\n") == nil)
    }

    /// Whole requests, damaged at random: each that is still plain is one request for the decoder, the same, with
    /// nothing left over, and the connection goes on.
    @Test func `the decoder sees the same request`() throws {
        var random = SplitMix64(seed: 0x5EED)
        let requests = [
            "GET /v1/session HTTP/1.1\r\nHost: a\r\n\r\n",
            "POST /v1/sign-in HTTP/1.1\r\nHost: a.example:8080\r\nContent-Type: application/json\r\nContent-Length: 12\r\n"
                + "Connection: keep-alive\r\n\r\n{\"a\":\"b\\n\"} ",
            "POST /v1/sign-in HTTP/1.1\r\nHost: [::1]\r\nX-Request-Id: r-1\r\nContent-Length:  3\r\nTE: trailers\r\n\r\nabc",
        ].map { Array($0.utf8) }
        let pieces = [
            "\r\n", "\r", "\n", " ", "\t", ":", ",", "\0", "\u{7F}", "é", "0", "1", "9", "-", "\r\n\r\n", "HTTP/1.1",
            "CONNECT",
            "Host: a\r\n", "Content-Length: 2\r\n", "Transfer-Encoding: chunked\r\n", "Connection: close\r\n",
            "Upgrade: a\r\n",
        ].map { Array($0.utf8) }
        let lines = requests.map { $0.prefix { $0 != 0x0D } }
        let count = SoakCases.areAll ? 20_000 : 4_000
        var plainRequests = 0
        for _ in 0..<count {
            var bytes = requests[Int(random.next() % 3)]
            for _ in 0..<random.next() % 3 {
                let position = Int(random.next() % UInt64(bytes.count))
                switch random.next() % 4 {
                case 0: bytes.remove(at: position)
                case 1: bytes[position] = UInt8(truncatingIfNeeded: random.next())
                case 2: bytes.insert(contentsOf: pieces[Int(random.next() % UInt64(pieces.count))], at: position)
                default: bytes[position] ^= 0x20
                }
                if bytes.isEmpty { bytes = [0x0D] }
            }
            guard let plain = Self.plain(bytes) else { continue }
            plainRequests += 1
            let isWhole = lines.contains { $0.elementsEqual(bytes[plain.line]) }
            try Self.expectOneRequest(bytes, plain, isWhole: isWhole)
        }
        #expect(plainRequests > count / 4)
    }

    /// - Parameter isWhole: the request line is undamaged, so that the request can be rejected undecoded.
    private static func expectOneRequest(_ bytes: [UInt8], _ plain: RequestPeek, isWhole: Bool) throws {
        let text = String(decoding: bytes, as: UTF8.self).debugDescription
        let channel = EmbeddedChannel()
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        try channel.pipeline.syncOperations.addHandler(
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
        var assembly = RequestAssembly(limits: limits)
        func receive(_ bytes: [UInt8]) throws -> RequestAssembly.Step? {
            try channel.writeInbound(ByteBuffer(bytes: bytes))
            var last: RequestAssembly.Step?
            while let part = try channel.readInbound(as: HTTPServerRequestPart.self) { last = assembly.receive(part) }
            return last
        }
        do {
            guard case .complete(let request)? = try receive(bytes + Array(repeating: 0x61, count: plain.missingBytes))
            else {
                Issue.record("\(text) is not complete")
                return
            }
            // The decoder takes several blanks for one.
            let line = String(decoding: bytes[plain.line], as: UTF8.self).split(separator: " ")
            #expect(line == [request.head.method.rawValue[...], request.head.uri[...], "HTTP/1.1"])
            // A request that ends its connection, as CONNECT does, is noticed by `ConnectionHandler`.
            #expect(!isWhole || !request.closes, "\(text)")
            guard !request.closes else { return }
            let next = try receive(Array("GET /next HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
            guard case .complete(let second)? = next, second.head.uri == "/next" else {
                Issue.record("\(text) leaves something")
                return
            }
        } catch let error as HTTPParserError {
            // The connection ends with the response, which that of an undecoded rejection would not do.
            #expect(!isWhole, "\(text): \(error)")
        }
    }
}
