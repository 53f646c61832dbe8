import TestSupport
import Testing

/// Providers whose keys can't be fetched, or were rotated.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct OutageTests: WorldSuite {
    private static let appleKeys = "/apple/auth/keys"

    private static func makeAppleKeysUnavailable(at sandbox: Sandbox) async throws {
        try await sandbox.fail(appleKeys, .status(503))
    }

    @Test func `without keys at the start a sign-in says when to try again, and works as soon as they are there`()
        async throws
    {
        try await World.run(prepare: Self.makeAppleKeysUnavailable) { world in
            try await world.newPerson("kim")
            let token = try await world.appleToken("kim")
            let refused = try await world.service.signInWithApple(token)
            refused.expectRefusal(503, "provider_unavailable", retryAfter: 1...5)
            try await eventually("readiness") { try await world.service.isReady() }
            #expect(try await world.signIn("kim", with: .google).status == 200)

            try await world.sandbox.clearFaults()
            try await eventually("a sign-in") { try await world.service.signInWithApple(token).status == 200 }
        }
    }

    @Test(.world) func `keys that are known go on working while the provider answers nothing`() async throws {
        try await world.newPerson("kim")
        let token = try await world.appleToken("kim")
        // The fetch that the service makes when it starts, which no token forces.
        let first = try #require(try await world.sandbox.history(path: Self.appleKeys, count: 1, wait: 30).first)
        #expect(try await service.signInWithApple(token).status == 200)
        try await world.sandbox.fail("/apple/*", .status(500))
        // An unknown key makes the service fetch the key set, which fails.
        let unknown = try await world.appleToken("kim", .init(header: #"{"kid":"new"}"#))
        try await service.signInWithApple(unknown).expectRefusal(401, "invalid_token", retryAfter: 1...60)
        #expect(try await world.sandbox.history(path: Self.appleKeys, after: first.id).map(\.status) == [500])
        for _ in 0..<20 { #expect(try await service.signInWithApple(token).status == 200) }
        try await eventually("readiness") { try await service.isReady() }
    }
}
