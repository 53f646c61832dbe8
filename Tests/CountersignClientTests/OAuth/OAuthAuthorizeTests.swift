import Foundation
import Testing

@testable import CountersignClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct OAuthAuthorizeTests {
    private static func server() throws -> ScriptedServer {
        try ScriptedServer { _ in .json(200, OAuthFixture.grant(2)) }
    }

    @Test(arguments: [61, 900, nil] as [Double?])
    func `with more than a minute left nothing is sent`(lifetime: Double?) async throws {
        let server = try Self.server()
        let session = server.oauthSession(OAuthFixture.tokens(lifetime: lifetime))
        let request = try await session.authorize(OAuthFixture.api)
        #expect(OAuthFixture.bearer(request) == "Bearer \(Fixture.access(1))")
        #expect(request.url == OAuthFixture.api.url)
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [60, 1, -1])
    func `with a minute left or less the token is refreshed first`(lifetime: Double) async throws {
        let server = try Self.server()
        let session = server.oauthSession(OAuthFixture.tokens(lifetime: lifetime))
        #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(2))")
        #expect(server.requests.count == 1)
    }

    @Test(arguments: ["http://api.example/", "ftp://api.example/", "file:///etc/hosts", "HTTP://api.example"])
    func `a request that is not https gets no token`(url: String) async throws {
        let server = try Self.server()
        let session = server.oauthSession()
        await #expect(throws: SessionError.insecureRequest) {
            try await session.authorize(URLRequest(url: OAuthFixture.url(url)))
        }
        #expect(server.requests.isEmpty)
    }

    @Test func `https is https in any case`() async throws {
        let session = try Self.server().oauthSession(OAuthFixture.tokens())
        let request = try await session.authorize(URLRequest(url: OAuthFixture.url("HTTPS://API.example/")))
        #expect(OAuthFixture.bearer(request) == "Bearer \(Fixture.access(1))")
    }

    @Test func `the token replaces any authorization of the request`() async throws {
        let session = try Self.server().oauthSession(OAuthFixture.tokens())
        var request = OAuthFixture.api
        request.setValue("Basic old", forHTTPHeaderField: "authorization")
        request.setValue("kept", forHTTPHeaderField: "X-Other")
        let authorized = try await session.authorize(request)
        let values = (authorized.allHTTPHeaderFields ?? [:]).filter { $0.key.lowercased() == "authorization" }.values
        #expect(Array(values) == ["Bearer \(Fixture.access(1))"])
        #expect(authorized.value(forHTTPHeaderField: "X-Other") == "kept")
    }

    @Test func `an old token without a refresh token asks nobody`() async throws {
        let server = try Self.server()
        for refresh in [nil, ""] as [String?] {
            let session = server.oauthSession(OAuthFixture.tokens(lifetime: 60, refresh: refresh))
            await #expect(throws: SessionError.noSession) { try await session.authorize(OAuthFixture.api) }
            #expect(await session.canAuthorize)
        }
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [nil, "", "two words", "line\r\nX-Evil: 1"] as [String?])
    func `what can't be a token is refreshed`(token: String?) async throws {
        let server = try Self.server()
        let session = server.oauthSession(OAuthTokens(accessToken: token, refreshToken: Fixture.refresh(1)))
        #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(2))")
    }

    @Test func `without any token there is no session`() async throws {
        let server = try Self.server()
        let session = server.oauthSession(OAuthTokens(accessToken: "", userID: "s-1"))
        #expect(await !session.canAuthorize)
        await #expect(throws: SessionError.noSession) { try await session.authorize(OAuthFixture.api) }
        await #expect(throws: SessionError.noSession) { try await session.save() }
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [OAuthTokens(accessToken: "a"), OAuthTokens(refreshToken: "r"), OAuthTokens(idToken: "i")])
    func `any token can authorize, which sends nothing`(tokens: OAuthTokens) async throws {
        let server = try Self.server()
        #expect(await server.oauthSession(tokens).canAuthorize)
        #expect(server.requests.isEmpty)
    }

    @Test func `a forced refresh is made once and kept until then`() async throws {
        let server = try Self.server()
        let store = InMemorySessionStore()
        let session = server.oauthSession(OAuthFixture.tokens(), store: store)
        try await session.setNeedsRefresh()
        #expect(try OAuthFixture.stored(store)?.needsRefresh == true)
        let restarted = try #require(try server.restored(store))
        #expect(OAuthFixture.bearer(try await restarted.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(2))")
        #expect(try OAuthFixture.stored(store)?.needsRefresh == nil)
        _ = try await restarted.authorize(OAuthFixture.api)
        #expect(server.requests.count == 1)
    }

    @Test func `a forced refresh needs a refresh token`() async throws {
        let store = InMemorySessionStore()
        let session = try Self.server().oauthSession(OAuthFixture.tokens(refresh: nil), store: store)
        await #expect(throws: SessionError.noSession) { try await session.setNeedsRefresh() }
        #expect(store.load() == nil)
        _ = try await session.authorize(OAuthFixture.api)
    }

    @Test func `a refused token that another process has replaced is not refreshed`() async throws {
        let server = try Self.server()
        let store = InMemorySessionStore(try OAuthFixture.document(OAuthFixture.tokens(1)))
        let session = try #require(try server.restored(store))
        store.save(try OAuthFixture.document(OAuthFixture.tokens(5)))
        try await session.setNeedsRefresh()
        #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(5))")
        #expect(server.requests.isEmpty)
    }

    @Test func `configuration and client are readable without waiting`() throws {
        let session = try Self.server().oauthSession()
        #expect(session.configuration == OAuthFixture.configuration)
        #expect(session.clientID == "app")
    }
}
