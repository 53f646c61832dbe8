import Foundation
import Postgres
import TestSupport
import Testing

@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct ShutdownTests: WorldSuite {
    @Test(.world(["server.drainSeconds": "20"]))
    func `readiness ends at once, requests are answered while they come and to their end, and the exit is 0`()
        async throws
    {
        // A request that arrives half before the signal, and ends within the drain.
        let body = #"{"linkTicket":"a"}"#
        let head = """
            POST /v1/links/cancel HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r
            Content-Length: \(body.utf8.count)\r\n\r\n
            """
        let early = try RawConnection(service.port)
        early.send(head + body.prefix(3))
        #expect(try await service.get("/.well-known/jwks.json").header("Connection") != "close")

        service.send(SIGTERM)
        try await eventually("readiness to end") { try await service.privateGet("/health/ready").status == 503 }
        #expect(try await service.privateGet("/health/live").status == 200)
        for _ in 0..<3 {
            #expect(try await service.get("/.well-known/jwks.json").expecting(200).header("Connection") == "close")
        }
        early.send(String(body.dropFirst(3)))
        let answered = RawAnswer(await early.readToEnd())
        #expect(answered.status == 204)
        #expect(answered["Connection"] == "close")

        let ending = await service.end()
        #expect(ending.status == 0)
        // A restart is no error, and neither is the readiness that it takes away.
        let lines = ending.error.split(separator: "\n")
        #expect(lines.contains { $0.contains("/health/ready") && $0.contains(#""status":"503""#) })
        #expect(!lines.contains { $0.contains(#""level":"error""#) })
    }

    @Test(.world) func `an interrupt ends it too`() async throws {
        let ending = await service.kill(SIGINT)
        #expect(ending.status == 0)
    }

    /// A request that is being processed when the signal comes.
    @Test(.world) func `a password that is being hashed is answered before the end`() async throws {
        let registering = Task { try await world.register("kim@example.com") }
        try await eventually("the work to begin") { try threads(of: service).contains("password hash") }
        service.send(SIGTERM)
        #expect(try await registering.value.status == 201)
        #expect(await service.end().status == 0)
    }

    /// All work that waits for another server, at once: revocations at both providers, a grant check, and more mails
    /// than are sent at a time.
    @Test
    func `work that hangs when the signal comes ends in time, no more of it begins, and the next process does it`()
        async throws
    {
        // It accepts connections, and sends nothing.
        let peer = try LoopbackServer { _ in [] }
        try await World.run(MailedWorld.settings(port: peer.port).merging(["server.drainSeconds": "8"]) { $1 }) {
            world in
            let service = world.service
            let people = ["ada", "ida", "joe", "max", "zoe"]
            for name in people { try await world.newGrantedAccount(name) }
            var leaving: [String] = []
            for (name, provider) in [("kim", Sandbox.Provider.apple), ("lee", .google), ("tom", .apple)] {
                leaving.append(try await world.newGrantedAccount(name, provider).bearer())
            }
            for provider in Sandbox.Provider.allCases {
                try await world.sandbox.fail(provider.tokenPath, .hang)
                try await world.sandbox.fail(provider.revokePath, .hang)
            }
            let exchanges = try await world.sandbox.history(path: "/apple/auth/token").count
            try await world.scratch.execute(
                """
                UPDATE provider_grants SET check_at = now() WHERE identity_id = (
                    SELECT identity_id FROM identities JOIN accounts a USING (account_id)
                    WHERE a.email = 'max@example.com')
                """)
            for access in leaving.dropLast() {
                #expect(try await service.delete("/v1/account", bearer: access).status == 202)
            }
            for name in people { #expect(try await world.askForCode("signIn", "\(name)@example.com").status == 202) }
            await peer.history { $0.opened >= 4 }
            for (path, count) in [
                ("/apple/auth/token", exchanges + 1), ("/apple/auth/revoke", 1), ("/google/revoke", 1),
            ] {
                let calls = try await world.sandbox.history(path: path, count: count, wait: 60)
                #expect(calls.count == count, "\(path)")
            }

            service.send(SIGTERM)
            try await eventually("readiness to end") { try await service.privateGet("/health/ready").status == 503 }
            #expect(try await service.delete("/v1/account", bearer: leaving[2]).status == 202)
            let ending = await service.end()
            #expect(ending.status == 0, "\(ending.error.suffix(500))")
            #expect(!ending.error.contains("cut short"))
            // Work in progress was recorded, and no more was begun.
            #expect(peer.history.opened == 4)
            #expect(try await world.count("SELECT count(*) FROM outbox WHERE last_error = 'timed_out'") == 6)
            // Beside the notices of the new accounts.
            let unfinished = try await world.count(
                "SELECT count(*) FROM outbox WHERE status = 'pending' AND template IS DISTINCT FROM 'account_created'")
            #expect(unfinished == 8)
            for provider in Sandbox.Provider.allCases {
                #expect(try await world.revokedTokens(provider).count == 1, "\(provider)")
            }
            // As after any check, the next one is a day later.
            #expect(try await world.count("SELECT count(*) FROM provider_grants WHERE check_at <= now()") == 0)

            try await world.sandbox.clearFaults()
            try await MailServer.run { server in
                let settings = try World.settings(world.scratch, world.sandbox)
                try await Countersign.serve(settings.merging(MailedWorld.settings(port: server.port)) { $1 }) { _ in
                    try await eventually("the end of the work") {
                        try await world.count("SELECT count(*) FROM outbox WHERE status = 'pending'") == 0
                    }
                    // Among the notices of the new accounts, in whatever order.
                    try await MailedWorld.$server.withValue(server) {
                        for name in people { _ = try await world.code(1, mailedTo: "\(name)@example.com") }
                    }
                }
            }
            for (name, provider) in [("kim", Sandbox.Provider.apple), ("lee", .google), ("tom", .apple)] {
                #expect(try await world.grants(of: name, provider).allSatisfy { !$0.isLive }, "\(name)")
            }
        }
    }

}
