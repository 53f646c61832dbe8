import TestSupport
import Testing

/// A provider whose keys can't be fetched.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct OutageTests {
    private static func makeAppleKeysUnavailable(at sandbox: Sandbox) async throws {
        try await sandbox.fail("/apple/auth/keys", .status(503))
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
}
