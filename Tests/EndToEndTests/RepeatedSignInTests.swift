import Postgres
import TestSupport
import Testing

/// One token, posted again and again: what is left of it.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct RepeatedSignInTests: WorldSuite {
    @Test(.world(["limits.sessionsPerAccount": "20"]))
    func `of three hundred sign-ins by one token as many sessions stay as an account may have`() async throws {
        let created = try await world.newAccount("kim")
        let token = try await world.appleToken("kim")
        let start = ContinuousClock.now
        var opened: [String] = []
        for _ in 0..<300 {
            let answer = try await service.signInWithApple(token).expecting(200)
            opened.append(try answer.bearer())
        }
        // Each is in the trail, at most one row a second: a sum, or a sign-in after a pause of a second.
        let signIns: SQL = "FROM audit_events WHERE type = 'signed_in' AND provider = 'apple'"
        try await eventually("the sums") {
            try await world.count("SELECT COALESCE(sum(occurrences), 0) \(signIns)") == 300
        }
        let seconds = (ContinuousClock.now - start).components.seconds
        #expect(try await world.count("SELECT count(*) \(signIns)") <= 2 * seconds + 3)
        try await eventually("the end of the longest unused sessions") {
            try await world.count("SELECT count(*) FROM sessions WHERE ended_at IS NULL") == 20
        }
        for bearer in opened.suffix(20) { #expect(try await service.get("/v1/account", bearer: bearer).status == 200) }
        let first = try created.bearer()
        for bearer in [first, opened[0], opened[279]] {
            #expect(try await service.get("/v1/account", bearer: bearer).code == "invalid_session")
        }
        let ended = try await world.count(
            """
            SELECT sum(occurrences) FROM audit_events WHERE type = 'sessions_ended' AND reason = 'session_limit'
            """)
        #expect(ended == 281)
        try await eventually("the count of them") {
            try await service.privateGet("/metrics").text.contains("countersign_sessions_over_limit_total 281\n")
        }
        try await eventually("the deletion of all but the last") {
            try await world.count("SELECT count(*) FROM sessions WHERE end_reason = 'session_limit'") == 20
        }
    }
}
