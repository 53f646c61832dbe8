import Foundation
import Testing

@testable import CountersignClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a person does with their account: what is sent, and what the answers mean.
@Suite struct AccountCallTests {
    private typealias Act = @Sendable (SignInClient) async throws -> Void

    private static let device = """
        {"sessionId":"other","current":false,"device":{"name":"Kim’s Pixel","platform":"android"},"ip":"192.0.2.0",
         "createdAt":"2026-11-21T03:58:40Z","lastUsedAt":"2026-11-21T03:59:40Z","amr":["google"]}
        """
    private static let service = """
        {"clientId":"google-7f3a","name":"Google","scopes":["email"],"linkedAt":"2026-11-21T03:58:40Z"}
        """

    /// Calls that change something and have no value of their own: method, target, body, success.
    private static let acts: [(String, String, [String: JSONValue]?, Int, Act)] = [
        ("DELETE", "/v1/account/identities/id-1", nil, 202, { try await $0.unlink(identity: "id-1") }),
        ("DELETE", "/v1/account/linked-clients/google-7f3a", nil, 204, { try await $0.unlink(service: "google-7f3a") }),
        (
            "PUT", "/v1/account/password", ["newPassword": "new", "currentPassword": "old"], 204,
            { try await $0.setPassword("new", current: "old") }
        ),
        ("PUT", "/v1/account/password", ["newPassword": "new"], 204, { try await $0.setPassword("new") }),
        (
            "PUT", "/v1/account/email", ["email": "a@x.example"], 202,
            { try await $0.requestEmailChange(to: "a@x.example") }
        ),
        ("POST", "/v1/account/verify-email", ["code": "123456"], 204, { try await $0.verifyEmail(code: "123456") }),
        ("DELETE", "/v1/account/email-replacement", nil, 204, { try await $0.cancelEmailReplacement() }),
        ("DELETE", "/v1/sessions/other", nil, 204, { try await $0.signOut(device: "other") }),
        ("POST", "/v1/sessions/revoke", ["scope": "others"], 204, { try await $0.signOutOtherDevices() }),
    ]

    @Test(arguments: acts.indices)
    func `each call is sent with the session and leaves it, whatever is answered`(_ index: Int) async throws {
        let (method, target, body, status, act) = Self.acts[index]
        let replies = Locked([
            ScriptedServer.Reply.answer(status, status == 202 ? "{}" : ""),
            .problem(403, "reauthentication_required", headers: ["X-Request-Id": "01a2-b.c"]),
            .problem(503, "temporarily_unavailable", headers: ["Retry-After": "7"]), .json(200, "<html>hotel</html>"),
        ])
        let server = try ScriptedServer { _ in replies.withLock { $0.removeFirst() } }
        let document = Fixture.document(openedBy: "another")
        let store = FaultyStore(document)
        let client = server.client(store)
        try await act(client)
        let request = try #require(server.requests.first)
        #expect(request.method == method && request.target == target && request.bearer == Fixture.access(1))
        #expect(request.json == body)
        let error = await #expect(throws: SessionError.self) { try await act(client) }
        #expect(error == .refused(code: "reauthentication_required", status: 403))
        #expect(error?.requestID == "01a2-b.c")
        await #expect(throws: SessionError.transient(retryAfter: 7)) { try await act(client) }
        await #expect(throws: SessionError.transient(retryAfter: nil)) { try await act(client) }
        #expect(store.content == document && server.requests.count == 4)
        await #expect(throws: SessionError.noSession) { try await act(server.client()) }
        #expect(server.requests.count == 4)
    }

    @Test func `the account comes back renamed`() async throws {
        let (server, _, client) = try ScriptedServer.serving(Fixture.document()) { _ in .json(200, Fixture.account) }
        #expect(try await client.setDisplayName("Kim Example").displayName == "Kim Example")
        _ = try await client.setDisplayName(nil)
        #expect(server.requests.map(\.method) == ["PATCH", "PATCH"] && server.requests[0].target == "/v1/account")
        #expect(server.requests.map(\.json) == [["displayName": "Kim Example"], ["displayName": .null]])
    }

