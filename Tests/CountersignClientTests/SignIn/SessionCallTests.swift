import Foundation
import Testing

@testable import CountersignClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Calls with the session: to the server, and to APIs of the app.
@Suite struct SessionCallTests {
    /// Answers 401 until the given token comes.
    private func server(accepting number: Int, refused: ScriptedServer.Reply) throws -> ScriptedServer {
        try ScriptedServer { request in
            if request.path == "/v1/sessions/refresh" { return .json(200, Fixture.session(2)) }
            return request.bearer == Fixture.access(number) ? .json(200, Fixture.account) : refused
        }
    }

    @Test func `the account comes from the server`() async throws {
        let server = try server(accepting: 1, refused: .drop)
        let account = try await server.client(FaultyStore(Fixture.document())).account()
        #expect(account.id == Fixture.accountID && account.identities.count == 1)
        #expect(server.requests.map(\.method) == ["GET"] && server.requests[0].target == "/v1/account")
        await #expect(throws: SessionError.noSession) { try await server.client().account() }
    }

    @Test func `after invalid_session the session is refreshed and the call repeated, once`() async throws {
        let server = try server(accepting: 2, refused: .problem(401, "invalid_session"))
        let store = FaultyStore(Fixture.document())
        #expect(try await server.client(store).account().id == Fixture.accountID)
        #expect(server.requests.map(\.path) == ["/v1/account", "/v1/sessions/refresh", "/v1/account"])
        #expect(server.requests[2].bearer == Fixture.access(2))
    }

    @Test func `invalid_session after a refresh ends the session`() async throws {
        let server = try server(accepting: 0, refused: .problem(401, "invalid_session"))
        let store = FaultyStore(Fixture.document())
        let client = server.client(store)
        await #expect(throws: SessionError.reauthenticate(code: "invalid_session")) { try await client.account() }
        #expect(server.requests.count == 3 && store.content == nil)
        #expect(await client.canAuthorize == false)
    }

