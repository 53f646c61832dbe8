import JOSE
import JSON
import TestSupport
import Testing

/// The list of sessions, and the end of single sessions.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct SessionTests: WorldSuite {
    @Test func `one device sees the others and signs one of them out`() async throws {
        let service = world.service
        let first = try await world.newAccount("devices")
        let device: TokenMint.Members = ["name": "Kim's tablet", "platform": "android"]
        let second = try await service.signInWithApple(
            try await world.appleToken("devices"),
            ["device": .raw(String(decoding: device.bytes, as: UTF8.self))])
        let bearer = try first.text("session.accessToken")
        let other = try second.text("session.accessToken")

        let list = try await service.get("/v1/sessions", bearer: bearer)
        #expect(list.status == 200)
        let items = try #require(list.json?["items"]?.elements)
        #expect(
            items.map { $0["sessionId"]?.string } == [
                try first.text("session.sessionId"), try second.text("session.sessionId"),
            ])
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
            "GET", "/admin/v1/accounts/\(try first.text("account.accountId"))/sessions",
            bearer: try await world.adminKey("read"))
        #expect(seenBySupport.json?["items"]?.elements?.map { $0["current"]?.bool } == [false, false])

        let path = "/v1/sessions/\(try second.text("session.sessionId"))"
        #expect(try await service.delete(path, bearer: bearer).status == 204)
        #expect(try await service.get("/v1/account", bearer: other).code == "invalid_session")
        let refreshed = try await service.refresh(try second.text("session.refreshToken"))
        #expect(refreshed.code == "invalid_refresh_token")
        #expect(try await service.delete(path, bearer: bearer).status == 404)
        #expect(try await service.get("/v1/sessions", bearer: bearer).json?["items"]?.elements?.count == 1)
    }

    @Test func `the session of a registration names its device`() async throws {
        let service = world.service
        let registered = try await service.post(
            "/v1/accounts",
            [
                "email": "registered-device@example.net", "password": "correct horse battery",
                "device": .raw(#"{"name":"Kim's phone","platform":"ios"}"#),
            ])
        #expect(registered.status == 201)
        let list = try await service.get("/v1/sessions", bearer: try registered.text("session.accessToken"))
        #expect(list.json?["items"]?.elements?.map { $0["device"]?["name"]?.string } == ["Kim's phone"])
    }

    @Test func `the sessions of another account can neither be seen nor ended`() async throws {
        let service = world.service
        let kim = try await world.newAccount("owner")
        let ada = try await world.newAccount("other-owner")
        let bearer = try ada.text("session.accessToken")
        let own = try kim.text("session.sessionId")
        for id in [own, own.uppercased(), "{\(own)}", "x", "00000000-0000-7000-8000-000000000000", "%00"] {
            #expect(try await service.delete("/v1/sessions/\(id)", bearer: bearer).status == 404, "\(id)")
        }
        // Without a session the answer does not even reveal whether the other one exists.
        for id in [own, "x"] {
            #expect(try await service.delete("/v1/sessions/\(id)", bearer: "a.b.c").status == 401, "\(id)")
        }
        let list = try await service.get("/v1/sessions", bearer: bearer).json?["items"]?.elements
        #expect(list?.compactMap { $0["sessionId"]?.string } == [try ada.text("session.sessionId")])
        #expect(try await service.get("/v1/account", bearer: try kim.text("session.accessToken")).status == 200)
    }
}
