import Foundation
import Testing

@testable import CountersignClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite struct StoreFailureTests {
    private static let failed = SessionError.storage("the store failed: Fault")
    private let request: URLRequest

    init() throws { request = URLRequest(url: try #require(URL(string: "https://127.0.0.1/things"))) }

    private func bearer(_ request: URLRequest) -> String? { request.value(forHTTPHeaderField: "Authorization") }

    @Test func `a rotated token that is not stored is not used, and not lost`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.session(2)) }
        let store = FaultyStore(Fixture.document(expiresIn: 30))
        let client = server.client(store)
        for fault in [FaultyStore.Call.save, .save, .load] {
            store.fail([fault])
            await #expect(throws: Self.failed) { try await client.authorize(request) }
        }
        #expect(await client.canAuthorize)
        #expect(store.content == Fixture.document(expiresIn: 30))
        store.fail([])
        #expect(bearer(try await client.authorize(request)) == "Bearer \(Fixture.access(2))")
        #expect(try Fixture.stored(store.content).session?.refreshToken == Fixture.refresh(2))
        #expect(server.requests.count == 1)
    }

    /// A refresh whose answer comes to a store that fails.
    @Test(arguments: [FaultyStore.Call.save, .load])
    func `what another process has stored since counts, not what the store did not take`(
        _ fault: FaultyStore.Call
    ) async throws {
        let store = FaultyStore(Fixture.document(expiresIn: 30))
        let server = try ScriptedServer { _ in
            store.fail([fault])
            return .json(200, Fixture.session(2))
        }
        let client = server.client(store)
        await #expect(throws: Self.failed) { try await client.authorize(request) }
        #expect(store.content == Fixture.document(expiresIn: 30))
        store.fail([])
        store.put(Fixture.document(7))
        #expect(bearer(try await client.authorize(request)) == "Bearer \(Fixture.access(7))")
        #expect(store.content == Fixture.document(7) && server.requests.count == 1)
    }

    @Test func `a store that can't be loaded is asked again`() async throws {
        let (server, store, client) = try ScriptedServer.serving(Fixture.document(), failing: [.load]) { _ in .drop }
        #expect(await client.canAuthorize == false)
        await #expect(throws: Self.failed) { try await client.authorize(request) }
        await #expect(throws: Self.failed) { try await client.setNeedsRefresh() }
        await #expect(throws: Self.failed) { try await client.signOut() }
        store.fail([])
        #expect(await client.canAuthorize)
        #expect(bearer(try await client.authorize(request)) == "Bearer \(Fixture.access(1))")
        #expect(store.content == Fixture.document() && server.requests.isEmpty)
    }

    @Test func `before the first unlock there is no state, and the first one is that of the session`() async throws {
        let server = try ScriptedServer { _ in .drop }
        let store = FaultyStore(Fixture.document(), failing: [.load])
        let client = server.client(store)
        // A push has started the app, with a view that waits for the state.
        var early = client.states.makeAsyncIterator()
        await client.begin()
        #expect(await client.canAuthorize == false)
        await #expect(throws: Self.failed) { try await client.authorize(request) }
        store.fail([])
        var late = client.states.makeAsyncIterator()
        #expect(await early.next() == .signedIn(accountID: Fixture.accountID))
        #expect(await late.next() == .signedIn(accountID: Fixture.accountID))
    }

    private typealias Call = @Sendable (SignInClient) async throws -> Void

    private static let callsWithoutSession: [Call] = [
        { _ = try await $0.makeNonce(for: .apple) },
        { try await $0.requestSignInCode(to: "a@x.example") },
        { try await $0.requestVerification(of: "a@x.example") },
        { try await $0.requestCode(to: "a@x.example", for: LinkTests.ticket()) },
        { try await $0.requestPasswordReset(for: "a@x.example") },
        { try await $0.resetPassword(email: "a@x.example", code: "1", newPassword: "p") },
        { try await $0.cancel(LinkTests.ticket()) },
        { _ = await $0.makeWebSignIn(app: "lamp", redirectURI: $0.server.baseURL) },
        { _ = try await $0.signIn(google: GoogleCredential(idToken: "token")) },
        { _ = try await $0.register(email: "a@x.example", password: "p") },
        { _ = try await $0.create(LinkTests.ticket()) },
        { _ = try await $0.bind(LinkTests.ticket(), proof: .ticket) },
    ]

    @Test(arguments: callsWithoutSession.indices)
    func `a call without a session looks again at a store that could not be loaded`(_ index: Int) async throws {
        let server = try ScriptedServer { _ in .drop }
        let store = FaultyStore(Fixture.document(), failing: [.load])
        let client = server.client(store)
        try? await Self.callsWithoutSession[index](client)
        #expect(client.sessionStates.last == nil)
        store.fail([])
        try? await Self.callsWithoutSession[index](client)
        #expect(client.sessionStates.last == .signedIn(accountID: Fixture.accountID))
    }

    @Test func `a store that can't be loaded before a refresh stops it`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.session(2)) }
        let store = FaultyStore(Fixture.document(expiresIn: 61))
        let clock = TestClock()
        let client = server.client(store, clock: clock)
        _ = try await client.authorize(request)
        clock.advance(10)
        store.fail([.load])
        await #expect(throws: Self.failed) { try await client.authorize(request) }
        #expect(server.requests.isEmpty)
        store.fail([])
        #expect(bearer(try await client.authorize(request)) == "Bearer \(Fixture.access(2))")
    }

    /// The first state of a new observer.
    private func state(_ client: SignInClient) async -> SessionState? {
        var states = client.states.makeAsyncIterator()
        return await states.next()
    }

    @Test func `a sign-in that is not stored is saved before it is used or shown`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.signedIn(3)) }
        let store = FaultyStore(failing: [.save])
        let client = server.client(store)
        await #expect(throws: Self.failed) { try await client.signIn(email: "a@x.example", password: "p") }
        #expect(await state(client) == .signedOut)
        #expect(await client.canAuthorize == false)
        await #expect(throws: Self.failed) { try await client.authorize(request) }
        store.fail([])
        #expect(bearer(try await client.authorize(request)) == "Bearer \(Fixture.access(3))")
        #expect(try Fixture.stored(store.content).session?.refreshToken == Fixture.refresh(3))
        #expect(await state(client) == .signedIn(accountID: Fixture.accountID))
        #expect(await client.canAuthorize)
    }

    @Test func `a sign-in that is not stored leaves the one before it shown`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.ofAnother(Fixture.signedIn(3))) }
        let store = FaultyStore(Fixture.document(), failing: [.save])
        let client = server.client(store)
        await #expect(throws: Self.failed) { try await client.signIn(email: "a@x.example", password: "p") }
        #expect(await state(client) == .signedIn(accountID: Fixture.accountID))
        #expect(await client.canAuthorize)
        // The session that shows is not used in place of the other one.
        await #expect(throws: Self.failed) { try await client.authorize(request) }
        store.fail([])
        #expect(bearer(try await client.authorize(request)) == "Bearer \(Fixture.access(3))")
        #expect(await state(client) == .signedIn(accountID: Fixture.anotherAccountID))
    }

    @Test func `a sign-in replaces what the store has that could be neither loaded nor saved then`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.ofAnother(Fixture.signedIn(3))) }
        let store = FaultyStore(Fixture.document(7), failing: [.load, .save])
        let client = server.client(store)
        await #expect(throws: Self.failed) { try await client.signIn(email: "a@x.example", password: "p") }
        store.fail([])
        #expect(bearer(try await client.authorize(request)) == "Bearer \(Fixture.access(3))")
        #expect(try Fixture.stored(store.content).session?.refreshToken == Fixture.refresh(3))
    }

    @Test func `a session that has ended shows as ended until the next one is stored`() async throws {
        let server = try ScriptedServer { request in
            switch request.path {
            case "/v1/sign-in/password": .json(200, Fixture.signedIn(3))
            case "/v1/sessions/revoke": .noContent
            default: .problem(401, "invalid_refresh_token")
            }
        }
        let store = FaultyStore(Fixture.document(expiresIn: 30))
        let client = server.client(store)
        await #expect(throws: SessionError.reauthenticate(code: "invalid_refresh_token")) {
            try await client.authorize(request)
        }
        store.fail([.save])
        await #expect(throws: Self.failed) { try await client.signIn(email: "a@x.example", password: "p") }
        #expect(await state(client) == .ended(code: "invalid_refresh_token"))
        store.fail([])
        _ = try await client.authorize(request)
        #expect(await state(client) == .signedIn(accountID: Fixture.accountID))
        try await client.signOut()
        #expect(await state(client) == .signedOut)
    }

    @Test(arguments: [
        "garbage", #"{"v":2,"session":{}}"#, "{}", #"{"v":1,"session":{"accessToken":1}}"#,
        #"{"v":1,"configuration":{},"clientID":"c","tokens":{"refreshToken":"r"}}"#,
    ])
    func `what can't be read is left as it is, until a sign-in replaces it`(_ text: String) async throws {
        let server = try ScriptedServer { request in
            request.path == "/v1/sign-in/apple"
                ? .problem(401, "invalid_token") : .json(200, Fixture.signedIn(identity: nil))
        }
        let garbage = Data(text.utf8)
        let store = FaultyStore(garbage)
        let client = server.client(store)
        #expect(await client.canAuthorize == false)
        // The person sees a sign-in.
        await client.begin()
        #expect(client.sessionStates.last == .signedOut)
        for _ in 0..<2 {
            do {
                _ = try await client.authorize(request)
                Issue.record("authorized")
            } catch .storage {}
            do {
                try await client.signOut()
                Issue.record("signed out")
            } catch .storage {}
            do {
                try await client.setNeedsRefresh()
                Issue.record("set")
            } catch .storage {}
        }
        await #expect(throws: SessionError.refused(code: "invalid_token", status: 401)) {
            try await client.signIn(
                apple: AppleCredential(identityToken: Fixture.token(), fullName: Fixture.name("Kim", nil)))
        }
        #expect(store.content == garbage && store.saves.isEmpty)
        _ = try await client.signIn(email: "a@x.example", password: "p")
        let document = try Fixture.stored(store.content)
        #expect(document.session?.accessToken == Fixture.access(1))
        // The name that could not be stored was not lost.
        #expect(document.appleNames[Fixture.subject]?.givenName == "Kim")
    }

    @Test func `the end of a session that the store does not forget is tried again`() async throws {
        let server = try ScriptedServer { _ in .problem(401, "invalid_refresh_token") }
        let store = FaultyStore(Fixture.document(expiresIn: 30), failing: [.remove])
        let client = server.client(store)
        await #expect(throws: SessionError.reauthenticate(code: "invalid_refresh_token")) {
            try await client.authorize(request)
        }
        #expect(await client.canAuthorize == false)
        await #expect(throws: Self.failed) { try await client.authorize(request) }
        store.fail([])
        await #expect(throws: SessionError.noSession) { try await client.authorize(request) }
        #expect(store.content == nil && server.requests.count == 1)
    }

    @Test func `a sign-out that the store does not take is said, and tried again`() async throws {
        let server = try ScriptedServer { _ in .noContent }
        let store = FaultyStore(Fixture.document(), failing: [.remove])
        let client = server.client(store)
        await #expect(throws: Self.failed) { try await client.signOut() }
        #expect(server.requests.map(\.target) == ["/v1/sessions/revoke"])
        #expect(await client.canAuthorize == false)
        #expect(store.content != nil)
        store.fail([])
        #expect(await client.canAuthorize == false)
        #expect(store.content == nil)
    }

    @Test(arguments: [true, false])
    func `a sign-out that the store does not take ends its session alone, also where that is refreshed since`(
        _ isAnother: Bool
    ) async throws {
        let (server, store, client) = try ScriptedServer.serving(Fixture.document(), failing: [.remove]) { _ in
            .noContent
        }
        await #expect(throws: Self.failed) { try await client.signOut() }
        let since = isAnother ? Fixture.ofAnother(Fixture.document(7, session: "another")) : Fixture.document(7)
        store.put(since)
        store.fail([])
        #expect(await client.canAuthorize == isAnother)
        #expect(store.content == (isAnother ? since : nil) && server.requests.count == 1)
    }

    @Test(arguments: [true, false])
    func `a sign-in that is not stored gives way to a later one, and not to a refresh of the session before it`(
        _ isLater: Bool
    ) async throws {
        let session = Fixture.session(3).replacingOccurrences(of: Fixture.sessionID, with: "ours")
        let server = try ScriptedServer { _ in .json(200, Fixture.signedIn(session: session)) }
        let store = FaultyStore(Fixture.document(), failing: [.save])
        let client = server.client(store)
        await #expect(throws: Self.failed) { try await client.signIn(email: "a@x.example", password: "p") }
        store.put(Fixture.document(7, session: isLater ? "later" : Fixture.sessionID))
        store.fail([])
        #expect(bearer(try await client.authorize(request)) == "Bearer \(Fixture.access(isLater ? 7 : 3))")
    }

    @Test func `a sign-out that neither the server nor the store hears of is one of the store`() async throws {
        let (server, _, client) = try ScriptedServer.serving(Fixture.document(), failing: [.remove]) { _ in .drop }
        await #expect(throws: Self.failed) { try await client.signOut() }
        #expect(server.requests.count == 1)
    }

    @Test func `an error of the store shows nothing of what it says`() {
        let error = SessionError(storing: FaultyStore.Fault())
        #expect(!"\(error)".contains("secret") && !String(reflecting: error).contains("secret"))
    }
}
