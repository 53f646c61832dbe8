import Accounts
import Curl
import JOSE
import Providers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct KeySetCacheTests {
    @Test func `a set is fetched once and then read from memory`() async throws {
        try await withKeyServer(answering: .keys("a", "b")) { keys in
            #expect(keys.cache.status == .init(keyCount: 0, age: nil, failures: 0))
            for _ in 0..<100 {
                #expect(try await keys.has("a"))
                #expect(try await keys.has("b"))
            }
            #expect(keys.fetches == 1)
            keys.clock.advance(by: 7)
            #expect(keys.cache.status == .init(keyCount: 2, age: 7, failures: 0))
            let request = try #require(keys.server.history.requests.first)
            #expect(request.target == "/keys")
            #expect(request.header("Accept") == "application/json")
        }
    }

    @Test func `of a thousand that come before the first set few wait, for one fetch`() async throws {
        try await withKeyServer(answering: .hold, .keys("a")) { keys in
            let thousand = Array(repeating: "a", count: 1_000)
            let (refused, waited) = try await keys.outcomes(of: thousand, duringFetch: 1)
            let refusal = CredentialRefusal(.keysUnavailable, retryAfter: 1)
            #expect(refused == Array(repeating: .failure(refusal), count: 936))
            #expect(waited == Array(repeating: .success(true), count: 64))
            #expect(keys.fetches == 1)
        }
    }

    @Test func `a thousand that come when the set is due don't wait for its fetch`() async throws {
        try await withKeyServer(answering: .keys("a")) { keys in
            await keys.cache.refresh()
            keys.script.set(.hold, try .keys("b"))
            keys.clock.advance(by: 2_880)
            // All of them are answered while the fetch is held.
            let answers = try await concurrently(0..<1_000) { _ in try await keys.has("a") }
            #expect(!answers.contains(false))
            await keys.server.history { $0.requests.count == 2 }
            keys.server.release()
            await keys.cache.refresh()
            // Had any of them waited, the fetch would have timed out before its release.
            #expect(keys.cache.status.failures == 0)
            #expect(keys.fetches == 2)
            // What the provider has withdrawn is refused from here on.
            #expect(try await keys.has("b"))
            await #expect(throws: CredentialRefusal.self) { try await keys.has("a") }
        }
    }

    static let lifetimes: [([(String, String)], Int64)] = [
        ([], 3_600), ([("Cache-Control", "public")], 3_600), ([("Cache-Control", "public, max-age=21600")], 21_600),
        ([("cache-control", "MAX-AGE=\"7200\"")], 7_200), ([("Cache-Control", "max-age=10")], 300),
        ([("Cache-Control", "max-age=0")], 300), ([("Cache-Control", "max-age=604800")], 86_400),
        ([("Cache-Control", "max-age=99999999999999999999")], 86_400), ([("Cache-Control", "max-age=-1")], 3_600),
        ([("Cache-Control", "max-age=1h")], 3_600), ([("Cache-Control", "max-age")], 3_600),
        ([("Cache-Control", "no-store")], 300), ([("Cache-Control", "max-age=21600, no-cache")], 300),
        ([("Cache-Control", "public"), ("Cache-Control", "max-age=7200")], 7_200),
        ([("Cache-Control", "max-age=21600"), ("Age", "20000")], 1_600),
        ([("Cache-Control", "max-age=21600"), ("Age", "99999999999999999999")], 300),
        ([("Cache-Control", "max-age=604800"), ("Age", "100000")], 86_400),
    ]

    @Test(arguments: lifetimes)
    func `a set is fetched again when four fifths of its lifetime have passed`(
        headers: [(String, String)], lifetime: Int64
    ) async throws {
        try await withKeyServer(answering: .keys("a", headers: headers)) { keys in
            await keys.cache.refresh()
            keys.clock.advance(by: lifetime / 5 * 4 - 1)
            await keys.cache.refresh()
            #expect(keys.fetches == 1)
            keys.clock.advance(by: 1)
            await keys.cache.refresh()
            #expect(keys.fetches == 2)
        }
    }

    @Test func `running keeps a set fresh that nobody asks for, until it is cancelled`() async throws {
        try await withKeyServer(answering: .keys("a")) { keys in
            let running = Task { await keys.cache.run(every: .milliseconds(1)) }
            await keys.server.history { $0.requests.count == 1 }
            for count in 2...4 {
                await keys.cache.refresh()
                keys.clock.advance(by: 3_600)
                await keys.server.history { $0.requests.count == count }
            }
            running.cancel()
            await running.value
        }
    }

    @Test func `a clock that is set back makes the set due and bars nothing`() async throws {
        try await withKeyServer(answering: .keys("a")) { keys in
            #expect(try await keys.has("a"))
            keys.clock.advance(by: -3_600)
            await keys.cache.refresh()
            #expect(keys.fetches == 2)
            keys.script.set(.respond(500))
            keys.clock.advance(by: 3_600)
            await keys.cache.refresh()
            #expect(keys.cache.status.failures == 1)
            keys.script.set(try .keys("a", "b"))
            keys.clock.advance(by: -3_600)
            #expect(try await keys.has("b"))
        }
    }

    @Test func `one provider's outage is not the other's`() async throws {
        try await withFetcher { fetcher in
            let apple = try KeyServer(.apple, fetcher: fetcher, answering: .respond(503))
            let google = try KeyServer(.google, fetcher: fetcher, answering: .keys("g"))
            #expect(try await google.has("g"))
            await #expect(throws: CredentialRefusal(.keysUnavailable, retryAfter: 1)) { try await apple.has("a") }
            // Nor are its keys.
            await #expect(throws: CredentialRefusal.self) { try await apple.has("g") }
            #expect(google.cache.status.failures == 0)
            #expect(apple.log.lines.allSatisfy { $0.contains("apple") })
            #expect(google.log.lines.allSatisfy { $0.contains("google") })
        }
    }

    @Test func `a provider that publishes a private key is reported, and the key left out`() async throws {
        let published = #"{"kty":"RSA","kid":"oops","n":"AQAB","e":"AQAB","d":"AQAB"}"#
        let good = String(decoding: try TokenMint.shared.keySetDocument, as: UTF8.self)
        let document = good.replacing(#"{"keys":["#, with: #"{"keys":["# + published + ",")
        try await withKeyServer(answering: .respond(text: document)) { keys in
            let hasGood = try await keys.has(TokenMint.rsaKeyID)
            #expect(hasGood)
            await #expect(throws: CredentialRefusal.self) { try await keys.has("oops") }
            let report = keys.log.lines.filter { $0.hasPrefix("critical ") }
            #expect(report.count == 1)
            #expect(report.first?.contains("private_key_published") == true)
            #expect(report.first?.contains("oops") == true)
        }
    }
}
