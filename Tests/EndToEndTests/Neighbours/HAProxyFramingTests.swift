import Curl
import HTTPServer
import JSON
import TestSupport
import Testing

extension Neighbours {
    /// Bytes in which one program may see one request and another one two, sent through the real HAProxy.
    @Suite(.limitedConcurrency, .timeLimit(.minutes(5))) struct HAProxyFramingTests {
        /// A request line, header fields and a body, by name. `LENGTH` is that of what follows the header section.
        private static let forms = [
            ("a length and chunks", post("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
            ("a length beyond the chunks", post("Content-Length: LENGTH\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
            ("chunks after a tab", post("Content-Length: LENGTH\r\nTransfer-Encoding:\tchunked", "0\r\n\r\n")),
            ("two lengths", post("Content-Length: 0\r\nContent-Length: LENGTH")),
            ("a list of lengths", post("Content-Length: 0, LENGTH")),
            ("a length with a sign", post("Content-Length: +0")),
            ("a coding that is not ours", post("Content-Length: LENGTH\r\nTransfer-Encoding: xchunked")),
            ("chunks that are not the last coding", post("Transfer-Encoding: chunked, identity", "0\r\n\r\n")),
            ("chunks twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
            ("a space before the colon", post("Content-Length : 0")),
            ("a folded length", post("X: b\r\n Content-Length: 0\r\nContent-Length: 0")),
            ("a carriage return in a field", get("X: b\rY: c")), ("a NUL in a field", get("X: b\0c")),
            ("a chunk of more than 64 bits", post("Transfer-Encoding: chunked", "10000000000000000\r\n\r\n")),
            ("a line feed in a chunk extension", post("Transfer-Encoding: chunked", "0;a=b\nX\r\n\r\n")),
            ("a GET with a body", get("Content-Length: LENGTH")),
            ("two Hosts", get("Host: b")), ("lines that end in line feeds", get("X: b").replacing("\r\n", with: "\n")),
            (
                "an upgrade to HTTP/2",
                get("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA")
            ),
            ("a length that Connection names", post("Connection: Content-Length\r\nContent-Length: LENGTH")),
        ]

        private static func get(_ fields: String) -> String {
            "GET /v1/account HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n"
        }

        private static func post(_ fields: String, _ body: String = "") -> String {
            "POST /v1/links/cancel HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n\(body)"
        }

        /// A request whose answer has its id.
        private static func named(_ id: String) -> String {
            "GET /v1/account HTTP/1.1\r\nHost: a\r\nX-Request-Id: \(id)\r\nConnection: close\r\n\r\n"
        }

        private static func send(_ text: String, to port: UInt16) async throws -> String {
            let connection = try RawConnection(port)
            connection.send(text)
            connection.finish()
            return await connection.readToEnd()
        }

        @Test func `who sends bytes that read two ways gets an answer to each request that the service has seen`()
            async throws
        {
            let free = try FreePort.choose(2)
            let settings = { (sandbox: Sandbox, scratch: ScratchDatabase) in
                try HAProxyTests.settings(scratch, sandbox)
                    .merging(["health.port": String(free[1]), "server.drainSeconds": "0"]) { _, own in own }
            }
            try await ScratchDatabase.withMigrated { scratch in
                try await Sandbox.run { sandbox in
                    try await Countersign.serve(try settings(sandbox, scratch)) { service in
                        let server = (address: "127.0.0.1:\(service.port)", healthPort: String(free[1]))
                        try await HAProxyTests.haproxy(free[0], before: [server, server]) { _ in
                            try await eventually("HAProxy to pass requests on") {
                                try await Self.send(Self.named("ready"), to: free[0]).hasPrefix("HTTP/1.1 401")
                            }
                            for (number, (name, form)) in Self.forms.enumerated() {
                                try await Self.expectOneFraming(number, name, form, through: free[0], to: service)
                            }
                        }
                    }
                }
            }
        }

        private static func expectOneFraming(
            _ number: Int, _ name: String, _ form: String, through port: UInt16, to service: Countersign
        ) async throws {
            let (hidden, next) = ("hidden-\(number)", "next-\(number)")
            let request = named(hidden)
            let body = form.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false).last ?? ""
            let length = body.utf8.count + request.utf8.count
            let answers = try await send(form.replacing("LENGTH", with: "\(length)") + request, to: port)
            // On a connection of its own, which HAProxy may serve by one to the service that it has kept.
            let answer = RawAnswer(try await send(named(next), to: port))
            #expect(answer.status == 401, "\(name)")
            #expect(answer["X-Request-Id"] == next, "\(name)")
            _ = try await service.logged(next)
            let isSeen = try service.logLines().contains { $0["requestId"]?.string == hidden }
            #expect(answers.contains(hidden) == isSeen, "\(name): \(answers)")
            #expect(answers.matches(of: /HTTP\/1\.[01] [2-5]/).count == (isSeen ? 2 : 1), "\(name): \(answers)")
        }
    }
}
