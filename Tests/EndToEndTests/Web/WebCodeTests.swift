import JSON
import Postgres
import TestSupport
import Testing

/// The code that an app gets, and `POST /v1/sign-in/web`, which is the only use of it.
@Suite(.limitedConcurrency, .webWorld, .timeLimit(.minutes(5))) struct WebCodeTests {
    var world: World { .current }

    private func expectRefusal(_ answer: Answer, _ what: String = "", _ location: SourceLocation = #_sourceLocation) {
        #expect(answer.status == 401, "\(what): \(answer.text)", sourceLocation: location)
        #expect(answer.code == "invalid_token", "\(what)", sourceLocation: location)
    }

    @Test func `of fifty exchanges of one code at once one gets in, and no second try leaves its session`() async throws
    {
        try await world.newPerson("race")
        _ = try await world.newAccount("race", with: .google)
        let attempt = try AppAttempt()
        let code = try await world.code(for: attempt, "race")
        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for _ in 0..<50 {
                group.addTask { try await retryWhenLate { try await world.exchange(code, attempt) } }
            }
            return try await group.reduce(into: [Answer]()) { $0.append($1) }
        }
        let won = answers.filter { $0.status == 200 }
        #expect(won.count == 1)
        for answer in answers where answer.status != 200 { expectRefusal(answer) }
        let bearer = try #require(won.first).text("session.accessToken")
        let refresh = try #require(won.first).text("session.refreshToken")
        // Two held the code: neither keeps what it gave.
        try await eventually("the end of the session") {
            try await world.service.get("/v1/account", bearer: bearer).status == 401
        }
        #expect(
            try await world.service.post("/v1/sessions/refresh", ["refreshToken": .string(refresh)]).status == 401)
    }

    @Test func `a second try ends the ticket of the first`() async throws {
        try await world.newPerson("second")
        let attempt = try AppAttempt()
        let code = try await world.code(for: attempt, "second")
        let question = try Question(try await world.exchange(code, attempt))
        expectRefusal(try await world.exchange(code, attempt))
        let late = try await world.create(for: question)
        #expect(late.status == 410)
        #expect(late.code == "link_ticket_expired")
    }

    @Test func `a wrong verifier or address spends the code`() async throws {
        try await world.newPerson("wrong")
        let other = try AppAttempt()
        let changes: [TokenMint.Members] = [
            ["codeVerifier": .string(other.verifier)], ["redirectUri": .string(WebWorld.loopback)],
            ["redirectUri": .string(WebWorld.appLink + "/")], ["redirectUri": .string(WebWorld.otherLink)],
        ]
        for change in changes {
            let attempt = try AppAttempt()
            let code = try await world.code(for: attempt, "wrong")
            expectRefusal(try await world.exchange(code, attempt, change), "\(change)")
            expectRefusal(try await world.exchange(code, attempt), "after \(change)")
        }
    }

    @Test func `the challenge itself is no verifier, and neither is one of another attempt`() async throws {
        try await world.newPerson("injected")
        let (victim, attacker) = (try AppAttempt(), try AppAttempt())
        let stolen = try await world.code(for: victim, "injected")
        expectRefusal(
            try await world.exchange(stolen, victim, ["codeVerifier": .string(victim.challenge)]))
        let injected = try await world.code(for: attacker, "injected")
        expectRefusal(try await world.exchange(injected, victim))
    }

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
        ] {
            let answer = try await world.service.post("/v1/sign-in/web", body)
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.code == "invalid_request")
        }
        let form = try await world.service.post(
            "/v1/sign-in/web", body: Array("code=\(code)".utf8), type: "application/x-www-form-urlencoded")
        #expect(form.status == 415)
        let cookies = try await world.service.post(
            "/v1/sign-in/web", good, headers: [("Cookie", "__Host-csn_browser=a")])
        #expect(cookies.status == 200)
        #expect(cookies.header("Set-Cookie") == nil)
    }

    @Test func `what is no code of ours is refused as a used one is`() async throws {
        let attempt = try AppAttempt()
        var answers: [String] = []
        for code in [String(repeating: "A", count: 43), "a", String(repeating: "a", count: 100)] {
            let answer = try await world.exchange(code, attempt)
            expectRefusal(answer)
            answers.append(answer.withoutRequestID)
        }
        try await world.newPerson("used")
        let code = try await world.code(for: attempt, "used")
        _ = try await world.exchange(code, attempt)
        answers.append(try await world.exchange(code, attempt).withoutRequestID)
        #expect(Set(answers).count == 1)
    }

    @Test(arguments: [(WebWorld.appLink, 60), (WebWorld.privateScheme, 180)])
    func `a code is refused a second after its life`(_ uri: String, _ seconds: Int) async throws {
        try await world.newPerson("late-\(seconds)")
        for (later, status) in [(seconds - 20, 200), (seconds + 1, 401)] {
            let attempt = try AppAttempt(redirectURI: uri)
            let code = try await world.code(for: attempt, "late-\(seconds)")
            try await world.age(attempt, by: later)
            #expect(try await world.exchange(code, attempt).status == status, "\(later) s")
        }
    }

    @Test func `before the exchange there is neither a session nor an account nor a ticket`() async throws {
        try await world.newPerson("undecided")
        _ = try await world.newAccount("undecided", with: .google)
        // This suite's other tests make rows of their own.
        func rows() async throws -> Int64 {
            try await world.count(
                """
                SELECT count(*) FROM sessions s JOIN identities i USING (account_id)
                WHERE i.email = 'undecided@example.com'
                """)
        }
        let before = try await rows()
        let attempt = try AppAttempt()
        let code = try await world.code(for: attempt, "undecided")
        #expect(try await rows() == before)
        _ = try SignedInDevice(try await world.exchange(code, attempt))
        #expect(try await rows() == before + 1)

        try await world.newPerson("unknown")
        let tickets = "SELECT count(*) FROM link_tickets WHERE email = 'unknown@example.com'" as SQL
        let first = try AppAttempt()
        let unknown = try await world.code(for: first, "unknown")
        #expect(try await world.count(tickets) == 0)
        #expect(try await world.countAccounts(with: "unknown@example.com") == 0)
        _ = try Question(try await world.exchange(unknown, first))
        #expect(try await world.count(tickets) == 1)
    }

    @Test func `who is disabled before the exchange is not signed in by it`() async throws {
        try await world.newPerson("barred")
        let device = try await world.newAccount("barred", with: .google)
        let attempt = try AppAttempt()
        let code = try await world.code(for: attempt, "barred")
        try await world.scratch.execute(
            "UPDATE accounts SET status = 'disabled' WHERE account_id = \(device.account.id)::uuid")
        let answer = try await world.exchange(code, attempt)
        #expect(answer.status == 403)
        #expect(answer.code == "account_disabled")
    }
}

extension World {
    /// Makes a flow as old as if this many seconds had gone by since its last step.
    func age(_ attempt: AppAttempt, by seconds: Int) async throws {
        let changed = try await count(
            """
            WITH aged AS (
                UPDATE web_flows SET
                    expires_at = expires_at - make_interval(secs => \(seconds)),
                    code_expires_at = code_expires_at - make_interval(secs => \(seconds))
                WHERE app_state = \(attempt.state)
                RETURNING 1
            )
            SELECT count(*) FROM aged
            """)
        try #require(changed == 1)
    }
}
