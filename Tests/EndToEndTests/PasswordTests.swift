import Foundation
import JOSE
import Postgres
import TestSupport
import Testing

/// Passwords at the cost that they really have: 128 MiB and a third of a second each. One test at a time.
@Suite(
    .limitedConcurrency, .world(["limits.passwordPerAccount": "0", "limits.guessPerNetwork": "0"]), .serialized,
    .timeLimit(.minutes(5)))
struct PasswordTests {
    var world: World { .current }

    private static let password = "correct horse battery"

    /// Addresses of each kind, for which a wrong password must be answered alike.
    private static func classes(_ world: World) async throws -> [(name: String, email: String)] {
        for email in ["has@example.com", "disabled@example.com"] {
            let registered = try await world.service.post(
                "/v1/accounts", ["email": .string(email), "password": .string(password)])
            #expect(registered.status == 201)
        }
        try await world.scratch.execute("UPDATE accounts SET status = 'disabled' WHERE email = 'disabled@example.com'")
        // Made by Apple's token: an account with this address and no password.
        _ = try await world.newAccount("passwordless")
        return [
            ("wrong password", "has@example.com"), ("unknown", "unknown@example.com"),
            ("without password", "passwordless@example.com"), ("disabled", "disabled@example.com"),
        ]
    }

    private static func signIn(_ world: World, _ email: String, _ password: String) async throws -> Answer {
        try await world.service.post(
            "/v1/sign-in/password", ["email": .string(email), "password": .string(password)])
    }

    /// That the work is the same too is counted in `EqualWorkTests`, and its time measured by `Scripts/bench oracle`.
    @Test func `a wrong password reveals nothing about the account`() async throws {
        let classes = try await Self.classes(world)
        var answers: Set<String> = []
        for (_, email) in classes {
            let answer = try await Self.signIn(world, email, "a wrong password")
            #expect(answer.status == 401)
            #expect(answer.code == "invalid_credentials")
            answers.insert(answer.withoutRequestID)
        }
        answers.insert(try await Self.signIn(world, "no address", "a wrong password").withoutRequestID)
        answers.insert(
            try await Self.signIn(world, "has@example.com", String(repeating: "x", count: 2_000)).withoutRequestID)
        #expect(answers.count == 1, "\(answers)")

        // A bind by password is answered alike.
        try await world.newPerson("asker")
        let ticket = try await world.service.signInWithApple(try await world.appleToken("asker")).text("linkTicket")
        var binds: Set<String> = []
        for (_, email) in classes {
            let answer = try await world.service.post(
                "/v1/links/bind",
                ["linkTicket": .string(ticket), "email": .string(email), "password": "a wrong password"])
            #expect(answer.status == 401)
            binds.insert(answer.withoutRequestID)
        }
        #expect(binds == answers)

        // The right password shows the state of the account.
        let disabled = try await Self.signIn(world, "disabled@example.com", Self.password)
        #expect(disabled.status == 403)
        #expect(disabled.code == "account_disabled")
        #expect(try await Self.signIn(world, "has@example.com", Self.password).status == 200)
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
                    try await timed { try await Self.signIn(world, "nobody@example.com", "a wrong password") }
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