    @Test(arguments: [
        (403, "reauthentication_required"), (403, "account_disabled"), (404, "not_found"), (401, "invalid_credentials"),
    ]) func `no other refusal is repeated or ends the session`(_ status: Int, _ code: String) async throws {
        let server = try server(accepting: 0, refused: .problem(status, code))
        let store = FaultyStore(Fixture.document())
        await #expect(throws: SessionError.refused(code: code, status: status)) {
            try await server.client(store).account()
        }
        #expect(server.requests.count == 1 && store.content == Fixture.document())
    }

    @Test func `a refresh that fails after a refusal is made before the next call, also after a restart`() async throws
    {
        let isDown = Locked(true)
        let (server, store, client) = try ScriptedServer.serving(Fixture.document()) { request in
            guard request.path == "/v1/sessions/refresh" else {
                return request.bearer == Fixture.access(2)
                    ? .json(200, Fixture.account) : .problem(401, "invalid_session")
            }
            return isDown.withLock { $0 } ? .problem(503, "down") : .json(200, Fixture.session(2))
        }
        // The old token is the one that was refused: the service is not sent it again.
        for client in [client, client, server.client(store)] {
            await #expect(throws: SessionError.transient(retryAfter: nil)) { try await client.account() }
        }
        let refresh = "/v1/sessions/refresh"
        #expect(server.requests.map(\.path) == ["/v1/account", refresh, refresh, refresh])
        let kept = try Fixture.stored(store.content).session
        #expect(kept?.needsRefresh == true && kept?.refreshToken == Fixture.refresh(1))
        isDown.withLock { $0 = false }
        #expect(try await client.account().id == Fixture.accountID)
        #expect(server.requests.map(\.path).suffix(2) == [refresh, "/v1/account"] && server.requests.count == 6)
        let refreshed = try Fixture.stored(store.content).session
        #expect(refreshed?.accessToken == Fixture.access(2) && refreshed?.needsRefresh == nil)
    }

    @Test func `what another process has refreshed meanwhile needs no refresh`() async throws {
        let store = FaultyStore(Fixture.document())
        let server = try ScriptedServer { request in
            guard request.bearer != Fixture.access(7) else { return .json(200, Fixture.account) }
            store.put(Fixture.document(7))
            return .problem(401, "invalid_session")
        }
        #expect(try await server.client(store).account().id == Fixture.accountID)
        #expect(server.requests.map(\.bearer) == [Fixture.access(1), Fixture.access(7)])
        let kept = try Fixture.stored(store.content).session
        #expect(kept?.accessToken == Fixture.access(7) && kept?.needsRefresh == nil)
    }

    @Test func `callers who are refused together refresh once`() async throws {
        let server = try server(accepting: 2, refused: .problem(401, "invalid_session"))
        let client = server.client(FaultyStore(Fixture.document()))
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { try await client.account().id } }
            for try await id in group { #expect(id == Fixture.accountID) }
        }
        #expect(server.requests(to: "/v1/sessions/refresh").count == 1)
    }

    @Test func `bind by session is repeated after invalid_session`() async throws {
        let server = try ScriptedServer { request in
            switch request.path {
            case "/v1/sessions/refresh": .json(200, Fixture.session(2))
            default:
                request.bearer == Fixture.access(2)
                    ? .json(200, Fixture.signedIn(3)) : .problem(401, "invalid_session")
            }
        }
        let store = FaultyStore(Fixture.document())
        _ = try await server.client(store).bind(LinkTests.ticket(), proof: .session)
        #expect(server.requests.count == 3)
        #expect(try Fixture.stored(store.content).session?.accessToken == Fixture.access(3))
    }

    @Test func `an app's own API gets the token, and once more after 401`() async throws {
        let api = try ScriptedServer { request in
            request.bearer == Fixture.access(2) ? .json(201, "made") : .json(401, #"{"code":"token_expired"}"#)
        }
        let server = try server(accepting: 2, refused: .drop)
        let client = server.client(FaultyStore(Fixture.document()), resourceHosts: ["LOCALHOST"])
        var request = URLRequest(url: api.url("/things?a=1", host: "localhost"))
        request.httpMethod = "POST"
        request.httpBody = Data("body".utf8)
        let (data, response) = try await client.data(for: request)
        #expect(response.statusCode == 201 && data == Data("made".utf8))
        #expect(api.requests.map(\.bearer) == [Fixture.access(1), Fixture.access(2)])
        #expect(api.requests.allSatisfy { $0.body == Data("body".utf8) && $0.target == "/things?a=1" })
    }

    @Test func `an app's own API that goes on refusing ends no session`() async throws {
        let api = try ScriptedServer { _ in .problem(401, "invalid_session") }
        let server = try server(accepting: 2, refused: .drop)
        let store = FaultyStore(Fixture.document())
        let client = server.client(store, resourceHosts: ["localhost"])
        let (_, response) = try await client.data(for: URLRequest(url: api.url(host: "localhost")))
        #expect(response.statusCode == 401 && api.requests.count == 2)
        #expect(try Fixture.stored(store.content).session?.accessToken == Fixture.access(2))
    }

    @Test func `what an app's own API refuses is remembered by setNeedsRefresh alone`() async throws {
        let api = try ScriptedServer { _ in .json(401, #"{"code":"token_expired"}"#) }
        let server = try ScriptedServer { _ in .problem(503, "down") }
        let store = FaultyStore(Fixture.document())
        let client = server.client(store, resourceHosts: ["localhost"])
        let request = URLRequest(url: api.url("/things", host: "localhost"))
        await #expect(throws: SessionError.transient(retryAfter: nil)) { try await client.data(for: request) }
        #expect(api.requests.count == 1 && store.content == Fixture.document())
        try await client.setNeedsRefresh()
        #expect(try Fixture.stored(store.content).session?.needsRefresh == true)
    }

    /// Sends a stream as the bytes in it: the scripted server reads a body by its length.
    private struct WholeBodyTransport: HTTPTransport {
        func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
            var request = request
            if request.httpBodyStream != nil { request.httpBody = Data("body".utf8) }
            return try await URLSessionTransport().send(request)
        }
    }

    @Test(arguments: ["/v1/things", "/api/things"])
    func `a stream that is refused is sent once, and the next call refreshes`(_ path: String) async throws {
        let server = try server(accepting: 2, refused: .problem(401, "invalid_session"))
        let client = SignInClient(
            baseURL: server.url(), store: FaultyStore(Fixture.document()), transport: WholeBodyTransport(),
            allowsLoopbackHTTP: true, now: { TestClock.start })
        for status in [401, 200] {
            var request = URLRequest(url: server.url(path))
            request.httpMethod = "POST"
            request.httpBodyStream = InputStream(data: Data("body".utf8))
            let (_, response) = try await client.data(for: request)
            #expect(response.statusCode == status)
        }
        #expect(server.requests.map(\.path) == [path, "/v1/sessions/refresh", path])
        #expect(server.requests(to: path).map(\.bearer) == [Fixture.access(1), Fixture.access(2)])
    }

    @Test func `a call to the server with another reason for 401 is sent once`() async throws {
        let server = try server(accepting: 0, refused: .problem(401, "invalid_credentials"))
        let client = server.client(FaultyStore(Fixture.document()))
        var request = URLRequest(url: server.url("/v1/account/password"))
        request.httpMethod = "PUT"
        let (_, response) = try await client.data(for: request)
        #expect(response.statusCode == 401 && server.requests.count == 1)
    }

    @Test func `a call to the server that says invalid_session twice ends the session`() async throws {
        let server = try server(accepting: 0, refused: .problem(401, "invalid_session"))
        let store = FaultyStore(Fixture.document())
        await #expect(throws: SessionError.reauthenticate(code: "invalid_session")) {
            try await server.client(store).data(for: URLRequest(url: server.url("/v1/sessions")))
        }
        #expect(store.content == nil)
    }

    @Test(arguments: [
        ("", "/api/things"), ("", "/v10/things"), ("", "/oauth"), ("/auth", "/v1/things"),
        ("/auth/", "/authority/v1/things"),
    ]) func `an app's own API under the service's host is called once more after any 401, and ends no session`(
        _ base: String, _ path: String
    ) async throws {
        for code in ["token_expired", "invalid_session"] {
            let server = try ScriptedServer { request in
                request.path.hasSuffix("/v1/sessions/refresh")
                    ? .json(200, Fixture.session(2)) : .problem(401, code)
            }
            let store = FaultyStore(Fixture.document())
            let client = server.client(store, base: base)
            let (_, response) = try await client.data(for: URLRequest(url: server.url(path)))
            #expect(response.statusCode == 401)
            #expect(server.requests(to: path).map(\.bearer) == [Fixture.access(1), Fixture.access(2)])
            #expect(try Fixture.stored(store.content).session?.accessToken == Fixture.access(2))
        }
    }

    @Test(arguments: [
        ("", "/v1/account/password"), ("", "/oauth/flip"), ("/auth", "/auth/v1/account/password"),
        ("/auth/", "/auth/oauth/flip"),
    ]) func `a service below a path refuses for another reason once, too`(_ base: String, _ path: String) async throws {
        let server = try ScriptedServer { _ in .problem(401, "invalid_credentials") }
        let client = server.client(FaultyStore(Fixture.document()), base: base)
        let (_, response) = try await client.data(for: URLRequest(url: server.url(path)))
        #expect(response.statusCode == 401 && server.requests.count == 1)
    }

    @Test func `the service is one scheme, host and port`() throws {
        let base = try #require(URL(string: "https://auth.example"))
        let server = SignInClient(baseURL: base, store: InMemorySessionStore()).server
        for text in ["https://auth.example/v1/account", "HTTPS://Auth.Example:443/oauth/flip"] {
            #expect(server.serves(URL(string: text)), "\(text)")
        }
        for text in [
            "https://auth.example:8443/v1/account", "http://auth.example/v1/account", "https://api.example/v1/account",
            "https://auth.example/", "https://auth.example",
        ] { #expect(!server.serves(URL(string: text)), "\(text)") }
        #expect(!server.serves(nil))
    }

    @Test func `answers of an app's API are the app's, and no redirect carries the token on`() async throws {
        let other = try ScriptedServer { _ in .json(200, "{}") }
        let target = other.url("/steal").absoluteString
        let (server, _, client) = try ScriptedServer.serving(Fixture.document()) { request in
            request.path == "/moved"
                ? .answer(307, "", headers: ["Location": target]) : .problem(503, "down", headers: ["Retry-After": "9"])
        }
        let moved = try await client.data(for: URLRequest(url: server.url("/moved")))
        let down = try await client.data(for: URLRequest(url: server.url("/down")))
        #expect(moved.1.statusCode == 307 && down.1.statusCode == 503)
        #expect(other.requests.isEmpty && server.requests.count == 2)
    }

    @Test(arguments: [
        "http://127.0.0.1.evil.example/", "http://example.com/", "ftp://127.0.0.1/", "file:///etc/passwd", "things",
        "HTTP://evil.example", "data:text/plain,x",
    ]) func `nothing goes where it can be read`(_ text: String) async throws {
        let server = try ScriptedServer { _ in .drop }
        let client = server.client(FaultyStore(Fixture.document()))
        let request = URLRequest(url: try #require(URL(string: text)))
        await #expect(throws: SessionError.insecureRequest) { try await client.authorize(request) }
        await #expect(throws: SessionError.insecureRequest) { try await client.data(for: request) }
    }

    @Test(arguments: [
        "https://evil.example/", "https://127.0.0.1.evil.example/", "https://127.0.0.1@evil.example/",
        "https://127.0.0.2/", "http://localhost/", "https://[::1]/", "https://api.example.evil.test/",
        "https://127.0.0.1./",
    ]) func `no other host gets the token, also for a refresh that would be due`(_ text: String) async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.session(2)) }
        let client = server.client(FaultyStore(Fixture.document(expiresIn: 1)), resourceHosts: ["api.example"])
        let request = URLRequest(url: try #require(URL(string: text)))
        let foreign = SessionError.refused(code: "foreign_host", status: 0)
        await #expect(throws: foreign) { try await client.authorize(request) }
        await #expect(throws: foreign) { try await client.data(for: request) }
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: ["HTTPS://127.0.0.1/a", "https://API.example:8443/a", "https://api.EXAMPLE"])
    func `hosts and schemes are compared without case`(_ text: String) async throws {
        let server = try ScriptedServer { _ in .drop }
        let client = server.client(FaultyStore(Fixture.document()), resourceHosts: ["Api.Example"])
        let request = try await client.authorize(URLRequest(url: try #require(URL(string: text))))
        #expect(request.value(forHTTPHeaderField: "Authorization") == "Bearer \(Fixture.access(1))")
    }

    @Test func `plain http needs the switch, and a loopback address`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.session(2)) }
        let request = URLRequest(url: server.url())
        let strict = SignInClient(
            baseURL: server.url(), store: FaultyStore(Fixture.document()), now: { TestClock.start })
        await #expect(throws: SessionError.insecureRequest) { try await strict.authorize(request) }
        await #expect(throws: SessionError.insecureRequest) { try await strict.account() }
        await #expect(throws: SessionError.insecureRequest) {
            try await strict.signIn(google: GoogleCredential(idToken: "token"))
        }
        await #expect(throws: SessionError.insecureRequest) { try await strict.makeNonce(for: .apple) }
        let remote = SignInClient(
            baseURL: try #require(URL(string: "http://auth.example")), store: FaultyStore(Fixture.document()),
            allowsLoopbackHTTP: true, now: { TestClock.start })
        await #expect(throws: SessionError.insecureRequest) { try await remote.account() }
        #expect(server.requests.isEmpty)
        for text in ["http://127.0.0.1/", "http://localhost:1/", "http://[::1]:1/"] {
            try SecureHosts.checkScheme(URL(string: text), allowsLoopbackHTTP: true)
        }
    }
}
