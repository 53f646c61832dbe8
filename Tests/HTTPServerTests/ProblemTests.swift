import HTTPServer
import JSON
import Logging
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ProblemTests {
    /// The codes that clients know. A line here changes only together with every client.
    static let published: [String: Int] = [
        "invalid_request": 400, "weak_password": 400,
        "invalid_token": 401, "invalid_credentials": 401, "invalid_session": 401, "invalid_refresh_token": 401,
        "refresh_token_reused": 401,
        "account_disabled": 403, "forbidden": 403, "reauthentication_required": 403,
        "not_found": 404, "method_not_allowed": 405,
        "email_taken": 409, "identity_already_linked": 409, "provider_already_linked": 409, "last_sign_in_method": 409,
        "link_ticket_expired": 410, "cursor_expired": 410, "payload_too_large": 413, "unsupported_media_type": 415,
        "rate_limited": 429,
        "internal_error": 500, "provider_unavailable": 503, "temporarily_unavailable": 503,
    ]

    @Test func `the registry of codes is the one that clients know`() {
        let registry = Problem.Code.allCases.map { ($0.rawValue, $0.status.rawValue) }
        #expect(Dictionary(uniqueKeysWithValues: registry) == Self.published)
    }

    @Test func `the reasons of field errors are those that clients know`() {
        let reasons = [
            "required", "unknown", "wrong_type", "too_long", "not_allowed", "invalid", "out_of_range", "duplicate",
        ]
        #expect(FieldError.Reason.allCases.map(\.rawValue) == reasons)
    }

    @Test func `each code has its own title`() {
        #expect(Set(Problem.Code.allCases.map(\.title)).count == Self.published.count)
    }

    @Test func `each code is answered in the form of RFC 9457, with the headers of its status`() async throws {
        try await withConnection { connection in
            for code in Problem.Code.allCases {
                let answer = try await connection.exchange(get("/v1/problems/\(code.rawValue)"))
                #expect(answer.status == Self.published[code.rawValue])
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
