import Foundation
import JOSE
import TestSupport
import Testing

/// Passwords at the cost that they really have: 128 MiB and a third of a second each. One test at a time.
@Suite(
    .limitedConcurrency, .world(["limits.passwordPerAccount": "0", "limits.guessPerNetwork": "0"]), .serialized,
    .timeLimit(.minutes(30)))
struct PasswordTests: WorldSuite {
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
