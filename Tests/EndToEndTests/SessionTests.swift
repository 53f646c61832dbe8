import JSON
import TestSupport
import Testing

/// The list of sessions, and the end of single sessions.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct SessionTests: WorldSuite {
    @Test func `one device sees the others and signs one of them out`() async throws {
        let first = try await world.newAccount("devices")
        let device: TokenMint.Members = ["name": "Kim's tablet", "platform": "android"]
        let second = try await service.signInWithApple(
            try await world.appleToken("devices"), ["device": .raw(device.text)])
        let bearer = try first.bearer()
        let other = try second.bearer()

        let list = try await service.get("/v1/sessions", bearer: bearer).expecting(200)
        let items = try #require(list.json?["items"]?.elements)
        #expect(items.map { $0["sessionId"]?.string } == [try first.sessionID(), try second.sessionID()])
        #expect(items.map { $0["current"]?.bool } == [true, false])
        #expect(items[0]["device"] == nil)
        #expect(items[1]["device"]?["name"]?.string == "Kim's tablet")
        #expect(items[1]["device"]?["platform"]?.string == "android")
        for item in items {
            #expect(item["ip"]?.string == "127.0.0.1")
            #expect(item["lastUsedIp"]?.string == "127.0.0.1")
            #expect(item["amr"]?.elements?.map(\.string) == ["apple"])
            #expect(item["createdAt"]?.string?.hasSuffix("Z") == true)
            #expect(item["lastUsedAt"]?.string == item["createdAt"]?.string)
        }
        let seenByOther = try await service.get("/v1/sessions", bearer: other).json?["items"]?.elements
        #expect(seenByOther?.map { $0["current"]?.bool } == [true, false])
        let seenBySupport = try await service.administer(
            "GET", "/admin/v1/accounts/\(try first.accountID())/sessions", bearer: try await world.adminKey("read"))
        #expect(seenBySupport.items.map { $0["current"]?.bool } == [false, false])

        let path = "/v1/sessions/\(try second.sessionID())"
        #expect(try await service.delete(path, bearer: bearer).status == 204)
        #expect(try await service.get("/v1/account", bearer: other).code == "invalid_session")
        #expect(try await service.refresh(try second.refreshToken()).code == "invalid_refresh_token")
        #expect(try await service.delete(path, bearer: bearer).status == 404)
        #expect(try await service.get("/v1/sessions", bearer: bearer).items.count == 1)
    }

    @Test(.world(["tokens.sessionLifetime": "600", "server.trustedProxies": "127.0.0.1"]))
    func `a session ends at its absolute end, and no access token goes beyond it`() async throws {
        let created = try await world.newAccount("brief")
        #expect(created.json?["session"]?["expiresIn"]?.integer == 600)
        let refreshed = try await service.post(
            "/v1/sessions/refresh", ["refreshToken": .string(try created.refreshToken())],
            headers: [("X-Forwarded-For", "2001:db8::7")])
        #expect(try refreshed.text("refreshExpiresAt") == (try created.text("session.refreshExpiresAt")))
        let lifetime = try #require(refreshed.json?["expiresIn"]?.integer)
        #expect(lifetime > 0 && lifetime <= 600)
        let listed = try await service.get("/v1/sessions", bearer: try refreshed.text("accessToken")).items.first
        #expect(listed?["ip"]?.string == "127.0.0.1" && listed?["lastUsedIp"]?.string == "2001:db8::7")
    }

    @Test func `the sessions of another account can neither be seen nor ended`() async throws {
        let kim = try await world.newAccount("owner")
        let ada = try await world.newAccount("other-owner")
        let bearer = try ada.bearer()
        let own = try kim.sessionID()
        for id in [own, own.uppercased(), "{\(own)}", "x", "00000000-0000-7000-8000-000000000000", "%00"] {
            #expect(try await service.delete("/v1/sessions/\(id)", bearer: bearer).status == 404, "\(id)")
        }
        // Without a session the answer does not even reveal whether the other one exists.
        for id in [own, "x"] {
            #expect(try await service.delete("/v1/sessions/\(id)", bearer: "a.b.c").status == 401, "\(id)")
        }
        let list = try await service.get("/v1/sessions", bearer: bearer).json?["items"]?.elements
        #expect(list?.compactMap { $0["sessionId"]?.string } == [try ada.sessionID()])
        #expect(try await service.get("/v1/account", bearer: try kim.bearer()).status == 200)
    }
}
