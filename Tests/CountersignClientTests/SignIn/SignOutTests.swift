import Foundation
import Testing

@testable import CountersignClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite struct SignOutTests {
    @Test func `signing out ends the session here and there`() async throws {
        let (server, store, client) = try ScriptedServer.serving(Fixture.document()) { _ in .noContent }
        try await client.signOut()
        #expect(store.content == nil)
        #expect(await client.canAuthorize == false)
        let request = try #require(server.requests.first)
        #expect(request.target == "/v1/sessions/revoke" && request.bearer == Fixture.access(1))
        #expect(request.json == ["scope": "current"])
        try await client.signOut()
        #expect(server.requests.count == 1)
    }

    @Test func `the phone forgets whatever the server says`() async throws {
        let replies: [(ScriptedServer.Reply, SessionError)] = [
            (.drop, .transient(retryAfter: nil)), (.problem(503, "down"), .transient(retryAfter: nil)),
            (.problem(403, "forbidden"), .refused(code: "forbidden", status: 403)),
            (.json(200, "<html>hotel</html>"), .transient(retryAfter: nil)),
        ]
        for (reply, error) in replies {
            let (server, store, client) = try ScriptedServer.serving(Fixture.document()) { _ in reply }
            await #expect(throws: error) { try await client.signOut() }
            #expect(store.content == nil && server.requests.count == 1)
            #expect(await client.canAuthorize == false)
        }
    }

    @Test func `an expired token is refreshed so that the server hears of it`() async throws {
        let server = try ScriptedServer {
            $0.path == "/v1/sessions/refresh" ? .json(200, Fixture.session(2)) : .noContent
        }
        let store = FaultyStore(Fixture.document(expiresIn: 0))
        try await server.client(store).signOut()
        #expect(server.requests.map(\.path) == ["/v1/sessions/refresh", "/v1/sessions/revoke"])
        #expect(server.requests[1].bearer == Fixture.access(2) && store.content == nil && store.saves.isEmpty)
    }

    @Test func `what another process has refreshed or signed in is what is ended`() async throws {
        let server = try ScriptedServer { _ in .noContent }
        for stored in [Fixture.document(7), Fixture.ofAnother(Fixture.document(7, session: "another"))] {
            let store = FaultyStore(Fixture.document(expiresIn: 0))
            let client = server.client(store)
            #expect(await client.canAuthorize)
            store.put(stored)
            try await client.signOut()
            #expect(store.content == nil)
        }
        #expect(server.requests.map(\.path) == ["/v1/sessions/revoke", "/v1/sessions/revoke"])
        #expect(server.requests.map(\.bearer) == [Fixture.access(7), Fixture.access(7)])
    }

    @Test func `what another process has forgotten is ended all the same`() async throws {
        let (server, store, client) = try ScriptedServer.serving(Fixture.document()) { _ in .noContent }
        #expect(await client.canAuthorize)
        store.put(nil)
        try await client.signOut()
        #expect(server.requests.map(\.bearer) == [Fixture.access(1)])
        #expect(await client.canAuthorize == false)
    }

    @Test func `a session that the server has ended already is signed out`() async throws {
        let server = try ScriptedServer {
            .problem(401, $0.path == "/v1/sessions/refresh" ? "invalid_refresh_token" : "invalid_session")
        }
        let store = FaultyStore(Fixture.document())
        try await server.client(store).signOut()
        #expect(server.requests.map(\.path) == ["/v1/sessions/revoke", "/v1/sessions/refresh"])
        #expect(store.content == nil)
    }

    @Test(arguments: [true, false])
    func `a sign-out wins over a refresh under way`(_ isAnswered: Bool) async throws {
        let gate = Gate()
        let (server, store, client) = try ScriptedServer.serving(Fixture.document(expiresIn: 30)) { request in
            guard request.path == "/v1/sessions/refresh" else { return .noContent }
            gate.wait()
            return isAnswered ? .json(200, Fixture.session(2)) : .drop
        }
        let request = URLRequest(url: server.url("/things"))
        let call = Task { try await client.authorize(request) }
        await gate.reached()
        try await client.signOut()
        #expect(store.content == nil)
        gate.open()
        await #expect(throws: SessionError.noSession) { try await call.value }
        #expect(store.content == nil && store.saves.isEmpty)
    }

    @Test func `names that the server does not have survive a sign-out`() async throws {
        let server = try ScriptedServer { request in
            switch request.path {
            case "/v1/sign-in/apple": .problem(503, "down")
            default: .noContent
            }
        }
        let store = FaultyStore(Fixture.document())
        let client = server.client(store)
        _ = try? await client.signIn(
            apple: AppleCredential(identityToken: Fixture.token(), fullName: Fixture.name("Kim", nil)))
        try await client.signOut()
        let document = try Fixture.stored(store.content)
        #expect(document.session == nil && document.appleNames[Fixture.subject]?.givenName == "Kim")
    }

    @Test func `observers see the state, and then each change`() async throws {
        let server = try ScriptedServer { request in
            switch request.path {
            case "/v1/sign-in/google": .json(200, Fixture.signedIn())
            case "/v1/sessions/refresh": .problem(401, "refresh_token_reused")
            default: .noContent
            }
        }
        let clock = TestClock()
        var client: SignInClient? = server.client(clock: clock)
        let first = try #require(client?.states)
        let second = try #require(client?.states)
        _ = try await client?.signIn(google: GoogleCredential(idToken: "token"))
        let late = try #require(client?.states)
        try await client?.signOut()
        _ = try await client?.signIn(google: GoogleCredential(idToken: "token"))
        clock.advance(900)
        _ = try? await client?.authorize(URLRequest(url: server.url()))
        client = nil
        let signedIn = SessionState.signedIn(accountID: Fixture.accountID)
        let changes = [signedIn, .signedOut, signedIn, .ended(code: "refresh_token_reused")]
        // The streams end with the client.
        for stream in [first, second] {
            var states: [SessionState] = []
            for await state in stream { states.append(state) }
            #expect(states == [.signedOut] + changes)
        }
        var states: [SessionState] = []
        for await state in late { states.append(state) }
        #expect(states == changes)
    }

    @Test func `the first state is that of the store, before any call`() async throws {
        let (server, _, client) = try ScriptedServer.serving(Fixture.document()) { _ in .drop }
        var states = client.states.makeAsyncIterator()
        #expect(await states.next() == .signedIn(accountID: Fixture.accountID))
        #expect(server.requests.isEmpty)
        _ = await client.canAuthorize
    }
}
