import TestSupport
import Testing

/// The code that an app gets, and `POST /v1/sign-in/web`, which is the only use of it.
@Suite(.limitedConcurrency, .webWorld, .timeLimit(.minutes(30))) struct WebCodeTests: WorldSuite {
    @Test func `a malformed body is refused before the code is looked at`() async throws {
        try await world.newPerson("malformed")
        let attempt = try AppAttempt()
        let code = try await world.code(for: attempt, "malformed")
        let good: TokenMint.Members = [
            "code": .string(code), "codeVerifier": .string(attempt.verifier),
            "redirectUri": .string(attempt.redirectURI),
        ]
        for body in [
            good.with("codeVerifier", nil), good.with("redirectUri", nil), good.with("code", .null),
            good.with("email", "victim@example.com"), good.with("codeVerifier", 1),
            good.with("redirectUri", .raw("\"a\\u0000\"")),
        ] { try await service.post("/v1/sign-in/web", body).expectRefusal(400, "invalid_request") }
        let form = try await service.post(
            "/v1/sign-in/web", body: Array("code=\(code)".utf8), type: "application/x-www-form-urlencoded")
        #expect(form.status == 415)
        let cookies = try await service.post("/v1/sign-in/web", good, headers: [("Cookie", "__Host-csn_browser=a")])
        #expect(cookies.status == 200)
        #expect(cookies.header("Set-Cookie") == nil)
    }

    @Test func `what is no code of ours is refused as a used one is`() async throws {
        let attempt = try AppAttempt()
        var answers: [String] = []
        for code in [String(repeating: "A", count: 43), "a", String(repeating: "a", count: 100)] {
            let answer = try await world.exchange(code, attempt)
            #expect(answer.status == 401 && answer.code == "invalid_token", "\(answer.text)")
            answers.append(answer.withoutRequestID)
        }
        try await world.newPerson("used")
        let code = try await world.code(for: attempt, "used")
        _ = try await world.exchange(code, attempt)
        answers.append(try await world.exchange(code, attempt).withoutRequestID)
        #expect(Set(answers).count == 1)
    }
}
