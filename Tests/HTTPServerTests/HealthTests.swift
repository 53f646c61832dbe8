import HTTPServer
import JSON
import Testing

@Suite(.timeLimit(.minutes(5))) struct HealthTests {
    /// Of a check on a machine that may stall.
    private let deadline = Duration.seconds(600)

    private static func answer(_ health: Health, _ path: String = "/health/ready") async throws -> Answer {
        try await withServer(health.routes) { port in
            try await RawConnection.open(port) { try await $0.exchange(get(path)) }
        }
    }

    @Test func `a ready process says so, with the members of its check`() async throws {
        let health = Health(deadline: deadline) { Health.Readiness(isReady: true) { $0.member("keySetAge", 12) } }
        let answer = try await Self.answer(health)
        #expect(answer.status == 200)
        #expect(answer.text == #"{"status":"ready","keySetAge":12}"#)
    }

    @Test func `a process that is not ready answers 503`() async throws {
        let health = Health(deadline: deadline) { Health.Readiness(isReady: false) { $0.member("schema", "behind") } }
        let answer = try await Self.answer(health)
        #expect(answer.status == 503)
        #expect(answer.code == "temporarily_unavailable")
        #expect(answer.json?["readiness"]?.string == "unavailable")
        #expect(answer.json?["schema"]?.string == "behind")
        #expect((1...3).contains(answer["Retry-After"].flatMap { Int($0) } ?? 0))
    }

    @Test func `a check that takes too long counts as failed, even if it can't be cancelled`() async throws {
        let gate = Gate()
        let health = Health(deadline: .milliseconds(50)) {
            await Task.detached { await gate.pass() }.value
            return Health.Readiness(isReady: true)
        }
        let answer = try await Self.answer(health)
        #expect(answer.status == 503)
        #expect(answer.json?["readiness"]?.string == "timed_out")
        gate.open()
    }

    @Test func `a process that is stopping is not ready, whatever the check says`() async throws {
        let health = Health(deadline: deadline) { Health.Readiness(isReady: true) }
        health.stop()
        #expect(try await Self.answer(health).status == 503)
        #expect(try await Self.answer(health, "/health/live").text == #"{"status":"live"}"#)
    }

    @Test func `a process is live although it is not ready`() async throws {
        let health = Health(deadline: deadline) { Health.Readiness(isReady: false) }
        #expect(try await Self.answer(health, "/health/live").status == 200)
    }
}
