import Foundation
import JOSE
import Postgres
import TestSupport
import Testing

@Suite(.limitedConcurrency, .timeLimit(.minutes(5))) struct DatabaseLossTests {
    @Test func `a database that stops and starts again costs no restart, and no wrong answer meanwhile`() async throws {
        try await Sandbox.run { sandbox in
            try await PrivateCluster.run { cluster, url in
                let scratch = ScratchDatabase(url: url)
                try await Countersign.serve(World.settings(scratch, sandbox), arguments: ["--migrate"]) { service in
                    let world = World(service: service, sandbox: sandbox, scratch: scratch)
                    let created = try await world.newAccount("kim")
                    let access = try created.text("session.accessToken")
                    let token = try await world.appleToken("kim")

                    try await cluster.stop()
                    let refresh = TokenMint.Literal.string(try created.text("session.refreshToken"))
                    async let account = service.get("/v1/account", bearer: access)
                    async let signIn = service.signInWithApple(token)
                    async let renewal = service.post("/v1/sessions/refresh", ["refreshToken": refresh])
                    async let logIn = service.post(
                        "/v1/sign-in/password", ["email": "kim@example.com", "password": "a password"])
                    let answers = try await [account, signIn, renewal, logIn]
                    for answer in answers {
                        #expect(answer.status == 503)
                        #expect(answer.code == "temporarily_unavailable")
                        #expect((answer.retryAfter ?? 0) >= 1)
                    }
                    // Requests that need no database still succeed.
                    #expect(try await service.signInWithApple("a.b.c").status == 401)
                    #expect(try await service.get("/.well-known/jwks.json").status == 200)
                    #expect(try await service.privateGet("/health/ready").status == 503)
                    #expect(try await service.privateGet("/health/live").status == 200)

                    _ = try await cluster.start()
                    try await eventually("the service to be back", within: .seconds(30)) {
                        let isReady = try await service.privateGet("/health/ready").status == 200
                        return try await service.get("/v1/account", bearer: access).status == 200 && isReady
                    }
                    #expect(try await service.signInWithApple(token).text("status") == "signedIn")
                    let refreshed = try await service.post("/v1/sessions/refresh", ["refreshToken": refresh])
                    #expect(refreshed.status == 200)
                    #expect(service.isRunning)
                }
            }
        }
    }
}
