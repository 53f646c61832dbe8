import JSON
import TestSupport
import Testing

@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct OAuthOutageTests {
    private static let settings = OAuthWorld.settings.merging(["server.publicUrl": WebWorld.publicURL]) { $1 }

    @Test func `a database that is away unlinks nobody`() async throws {
        try await World.onCluster(Self.settings) { cluster, world in
            let client = try await world.linkingClient(redirectURI: OAuthWorld.flipURI)
            let device = try await world.newAccount(ofNew: "outage", email: "outage@gmail.com", with: .google)
            func code() async throws -> String {
                try await world.service.post(
                    "/oauth/flip",
                    [
                        "client_id": .string(client.id), "redirect_uri": .string(OAuthWorld.flipURI),
                        "platform": "ios", "consent": true,
                    ], bearer: device.bearer
                ).text("code")
            }
            let tokens = try LinkedTokens(try await world.redeem(try await code(), client))
            let unspent = try await code()

            try await cluster.stop()
            let asked = [
                try await world.refreshed(tokens.refresh, client), try await world.redeem(unspent, client),
                try await world.oauth("/oauth/revoke", client, [("token", tokens.refresh)]),
                try await world.introspected(tokens.access, client), try await world.userinfo(tokens.access),
            ]
            for answer in asked {
                #expect(answer.status == 503, "\(answer.text)")
                #expect(answer.json?["error"] == nil)
                #expect((answer.retryAfter ?? 0) >= 1)
            }

            _ = try await cluster.start()
            try await eventually("the database to be back") { try await world.userinfo(tokens.access).status == 200 }
            #expect(try await world.isAlive(tokens, client))
            #expect(try await world.redeem(unspent, client).status == 200)
            #expect(try await world.oauth("/oauth/revoke", client, [("token", tokens.refresh)]).status == 200)
            #expect(try await !world.isAlive(tokens, client))
        }
    }

    @Test func `a database that is away hides no document`() async throws {
        let metadata = "/.well-known/oauth-authorization-server"
        let flag = "authorization_response_iss_parameter_supported"
        try await World.onCluster(Self.settings) { cluster, world in
            let service = world.service
            try await cluster.stop()
            let openid = try await service.get("/.well-known/openid-configuration").expecting(200)
            #expect(openid.json?["token_endpoint"]?.string == WebWorld.publicURL + "/oauth/token")
            // Nobody knows of Google's clients yet: `true` would be a promise.
            let first = try await service.get(metadata).expecting(200)
            #expect(first.json?["token_endpoint"]?.string == WebWorld.publicURL + "/oauth/token")
            #expect(first.json?[flag]?.bool == false)

            _ = try await cluster.start()
            try await eventually("an announcement by the database") {
                try await service.get(metadata).json?[flag]?.bool == true
            }
            try await cluster.stop()
            // A call that does read finds the database away.
            try await service.get("/oauth/userinfo", bearer: "at_unknown").expecting(503)
            #expect(try await service.get(metadata).expecting(200).json?[flag]?.bool == true)
            _ = try await cluster.start()
            try await eventually("the database to be back") {
                try await service.get("/oauth/userinfo", bearer: "at_unknown").status == 401
            }
        }
    }
}
