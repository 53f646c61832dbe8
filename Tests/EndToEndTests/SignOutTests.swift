import JSON
import TestSupport
import Testing

/// Signing out everywhere, the end of a session that no refresh moves, and what the list of sessions shows.
@Suite(.limitedConcurrency, .fixture(EventWorld.self), .timeLimit(.minutes(5))) struct SignOutTests {
    var world: EventWorld { .current }

    @Test func `after a sign-out everywhere a captured token is refused and a renewed one is not`() async throws {
        let service = world.service
        // Both are a minute old.
        let google = try EventWorld.signed(EventWorld.googleClaims("kim"))
        let apple = try EventWorld.signed(EventWorld.appleClaims("kim"))
        let created = try await world.googleAccount("kim")
        let bearer = try created.text("session.accessToken")
        let ticket = try await service.signInWithApple(apple).text("linkTicket")
        let bound = try await service.post("/v1/links/bind", ["linkTicket": .string(ticket)], bearer: bearer)
        #expect(bound.status == 200)
        #expect(try await service.signInWithGoogle(google).text("status") == "signedIn")

        #expect(try await service.post("/v1/sessions/revoke", ["scope": "all"], bearer: bearer).status == 204)
        for refused in [try await service.signInWithGoogle(google), try await service.signInWithApple(apple)] {
            #expect(refused.status == 401)
            #expect(refused.code == "invalid_token")
        }
        // The provider asked the person nothing since yesterday.
        let yesterday: [(String, TokenMint.Literal?)] = [
            ("iat", .integer(EventWorld.now)), ("auth_time", .integer(EventWorld.now - 86_400)),
        ]
        for renewed in [
            try await service.signInWithGoogle(EventWorld.signed(EventWorld.googleClaims("kim", yesterday))),
            try await service.signInWithApple(EventWorld.signed(EventWorld.appleClaims("kim", yesterday))),
        ] {
            #expect(try renewed.text("account.accountId") == (try created.text("account.accountId")))
        }
    }

    @Test(.fixture { try await EventWorld.run(["tokens.sessionLifetime": "600"], $0) })
    func `a session ends at its absolute end, and no access token goes beyond it`() async throws {
        let created = try await world.googleAccount("kim")
        #expect(created.json?["session"]?["expiresIn"]?.integer == 600)
        let refreshed = try await world.service.post(
            "/v1/sessions/refresh", ["refreshToken": .string(try created.text("session.refreshToken"))])
        #expect(try refreshed.text("refreshExpiresAt") == (try created.text("session.refreshExpiresAt")))
        let lifetime = try #require(refreshed.json?["expiresIn"]?.integer)
        #expect(lifetime > 0 && lifetime <= 600)
    }

    @Test(.fixture { try await EventWorld.run(["server.trustedProxies": "127.0.0.1"], $0) })
    func `the list shows from where each session was last used, the one that asks first`() async throws {
        let service = world.service
        let old = try await world.googleAccount("kim")
        let new = try await service.signInWithGoogle(EventWorld.signed(EventWorld.googleClaims("kim")))
        let refreshed = try await service.post(
            "/v1/sessions/refresh", ["refreshToken": .string(try old.text("session.refreshToken"))],
            headers: [("X-Forwarded-For", "2001:db8::7")])
        let list = try await service.get("/v1/sessions", bearer: try refreshed.text("accessToken"))
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
