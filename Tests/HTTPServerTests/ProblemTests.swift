import HTTPServer
import JSON
import Logging
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ProblemTests {
    /// The codes that clients know. A line here changes only together with every client.
    private static let published = Result {
        try DataFile("Fixtures/problem-codes.json").decoded(as: [String: Int].self)
    }

    @Test func `the registry of codes is the one that clients know`() throws {
        let published = try Self.published.get()
        let registry = Problem.Code.allCases.map { ($0.rawValue, $0.status.rawValue) }
        #expect(Dictionary(uniqueKeysWithValues: registry) == published)
    }

    @Test func `the reasons of field errors are those that clients know`() {
        let reasons = [
            "required", "unknown", "wrong_type", "too_long", "not_allowed", "invalid", "out_of_range", "duplicate",
        ]
        #expect(FieldError.Reason.allCases.map(\.rawValue) == reasons)
    }

    @Test func `each code has its own title`() throws {
        let published = try Self.published.get()
        #expect(Set(Problem.Code.allCases.map(\.title)).count == published.count)
    }

    @Test func `each code is answered in the form of RFC 9457, with the headers of its status`() async throws {
        let published = try Self.published.get()
        try await withConnection { connection in
            for code in Problem.Code.allCases {
                let answer = try await connection.exchange(get("/v1/problems/\(code.rawValue)"))
                #expect(answer.status == published[code.rawValue])
                #expect(answer["Content-Type"] == "application/problem+json")
                let problem = try #require(answer.json)
                #expect(problem["type"]?.string == "/problems/" + code.rawValue)
                #expect(problem["title"]?.string == code.title)
                #expect(problem["status"]?.integer == Int64(answer.status))
                #expect(problem["code"]?.string == code.rawValue)
                #expect(problem["requestId"]?.string == answer["X-Request-Id"])
                #expect(problem.members?.count == 5)
                #expect(answer["WWW-Authenticate"] == (answer.status == 401 ? "Bearer" : nil))
                #expect((answer["Retry-After"] != nil) == [429, 503].contains(answer.status))
            }
        }
    }

    @Test func `detail, errors, extension members and Retry-After are written when they are there`() async throws {
        let problem = Problem(
            .providerAlreadyLinked, detail: "A sentence.", errors: [FieldError(field: "a.b", reason: .invalid)],
            reason: "kept_from_the_wire", retryAfter: 7
        ) { writer in
            writer.member("resolutions", ["replace", "keep"])
        }
        let answer = try await withConnection([Route(.get, "/conflict") { _ in throw problem }]) { connection in
            try await connection.exchange(get("/conflict", "X-Request-Id: r\r\n"))
        }
        #expect(
            answer.text == #"{"type":"/problems/provider_already_linked","title":"\#(problem.code.title)","#
                + #""status":409,"code":"provider_already_linked","requestId":"r","detail":"A sentence.","#
                + #""errors":[{"field":"a.b","reason":"invalid"}],"resolutions":["replace","keep"]}"#)
        #expect(answer["Retry-After"] == "7")
    }

    @Test func `an error of another layer is answered as it says`() async throws {
        let log = RecordingLog.ofRequests()
        let answer = try await withConnection(log: log) { try await $0.exchange(get("/v1/disabled")) }
        #expect(answer.code == "account_disabled")
        #expect(!answer.text.contains("by_admin"))
        #expect(log.requests.map { $0.metadata["reason"] } == ["by_admin"])
    }

    @Test func `an unexpected error gives the client its request id and nothing else`() async throws {
        let log = RecordingLog.ofRequests()
        let answer = try await withConnection(log: log) { connection in
            try await connection.exchange(get("/v1/surprise", "X-Request-Id: r-1\r\n"))
        }
        #expect(answer.status == 500)
        #expect(answer.code == "internal_error")
        #expect(answer.json?["requestId"]?.string == "r-1")
        #expect(!answer.text.contains("Surprise"))
        let line = try #require(log.entries.first { $0.message == "request failed unexpectedly" })
        #expect(line.level == .error)
        #expect(line.metadata["requestId"] == "r-1")
        #expect(line.metadata["error"] == "Surprise(\"line one  line two\")")
    }
}
