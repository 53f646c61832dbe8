import JSON
import TestSupport
import Testing

/// The end of a session that no refresh moves, and what the list of sessions shows.
@Suite(.limitedConcurrency, .fixture(EventWorld.self), .timeLimit(.minutes(30))) struct SignOutTests {
    var world: EventWorld { .current }

    @Test(.fixture { try await EventWorld.run(["tokens.sessionLifetime": "600"], $0) })
    func `a session ends at its absolute end, and no access token goes beyond it`() async throws {
        let created = try await world.googleAccount("kim")
        #expect(created.json?["session"]?["expiresIn"]?.integer == 600)
        let refreshed = try await world.service.refresh(try created.refreshToken())
        #expect(try refreshed.text("refreshExpiresAt") == (try created.text("session.refreshExpiresAt")))
        let lifetime = try #require(refreshed.json?["expiresIn"]?.integer)
        #expect(lifetime > 0 && lifetime <= 600)
    }

    @Test(.fixture { try await EventWorld.run(["server.trustedProxies": "127.0.0.1"], $0) })
    func `the list shows from where each session was last used, the one that asks first`() async throws {
        let old = try await world.googleAccount("kim")
        let new = try await world.service.signInWithGoogle(EventWorld.signed(EventWorld.googleClaims("kim")))
        let refreshed = try await world.service.post(
            "/v1/sessions/refresh", ["refreshToken": .string(try old.refreshToken())],
            headers: [("X-Forwarded-For", "2001:db8::7")])
        let list = try await world.service.get("/v1/sessions", bearer: try refreshed.text("accessToken"))
        let items = try #require(list.json?["items"]?.elements)
        #expect(
            items.map { $0["sessionId"]?.string } == [
                try old.text("session.sessionId"), try new.text("session.sessionId"),
            ])
        #expect(items.map { $0["current"]?.bool } == [true, false])
        #expect(items.map { $0["ip"]?.string } == ["127.0.0.1", "127.0.0.1"])
        #expect(items.map { $0["lastUsedIp"]?.string } == ["2001:db8::7", "127.0.0.1"])
    }
}
