import Foundation
import Testing

@testable import CountersignClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct OAuthStoreTests {
    private static let failed = SessionError.storage("the store failed: Fault")

    private static func server() throws -> ScriptedServer {
        try ScriptedServer { _ in .json(200, OAuthFixture.grant(2)) }
    }

    @Test func `a saved session is restored with its client and secret`() async throws {
        let server = try Self.server()
        let store = InMemorySessionStore()
        try await server.oauthSession(OAuthFixture.tokens(), clientID: "web", secret: "s3cret", store: store).save()
        let restored = try #require(try server.restored(store))
        #expect(restored.clientID == "web")
        #expect(restored.configuration == OAuthFixture.configuration)
        #expect(await restored.tokens == OAuthFixture.tokens())
        try await restored.setNeedsRefresh()
        _ = try await restored.authorize(OAuthFixture.api)
        #expect(server.requests[0]["authorization"] == ["Basic \(Data("web:s3cret".utf8).base64EncodedString())"])
    }

    @Test func `the stored form is version 1 of JSON with whole seconds`() async throws {
        let store = InMemorySessionStore()
        var tokens = OAuthFixture.tokens()
        tokens.expiresAt = TestClock.start.addingTimeInterval(0.5)
        try await Self.server().oauthSession(tokens, store: store).save()
        let members = JSONValue.object(in: store.load() ?? Data())
        #expect(members?["v"] == .number(1))
        #expect(members?["clientID"] == "app")
        #expect(members?["tokens"]?.object?["expiresAt"] == .number(TestClock.start.timeIntervalSince1970))
    }

    @Test func `members of a later version are ignored`() async throws {
        let server = try Self.server()
        let text = """
            {"v":1,"later":[1],"clientID":"app","configuration":{"authorizationEndpoint":"https://idp.example/authorize",
            "tokenEndpoint":"https://idp.example/token","later":1},"tokens":{"refreshToken":"r","later":{}}}
            """
        let session = try #require(try server.restored(InMemorySessionStore(Data(text.utf8))))
        #expect(await session.tokens == OAuthTokens(refreshToken: "r"))
    }

    @Test func `an empty store has no session`() throws {
        #expect(try Self.server().restored(InMemorySessionStore()) == nil)
    }

    @Test(arguments: [
        "", "garbage", "[]", "{}", #"{"v":2}"#, #"{"v":"1"}"#, #"{"v":1}"#, #"{"v":1,"session":{}}"#,
        #"{"v":1,"clientID":"a","configuration":{"authorizationEndpoint":"","tokenEndpoint":""},"tokens":{}}"#,
    ])
    func `what can't be read is left as it is, and a save replaces it`(text: String) async throws {
        let server = try Self.server()
        let store = InMemorySessionStore(Data(text.utf8))
        #expect { try server.restored(store) } throws: { error in
            guard case SessionError.storage = error else { return false }
            return true
        }
        #expect(store.load() == Data(text.utf8))
        try await server.oauthSession(OAuthFixture.tokens(), store: store).save()
        #expect(try OAuthFixture.stored(store)?.tokens == OAuthFixture.tokens())
    }

    @Test func `the rotated token is in the store before the new one is handed out`() async throws {
        let server = try Self.server()
        let store = FaultyStore()
        let session = server.oauthSession(store: store)
        store.fail([.save])
        await #expect(throws: Self.failed) { try await session.authorize(OAuthFixture.api) }
        #expect(store.content == nil)
        await #expect(throws: Self.failed) { try await session.authorize(OAuthFixture.api) }
        store.fail([])
        #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(2))")
        #expect(try OAuthFixture.stored(store)?.tokens.refreshToken == Fixture.refresh(2))
        #expect(server.requests.count == 1)
    }

    @Test func `the tokens are those that were last stored, and what was not is stored first`() async throws {
        let server = try Self.server()
        let before = OAuthFixture.tokens(lifetime: -1)
        let store = FaultyStore(try OAuthFixture.document(before), failing: [.save])
        let session = try #require(try server.restored(store))
        await #expect(throws: Self.failed) { try await session.authorize(OAuthFixture.api) }
        #expect(await session.tokens == before)
        store.fail([.load])
        await #expect(throws: Self.failed) { try await session.authorize(OAuthFixture.api) }
        store.fail([.save])
        await #expect(throws: Self.failed) { try await session.setNeedsRefresh() }
        await #expect(throws: Self.failed) { try await session.save() }
        #expect(await session.tokens == before)
        store.fail([])
        try await session.save()
        #expect(await session.tokens.refreshToken == Fixture.refresh(2))
        #expect(try await OAuthFixture.stored(store)?.tokens == session.tokens)
        #expect(server.requests.count == 1)
    }

    /// A refresh whose answer comes to a store that fails.
    @Test(arguments: [FaultyStore.Call.save, .load])
    func `what another process has stored since counts, not what the store did not take`(
        fault: FaultyStore.Call
    ) async throws {
        let before = try OAuthFixture.document(OAuthFixture.tokens(lifetime: -1))
        let store = FaultyStore(before)
        let server = try ScriptedServer { _ in
            store.fail([fault])
            return .json(200, OAuthFixture.grant(2))
        }
        let session = try #require(try server.restored(store))
        await #expect(throws: Self.failed) { try await session.authorize(OAuthFixture.api) }
        #expect(store.content == before)
        store.fail([])
        let newer = try OAuthFixture.document(OAuthFixture.tokens(5, refresh: Fixture.refresh(5)))
        store.put(newer)
        #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(5))")
        #expect(store.content == newer && server.requests.count == 1)
    }

    @Test func `a session that another process has removed is not brought back by what the store did not take`()
        async throws
    {
        let server = try Self.server()
        let store = FaultyStore(try OAuthFixture.document(OAuthFixture.tokens(lifetime: -1)), failing: [.save])
        let session = try #require(try server.restored(store))
        await #expect(throws: Self.failed) { try await session.authorize(OAuthFixture.api) }
        store.fail([])
        store.put(nil)
        await #expect(throws: SessionError.noSession) { try await session.authorize(OAuthFixture.api) }
        #expect(store.content == nil)
    }

    @Test func `a forced refresh that the store did not take is made all the same`() async throws {
        let server = try Self.server()
        let store = FaultyStore(try OAuthFixture.document(OAuthFixture.tokens()), failing: [.save])
        let session = try #require(try server.restored(store))
        await #expect(throws: Self.failed) { try await session.setNeedsRefresh() }
        store.fail([])
        #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(2))")
        #expect(server.requests.count == 1)
    }

    @Test func `a store that fails before a refresh keeps it from being made`() async throws {
        let server = try Self.server()
        let store = FaultyStore(try OAuthFixture.document(OAuthFixture.tokens(lifetime: 30)))
        let session = try #require(try server.restored(store))
        store.fail([.load])
        await #expect(throws: Self.failed) { try await session.authorize(OAuthFixture.api) }
        store.fail([])
        store.put(Data(#"{"v":9}"#.utf8))
        await #expect(throws: SessionError.storage("the document has version 9")) {
            try await session.authorize(OAuthFixture.api)
        }
        #expect(server.requests.isEmpty)
        #expect(store.content == Data(#"{"v":9}"#.utf8))
    }

    @Test func `a store that does not forget keeps the session from ending`() async throws {
        let server = try ScriptedServer { _ in .json(400, #"{"error":"invalid_grant"}"#) }
        let store = FaultyStore(try OAuthFixture.document(OAuthFixture.tokens(lifetime: 30)), failing: [.remove])
        let session = try #require(try server.restored(store))
        await #expect(throws: Self.failed) { try await session.authorize(OAuthFixture.api) }
        store.fail([])
        await #expect(throws: SessionError.reauthenticate(code: "invalid_grant")) {
            try await session.authorize(OAuthFixture.api)
        }
        #expect(store.content == nil)
    }

    @Test func `what another process has refreshed is used without a refresh`() async throws {
        let server = try Self.server()
        let store = InMemorySessionStore(try OAuthFixture.document(OAuthFixture.tokens(lifetime: -1)))
        let session = try #require(try server.restored(store))
        store.save(try OAuthFixture.document(OAuthFixture.tokens(5, refresh: Fixture.refresh(5))))
        #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(5))")
        #expect(server.requests.isEmpty)
        #expect(await session.tokens.refreshToken == Fixture.refresh(5))
    }

    @Test func `the refresh token that another process has stored is the one that is sent`() async throws {
        let server = try Self.server()
        let store = InMemorySessionStore(try OAuthFixture.document(OAuthFixture.tokens(lifetime: -1)))
        let session = try #require(try server.restored(store))
        store.save(try OAuthFixture.document(OAuthFixture.tokens(5, lifetime: -1, refresh: Fixture.refresh(5))))
        _ = try await session.authorize(OAuthFixture.api)
        #expect(String(decoding: server.requests[0].body, as: UTF8.self).contains(Fixture.refresh(5)))
    }

    @Test func `a session that another process has removed is over`() async throws {
        let server = try Self.server()
        let store = InMemorySessionStore(try OAuthFixture.document(OAuthFixture.tokens(lifetime: -1)))
        let session = try #require(try server.restored(store))
        store.remove()
        await #expect(throws: SessionError.noSession) { try await session.authorize(OAuthFixture.api) }
        #expect(await !session.canAuthorize)
        #expect(server.requests.isEmpty)
        #expect(store.load() == nil)
    }

    @Test func `a session of another client in the store is not this one`() async throws {
        let server = try Self.server()
        let store = InMemorySessionStore(try OAuthFixture.document(OAuthFixture.tokens(lifetime: -1)))
        let session = try #require(try server.restored(store))
        let other = server.oauthSession(OAuthFixture.tokens(8), clientID: "other", store: store)
        try await other.save()
        await #expect(throws: SessionError.noSession) { try await session.authorize(OAuthFixture.api) }
        #expect(try OAuthFixture.stored(store)?.clientID == "other")
    }

    @Test func `invalid_grant for a token that another process has replaced ends nothing`() async throws {
        let store = InMemorySessionStore(try OAuthFixture.document(OAuthFixture.tokens(lifetime: -1)))
        let newer = try OAuthFixture.document(OAuthFixture.tokens(5, refresh: Fixture.refresh(5)))
        let server = try ScriptedServer { _ in
            store.save(newer)
            return .json(400, #"{"error":"invalid_grant"}"#)
        }
        let session = try #require(try server.restored(store))
        #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(5))")
        #expect(store.load() == newer)
    }

    @Test func `a new session does not take over what its store has of before`() async throws {
        let server = try Self.server()
        let store = InMemorySessionStore(try OAuthFixture.document(OAuthFixture.tokens(7, refresh: Fixture.refresh(7))))
        let session = server.oauthSession(store: store)
        #expect(OAuthFixture.bearer(try await session.authorize(OAuthFixture.api)) == "Bearer \(Fixture.access(2))")
        #expect(try OAuthFixture.stored(store)?.tokens.accessToken == Fixture.access(2))
    }

    @Test func `a save does not overwrite what another process has refreshed`() async throws {
        let server = try Self.server()
        let store = InMemorySessionStore()
        let session = server.oauthSession(OAuthFixture.tokens(), store: store)
        try await session.save()
        let newer = try OAuthFixture.document(OAuthFixture.tokens(5, refresh: Fixture.refresh(5)))
        store.save(newer)
        try await session.save()
        #expect(store.load() == newer)
        #expect(await session.tokens.accessToken == Fixture.access(5))
    }

    @Test func `a save brings back no session that another process has removed or replaced`() async throws {
        let server = try Self.server()
        let others = try OAuthFixture.document(OAuthFixture.tokens(8), clientID: "other")
        let found: [(document: Data?, error: SessionError)] = [
            (nil, .noSession), (others, .noSession),
            (Data(#"{"v":9}"#.utf8), .storage("the document has version 9")),
        ]
        for (document, error) in found {
            let store = FaultyStore()
            let session = server.oauthSession(OAuthFixture.tokens(), store: store)
            try await session.save()
            store.put(document)
            await #expect(throws: error) { try await session.save() }
            #expect(store.content == document)
        }
    }

    @Test func `a file keeps the session over a restart`() async throws {
        let server = try Self.server()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("session")
        let session = server.oauthSession(store: try FileSessionStore(file: file))
        _ = try await session.authorize(OAuthFixture.api)
        let restored = try #require(try server.restored(try FileSessionStore(file: file)))
        #expect(await restored.tokens == session.tokens)
    }
}
