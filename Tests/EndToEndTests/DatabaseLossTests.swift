import Foundation
import JSON
import Postgres
import TestSupport
import Testing

@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct DatabaseLossTests {
    /// Runs a service on a cluster of its own, with the answer to the creation of an account.
    private func service(_ body: (PrivateCluster, World, _ created: Answer) async throws -> Void) async throws {
        try await World.onCluster { cluster, world in
            try await body(cluster, world, try await world.newAccount("kim"))
        }
    }

    @Test func `a database that stops and starts again costs no restart, and no wrong answer meanwhile`() async throws {
        try await service { cluster, world, created in
            let service = world.service
            let access = try created.bearer()
            let token = try await world.appleToken("kim")

            try await cluster.stop()
            let refresh = try created.refreshToken()
            async let account = service.get("/v1/account", bearer: access)
            async let signIn = service.signInWithApple(token)
            async let renewal = service.refresh(refresh)
            async let logIn = world.signIn("kim@example.com", password: "a password")
            let answers = try await [account, signIn, renewal, logIn]
            for answer in answers { answer.expectRefusal(503, "temporarily_unavailable", retryAfter: 1...) }
            // Requests that need no database still succeed.
            for kid in ["a", "' OR '1'='1' --", "1; DROP TABLE accounts"] {
                let unknown = try await world.appleToken("kim", .init(header: #"{"kid":"\#(kid)"}"#))
                #expect(try await service.signInWithApple(unknown).status == 401, "\(kid)")
            }
            #expect(try await service.signInWithApple("a.b.c").status == 401)
            #expect(try await service.get("/.well-known/jwks.json").status == 200)
            #expect(try await service.privateGet("/health/ready").status == 503)
            #expect(try await service.privateGet("/health/live").status == 200)

            _ = try await cluster.start()
            try await world.scratch.awaitWrites(of: "postgres")
            try await world.awaitService(access)
            #expect(try await service.signInWithApple(token).text("status") == "signedIn")
            try await service.refresh(refresh).expecting(200)
        }
    }

    @Test func `work that goes on failing while the database is down is a line of the log a minute`() async throws {
        try await WebhookEndpointFile.with("http://127.0.0.1:9/hook") { settings in
            try await World.onCluster(settings) { cluster, world in
                let service = world.service
                let lines = { (message: String, part: String?) throws -> Int in
                    try service.logLines().count {
                        $0["message"]?.string == message && ($0["work"] ?? $0["endpoint"])?.string == part
                    }
                }
                let works: [(message: String, part: String?)] = [
                    ("webhook interrupted", "crm"), ("webhooks not looked at", nil),
                    ("recurring work failed", "audit seals"),
                ]
                let start = ContinuousClock.now
                try await cluster.stop()
                try await eventually("the first failures") {
                    try works.allSatisfy { try lines($0.message, $0.part) > 0 }
                }
                // By then the others have failed again, too.
                let failures = try await service.metric("countersign_audit_seal_failures_total")
                try await eventually("four more") {
                    try await service.metric("countersign_audit_seal_failures_total") >= failures + 4
                }
                let minutes = Int(start.duration(to: .now).components.seconds / 60)
                for work in works {
                    let count = try lines(work.message, work.part)
                    #expect(count <= minutes + 1, "\(work.message)")
                }
            }
        }
    }

    @Test(arguments: ["current", "all"])
    func `a sign-out that the database did not hear of ends nothing, and ends the session when it is repeated`(
        scope: String
    ) async throws {
        try await service { cluster, world, created in
            let service = world.service
            let access = try created.bearer()
            func signOut() async throws -> Answer { try await service.signOut(scope, bearer: access) }

            try await cluster.stop()
            try await signOut().expectRefusal(503, "temporarily_unavailable", retryAfter: 1...)

            _ = try await cluster.start()
            try await world.scratch.awaitWrites(of: "postgres")
            // By the access token of before, which is good; the refresh token too.
            try await world.awaitService(access)
            let renewed = try await service.refresh(try created.refreshToken()).expecting(200)

            #expect(try await signOut().status == 204)
            #expect(try await service.get("/v1/account", bearer: access).code == "invalid_session")
            #expect(try await service.refresh(try renewed.text("refreshToken")).code == "invalid_refresh_token")
        }
    }
}

extension ScratchDatabase {
    /// Waits until new connections of a role can write.
    func awaitWrites(of role: String) async throws {
        let own = ScratchDatabase(url: url.replacing("//postgres@", with: "//\(role)@"))
        try await eventually("writes by \(role)") {
            let settings = try? await own.withPool(.test(poolSize: 1, acquireTimeout: .seconds(2))) { database in
                try await database.query("SHOW transaction_read_only", as: String.self)
            }
            return settings == ["off"]
        }
    }
}

extension World {
    /// Waits until a service whose database takes connections again is ready and answers: five seconds at most, of which a
    /// look takes one however long it lasts.
    func awaitService(_ access: String) async throws {
        try await eventually("the service to be back", within: .seconds(5)) {
            let isReady = try await service.isReady()
            return try await service.get("/v1/account", bearer: access).status == 200 && isReady
        }
    }
}
