import Foundation
import Testing

@testable import CountersignClient

struct AppFlipAnswerTests {
    private static func answer(_ query: String) -> URL {
        AppFlipLinkTests.url("\(AppFlipLinkTests.assistant)?\(query)&state=Xy%2F9%2B1")
    }

    private static let code = #"{"code":"Zt0w+/=","expires_in":600}"#
    private static let success = answer("code=Zt0w%2B%2F%3D")
    private static let cancelled = answer("error=cancelled")
    private static let denied = answer("error=access_denied")

    @Test func `consent gets a code with the session and the request`() async throws {
        let server = try ScriptedServer { _ in .json(200, Self.code) }
        let client = server.client(InMemorySessionStore(Fixture.document()))
        #expect(await client.answer(try AppFlipLinkTests.request(), consent: true) == Self.success)
        let sent = try #require(server.requests.first)
        #expect(server.requests.count == 1)
        #expect(sent.method == "POST" && sent.target == "/oauth/flip")
        #expect(sent.bearer == Fixture.access(1))
        #expect(sent["content-type"] == ["application/json"])
        #expect(
            sent.json == [
                "client_id": "google-link-7f3a", "redirect_uri": .string(AppFlipLinkTests.assistant),
                "scope": "devices.read profile", "platform": "ios", "consent": true,
            ])
    }

    @Test func `a request without scopes asks for none`() async throws {
        let server = try ScriptedServer { _ in .json(200, Self.code) }
        let client = server.client(InMemorySessionStore(Fixture.document()))
        let request = try AppFlipLinkTests.request(AppFlipLinkTests.link(scope: ""))
        _ = await client.answer(request, consent: true)
        #expect(server.requests.first?.json?.keys.contains("scope") == false)
    }

    @Test func `a refusal asks nobody`() async throws {
        let server = try ScriptedServer { _ in .json(200, Self.code) }
        let client = server.client(InMemorySessionStore(Fixture.document()))
        #expect(await client.answer(try AppFlipLinkTests.request(), consent: false) == Self.denied)
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [
        (400, #"{"flip_error":"invalid_request","message":"m"}"#, "invalid_request"),
        (403, #"{"flip_error":"access_denied","message":"m"}"#, "access_denied"),
        (403, #"{"flip_error":"unrecoverable","message":"m"}"#, "unrecoverable"),
        (503, #"{"flip_error":"cancelled","message":"m"}"#, "cancelled"),
        (405, #"{"flip_error":"invalid_request","message":"m"}"#, "invalid_request"),
        (403, #"{"flip_error":"of_a_later_version","message":"m"}"#, "cancelled"),
        (403, #"{"flip_error":7}"#, "cancelled"), (200, #"{"code":""}"#, "cancelled"),
        (200, #"{"code":7}"#, "cancelled"), (200, #"{"flip_error":"unrecoverable"}"#, "cancelled"),
        (200, "<html>A hotel</html>", "cancelled"), (302, "", "cancelled"), (404, "{}", "cancelled"),
        (429, "{}", "cancelled"), (500, "", "cancelled"), (201, code, "cancelled"),
    ])
    func `each answer of the server is a word that Google's app knows`(
        status: Int, body: String, word: String
    ) async throws {
        let server = try ScriptedServer { _ in .json(status, body) }
        let store = InMemorySessionStore(Fixture.document())
        let client = server.client(store)
        #expect(await client.answer(try AppFlipLinkTests.request(), consent: true) == Self.answer("error=\(word)"))
        #expect(server.requests.count == 1)
        #expect(await client.canAuthorize)
        #expect(try Fixture.stored(store.load()).session != nil)
    }

    @Test func `no session and no network end in cancelled`() async throws {
        let server = try ScriptedServer { _ in .drop }
        let signedOut = server.client()
        #expect(await signedOut.answer(try AppFlipLinkTests.request(), consent: true) == Self.cancelled)
        #expect(server.requests.isEmpty)
        let offline = server.client(InMemorySessionStore(Fixture.document()))
        #expect(await offline.answer(try AppFlipLinkTests.request(), consent: true) == Self.cancelled)
        let expired = server.client(InMemorySessionStore(Fixture.document(expiresIn: -1)))
        #expect(await expired.answer(try AppFlipLinkTests.request(), consent: true) == Self.cancelled)
    }

    @Test(arguments: [(403, "account_disabled", "unrecoverable"), (401, "invalid_refresh_token", "cancelled")])
    func `a refresh that is refused first says why`(status: Int, code: String, word: String) async throws {
        let server = try ScriptedServer { _ in .problem(status, code) }
        let client = server.client(InMemorySessionStore(Fixture.document(expiresIn: -1)))
        #expect(await client.answer(try AppFlipLinkTests.request(), consent: true) == Self.answer("error=\(word)"))
        #expect(server.requests.map(\.path) == ["/v1/sessions/refresh"])
    }

    @Test func `an expired token is refreshed before the code is asked for`() async throws {
        let server = try ScriptedServer { .json(200, $0.path == "/oauth/flip" ? Self.code : Fixture.session(2)) }
        let client = server.client(InMemorySessionStore(Fixture.document(expiresIn: -1)))
        #expect(await client.answer(try AppFlipLinkTests.request(), consent: true) == Self.success)
        #expect(server.requests(to: "/oauth/flip").map(\.bearer) == [Fixture.access(2)])
    }

    private static let unauthorized = ScriptedServer.Reply.json(401, #"{"flip_error":"cancelled","message":"m"}"#)

    @Test func `a token that is refused is refreshed, and the code asked for once more`() async throws {
        let server = try ScriptedServer { request in
            guard request.path == "/oauth/flip" else { return .json(200, Fixture.session(2)) }
            return request.bearer == Fixture.access(2) ? .json(200, Self.code) : Self.unauthorized
        }
        let client = server.client(InMemorySessionStore(Fixture.document()))
        #expect(await client.answer(try AppFlipLinkTests.request(), consent: true) == Self.success)
        #expect(server.requests.map(\.path) == ["/oauth/flip", "/v1/sessions/refresh", "/oauth/flip"])
        #expect(server.requests(to: "/oauth/flip").map(\.json).allSatisfy { $0?["consent"] == true })
    }

    @Test(arguments: [true, false])
    func `what a refresh does not mend is cancelled, and ends the session only with its own end`(
        isRefreshed: Bool
    ) async throws {
        let server = try ScriptedServer { request in
            guard request.path == "/oauth/flip" else {
                return isRefreshed ? .json(200, Fixture.session(2)) : .problem(401, "invalid_refresh_token")
            }
            return Self.unauthorized
        }
        let store = InMemorySessionStore(Fixture.document())
        let client = server.client(store)
        #expect(await client.answer(try AppFlipLinkTests.request(), consent: true) == Self.cancelled)
        #expect(server.requests(to: "/oauth/flip").count == (isRefreshed ? 2 : 1))
        #expect(server.requests(to: "/v1/sessions/refresh").count == 1)
        let kept = try Fixture.stored(store.load()).session
        #expect(kept?.accessToken == (isRefreshed ? Fixture.access(2) : nil))
    }

    @Test(arguments: [true, false])
    func `a second answer is the first one, whatever it says`(first: Bool) async throws {
        let server = try ScriptedServer { _ in .json(200, Self.code) }
        let client = server.client(InMemorySessionStore(Fixture.document()))
        let request = try AppFlipLinkTests.request()
        let answer = await client.answer(request, consent: first)
        #expect(answer == (first ? Self.success : Self.denied))
        #expect(await client.answer(request, consent: !first) == answer)
        #expect(await client.answer(request, consent: first) == answer)
        #expect(server.requests.count == (first ? 1 : 0))
    }

    @Test func `an answer outlives a restart for ten minutes`() async throws {
        let server = try ScriptedServer { _ in .json(200, Self.code) }
        let store = InMemorySessionStore(Fixture.document())
        let clock = TestClock()
        let request = try AppFlipLinkTests.request()
        #expect(await server.client(store, clock: clock).answer(request, consent: true) == Self.success)
        clock.advance(599)
        #expect(await server.client(store, clock: clock).answer(request, consent: false) == Self.success)
        #expect(server.requests.count == 1)
        clock.advance(1)
        #expect(await server.client(store, clock: clock).answer(request, consent: false) == Self.denied)
        #expect(try Fixture.stored(store.load()).answers.count == 1)
    }

    @Test func `an answer without a session outlives a restart too`() async throws {
        let server = try ScriptedServer { _ in .json(200, Self.code) }
        let store = InMemorySessionStore()
        let request = try AppFlipLinkTests.request()
        #expect(await server.client(store).answer(request, consent: false) == Self.denied)
        #expect(await server.client(store).answer(request, consent: true) == Self.denied)
        #expect(server.requests.isEmpty)
    }

    @Test func `other requests are answered by themselves`() async throws {
        let server = try ScriptedServer { _ in .json(200, Self.code) }
        let client = server.client(InMemorySessionStore(Fixture.document()))
        _ = await client.answer(try AppFlipLinkTests.request(), consent: false)
        let other = try AppFlipLinkTests.request(AppFlipLinkTests.link(state: "state=another"))
        let answer = await client.answer(other, consent: true)
        #expect(answer.query == "code=Zt0w%2B%2F%3D&state=another")
    }

    @Test func `two taps at once ask once`() async throws {
        let gate = Gate()
        let server = try ScriptedServer(behind: gate) { _ in .json(200, Self.code) }
        let client = server.client(InMemorySessionStore(Fixture.document()))
        let request = try AppFlipLinkTests.request()
        async let first = client.answer(request, consent: true)
        await gate.reached()
        async let second = client.answer(request, consent: false)
        gate.open()
        #expect(await [first, second] == [Self.success, Self.success])
        #expect(server.requests.count == 1)
    }

    @Test func `a caller that is cancelled leaves one answer`() async throws {
        let gate = Gate()
        let server = try ScriptedServer(behind: gate) { _ in .json(200, Self.code) }
        let client = server.client(InMemorySessionStore(Fixture.document()))
        let request = try AppFlipLinkTests.request()
        let call = Task { await client.answer(request, consent: true) }
        await gate.reached()
        call.cancel()
        gate.open()
        #expect(await call.value == Self.success)
        #expect(await client.answer(request, consent: true) == Self.success)
    }

    @Test func `an app that is ended before the answer is kept asks again`() async throws {
        let gate = Gate()
        let server = try ScriptedServer(behind: gate) { _ in .json(200, Self.code) }
        // What the store holds while the first process waits is all that the second one finds.
        let store = InMemorySessionStore(Fixture.document())
        let request = try AppFlipLinkTests.request()
        let ended = server.client(store)
        let call = Task { await ended.answer(request, consent: true) }
        await gate.reached()
        let restarted = server.client(InMemorySessionStore(store.load()))
        gate.open()
        #expect(await restarted.answer(request, consent: true) == Self.success)
        _ = await call.value
        #expect(server.requests.count == 2)
    }

    @Test(arguments: [Set<FaultyStore.Call>([.save]), [.load], [.load, .save]])
    func `a store that fails leaves one answer in memory`(faults: Set<FaultyStore.Call>) async throws {
        let (server, store, client) = try ScriptedServer.serving(nil, failing: faults) { _ in .json(200, Self.code) }
        let request = try AppFlipLinkTests.request()
        #expect(await client.answer(request, consent: false) == Self.denied)
        #expect(await client.answer(request, consent: true) == Self.denied)
        store.fail([])
        #expect(await client.answer(request, consent: true) == Self.denied)
        #expect(server.requests.isEmpty)
    }

    @Test func `the store holds neither state nor client as a name`() async throws {
        let server = try ScriptedServer { _ in .json(200, Self.code) }
        let store = InMemorySessionStore(Fixture.document())
        _ = await server.client(store).answer(try AppFlipLinkTests.request(), consent: true)
        let names = try Fixture.stored(store.load()).answers.keys
        #expect(names.count == 1)
        #expect(names.allSatisfy { $0.utf8.count == 43 })
    }
}
