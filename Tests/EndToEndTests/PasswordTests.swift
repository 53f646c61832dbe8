import Foundation
import JOSE
import TestSupport
import Testing

/// Passwords at the cost that they really have: 128 MiB and a third of a second each. One test at a time.
@Suite(
    .limitedConcurrency, .world(["limits.passwordPerAccount": "0", "limits.guessPerNetwork": "0"]), .serialized,
    .timeLimit(.minutes(30)))
struct PasswordTests: WorldSuite {
    /// A hash takes 128 MiB; so much more than it has the process may not map.
    @Test func `a hash that gets no memory is answered 503, and the next one is made`() async throws {
        func limit(to bytes: String) async throws {
            let run = try await FinishedProcess.run(
                URL(filePath: "/usr/bin/prlimit"), ["--pid", "\(world.service.processID)", "--as=\(bytes):"])
            try #require(run.code == 0, "\(run.errors)")
        }
        func register() async throws -> Answer {
            try await world.service.post(
                "/v1/accounts", ["email": "memory@example.com", "password": .string(World.password)])
        }
        let mapped = try memory(of: world.service, "VmSize")
        try await limit(to: "\((mapped + 48 * 1024) * 1024)")
        let refused = try await register()
        try await limit(to: "unlimited")
        refused.expectRefusal(503, "temporarily_unavailable", retryAfter: 1...1)
        #expect(try await register().status == 201)
    }

    @Test func `sixty logins at once take the memory of two, and delay no other request`() async throws {
        try await world.newPerson("fast")
        let token = try await world.appleToken("fast")
        let base = try memory(of: world.service, "VmRSS")
        func timed(_ ask: () async throws -> Answer) async throws -> (answer: Answer, latency: Duration) {
            let start = ContinuousClock.now
            return (try await ask(), ContinuousClock.now - start)
        }
        let results = try await withThrowingTaskGroup { group in
            for _ in 0..<60 {
                group.addTask {
                    try await timed { try await world.signIn("nobody@example.com", password: "a wrong password") }
                }
            }
            for _ in 0..<30 {
                group.addTask {
                    try await timed { try await world.service.signInWithApple(token) }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let others = results.filter { $0.answer.status == 200 }.map(\.latency).sorted()
        #expect(others.count == 30)
        let hashed = results.filter { $0.answer.status == 401 }.map(\.latency).sorted()
        // Two thirds of the places: all of these are of one network.
        #expect(hashed.count >= 12)
        let refused = results.map(\.answer).filter { $0.status == 503 }
        #expect(hashed.count + refused.count == 60)
        #expect(refused.count >= 10)
        for answer in refused {
            #expect(answer.code == "temporarily_unavailable")
            #expect((answer.retryAfter ?? 0) >= 1)
        }
        // A request that had queued behind the passwords would be among the last.
        #expect(others[others.count / 2] < hashed[hashed.count / 2], "\(others) and \(hashed)")
        let peak = try memory(of: world.service, "VmHWM")
        #expect(peak <= base + 2 * 131_072 + 65_536, "\(base) KiB, then \(peak) KiB")
    }
}