    @Test func `devices and services are listed`() async throws {
        let (server, _, client) = try ScriptedServer.serving(Fixture.document()) { request in
            .json(200, #"{"items":[\#(request.path == "/v1/sessions" ? Self.device : Self.service)]}"#)
        }
        let device = try #require(try await client.devices().first)
        #expect(device.id == "other" && !device.isCurrent && device.name == "Kim’s Pixel")
        #expect(device.platform == "android" && device.methods == ["google"])
        #expect(device.lastUsedAt.timeIntervalSince(device.createdAt) == 60)
        let service = try #require(try await client.linkedServices().first)
        #expect(service.id == "google-7f3a" && service.name == "Google" && service.scopes == ["email"])
        #expect(service.lastUsedAt == nil)
        #expect(server.requests.map(\.target) == ["/v1/sessions", "/v1/account/linked-clients"])
    }

    @Test func `an export is the server's bytes, and no hotel's page`() async throws {
        let replies = Locked([#"{"account": {"a":1}}"#, "<html>hotel</html>"])
        let server = try ScriptedServer { _ in .json(200, replies.withLock { $0.removeFirst() }) }
        let client = server.client(FaultyStore(Fixture.document()))
        #expect(try await client.exportAccount() == Data(#"{"account": {"a":1}}"#.utf8))
        await #expect(throws: SessionError.transient(retryAfter: nil)) { try await client.exportAccount() }
    }

    @Test(arguments: ["", ".", "..", "../../account", "a/b", "a?b", "a#b", "%2e%2e", "ä"])
    func `an id that is none is no path`(_ id: String) async throws {
        let (server, _, client) = try ScriptedServer.serving(Fixture.document()) { _ in .noContent }
        let missing = SessionError.refused(code: "not_found", status: 0)
        await #expect(throws: missing) { try await client.unlink(identity: id) }
        await #expect(throws: missing) { try await client.unlink(service: id) }
        await #expect(throws: missing) { try await client.signOut(device: id) }
        #expect(server.requests.isEmpty)
    }

    // MARK: Ends

    @Test func `a deleted account leaves nothing here`() async throws {
        let (server, store, client) = try ScriptedServer.serving(Fixture.document()) { _ in .json(202, "{}") }
        var states = client.states.makeAsyncIterator()
        #expect(await states.next() == .signedIn(accountID: Fixture.accountID))
        try await client.deleteAccount()
        #expect(store.content == nil)
        #expect(await states.next() == .signedOut)
        #expect(server.requests.map(\.method) == ["DELETE"] && server.requests[0].target == "/v1/account")
        await #expect(throws: SessionError.noSession) { try await client.deleteAccount() }
    }

    @Test func `what is not deleted stays signed in`() async throws {
        let server = try ScriptedServer { _ in .problem(403, "reauthentication_required") }
        let store = FaultyStore(Fixture.document())
        await #expect(throws: SessionError.refused(code: "reauthentication_required", status: 403)) {
            try await server.client(store).deleteAccount()
        }
        #expect(store.content == Fixture.document())
    }

    @Test func `a sign-in while an account is being deleted stays`() async throws {
        let gate = Gate()
        let server = try ScriptedServer { request in
            guard request.path == "/v1/account" else { return .json(200, Fixture.ofAnother(Fixture.signedIn(2))) }
            gate.wait()
            return .json(202, "{}")
        }
        let store = FaultyStore(Fixture.document())
        let client = server.client(store)
        let deletion = Task { try await client.deleteAccount() }
        await gate.reached()
        _ = try await client.signIn(email: "b@x.example", password: "p")
        gate.open()
        try await deletion.value
        #expect(try Fixture.stored(store.content).session?.accessToken == Fixture.access(2))
    }

    /// Another call finds out that the session is over before the answer is there.
    @Test(arguments: [true, false])
    func `who ends the session by their own wish is signed out, though another call notices first`(_ isDeletion: Bool)
        async throws
    {
        let gate = Gate()
        let server = try ScriptedServer { request in
            switch request.target {
            case "/v1/account" where request.method == "DELETE", "/v1/sessions/revoke":
                gate.wait()
                return isDeletion ? .json(202, "{}") : .noContent
            case "/v1/sign-in/apple": return .problem(503, "down")
            case "/v1/sessions/refresh": return .problem(401, "invalid_refresh_token")
            default: return .problem(401, "invalid_session")
            }
        }
        let store = FaultyStore(Fixture.document())
        let client = server.client(store)
        _ = try? await client.signIn(
            apple: AppleCredential(identityToken: Fixture.token(), fullName: Fixture.name("Kim", nil)))
        let call = Task {
            if isDeletion { try await client.deleteAccount() } else { try await client.signOutEverywhere() }
        }
        await gate.reached()
        await #expect(throws: SessionError.reauthenticate(code: "invalid_refresh_token")) { try await client.account() }
        gate.open()
        try await call.value
        var states = client.states.makeAsyncIterator()
        #expect(await states.next() == .signedOut)
        let kept = try Fixture.stored(store.content)
        #expect(kept.session == nil && kept.appleNames.isEmpty == isDeletion)
    }

    @Test func `signing out everywhere forgets the session once it is done`() async throws {
        let replies = Locked([ScriptedServer.Reply.problem(503, "temporarily_unavailable"), .noContent])
        let server = try ScriptedServer { _ in replies.withLock { $0.removeFirst() } }
        let store = FaultyStore(Fixture.document())
        let client = server.client(store)
        await #expect(throws: SessionError.transient(retryAfter: nil)) { try await client.signOutEverywhere() }
        #expect(store.content == Fixture.document())
        try await client.signOutEverywhere()
        #expect(store.content == nil && server.requests[1].json == ["scope": "all"])
        #expect(await client.canAuthorize == false)
    }

    @Test func `what another process has signed in goes on, and is looked at before it is used`() async throws {
        let server = try ScriptedServer {
            $0.path == "/v1/sessions/refresh" ? .problem(401, "invalid_refresh_token") : .noContent
        }
        let later = Fixture.document(7, session: "later")
        let store = FaultyStore(Fixture.document())
        let client = server.client(store)
        #expect(await client.canAuthorize)
        store.put(later)
        try await client.signOut(device: Fixture.sessionID)
        #expect(store.content == later)

        let another = FaultyStore(Fixture.document())
        let everywhere = server.client(another)
        #expect(await everywhere.canAuthorize)
        another.put(later)
        try await everywhere.signOutEverywhere()
        #expect(try Fixture.stored(another.content).session?.needsRefresh == true)
        await #expect(throws: SessionError.reauthenticate(code: "invalid_refresh_token")) {
            try await everywhere.authorize(URLRequest(url: server.url("/things")))
        }
        #expect(server.requests.prefix(2).map(\.bearer) == [Fixture.access(1), Fixture.access(1)])
    }

    @Test func `its own device is signed out as by signOut`() async throws {
        let replies = Locked([ScriptedServer.Reply.noContent, .problem(503, "temporarily_unavailable")])
        let server = try ScriptedServer { _ in replies.withLock { $0.removeFirst() } }
        for isAnswered in [true, false] {
            let store = FaultyStore(Fixture.document())
            let client = server.client(store)
            if isAnswered {
                try await client.signOut(device: Fixture.sessionID)
            } else {
                await #expect(throws: SessionError.transient(retryAfter: nil)) {
                    try await client.signOut(device: Fixture.sessionID)
                }
            }
            #expect(store.content == nil)
            #expect(await client.canAuthorize == false)
        }
        #expect(server.requests.map(\.method) == ["DELETE", "DELETE"])
        #expect(server.requests[0].target == "/v1/sessions/\(Fixture.sessionID)")
    }

