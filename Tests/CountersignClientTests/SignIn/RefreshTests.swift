import Foundation
import Testing

@testable import CountersignClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(2))) struct RefreshTests {
    private let request: URLRequest

    init() throws { request = URLRequest(url: try #require(URL(string: "https://127.0.0.1/things"))) }

    private func bearer(_ request: URLRequest) -> String? { request.value(forHTTPHeaderField: "Authorization") }
    private func bearer(_ number: Int) -> String { "Bearer \(Fixture.access(number))" }

    @Test func `with more than a minute left nothing is sent`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.session(2)) }
        let clock = TestClock()
        let client = server.client(FaultyStore(Fixture.document(expiresIn: 900)), clock: clock)
        #expect(bearer(try await client.authorize(request)) == bearer(1))
        clock.advance(839)
        #expect(bearer(try await client.authorize(request)) == bearer(1))
        #expect(server.requests.isEmpty)
        clock.advance(1)
        #expect(bearer(try await client.authorize(request)) == bearer(2))
        #expect(server.requests.count == 1)
    }

    @Test func `a refresh sends the token in the body alone, and stores the next one`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.session(2)) }
        let store = FaultyStore(Fixture.document(expiresIn: 60))
        let client = server.client(store)
        #expect(bearer(try await client.authorize(request)) == bearer(2))
        let sent = try #require(server.requests.first)
        #expect(sent.method == "POST" && sent.target == "/v1/sessions/refresh" && sent["authorization"].isEmpty)
        #expect(sent.json == ["refreshToken": .string(Fixture.refresh(1))])
        let stored = try #require(try Fixture.stored(store.content).session)
        #expect(stored.refreshToken == Fixture.refresh(2) && stored.accountID == Fixture.accountID)
        #expect(stored.accessExpiresAt == Timestamp.seconds(TestClock.start) + 900)
        #expect(bearer(try await client.authorize(request)) == bearer(2))
        #expect(server.requests.count == 1)
    }

    @Test func `what a request said of authorization is replaced, and the rest is kept`() async throws {
        let server = try ScriptedServer { _ in .drop }
        let client = server.client(FaultyStore(Fixture.document()))
        var request = request
        request.httpMethod = "PUT"
        request.httpBody = Data("body".utf8)
        request.setValue("Basic abc", forHTTPHeaderField: "authorization")
        request.setValue("1", forHTTPHeaderField: "X-Other")
        let authorized = try await client.authorize(request)
        #expect(bearer(authorized) == bearer(1) && authorized.value(forHTTPHeaderField: "X-Other") == "1")
        #expect(authorized.httpMethod == "PUT" && authorized.httpBody == Data("body".utf8))
    }

    @Test func `fifty callers share one refresh`() async throws {
        let gate = Gate()
        let server = try ScriptedServer(behind: gate) { _ in .json(200, Fixture.session(2)) }
        let client = server.client(FaultyStore(Fixture.document(expiresIn: 30)))
        let request = request
        let callers = (0..<50).map { _ in Task { try await client.authorize(request) } }
        await gate.reached()
        // All of them wait: each is at the actor or behind it, and the answer needs the actor too.
        gate.open()
        for caller in callers { #expect(bearer(try await caller.value) == bearer(2)) }
        #expect(server.requests.count == 1)
    }

    @Test func `fifty callers share one failure`() async throws {
        let gate = Gate()
        let server = try ScriptedServer(behind: gate) { _ in .problem(401, "refresh_token_reused") }
        let store = FaultyStore(Fixture.document(expiresIn: 30))
        let client = server.client(store)
        let request = request
        let callers = (0..<50).map { _ in Task { try await client.authorize(request) } }
        await gate.reached()
        gate.open()
        var ends = 0
        for caller in callers {
            do {
                _ = try await caller.value
                Issue.record("authorized")
            } catch let error as SessionError {
                // Who comes to the actor after the end finds no session.
                #expect(error == .reauthenticate(code: "refresh_token_reused") || error == .noSession)
                if error != .noSession { ends += 1 }
            }
        }
        #expect(ends >= 1 && server.requests.count == 1 && store.content == nil)
    }

    @Test(arguments: ["invalid_refresh_token", "refresh_token_reused"])
    func `a refusal of the refresh token ends the session`(_ code: String) async throws {
        let server = try ScriptedServer { _ in .problem(401, code) }
        let store = FaultyStore(Fixture.document(expiresIn: 30))
        let client = server.client(store)
        await #expect(throws: SessionError.reauthenticate(code: code)) { try await client.authorize(request) }
        #expect(store.content == nil)
        #expect(await client.canAuthorize == false)
        await #expect(throws: SessionError.noSession) { try await client.authorize(request) }
        #expect(server.requests.count == 1)
    }

    static let transient: [ScriptedServer.Reply] = [
        .problem(429, "rate_limited", headers: ["Retry-After": "7"]), .problem(500, "internal_error"),
        .problem(503, "temporarily_unavailable"), .drop, .json(200, "<html>hotel</html>"), .json(200, "{}"),
        .json(200, Fixture.session(2, expiresIn: #""900""#)), .answer(302, "", headers: ["Location": "/elsewhere"]),
        .json(401, "<html>hotel</html>"), .noContent, .json(201, Fixture.session(2)),
    ]

    @Test(arguments: transient.indices)
    func `a transient failure hands out the old token while it is unexpired, and then none`(_ index: Int) async throws {
        let reply = Self.transient[index]
        let server = try ScriptedServer { _ in reply }
        let clock = TestClock()
        let store = FaultyStore(Fixture.document(expiresIn: 60))
        let client = server.client(store, clock: clock)
        clock.advance(59)
        #expect(bearer(try await client.authorize(request)) == bearer(1))
        clock.advance(1)
        await #expect(throws: SessionError.transient(retryAfter: index == 0 ? 7 : nil)) {
            try await client.authorize(request)
        }
        #expect(store.content == Fixture.document(expiresIn: 60))
        #expect(await client.canAuthorize)
        #expect(server.requests.count == 2)
    }

    @Test(arguments: [(nil, 5), ("30", 30), ("9000", 300)] as [(String?, Int)])
    func `a refresh that fails for now is not tried again at once where there is a token to go on with`(
        _ retryAfter: String?, _ pause: Int
    ) async throws {
        let server = try ScriptedServer { _ in
            .problem(503, "down", headers: retryAfter.map { ["Retry-After": $0] } ?? [:])
        }
        let clock = TestClock()
        let client = server.client(FaultyStore(Fixture.document(expiresIn: pause + 20)), clock: clock)
        try await client.setNeedsRefresh()
        // Lastly the clock is set back, to before the pause.
        for (wait, count) in [(0, 1), (pause - 1, 1), (1, 2), (-1, 3)] {
            clock.advance(Double(wait))
            #expect(bearer(try await client.authorize(request)) == bearer(1))
            #expect(server.requests.count == count)
        }
    }

    @Test func `a sign-in is refreshed at once, whatever failed before it`() async throws {
        let answers = Locked([ScriptedServer.Reply.problem(503, "down"), .json(200, Fixture.session(2))])
        let server = try ScriptedServer { request in
            guard request.path == "/v1/sessions/refresh" else { return .json(200, Fixture.signedIn(5)) }
            return answers.withLock { $0.removeFirst() }
        }
        let client = server.client(FaultyStore(Fixture.document(expiresIn: 30)))
        #expect(bearer(try await client.authorize(request)) == bearer(1))
        _ = try await client.signIn(google: GoogleCredential(idToken: "token"))
        try await client.setNeedsRefresh()
        #expect(bearer(try await client.authorize(request)) == bearer(2))
    }

    @Test func `another refusal of a refresh ends nothing`() async throws {
        let server = try ScriptedServer { _ in .problem(400, "invalid_request") }
        let store = FaultyStore(Fixture.document(expiresIn: 30))
        let client = server.client(store)
        await #expect(throws: SessionError.refused(code: "invalid_request", status: 400)) {
            try await client.authorize(request)
        }
        #expect(store.content == Fixture.document(expiresIn: 30))
    }

    @Test func `what an extension has refreshed is taken from the store`() async throws {
        let server = try ScriptedServer { _ in .problem(401, "refresh_token_reused") }
        let store = FaultyStore(Fixture.document(expiresIn: 61))
        let clock = TestClock()
        let client = server.client(store, clock: clock)
        #expect(bearer(try await client.authorize(request)) == bearer(1))
        store.put(Fixture.document(7, expiresIn: 900))
        clock.advance(2)
        #expect(bearer(try await client.authorize(request)) == bearer(7))
        #expect(server.requests.isEmpty)
    }

    @Test func `an extension's newer refresh token is the one that is sent`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.session(8)) }
        let store = FaultyStore(Fixture.document(expiresIn: 61))
        let clock = TestClock()
        let client = server.client(store, clock: clock)
        _ = try await client.authorize(request)
        store.put(Fixture.document(7, expiresIn: 62))
        clock.advance(5)
        #expect(bearer(try await client.authorize(request)) == bearer(8))
        #expect(server.requests.map(\.json) == [["refreshToken": .string(Fixture.refresh(7))]])
    }

    /// What is authorized with a refresh that is answered after another process has changed the store, which is sent once.
    private func refreshed(
        _ reply: ScriptedServer.Reply, after change: Data?
    ) async throws -> (request: Result<URLRequest, any Error>, stored: Data?) {
        let gate = Gate()
        let server = try ScriptedServer(behind: gate) { _ in reply }
        let store = FaultyStore(Fixture.document(expiresIn: 30))
        let client = server.client(store)
        let request = request
        let call = Task { try await client.authorize(request) }
        await gate.reached()
        store.put(change)
        gate.open()
        let result = await call.result
        #expect(server.requests.count == 1)
        return (result, store.content)
    }

    @Test func `a refusal does not end what an extension has refreshed meanwhile`() async throws {
        let refreshed = try await refreshed(.problem(401, "invalid_refresh_token"), after: Fixture.document(7))
        #expect(bearer(try refreshed.request.get()) == bearer(7))
        #expect(refreshed.stored == Fixture.document(7))
    }

    @Test func `an answer that comes late does not replace what an extension has refreshed since`() async throws {
        let refreshed = try await refreshed(.json(200, Fixture.session(2)), after: Fixture.document(7))
        #expect(bearer(try refreshed.request.get()) == bearer(7))
        #expect(try Fixture.stored(refreshed.stored).session?.refreshToken == Fixture.refresh(7))
    }

    @Test func `a transport that gives up leaves the token that has not expired`() async throws {
        struct Fickle: HTTPTransport {
            func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) { throw CancellationError() }
        }
        let clock = TestClock()
        let client = SignInClient(
            baseURL: try #require(URL(string: "https://127.0.0.1")),
            store: FaultyStore(Fixture.document(expiresIn: 30)), transport: Fickle(), now: { clock.now })
        #expect(bearer(try await client.authorize(request)) == bearer(1))
        clock.advance(30)
        await #expect(throws: SessionError.transient(retryAfter: nil)) { try await client.authorize(request) }
    }

    @Test func `an extension's sign-out is not undone by a refresh`() async throws {
        let refreshed = try await refreshed(.json(200, Fixture.session(2)), after: nil)
        #expect(throws: SessionError.noSession) { try refreshed.request.get() }
        #expect(refreshed.stored == nil)
    }

    @Test func `an extension's sign-out shows with the next refresh`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.session(2)) }
        let store = FaultyStore(Fixture.document(expiresIn: 62))
        let clock = TestClock()
        let client = server.client(store, clock: clock)
        #expect(await client.canAuthorize)
        store.put(nil)
        #expect(await client.canAuthorize)
        clock.advance(2)
        await #expect(throws: SessionError.noSession) { try await client.authorize(request) }
        #expect(await client.canAuthorize == false)
        #expect(server.requests.isEmpty)
    }

    @Test func `who is cancelled leaves at once, and the refresh goes on for the others`() async throws {
        let gate = Gate()
        let server = try ScriptedServer(behind: gate) { _ in .json(200, Fixture.session(2)) }
        let store = FaultyStore(Fixture.document(expiresIn: 30))
        let client = server.client(store)
        let request = request
        let first = Task { try await client.authorize(request) }
        await gate.reached()
        let second = Task { try await client.authorize(request) }
        first.cancel()
        await #expect(throws: SessionError.cancelled) { try await first.value }
        gate.open()
        #expect(bearer(try await second.value) == bearer(2))
        #expect(try Fixture.stored(store.content).session?.refreshToken == Fixture.refresh(2))
        #expect(server.requests.count == 1)
    }

    @Test func `a refresh that nobody waits for any more is kept`() async throws {
        let gate = Gate()
        let server = try ScriptedServer(behind: gate) { _ in .json(200, Fixture.session(2)) }
        let client = server.client(FaultyStore(Fixture.document(expiresIn: 30)))
        let request = request
        let only = Task { try await client.authorize(request) }
        await gate.reached()
        only.cancel()
        await #expect(throws: SessionError.cancelled) { try await only.value }
        gate.open()
        // Joins the refresh that is under way, or finds what it left.
        #expect(bearer(try await client.authorize(request)) == bearer(2))
        #expect(server.requests.count == 1)
    }

    @Test func `setNeedsRefresh forces one refresh, also after a restart`() async throws {
        let answers = Locked([ScriptedServer.Reply.problem(503, "down"), .json(200, Fixture.session(2))])
        let server = try ScriptedServer { _ in answers.withLock { $0.removeFirst() } }
        let store = FaultyStore(Fixture.document())
        await #expect(throws: SessionError.noSession) { try await server.client().setNeedsRefresh() }
        try await server.client(store).setNeedsRefresh()
        let clock = TestClock()
        let client = server.client(store, clock: clock)
        // A transient failure leaves the wish in place.
        #expect(bearer(try await client.authorize(request)) == bearer(1))
        clock.advance(5)
        #expect(bearer(try await client.authorize(request)) == bearer(2))
        #expect(bearer(try await client.authorize(request)) == bearer(2))
        #expect(server.requests.count == 2)
    }

    @Test func `a sign-in wins over a refresh under way`() async throws {
        let gate = Gate()
        let (server, store, client) = try ScriptedServer.serving(Fixture.document(expiresIn: 30)) { request in
            guard request.path == "/v1/sessions/refresh" else { return .json(200, Fixture.signedIn(5)) }
            gate.wait()
            return .json(200, Fixture.session(2))
        }
        let request = request
        let call = Task { try await client.authorize(request) }
        await gate.reached()
        _ = try await client.signIn(google: GoogleCredential(idToken: "token"))
        gate.open()
        #expect(bearer(try await call.value) == bearer(5))
        #expect(try Fixture.stored(store.content).session?.refreshToken == Fixture.refresh(5))
        // The new session has refreshes of its own.
        try await client.setNeedsRefresh()
        #expect(bearer(try await client.authorize(request)) == bearer(2))
        #expect(server.requests(to: "/v1/sessions/refresh").count == 2)
    }
}
