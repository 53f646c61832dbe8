import JSON
import Postgres
import TestSupport
import Testing

/// What ended since a database was of its time, and the feed does not say: it ends with all of its kind, or is printed.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct ReconcileUnsaidTests: RestoreSuite {
    @Test func `a replacement of the address that was stopped since is not carried out`() async throws {
        try await restore { world in
            let device = try RestoredDatabase.Device(try await world.newAccount("kept"))
            try await Self.insertReplacement(of: device.account, world.scratch)
            return device
        } _: { world, device in
            let stopped = try await world.service.delete("/v1/account/email-replacement", bearer: device.access)
            #expect(stopped.status == 204, "\(stopped.body)")
            #expect(try await world.count("SELECT count(*) FROM email_replacements") == 0)
        } _: { restored, device in
            let world = restored.world
            func expectEnd(by done: Countersign.Ending) async throws {
                #expect(done.status == 0, "\(done.error)")
                #expect(
                    done.output.contains("ended: 1 replacements of an address: request them again\n"), "\(done.output)")
                #expect(try await world.count("SELECT count(*) FROM email_replacements") == 0)
            }
            try await expectEnd(by: try await restored.reconcile(feed: restored.feed))
            try await Self.insertReplacement(of: device.account, world.scratch)
            try await expectEnd(by: try await restored.reconcile("--end-all-sessions"))
            let reasons = try await world.scratch.texts(
                "SELECT reason FROM audit_events WHERE type = 'email_replacement_cancelled'")
            #expect(reasons == ["database_restored", "database_restored"])
        }
    }

    @Test func `what staff may have ended since is printed, and the sessions of the console end`() async throws {
        try await restore { world in
            _ = try await world.revokedAdminKey()
            _ = try await world.adminKey("read,manage")
            var clients: [String] = []
            for name in ["Lamp", "Former"] {
                let made = try await world.run(["oauth-client", "create", "--name", name]).expecting(0)
                clients.append(try #require(try made.json["clientId"]?.string))
            }
            try await world.run(["oauth-client", "disable", clients[1]]).expecting(0)
            return clients[0]
        } _: { world, client in
            try await world.revokeAdminKey(named: "kim@support")
            try await world.run(["oauth-client", "disable", client]).expecting(0)
            try await world.run(["keys", "rotate", "--leaked"]).expecting(0)
        } _: { restored, client in
            let world = restored.world
            let visit = try await ConsoleVisit.signedIn(to: world, "read", name: "lee@support")
            func first(_ query: SQL) async throws -> String { try #require(try await world.scratch.texts(query).first) }
            let kim = try await first("SELECT key_id::text FROM admin_keys WHERE name = 'kim@support'")
            let lee = try await first("SELECT key_id::text FROM admin_keys WHERE name = 'lee@support'")
            let key = try await first("SELECT key_id FROM signing_keys")
            let done = try await restored.reconcile(feed: restored.feed).expecting(0)
            #expect(done.output.contains("ended: 1 sessions of the console\n"), "\(done.output)")
            #expect(try await visit.open("/console/").isSignIn)
            let checks = done.output.split(separator: "\n").filter { $0.hasPrefix("check: ") }
            for start in [
                "what staff had ended since \(restored.time) is good again, if it is among these",
                "admin key \(kim) kim@support, manage,read, made ", "admin key \(lee) lee@support, read, made ",
                "OAuth client \(client) Lamp, made ", "signing key \(key), signing, made ",
            ] { #expect(checks.contains { $0.hasPrefix("check: \(start)") }, "\(start): \(done.output)") }
            #expect(checks.count == 5, "\(done.output)")
        }
    }

    private static func insertReplacement(of account: String, _ scratch: ScratchDatabase) async throws {
        try await scratch.execute(
            """
            INSERT INTO email_replacements (account_id, email, due_at, created_at)
            VALUES (\(account)::text::uuid, 'other@example.com', now() + interval '1 day', now())
            """)
    }
}
