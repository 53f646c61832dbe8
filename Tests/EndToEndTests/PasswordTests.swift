import Foundation
import TestSupport
import Testing

/// Passwords at the cost that they really have: 128 MiB and a third of a second each. One test at a time.
@Suite(
    .limitedConcurrency, .world(["limits.passwordPerAccount": "0", "limits.guessPerNetwork": "0"]), .serialized,
    .timeLimit(.minutes(30)))
struct PasswordTests: WorldSuite {
    /// Runs what may not map more memory than this beyond what the service has mapped.
    private func limiting<Result>(toFurtherMiB count: Int, _ body: () async throws -> Result) async throws -> Result {
        func limit(to bytes: String) async throws {
            let run = try await FinishedProcess.run(
                URL(filePath: "/usr/bin/prlimit"), ["--pid", "\(service.processID)", "--as=\(bytes):"])
            try #require(run.code == 0, "\(run.errors)")
        }
        try await limit(to: "\((try memory(of: world.service, "VmSize") + count * 1024) * 1024)")
        let result = try await body()
        try await limit(to: "unlimited")
        return result
    }

    /// A hash of ours takes 128 MiB, the imported ones 64.
    @Test func `a hash that gets no memory is answered 503, and the next one is made`() async throws {
        func register() async throws -> Answer {
            try await service.post(
                "/v1/accounts", ["email": "memory@example.com", "password": .string(World.password)])
        }
        let refused = try await limiting(toFurtherMiB: 48) { try await register() }
        refused.expectRefusal(503, "temporarily_unavailable", retryAfter: 1...1)
        #expect(try await register().status == 201)

        let hashes = [
            ("test", "$y$jBT$abcdefgh$UVOZFwVcjYQOYdclXPltaU4AmnEzpL7shTJ5Y.H8xH2"),
            ("secret", "$argon2id$v=19$m=65536,t=1,p=4$c2FsdHNhbHRzYWx0c2FsdA$H19UAbwxgqonyxpEGKvdEg"),
        ]
        for (index, (password, hash)) in hashes.enumerated() {
            let address = "memory\(index)@example.com"
            let row =
                #"{"externalId":"memory/\#(index)","email":"\#(address)","emailVerified":true,"passwordHash":"\#(hash)"}"#
            let run = try await ImportedPersonTests.import("memory-\(index)", [row], into: world.scratch)
            try #require(run.status == 0, "\(run.error)")
            let refused = try await limiting(toFurtherMiB: 48) { try await world.signIn(address, password: password) }
            refused.expectRefusal(503, "temporarily_unavailable", retryAfter: 1...1)
            // Enough for the hash, and not for a thread of each of its lanes.
            let scarce = try await limiting(toFurtherMiB: 80) { try await world.signIn(address, password: password) }
            #expect([200, 503].contains(scarce.status), "\(scarce)")
            #expect(try await world.signIn(address, password: password).status == 200)
        }
    }

    @Test func `sixty logins at once take the memory of two, and delay no other request`() async throws {
        try await world.newPerson("fast")
        let token = try await world.appleToken("fast")
        let base = try memory(of: service, "VmRSS")
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
            for _ in 0..<30 { group.addTask { try await timed { try await service.signInWithApple(token) } } }
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
        let peak = try memory(of: service, "VmHWM")
        #expect(peak <= base + 2 * 131_072 + 65_536, "\(base) KiB, then \(peak) KiB")
    }
}
