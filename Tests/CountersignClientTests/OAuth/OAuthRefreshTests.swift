import Foundation
import Testing

@testable import CountersignClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct OAuthRefreshTests {
    private static func form(_ request: ScriptedServer.Request) -> [String] {
        String(decoding: request.body, as: UTF8.self).components(separatedBy: "&")
    }

    @Test func `a public client is named in the body`() async throws {
        let server = try ScriptedServer { _ in .json(200, OAuthFixture.grant(2)) }
        let transport = DivertedTransport(server)
        let session = OAuthSession(
            configuration: OAuthFixture.configuration, clientID: "app ä",
            tokens: OAuthTokens(refreshToken: "1//a+b=c&d%"), store: InMemorySessionStore(), transport: transport)
        _ = try await session.authorize(OAuthFixture.api)
        let sent = try #require(server.requests.first)
        #expect(transport.sent == [OAuthFixture.configuration.tokenEndpoint])
        #expect(sent.method == "POST")
        #expect(sent["content-type"] == ["application/x-www-form-urlencoded; charset=UTF-8"])
        #expect(sent["accept"] == ["application/json"])
        #expect(sent["authorization"].isEmpty)
        #expect(
            Self.form(sent) == [
                "grant_type=refresh_token", "refresh_token=1%2F%2Fa%2Bb%3Dc%26d%25", "client_id=app%20%C3%A4",
            ])
    }

    @Test func `a client with a secret is named in the header`() async throws {
        let server = try ScriptedServer { _ in .json(200, OAuthFixture.grant(2)) }
        _ = try await server.oauthSession(clientID: "web client", secret: "s:cr+t").authorize(OAuthFixture.api)
        let sent = try #require(server.requests.first)
        let basic = Data("web%20client:s%3Acr%2Bt".utf8).base64EncodedString()
        #expect(sent["authorization"] == ["Basic \(basic)"])
        #expect(Self.form(sent) == ["grant_type=refresh_token", "refresh_token=\(Fixture.refresh(1))"])
    }

    @Test func `additional parameters are asked for once per refresh and replace none of the protocol`() async throws {
        let server = try ScriptedServer { _ in .json(200, OAuthFixture.grant(2)) }
        let asked = Locked(0)
        let session = server.oauthSession {
            asked.withLock { $0 += 1 }
            return [
                "audience": "a b", "emm_support": "1", "grant_type": "password", "refresh_token": "x", "client_id": "y",
                "client_secret": "z",
            ]
        }
        _ = try await session.authorize(OAuthFixture.api)
        _ = try await session.authorize(OAuthFixture.api)
        #expect(asked.withLock { $0 } == 1)
        #expect(
            server.requests.map(Self.form) == [
                [
                    "grant_type=refresh_token", "refresh_token=\(Fixture.refresh(1))", "client_id=app",
                    "audience=a%20b", "emm_support=1",
                ]
            ])
    }

    @Test func `a grant replaces what it names and keeps the rest`() async throws {
        let idToken = OAuthFixture.idToken(OAuthFixture.claims + #","email":"new@example.net","email_verified":true"#)
        let server = try ScriptedServer { _ in
            .json(200, OAuthFixture.grant(2, #","expires_in":3600,"id_token":"\#(idToken)""#, rotates: false))
        }
        let store = InMemorySessionStore()
        let session = server.oauthSession(store: store)
        _ = try await session.authorize(OAuthFixture.api)
        let tokens = OAuthTokens(
            accessToken: Fixture.access(2), refreshToken: Fixture.refresh(1), idToken: idToken, scope: "email",
            expiresAt: TestClock.start.addingTimeInterval(3600), userID: "s-1", userEmail: "new@example.net",
            userEmailIsVerified: true)
        #expect(await session.tokens == tokens)
        #expect(try OAuthFixture.stored(store)?.tokens == tokens)
    }

    @Test func `a malformed grant carries the request's id`() async throws {
        let server = try ScriptedServer { _ in
            .json(200, OAuthFixture.grant(2, #","expires_in":"soon""#), headers: ["X-Request-Id": "id-1"])
        }
        do {
            _ = try await server.oauthSession().authorize(OAuthFixture.api)
            Issue.record("no error")
        } catch {
            #expect(error == .transient(retryAfter: nil) && error.requestID == "id-1")
        }
    }

    // MARK: The ID token of a refresh

    /// Issued by this server.
    private static let configuration = {
        var configuration = OAuthFixture.configuration
        configuration.issuer = OAuthFixture.url("https://idp.example")
        return configuration
    }()

    private static func claim(_ old: String, _ new: String) -> String {
        OAuthFixture.idToken(
            OAuthFixture.claims.replacingOccurrences(of: old, with: new) + #","email":"new@example.net""#)
    }

    @Test(
        arguments: [
            ("unreadable", "not a JWT"), ("without claims", OAuthFixture.idToken(#""sub":"s-1""#)),
            ("of another issuer", claim("idp.example", "evil.example")),
            ("of an issuer that is longer", claim("idp.example", "idp.example/other")),
            ("for another client", claim(#""app""#, #""other""#)),
            ("for several others", claim(#""app""#, #"["other","app2"]"#)),
            ("for nobody", claim(#""app""#, "[]")), ("for a number", claim(#""app""#, "7")),
            ("expired now", claim("1795237200", "1795233600")), ("expired", claim("1795237200", "1795230001")),
            ("expiring in words", claim("1795237200", #""1795237200""#)),
            ("issued 601 seconds ago", claim(#""iat":1795233600"#, #""iat":1795232999"#)),
            ("issued in 601 seconds", claim(#""iat":1795233600"#, #""iat":1795234201"#)),
            ("of another person", claim(#""s-1""#, #""s-2""#)),
        ] as [(what: String, token: String)])
    func `an ID token that is not for this session is transient, and the rotated refresh token is kept`(
        _ bad: (what: String, token: String)
    ) async throws {
        let server = try ScriptedServer { _ in
            .json(200, OAuthFixture.grant(2, #","expires_in":3600,"scope":"all","id_token":"\#(bad.token)""#))
        }
        var before = OAuthFixture.tokens(lifetime: -1)
        before.idToken = OAuthFixture.idToken(OAuthFixture.claims)
        (before.userID, before.userEmail, before.userEmailIsVerified) = ("s-1", "old@example.net", true)
        let store = FaultyStore()
        let session = server.oauthSession(before, store: store, configuration: Self.configuration)
        try await session.save()
        await #expect(throws: SessionError.transient(retryAfter: nil)) { try await session.authorize(OAuthFixture.api) }
        var after = before
        after.refreshToken = Fixture.refresh(2)
        #expect(await session.tokens == after)
        #expect(try OAuthFixture.stored(store)?.tokens == after)
        _ = try? await session.authorize(OAuthFixture.api)
        #expect(server.requests.map { Self.form($0)[1] }.last == "refresh_token=\(Fixture.refresh(2))")
    }

    @Test(arguments: [#","expires_in":"3600""#, #","expires_in":3600,"scope":["email"]"#, #","id_token":7"#])
    func `a grant that is malformed is transient, and the rotated refresh token is kept`(_ more: String) async throws {
        let grants = Locked([OAuthFixture.grant(2, more), OAuthFixture.grant(3)])
        let server = try ScriptedServer { _ in .json(200, grants.withLock { $0.removeFirst() }) }
        let store = FaultyStore()
        let session = server.oauthSession(OAuthFixture.tokens(lifetime: -1), store: store)
        try await session.save()
        await #expect(throws: SessionError.transient(retryAfter: nil)) { try await session.authorize(OAuthFixture.api) }
        #expect(try OAuthFixture.stored(store)?.tokens.refreshToken == Fixture.refresh(2))
        _ = try await session.authorize(OAuthFixture.api)
        #expect(server.requests.map { Self.form($0)[1] }.last == "refresh_token=\(Fixture.refresh(2))")
    }

    @Test func `with a bad ID token and no other refresh token nothing is stored`() async throws {
        let server = try ScriptedServer { _ in
            .json(200, OAuthFixture.grant(2, #","expires_in":3600,"id_token":"not a JWT""#, rotates: false))
        }
        let store = FaultyStore()
        let session = server.oauthSession(OAuthFixture.tokens(lifetime: 30), store: store)
        // The old token is handed out while it lives.
        #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(1))")
        #expect(store.saves.isEmpty)
    }

    @Test(arguments: [
        OAuthFixture.idToken(OAuthFixture.claims), claim("https://idp.example", "https://idp.example/"),
        claim(#""app""#, #"["server","app"]"#), claim(#""app""#, #""server","azp":"app""#),
        claim(#""iat":1795233600"#, #""iat":1795233000"#), claim(#""iat":1795233600"#, #""iat":1795234200"#),
    ])
    func `an ID token for this client, by audience or authorized party, is taken`(token: String) async throws {
        let server = try ScriptedServer { _ in
            .json(200, OAuthFixture.grant(2, #","expires_in":3600,"id_token":"\#(token)""#))
        }
        let session = server.oauthSession(configuration: Self.configuration)
        #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(2))")
        #expect(await session.tokens.idToken == token)
        #expect(await session.tokens.userID == "s-1")
    }

    @Test func `where the configuration names no issuer any is taken`() async throws {
        let token = Self.claim("idp.example", "other.example")
        let server = try ScriptedServer { _ in
            .json(200, OAuthFixture.grant(2, #","expires_in":3600,"id_token":"\#(token)""#))
        }
        let session = server.oauthSession()
        _ = try await session.authorize(OAuthFixture.api)
        #expect(await session.tokens.idToken == token)
    }

    @Test func `a rotated refresh token and another scope are used from then on`() async throws {
        let server = try ScriptedServer { _ in .json(200, OAuthFixture.grant(2, #","expires_in":30,"scope":"openid""#))
        }
        let session = server.oauthSession()
        _ = try await session.authorize(OAuthFixture.api)
        #expect(await session.tokens.scope == "openid")
        _ = try await session.authorize(OAuthFixture.api)
        #expect(
            server.requests.map { Self.form($0)[1] } == [
                "refresh_token=\(Fixture.refresh(1))", "refresh_token=\(Fixture.refresh(2))",
            ])
    }

    @Test(
        arguments: [
            (#","expires_in":3600"#, 3600), (#","expires_in":3599.9"#, 3599), ("", nil), (#","expires_in":null"#, nil),
            (#","expires_in":0"#, 0), (#","expires_in":-5"#, 0), (#","expires_in":1e300"#, 315_360_000),
        ] as [(String, Double?)])
    func `the lifetime is a number, or not known`(member: String, lifetime: Double?) async throws {
        let server = try ScriptedServer { _ in .json(200, OAuthFixture.grant(2, member)) }
        let session = server.oauthSession()
        #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(2))")
        #expect(await session.tokens.expiresAt == lifetime.map { TestClock.start.addingTimeInterval($0) })
    }

    static let transient: [(ScriptedServer.Reply, Int?)] = [
        (.drop, nil), (.raw("nonsense\r\n\r\n"), nil),
        (.json(429, #"{"error":"invalid_grant"}"#, headers: ["Retry-After": "7"]), 7),
        (.json(503, #"{"error":"invalid_grant"}"#, headers: ["Retry-After": "30"]), 30), (.json(500, ""), nil),
        (.json(503, "", headers: ["Retry-After": "Fri, 31 Dec 2027 23:59:59 GMT"]), nil),
        (.answer(302, "", headers: ["Location": "https://elsewhere.example/"]), nil),
        (.answer(307, "", headers: ["Location": "/token"]), nil),
        (.answer(200, "<html>Please log in to the hotel</html>"), nil), (.answer(404, "<html>"), nil),
        (.json(400, #"{"error":7}"#), nil), (.json(400, #"{"error":"two words"}"#), nil), (.json(400, "[]"), nil),
        (.json(400, #"{"error":"temporarily_unavailable"}"#), nil), (.json(400, #"{"error":"server_error"}"#), nil),
        (.json(200, "[]"), nil), (.json(200, "{}"), nil), (.json(200, #"{"access_token":7}"#), nil),
        (.json(200, #"{"access_token":""}"#), nil), (.json(200, #"{"access_token":"a b"}"#), nil),
        (.json(200, #"{"access_token":"a","token_type":"mac"}"#), nil),
        (.json(200, #"{"access_token":"a","expires_in":"3600"}"#), nil),
        (.json(200, #"{"access_token":"a","expires_in":true}"#), nil),
        (.json(200, #"{"access_token":"a","refresh_token":7}"#), nil), (.json(201, OAuthFixture.grant(2)), nil),
        (.json(200, #"{"error":"invalid_grant"}"#), nil),
    ]

    @Test(arguments: transient.indices)
    func `what is not final changes nothing`(index: Int) async throws {
        let (reply, retryAfter) = Self.transient[index]
        let server = try ScriptedServer { _ in reply }
        let before = try OAuthFixture.document(OAuthFixture.tokens(lifetime: 0), needsRefresh: true)
        let store = FaultyStore(before)
        let session = try #require(try server.restored(store))
        await #expect(throws: SessionError.transient(retryAfter: retryAfter)) {
            try await session.authorize(OAuthFixture.api)
        }
        #expect(server.requests.count == 1)
        #expect(store.content == before && store.saves.isEmpty)
        #expect(await session.tokens == OAuthFixture.tokens(lifetime: 0))
    }

    @Test(arguments: transient.indices)
    func `what is not final hands out the old token while it lives`(index: Int) async throws {
        let (reply, _) = Self.transient[index]
        let server = try ScriptedServer { _ in reply }
        let clock = TestClock()
        let session = server.oauthSession(OAuthFixture.tokens(lifetime: 30), clock: clock)
        #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(1))")
        clock.advance(30)
        await #expect(throws: SessionError.self) { try await session.authorize(OAuthFixture.api) }
        #expect(server.requests.count == 2)
    }

    @Test func `a forced refresh that fails for now is made five seconds later`() async throws {
        let replies = Locked<[ScriptedServer.Reply]>([.json(503, ""), .json(200, OAuthFixture.grant(2))])
        let server = try ScriptedServer { _ in replies.withLock { $0.removeFirst() } }
        let clock = TestClock()
        let session = server.oauthSession(OAuthFixture.tokens(), clock: clock)
        try await session.setNeedsRefresh()
        for wait in [0.0, 4] {
            clock.advance(wait)
            #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(1))")
        }
        clock.advance(1)
        #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(2))")
        _ = try await session.authorize(OAuthFixture.api)
        #expect(server.requests.count == 2)
    }

    @Test(arguments: [400, 401, 403])
    func `invalid_grant ends the session`(status: Int) async throws {
        let server = try ScriptedServer { _ in .json(status, #"{"error":"invalid_grant"}"#) }
        let tokens = OAuthTokens(
            accessToken: Fixture.access(1), refreshToken: Fixture.refresh(1), expiresAt: TestClock.start, userID: "s-1",
            userEmail: "ana@example.net", userEmailIsVerified: true)
        let store = InMemorySessionStore(try OAuthFixture.document(tokens))
        let session = try #require(try server.restored(store))
        await #expect(throws: SessionError.reauthenticate(code: "invalid_grant")) {
            try await session.authorize(OAuthFixture.api)
        }
        #expect(store.load() == nil)
        #expect(await !session.canAuthorize)
        #expect(
            await session.tokens
                == OAuthTokens(userID: "s-1", userEmail: "ana@example.net", userEmailIsVerified: true))
        await #expect(throws: SessionError.noSession) { try await session.authorize(OAuthFixture.api) }
        await #expect(throws: SessionError.noSession) { try await session.setNeedsRefresh() }
        await #expect(throws: SessionError.noSession) { try await session.save() }
        #expect(server.requests.count == 1)
        #expect(store.load() == nil)
    }

    @Test func `invalid_grant ends a session whose token has not expired`() async throws {
        let server = try ScriptedServer { _ in .json(400, #"{"error":"invalid_grant"}"#) }
        let session = server.oauthSession(OAuthFixture.tokens(lifetime: 30))
        await #expect(throws: SessionError.reauthenticate(code: "invalid_grant")) {
            try await session.authorize(OAuthFixture.api)
        }
    }

    @Test(arguments: [
        (400, "invalid_request"), (401, "invalid_client"), (400, "unauthorized_client"), (400, "invalid_scope"),
        (400, "unsupported_grant_type"), (403, "access_denied"), (400, "admin_policy_enforced"),
    ])
    func `other codes refuse without ending the session`(status: Int, code: String) async throws {
        let server = try ScriptedServer { _ in .json(status, #"{"error":"\#(code)"}"#) }
        let before = try OAuthFixture.document(OAuthFixture.tokens(lifetime: 30))
        let store = InMemorySessionStore(before)
        let session = try #require(try server.restored(store))
        await #expect(throws: SessionError.refused(code: code, status: status)) {
            try await session.authorize(OAuthFixture.api)
        }
        #expect(store.load() == before)
        #expect(await session.canAuthorize)
    }

    @Test func `a token endpoint that is not https gets nothing`() async throws {
        let server = try ScriptedServer { _ in .json(200, OAuthFixture.grant(2)) }
        var configuration = OAuthFixture.configuration
        configuration.tokenEndpoint = server.url("/token")
        let session = OAuthSession(
            configuration: configuration, clientID: "app", tokens: OAuthTokens(refreshToken: Fixture.refresh(1)),
            store: InMemorySessionStore())
        await #expect(throws: SessionError.insecureRequest) { try await session.authorize(OAuthFixture.api) }
        #expect(server.requests.isEmpty)
    }
}