    @Test(arguments: [true, false])
    func `unlinking what opened the session has the next call ask, another identity does not`(
        _ isOwn: Bool
    ) async throws {
        let server = try ScriptedServer { request in
            switch request.path {
            case "/v1/sign-in/google": .json(200, Fixture.signedIn())
            case "/v1/sessions/refresh": .problem(401, "invalid_refresh_token")
            default: .json(202, "{}")
            }
        }
        let client = server.client()
        var states = client.states.makeAsyncIterator()
        _ = await states.next()
        _ = try await client.signIn(google: GoogleCredential(idToken: "token"))
        _ = await states.next()
        try await client.unlink(identity: isOwn ? "01a1fc41-9b43-7cef-ac4a-1bb95032c35a" : "another")
        let request = URLRequest(url: server.url("/things"))
        guard isOwn else {
            _ = try await client.authorize(request)
            #expect(server.requests.count == 2)
            return
        }
        await #expect(throws: SessionError.reauthenticate(code: "invalid_refresh_token")) {
            try await client.authorize(request)
        }
        #expect(await states.next() == .ended(code: "invalid_refresh_token"))
    }

    @Test func `a session that does not say what opened it is asked about after each unlinking`() async throws {
        let (server, _, client) = try ScriptedServer.serving(Fixture.document()) { request in
            request.path == "/v1/sessions/refresh" ? .json(200, Fixture.session(2)) : .json(202, "{}")
        }
        try await client.unlink(identity: "id-1")
        _ = try await client.authorize(URLRequest(url: server.url("/things")))
        #expect(server.requests.map(\.path) == ["/v1/account/identities/id-1", "/v1/sessions/refresh"])
    }

    // MARK: Codes are sent once

    @Test func `a link is made once and shown as the account`() async throws {
        let (server, store, client) = try ScriptedServer.serving(Fixture.document()) { request in
            request.method == "POST" ? .json(201, Fixture.identity) : .json(200, Fixture.account)
        }
        let apple = AppleCredential(
            identityToken: Fixture.token(), authorizationCode: "code", nonce: "nonce",
            fullName: Fixture.name("Kim", "Example"), clientID: "com.example.lamp")
        #expect(try await client.link(apple: apple).id == Fixture.accountID)
        #expect(try await client.link(google: GoogleCredential(idToken: "t", nonce: "n")).id == Fixture.accountID)
        #expect(
            server.requests.map(\.target) == [
                "/v1/account/identities/apple", "/v1/account", "/v1/account/identities/google", "/v1/account",
            ])
        #expect(
            server.requests[0].json == [
                "identityToken": .string(Fixture.token()), "authorizationCode": "code", "nonce": "nonce",
                "clientId": "com.example.lamp", "fullName": .object(["givenName": "Kim", "familyName": "Example"]),
            ])
        #expect(server.requests[2].json == ["idToken": "t", "nonce": "n"])
        // Apple's name has arrived.
        #expect(try Fixture.stored(store.content).appleNames.isEmpty)
    }

    @Test func `a code is not sent again after a refresh, a token is`() async throws {
        let server = try ScriptedServer { request in
            switch (request.path, request.bearer) {
            case ("/v1/sessions/refresh", _): .json(200, Fixture.session(2))
            case ("/v1/account", _): .json(200, Fixture.account)
            case (_, Fixture.access(2)): .json(201, Fixture.identity)
            default: .problem(401, "invalid_session")
            }
        }
        func client() -> SignInClient { server.client(FaultyStore(Fixture.document())) }
        let code = GoogleCredential(idToken: "t", serverAuthCode: "4/0A")
        await #expect(throws: SessionError.transient(retryAfter: nil)) { try await client().link(google: code) }
        #expect(server.requests(to: "/v1/account/identities/google").count == 1)
        _ = try await client().link(google: GoogleCredential(idToken: "t"))
        #expect(server.requests(to: "/v1/account/identities/google").count == 3)
        await #expect(throws: SessionError.transient(retryAfter: nil)) {
            try await client().verifyEmail(code: "123456")
        }
        #expect(server.requests(to: "/v1/account/verify-email").count == 1)
    }

    @Test func `registering signs in, on this device`() async throws {
        let server = try ScriptedServer { _ in .json(201, Fixture.signedIn(identity: nil)) }
        let store = FaultyStore()
        let client = server.client(store, device: DeviceDescription(name: nil, platform: "iOS"))
        _ = try await client.register(email: "a@x.example", password: "pass word", displayName: "Kim")
        #expect(try Fixture.stored(store.content).session?.accountID == Fixture.accountID)
        #expect(
            server.requests.first?.json == [
                "email": "a@x.example", "password": "pass word", "displayName": "Kim",
                "device": .object(["platform": "iOS"]),
            ])
    }

    @Test func `codes are asked for by their purpose, and a reset needs no session`() async throws {
        let server = try ScriptedServer { $0.path == "/v1/email-codes" ? .json(202, "{}") : .noContent }
        let client = server.client()
        try await client.requestPasswordReset(for: "a@x.example")
        try await client.requestVerification(of: "a@x.example")
        try await client.resetPassword(email: "a@x.example", code: "123456", newPassword: "new pass word")
        #expect(server.requests.map { $0.json?["purpose"] } == ["resetPassword", "verifyEmail", nil])
        #expect(server.requests[2].target == "/v1/accounts/password-reset" && server.requests[2].bearer == nil)
        #expect(server.requests[2].json == ["email": "a@x.example", "code": "123456", "newPassword": "new pass word"])
    }
}
