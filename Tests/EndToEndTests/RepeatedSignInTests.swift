import Postgres
import TestSupport
import Testing

/// One token, posted again and again: what is left of it.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct RepeatedSignInTests: WorldSuite {
    @Test(.world(["limits.sessionsPerAccount": "20"]))
    func `of many sign-ins by one token as many sessions stay as an account may have`() async throws {
        var opened = [try await world.newAccount("kim").bearer()]
        let token = try await world.appleToken("kim")
        for _ in 0..<25 { opened.append(try await service.signInWithApple(token).expecting(200).bearer()) }
        try await eventually("the end of the longest unused sessions") {
            try await world.count("SELECT count(*) FROM sessions WHERE ended_at IS NULL") == 20
        }
        for (number, bearer) in opened.enumerated() {
            #expect(try await service.get("/v1/account", bearer: bearer).status == (number < 6 ? 401 : 200))
        }
        try await eventually("their count") { try await service.metric("countersign_sessions_over_limit_total") == 6 }
    }
}
