import Foundation
import Testing

@testable import CountersignClient

@Suite struct WebSignInTests {
    private let redirectURI: URL

    init() throws { redirectURI = try #require(URL(string: "com.example.app:/signed-in")) }

    private func query(_ url: URL) throws -> [String: String] {
        let pairs = try #require(FormText.pairs(url.query ?? ""))
        return Dictionary(pairs.map { ($0.name, $0.value) }) { first, _ in "\(first) repeated" }
    }

    /// A callback of the server's; nil leaves a parameter out.
    private func callback(
        _ attempt: WebSignIn, to uri: String? = nil, code: String? = "code", state: String?? = .none, iss: String?,
        extra: String = ""
    ) throws -> URL {
        let parts: [(String, String?)] = [("code", code), ("state", state ?? attempt.state), ("iss", iss)]
        let pairs = parts.compactMap { name, value in value.map { (name: name, value: $0) } }
        let base = uri ?? redirectURI.absoluteString
        return try #require(URL(string: "\(base)\(base.contains("?") ? "&" : "?")\(FormText.encode(pairs))\(extra)"))
    }

    @Test func `the start carries a state and the hash of a verifier, new for each attempt`() async throws {
        let server = try ScriptedServer { _ in .drop }
        let client = server.client()
        let attempt = await client.makeWebSignIn(app: "lamp", redirectURI: redirectURI, provider: .apple)
        #expect(attempt.url.absoluteString.hasPrefix("\(server.url().absoluteString)/web/authorize?app=lamp&"))
        let query = try query(attempt.url)
        #expect(query["app"] == "lamp" && query["redirect_uri"] == "com.example.app:/signed-in")
        #expect(query["provider"] == "apple" && query["code_challenge_method"] == "S256" && query.count == 6)
        #expect(query["code_challenge"] == Base64URL.encode(sha256(Data(attempt.verifier.utf8))))
        #expect(query["state"] == attempt.state && attempt.state.count == 43 && attempt.verifier.count == 43)
        #expect(!attempt.url.absoluteString.contains(attempt.verifier))
        let second = await client.makeWebSignIn(app: "lamp", redirectURI: redirectURI)
        #expect(second.state != attempt.state && second.verifier != attempt.verifier)
        #expect(try self.query(second.url)["provider"] == nil && server.requests.isEmpty)
    }

    @Test func `a callback becomes a session, once`() async throws {
        let (server, store, client) = try ScriptedServer.serving { _ in .json(200, Fixture.signedIn()) }
        let attempt = await client.makeWebSignIn(app: "lamp", redirectURI: redirectURI)
        let callback = try callback(attempt, code: "c+/=", iss: server.url().absoluteString + "/")
        #expect(try await client.signIn(web: attempt, callback: callback).account != nil)
        #expect(server.requests.first?.target == "/v1/sign-in/web")
        #expect(
            server.requests.first?.json == [
                "code": "c+/=", "codeVerifier": .string(attempt.verifier), "redirectUri": "com.example.app:/signed-in",
            ])
        #expect(try Fixture.stored(store.content).session != nil)
        // A second use of the code would end the session.
        await #expect(throws: SessionError.refused(code: "attempt_spent", status: 0)) {
            try await client.signIn(web: attempt, callback: callback)
        }
        #expect(server.requests.count == 1)
    }

    @Test func `the pages can be asked for languages and an address`() async throws {
        let server = try ScriptedServer { _ in .drop }
        let client = server.client()
        let attempt = await client.makeWebSignIn(
            app: "lamp", redirectURI: redirectURI, languages: ["de-AT", "en"], loginHint: "kim+1@example.com")
        let query = try query(attempt.url)
        #expect(query["ui_locales"] == "de-AT en" && query["login_hint"] == "kim+1@example.com" && query.count == 7)
        #expect(attempt.url.absoluteString.contains("ui_locales=de-AT%20en&login_hint=kim%2B1%40example.com"))
        let many = await client.makeWebSignIn(
            app: "lamp", redirectURI: redirectURI, languages: Array(repeating: "de", count: 33))
        #expect(try self.query(many.url)["ui_locales"]?.split(separator: " ").count == 32)
    }

    @Test func `an attempt survives the app's end, and shows nothing secret`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.signedIn()) }
        let begun = await server.client().makeWebSignIn(app: "lamp", redirectURI: redirectURI)
        let data = try JSONEncoder().encode(begun)
        let attempt = try JSONDecoder().decode(WebSignIn.self, from: data)
        #expect(attempt.url == begun.url && !printed(attempt).contains(begun.verifier))
        let callback = try callback(begun, iss: server.url().absoluteString)
        #expect(try await server.client().signIn(web: attempt, callback: callback).account != nil)
        #expect(server.requests.first?.json?["codeVerifier"]?.string == begun.verifier)
    }

    @Test func `a callback may become a ticket`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.linkRequired()) }
        let client = server.client()
        let attempt = await client.makeWebSignIn(app: "lamp", redirectURI: redirectURI)
        let callback = try callback(attempt, iss: server.url().absoluteString)
        #expect(try await client.signIn(web: attempt, callback: callback) == .linkRequired(LinkTests.ticket()))
    }

    @Test func `what does not belong to the attempt is refused, and nothing is sent`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.signedIn()) }
        let client = server.client()
        let attempt = await client.makeWebSignIn(app: "lamp", redirectURI: redirectURI)
        let iss = server.url().absoluteString
        let callbacks = [
            try callback(attempt, state: "another-state-that-is-long-enough", iss: iss),
            try callback(attempt, state: .some(nil), iss: iss), try callback(attempt, state: "", iss: iss),
            try callback(attempt, iss: nil), try callback(attempt, iss: "https://evil.example"),
            try callback(attempt, iss: iss + "//"), try callback(attempt, code: nil, iss: iss),
            try callback(attempt, code: "", iss: iss),
            try callback(attempt, iss: iss, extra: "&state=\(attempt.state)"),
            try callback(attempt, iss: iss, extra: "&%63ode=other"), try callback(attempt, iss: iss, extra: "&x=%zz"),
            try callback(attempt, iss: iss, extra: "&error=access_denied"),
            try callback(attempt, to: "com.example.app:/signed-in/", iss: iss),
            try callback(attempt, to: "com.example.app:/Signed-in", iss: iss),
            try callback(attempt, to: "com.example.app2:/signed-in", iss: iss),
            try callback(attempt, to: "com.example.app://host/signed-in", iss: iss),
            try callback(attempt, to: "https://com.example.app/signed-in", iss: iss),
        ]
        for callback in callbacks {
            await #expect(throws: SessionError.refused(code: "foreign_callback", status: 0), "\(callback)") {
                try await client.signIn(web: attempt, callback: callback)
            }
        }
        #expect(server.requests.isEmpty)
        // None of them has spent the attempt.
        let good = try callback(attempt, to: "COM.example.app:/signed-in", iss: iss)
        _ = try await client.signIn(web: attempt, callback: good)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [
        ("access_denied", SessionError.cancelled), ("server_error", .transient(retryAfter: nil)),
        ("temporarily_unavailable", .transient(retryAfter: nil)),
        ("invalid_request", .refused(code: "invalid_request", status: 0)),
        ("<script>", .refused(code: "foreign_callback", status: 0)),
    ]) func `an error in place of a code says what happened`(_ name: String, _ error: SessionError) async throws {
        let server = try ScriptedServer { _ in .drop }
        let client = server.client()
        let attempt = await client.makeWebSignIn(app: "lamp", redirectURI: redirectURI)
        let iss = server.url().absoluteString
        let extra = "&error=\(FormText.encode(name))"
        let own = try callback(attempt, code: nil, iss: iss, extra: extra)
        await #expect(throws: error) { try await client.signIn(web: attempt, callback: own) }
        // Not by anybody else.
        let foreign = try callback(attempt, code: nil, state: "another", iss: iss, extra: extra)
        await #expect(throws: SessionError.refused(code: "foreign_callback", status: 0)) {
            try await client.signIn(web: attempt, callback: foreign)
        }
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [
        ("https://app.example/cb", "https://APP.example/cb", true),
        ("https://app.example", "https://app.example/", true),
        ("https://app.example/cb", "https://app.example:8443/cb", false),
        ("https://app.example/cb", "https://user@app.example/cb", false),
        ("https://app.example/a%2Fb", "https://app.example/a/b", false),
        ("http://127.0.0.1:5000/cb", "http://127.0.0.1:5000/cb", true),
        ("http://127.0.0.1:5000/cb", "http://127.0.0.1:5001/cb", false),
        ("https://app.example/cb?a=1&b=2", "https://app.example/cb?b=2&a=1", true),
        ("https://app.example/cb?a=1", "https://app.example/cb?a=2", false),
        ("https://app.example/cb?a=1", "https://app.example/cb", false),
    ]) func `the callback's URI is the one that was registered`(
        _ registered: String, _ actual: String, _ isSame: Bool
    ) async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.signedIn()) }
        let client = server.client()
        let attempt = await client.makeWebSignIn(app: "lamp", redirectURI: try #require(URL(string: registered)))
        let callback = try callback(attempt, to: actual, iss: server.url().absoluteString)
        if isSame {
            _ = try await client.signIn(web: attempt, callback: callback)
            #expect(server.requests.first?.json?["redirectUri"]?.string == registered)
        } else {
            await #expect(throws: SessionError.refused(code: "foreign_callback", status: 0)) {
                try await client.signIn(web: attempt, callback: callback)
            }
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `the issuer is the base URL, or the one that is named`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.signedIn()) }
        let client = SignInClient(
            baseURL: server.url(), store: InMemorySessionStore(), allowsLoopbackHTTP: true,
            issuer: "https://issuer.example")
        let attempt = await client.makeWebSignIn(app: "lamp", redirectURI: redirectURI)
        await #expect(throws: SessionError.refused(code: "foreign_callback", status: 0)) {
            try await client.signIn(web: attempt, callback: try callback(attempt, iss: server.url().absoluteString))
        }
        _ = try await client.signIn(web: attempt, callback: try callback(attempt, iss: "https://issuer.example"))
    }

    @Test func `the browser's end is the person's, or says what is wrong with the app`() {
        let unsupported = SessionError.refused(code: "unsupported_callback", status: 0)
        for (end, isHTTPS, error) in [
            (BrowserEnd.closed(isExplained: false), true, SessionError.cancelled),
            (.closed(isExplained: true), true, unsupported), (.closed(isExplained: true), false, .cancelled),
            (.noWindow, false, .refused(code: "invalid_window", status: 0)),
            (.failed, true, .transient(retryAfter: nil)),
        ] { #expect(end.error(isHTTPS: isHTTPS) == error, "\(end)") }
        for code in ["unsupported_callback", "invalid_window"] {
            #expect(SessionError.refused(code: code, status: 0).description(in: ["en"]).contains("set up"))
        }
    }

    @Test func `a base URL may have a path`() async throws {
        let server = try ScriptedServer { _ in .problem(401, "invalid_token") }
        for path in ["/auth", "/auth/"] {
            let client = SignInClient(
                baseURL: server.url(path), store: InMemorySessionStore(), allowsLoopbackHTTP: true)
            _ = try? await client.signIn(email: "a@x.example", password: "p")
            let attempt = await client.makeWebSignIn(app: "lamp", redirectURI: redirectURI)
            #expect(attempt.url.path == "/auth/web/authorize")
        }
        #expect(server.requests.map(\.target) == ["/auth/v1/sign-in/password", "/auth/v1/sign-in/password"])
    }
}
