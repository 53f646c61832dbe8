import Foundation
import Primitives
import TestSupport
import Testing

/// Providers whose keys can't be fetched, or were rotated.
@Suite(.limitedConcurrency, .timeLimit(.minutes(5))) struct OutageTests {
    var world: World { .current }

    private static let appleKeys = "/apple/auth/keys"

    private static func makeAppleKeysUnavailable(at sandbox: Sandbox) async throws {
        try await sandbox.fail(appleKeys, .status(503))
    }

    /// Waits for the fetch that the service makes when it starts, which no token forces, and returns its id in the
    /// history.
    private func firstFetch(_ world: World) async throws -> Int64 {
        try #require(try await world.sandbox.history(path: Self.appleKeys, count: 1, wait: 30).first).id
    }

    @Test func `without keys at the start a sign-in says when to try again, and works as soon as they are there`()
        async throws
    {
        try await World.run(prepare: Self.makeAppleKeysUnavailable) { world in
            try await world.newPerson("kim")
            let token = try await world.appleToken("kim")
            let refused = try await world.service.signInWithApple(token)
            #expect(refused.status == 503)
            #expect(refused.code == "provider_unavailable")
            #expect((1...5).contains(refused.retryAfter ?? 0))
            #expect(try await world.service.privateGet("/health/ready").status == 200)
            #expect(try await world.service.signInWithGoogle(try await world.googleToken("kim")).status == 200)

            try await world.sandbox.clearFaults()
            try await eventually("a sign-in", within: .seconds(20)) {
                try await world.service.signInWithApple(token).status == 200
            }
        }
    }

    @Test(.world)
    func `keys that are known go on working while the provider answers nothing`() async throws {
        try await world.newPerson("kim")
        let token = try await world.appleToken("kim")
        let before = try await firstFetch(world)
        #expect(try await world.service.signInWithApple(token).status == 200)
        try await world.sandbox.fail("/apple/*", .status(500))
        // An unknown key makes the service fetch the key set, which fails.
        let unknown = try await world.appleToken("kim", .init(header: #"{"kid":"new"}"#))
        let refused = try await world.service.signInWithApple(unknown)
        #expect(refused.status == 401)
        #expect(refused.code == "invalid_token")
        #expect((1...60).contains(refused.retryAfter ?? 0))
        #expect(try await world.sandbox.history(path: Self.appleKeys, after: before).map(\.status) == [500])
        for _ in 0..<20 { #expect(try await world.service.signInWithApple(token).status == 200) }
        #expect(try await world.service.privateGet("/health/ready").status == 200)
    }

    @Test(.world)
    func `a provider's new key is fetched once for all tokens that arrive with it at the same time`() async throws {
        try await world.newPerson("kim")
        let old = try await world.appleToken("kim")
        let before = try await firstFetch(world)
        #expect(try await world.service.signInWithApple(old).status == 200)
        try await world.sandbox.rotateKeys(.apple)
        let new = try await world.appleToken("kim")
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 {
                group.addTask { try await world.service.signInWithApple(new).status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 20))
        #expect(try await world.service.signInWithApple(old).status == 200)
        #expect(try await world.sandbox.history(path: Self.appleKeys, after: before).count == 1)

        // A second one within the minute has to wait, and the answer says how long.
        try await world.sandbox.rotateKeys(.apple)
        let newest = try await world.service.signInWithApple(try await world.appleToken("kim"))
        #expect(newest.status == 401)
        #expect((1...60).contains(newest.retryAfter ?? 0))
        #expect(try await world.sandbox.history(path: Self.appleKeys, after: before).count == 1)
    }

    @Test(.world)
    func `a flood of made-up keys causes two fetches at the provider, and no failed sign-in`() async throws {
        try await world.newPerson("kim")
        let token = try await world.appleToken("kim")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for flooder in 0..<8 {
                group.addTask {
                    for number in 0..<60 {
                        let header = #"{"alg":"RS256","kid":"\#(flooder)-\#(number)"}"#
                        let made = "\(Base64URL.encode(Array(header.utf8))).e30.AAAA"
                        let answer = try await world.service.signInWithApple(made)
                        #expect(answer.status == 401)
                    }
                }
            }
            group.addTask {
                for _ in 0..<60 {
                    let answer = try await world.service.signInWithApple(token)
                    #expect(answer.status == 200)
                }
            }
            try await group.waitForAll()
        }
        #expect((1...2).contains(try await world.sandbox.history(path: Self.appleKeys).count))
    }
}
