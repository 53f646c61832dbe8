import Foundation
import JSON
import Postgres
import TestSupport
import Testing

/// Token endpoints that fail. The keys are cached: a token alone needs nothing of the provider.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct TokenEndpointOutageTests: WorldSuite {
    @Test(.world) func `a code of another client of Google's counts as refused, and the log has it`() async throws {
        let other = "elsewhere-web.apps.googleusercontent.com"
        try await world.sandbox.registerGoogleClient(other, secret: "elsewhere")
        try await world.newPerson("kim")
        let code = try await world.sandbox.authorizeGoogle("kim", clientID: other).serverAuthCode
        let answer = try await service.signIn(.google, ["serverAuthCode": .string(code)])
        answer.expectRefusal(503, "provider_unavailable", retryAfter: 1...)
        func count(_ outcome: String) async throws -> Double {
            try await service.metric(
                "countersign_code_exchanges_total", #"provider="google""#, "outcome=\"\(outcome)\"")
        }
        #expect(try await [count("refused"), count("client_rejected")] == [1, 0])
        _ = try await service.logged(try #require(answer.header("X-Request-Id")))
        let lines = try service.logLines().filter {
            $0["message"]?.string?.hasPrefix("client credentials refused") == true
        }
        #expect(lines.map { $0["error"]?.string } == ["unauthorized_client"])
    }

    @Test(.world(["postgres.poolSize": "2", "server.trustedProxies": "127.0.0.1"]))
    func `calls that hang at the provider cost other requests neither a connection nor a wait`() async throws {
        let access = try await world.newGrantedAccount("kim").bearer()
        let token = try await world.authorize("kim").tokenAlone
        // The calls are given up after ten seconds, which a busy machine may need for the others once.
        let isInTime = try await onceOfThree { try await answersBesideHangingCalls(access, token) }
        #expect(isInTime, "the calls that hang ended before those that don't")
    }

    /// Whether other requests were answered while calls hung at the provider.
    private func answersBesideHangingCalls(_ access: String, _ token: TokenMint.Members) async throws -> Bool {
        var codes: [World.Credential] = []
        for number in 0..<24 {
            let name = "waiting-\(number)"
            try await world.newPerson(name)
            codes.append(try await world.authorize(name))
        }
        let leaving = try await world.newGrantedAccount("lee-\(UUID().uuidString.lowercased())")
        let exchanges = try await world.sandbox.history(path: "/apple/auth/token").count
        let revocations = try await world.sandbox.history(path: "/apple/auth/revoke").count
        try await world.sandbox.fail("/apple/auth/token", .hang)
        try await world.sandbox.fail("/apple/auth/revoke", .hang)

        return try await withThrowingTaskGroup(of: Int?.self) { group in
            // No network has more than a quarter of the places.
            for (index, code) in codes.enumerated() {
                group.addTask {
                    try await service.post(
                        "/v1/sign-in/apple", code.codeAlone, headers: [("X-Forwarded-For", "192.\(index / 4).2.7")]
                    ).status
                }
            }
            try await service.delete("/v1/account", bearer: try leaving.bearer()).expecting(202)
            for (path, count) in [
                ("/apple/auth/token", exchanges + codes.count), ("/apple/auth/revoke", revocations + 1),
            ] { #expect(try await world.sandbox.history(path: path, count: count, wait: 60).count >= count, "\(path)") }

            // Two connections for all of them: one that an outgoing call held would be missing here at once.
            try await eventually("every connection to be free") {
                try await world.count(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND state LIKE 'idle in transaction%'
                        AND state_change < now() - interval '200 ms'
                    """) == 0
            }
            for _ in 0..<5 {
                #expect(try await service.signIn(.apple, token).status == 200)
                try await eventually("readiness") { try await service.isReady() }
                #expect(try await service.get("/v1/account", bearer: access).status == 200)
            }
            group.addTask { nil }
            let isInTime = try await group.next() == .some(nil)
            try await world.sandbox.clearFaults()
            let statuses = try await group.reduce(into: [Int]()) { if let status = $1 { $0.append(status) } }
            #expect(statuses.count == codes.count || !isInTime)
            #expect(statuses.allSatisfy { $0 == 503 }, "\(statuses)")
            return isInTime
        }
    }
}
