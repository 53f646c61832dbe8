import Accounts
import Curl
import JOSE
import Providers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct KeySetUnknownKeyTests {
    @Test func `a new key is found by one fetch`() async throws {
        try await withKeyServer(answering: .keys("a")) { keys in
            await keys.cache.refresh()
            keys.script.set(try .keys("b", "a"))
            #expect(try await keys.has("b"))
            #expect(try await keys.has("a"))
            #expect(keys.fetches == 2)
        }
    }

    @Test func `a thousand tokens of a new key cause one fetch, for which few wait`() async throws {
        try await withKeyServer(answering: .keys("a")) { keys in
            await keys.cache.refresh()
            keys.script.set(.hold, try .keys("b"))
            let thousand = Array(repeating: "b", count: 1_000)
            let (refused, waited) = try await keys.outcomes(of: thousand, duringFetch: 2)
            let refusal = CredentialRefusal(.keyUnknown, retryAfter: 1)
            #expect(refused == Array(repeating: .failure(refusal), count: 936))
            #expect(waited == Array(repeating: .success(true), count: 64))
            #expect(keys.fetches == 2)
        }
    }

    @Test func `known keys don't wait for the fetch on behalf of an unknown one, and of many unknown ones few do`()
        async throws
    {
        try await withKeyServer(answering: .keys("a")) { keys in
            await keys.cache.refresh()
            keys.script.set(.hold, try .keys("a"))
            let unknown = (0..<256).map { "made-up-\($0)" }
            let (refused, waited) = try await keys.outcomes(of: unknown, duringFetch: 2) {
                for _ in 0..<1_000 {
                    let hasOld = try await keys.has("a")
                    #expect(hasOld)
                }
            }
            let refusal = CredentialRefusal(.keyUnknown, retryAfter: 1)
            #expect(refused == Array(repeating: .failure(refusal), count: 192))
            #expect(waited == Array(repeating: .failure(CredentialRefusal(.keyUnknown)), count: 64))
            // Had a known one waited, the fetch would have timed out before its release.
            #expect(keys.cache.status.failures == 0)
        }
    }

    @Test func `a flood of made-up key ids causes one fetch a minute`() async throws {
        try await withKeyServer(answering: .keys("a")) { keys in
            await keys.cache.refresh()
            for second in 0..<120 {
                for number in 0..<100 {
                    // The first of each minute has had the keys fetched again.
                    let wait = second % 60 == 0 && number == 0 ? nil : Int64(60 - second % 60)
                    await #expect(throws: CredentialRefusal(.keyUnknown, retryAfter: wait)) {
                        try await keys.has("made-up-\(second)-\(number)")
                    }
                }
                let hasOld = try await keys.has("a")
                #expect(hasOld)
                #expect(keys.fetches == 2 + second / 60)
                keys.clock.advance(by: 1)
            }
        }
    }

    @Test func `the first set is new enough for the key id that asked for it`() async throws {
        try await withKeyServer(answering: .keys("a")) { keys in
            await #expect(throws: CredentialRefusal(.keyUnknown)) { try await keys.has("x") }
            #expect(keys.fetches == 1)
        }
    }

    @Test
    func `when the fetch for an unknown key fails, it is unknown and can be tried again in a minute`() async throws {
        try await withKeyServer(answering: .keys("a")) { keys in
            await keys.cache.refresh()
            keys.script.set(.respond(503))
            await #expect(throws: CredentialRefusal(.keyUnknown, retryAfter: 60)) { try await keys.has("b") }
            #expect(try await keys.has("a"))
            keys.script.set(try .keys("b"))
            keys.clock.advance(by: 59)
            await #expect(throws: CredentialRefusal(.keyUnknown, retryAfter: 1)) { try await keys.has("b") }
            keys.clock.advance(by: 1)
            #expect(try await keys.has("b"))
            #expect(keys.fetches == 3)
        }
    }

    // MARK: Key ids that the provider itself sends

    /// A provider whose keys one token of a made-up key id has had fetched just now, so that a minute has to pass before the
    /// next one does; and its token endpoint, which answers with a token of a key that was not published then.
    private static func withNewKey(
        _ provider: Provider, _ body: (KeyServer, EndpointServer) async throws -> Void
    ) async throws {
        try await withFetcher { fetcher in
            let keys = try KeyServer(provider, fetcher: fetcher, answering: .keys("a"))
            await keys.cache.refresh()
            await #expect(throws: CredentialRefusal(.keyUnknown)) { try await keys.has("made-up") }
            let answer = try EndpointFixture.answer(provider).bytes
            try await body(keys, try EndpointServer(provider, fetcher: fetcher, answering: [.respond(body: answer)]))
        }
    }

    private static let barred = EndpointRefusal.unavailable(detail: "key_unknown")

    @Test(arguments: Provider.allCases)
    func `a new key of a token that the provider has just issued is fetched every five seconds at most`(
        provider: Provider
    ) async throws {
        try await Self.withNewKey(provider) { keys, apps in
            keys.script.set(.respond(body: try TokenMint.shared.keySetDocument))
            keys.clock.advance(by: 4)
            await #expect(throws: Self.barred) { try await apps.exchange(keys: .cache(keys.cache)) }
            #expect(keys.fetches == 2)
            keys.clock.advance(by: 1)
            let exchanged = try await apps.exchange(keys: .cache(keys.cache))
            #expect(exchanged.refreshToken == EndpointFixture.refreshToken)
            #expect(keys.fetches == 3)
        }
    }

    @Test(arguments: Provider.allCases)
    func `where that fetch brings no such key the code is unavailable, and posted tokens wait on`(
        provider: Provider
    ) async throws {
        try await Self.withNewKey(provider) { keys, apps in
            keys.clock.advance(by: 5)
            for _ in 0..<2 {
                await #expect(throws: Self.barred) { try await apps.exchange(keys: .cache(keys.cache)) }
                #expect(keys.fetches == 3)
            }
            await #expect(throws: CredentialRefusal(.keyUnknown, retryAfter: 55)) { try await keys.has("made-up") }
            let hasOld = try await keys.has("a")
            #expect(hasOld && keys.fetches == 3)
        }
    }

    @Test func `when that fetch fails the next one comes after the pause`() async throws {
        try await Self.withNewKey(.google) { keys, apps in
            keys.script.set(.respond(503))
            keys.clock.advance(by: 5)
            for _ in 0..<2 {
                await #expect(throws: Self.barred) { try await apps.exchange(keys: .cache(keys.cache)) }
                #expect(keys.fetches == 3)
            }
            keys.script.set(.respond(body: try TokenMint.shared.keySetDocument))
            keys.clock.advance(by: 1)
            try await apps.exchange(keys: .cache(keys.cache))
            #expect(keys.fetches == 4)
        }
    }

    @Test func `twenty codes whose tokens have a new key cause one fetch`() async throws {
        try await Self.withNewKey(.google) { keys, apps in
            keys.script.set(.hold, .respond(body: try TokenMint.shared.keySetDocument))
            keys.clock.advance(by: 5)
            try await withThrowingTaskGroup(of: ExchangedCode.self) { group in
                for _ in 0..<20 { group.addTask { try await apps.exchange(keys: .cache(keys.cache)) } }
                await keys.server.history { $0.requests.count == 3 }
                keys.server.release()
                for try await exchanged in group { #expect(exchanged.refreshToken == EndpointFixture.refreshToken) }
            }
            #expect(keys.fetches == 3)
        }
    }
}
