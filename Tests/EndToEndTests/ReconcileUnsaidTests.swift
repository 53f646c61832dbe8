import Postgres
import TestSupport
import Testing

/// What ended since a database was of its time, and the feed does not say: it ends with all of its kind, or is printed.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct ReconcileUnsaidTests: RestoreSuite {
    @Test func `a replacement of the address that was stopped since is not carried out`() async throws {
        try await restore { world in
            let device = try Device(try await world.newAccount("kept"))
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

    private static func insertReplacement(of account: String, _ scratch: ScratchDatabase) async throws {
        try await scratch.execute(
            """
            INSERT INTO email_replacements (account_id, email, due_at, created_at)
            VALUES (\(account)::text::uuid, 'other@example.com', now() + interval '1 day', now())
            """)
    }
}
