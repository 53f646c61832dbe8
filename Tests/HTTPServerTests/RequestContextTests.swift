import HTTPServer
import Logging
import TestSupport
import Testing

/// The metadata that all log lines of a request have in common, from whichever layer.
@Suite(.timeLimit(.minutes(5))) struct RequestContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    private func lines(of requests: [String], _ log: RecordingLog = .ofRequests()) async throws -> [RecordingLog.Entry]
    {
        let deep = log.logger
        let route = Route(.get, "/v1/deep") { request in
            request.logger.info("near")
            // Lines of a use case, and of its child tasks.
            await withTaskGroup { group in group.addTask { deep.info("far") } }
            await Task { deep.info("further") }.value
            return .empty()
        }
        try await withConnection([route], log: log) { connection in
            for request in requests { _ = try await connection.exchange(request) }
        }
        return log.entries
    }

    @Test func `every line of a request names it and its trace`() async throws {
        let lines = try await lines(of: [
            get("/v1/deep", "X-Request-Id: one\r\nTraceparent: 00-\(Self.trace)-\(Self.span)-01\r\n"),
            get("/v1/deep", "X-Request-Id: two\r\n"),
        ])
        let messages = ["near", "far", "further", "request"]
        let one = lines.filter { $0.metadata["requestId"] == "one" }
        #expect(one.map(\.message).sorted() == messages.sorted())
        #expect(one.allSatisfy { $0.metadata["traceId"] == Self.trace && $0.metadata["parentId"] == Self.span })
        let two = lines.filter { $0.metadata["requestId"] == "two" }
        #expect(two.map(\.message).sorted() == messages.sorted())
        #expect(two.allSatisfy { $0.metadata["traceId"] == nil && $0.metadata["parentId"] == nil })
    }

    @Test(arguments: [
        "traceparent: 00-\(trace.uppercased())-\(span)-01", "traceparent: canary", "traceparent:",
        "traceparent: 00-\(trace)-\(span)-01\r\ntraceparent: 00-\(trace)-\(span)-01",
        "traceparent: 00-\(trace)-\(span)-01, 00-\(trace)-\(span)-01", "tracestate: canary=1",
    ])
    func `a trace that is not of the form is ignored, and the request answered`(_ fields: String) async throws {
        let lines = try await lines(of: ["GET /v1/deep HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n"])
        let request = try #require(lines.last { $0.message == "request" })
        #expect(request.metadata["status"] == "204")
        #expect(lines.allSatisfy { $0.metadata["traceId"] == nil })
        #expect(!lines.contains { "\($0)".contains("canary") })
    }

    @Test func `the email and the address of a request are marked as personal`() async throws {
        let log = RecordingLog.ofRequests()
        let route = Route(.get, "/v1/mail") { request in
            request.note(email: "bird@example.com")
            return .empty()
        }
        try await withConnection([route], log: log) { _ = try await $0.exchange(get("/v1/mail")) }
        let line = try #require(log.requests.first)
        #expect(line.metadata["client"] == "(personal)")
        #expect(line.metadata["email"] == "(personal)")
    }
}
