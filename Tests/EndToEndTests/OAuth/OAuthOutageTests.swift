import JSON
import TestSupport
import Testing

@Suite(.limitedConcurrency, .timeLimit(.minutes(5))) struct OAuthOutageTests {
    @Test func `a database that is away unlinks nobody`() async throws {
        try await Sandbox.run { sandbox in
            try await PrivateCluster.run { cluster, url in
                let scratch = ScratchDatabase(url: url)
                try await World.registerClients(at: sandbox)
                let settings = try World.settings(scratch, sandbox)
                    .merging(OAuthWorld.settings) { _, own in own }
                    .merging(["server.publicUrl": WebWorld.publicURL]) { _, own in own }
                try await Countersign.serve(settings, arguments: ["--migrate"]) { service in
                    let world = World(service: service, sandbox: sandbox, scratch: scratch)
                    let client = try await world.linkingClient(redirectURI: OAuthWorld.flipURI)
                    try await world.newPerson("outage", email: "outage@gmail.com")
                    let device = try await world.newAccount("outage", with: .google)
                    func code() async throws -> String {
                        try await service.post(
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
                        try await world.introspected(tokens.access, client),
                        try await world.userinfo(tokens.access),
                    ]
                    for answer in asked {
                        #expect(answer.status == 503, "\(answer.text)")
                        #expect(answer.json?["error"] == nil)
                        #expect((answer.retryAfter ?? 0) >= 1)
                    }

                    _ = try await cluster.start()
                    try await eventually("the database to be back", within: .seconds(30)) {
                        try await world.userinfo(tokens.access).status == 200
                    }
                    #expect(try await world.isAlive(tokens, client))
                    #expect(try await world.redeem(unspent, client).status == 200)
                    #expect(try await world.oauth("/oauth/revoke", client, [("token", tokens.refresh)]).status == 200)
                    #expect(try await !world.isAlive(tokens, client))
                }
            }
        }
    }
}
