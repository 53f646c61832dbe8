import Postgres
import TestSupport
import Testing

/// `countersign audit verify`, as a process.
@Suite(.fixture(AuditTrailFixture.self), .timeLimit(.minutes(15))) struct AuditCommandTests {
    var trail: AuditTrailFixture { .current }

    @Test func `what is pending is sealed, and the head of a sound trail is printed`() async throws {
        try await trail.begin()
        try await trail.record(2, at: "now()")
        let run = try await trail.sealed().ended()
        let counts = "5 rows under 2 seals checked, 0 not sealed yet, findings: 0; "
        #expect(run.output.hasPrefix(counts))
        let line = /head (2:[0-9a-f]{16}) over 5 rows\n/
        let head = try #require(run.output.dropFirst(counts.count).wholeMatch(of: line)).1
        #expect(run.errors.contains("warning: the role of postgres.url may change and delete audit rows"))
        #expect(try await trail.verify("--head", String(head)).code == 0)
        let other = try await trail.verify("--head", "2:0000000000000000").ended(1)
        #expect(other.output.hasPrefix("seal 2: it is not the seal that was noted as the head\n"))
        #expect(try await trail.verify("--head", "3:" + head.dropFirst(2)).code == 1)
    }

    @Test func `a role that can only add is warned of nothing`() async throws {
        try await trail.begin()
        try await trail.record(1, at: "now()")
        let run = try await trail.withRole(
            granted: "SELECT, INSERT ON audit_events, audit_seals", "SELECT, INSERT, UPDATE ON audit_head",
            "SELECT ON schema_migrations"
        ) { url in try await trail.verify(url: url) }
        #expect(run.code == 0)
        #expect(run.errors.isEmpty, "\(run.errors)")
    }

    @Test func `what is not as it was sealed is printed, a line each`() async throws {
        _ = try await trail.sealed()
        try await trail.scratch.execute("UPDATE audit_events SET type = 'signed_out'")
        let changed = try await trail.verify().ended(1)
        let seal = #/seal 1 \(up to [0-9TZ:-]+\): /#
        #expect(changed.lines.first?.replacing(seal, with: "") == "a row, or the seal itself, was changed")
        #expect(changed.lines.last?.contains("findings: 1; head 1:") == true)
        try await trail.scratch.execute("DELETE FROM audit_events")
        #expect(try await trail.verify().lines.first?.replacing(seal, with: "") == "rows are missing: 3")
        try await trail.scratch.execute("DELETE FROM audit_seals")
        let cut = try await trail.verify().ended(1)
        #expect(
            cut.lines == [
                "seal 1: the end of the trail was cut off: 1 seals, 3 rows",
                "0 rows under 0 seals checked, 0 not sealed yet, findings: 1; head none",
            ])
        try await trail.scratch.execute("DELETE FROM audit_head")
        #expect(try await trail.verify().code == 0)
    }

    /// By an intruder who would have what they have changed sealed from the beginning.
    @Test func `a trail whose seals and head were taken away is reported, and not sealed afresh`() async throws {
        let head = try #require(try await trail.sealed().output.firstMatch(of: /head (1:[0-9a-f]{16})/)).1
        try await trail.scratch.execute(
            "UPDATE audit_events SET type = 'signed_out', created_at = now() - interval '11 minutes'",
            "TRUNCATE audit_seals, audit_head")
        let run = try await trail.verify().ended(1)
        let finding = "nothing is sealed any more: rows have waited for more than ten minutes, and there is neither"
        #expect(run.lines.first?.hasPrefix(finding) == true, "\(run.output)")
        #expect(run.lines.last == "0 rows under 0 seals checked, 3 not sealed yet, findings: 1; head none")
        let noted = try await trail.verify("--head", String(head)).ended(1)
        #expect(noted.lines.first == "seal 1: it is not the seal that was noted as the head")
        #expect(try await trail.seals() == 0)
    }

    @Test func `rows that the service has yet to seal are no finding`() async throws {
        let sound = "0 rows under 0 seals checked, 3 not sealed yet, findings: 0; head none\n"
        #expect(try await trail.verify().ended().output == sound)
        #expect(try await trail.seals() == 0)
        // Nor are old ones that it can't have sealed, while a transaction is open that has written before.
        try await trail.scratch.execute("DELETE FROM audit_events")
        try await trail.scratch.withPool { database in
            try await database.transaction { transaction in
                _ = try await transaction.query("SELECT pg_current_xact_id()::text", as: String.self)
                try await trail.record(3, at: "now() - interval '1 hour'")
                #expect(try await trail.verify().ended().output == sound)
            }
        }
    }

    @Test func `a key that is gone is named`() async throws {
        _ = try await trail.sealed()
        try trail.write(keys: ("k2", 2))
        let run = try await trail.verify().ended(1)
        #expect(run.output.contains("the key ring lacks the key k1"))
        try trail.write(keys: ("k2", 2), ("k1", 1))
        #expect(try await trail.verify().code == 0)
    }

    /// An operator's ring keeps lines that the service has no more.
    @Test func `what is pending is sealed under the line of the head, whichever is the first`() async throws {
        try await trail.begin()
        try await trail.record(2, at: "now()")
        try trail.write(keys: ("k0", 9), ("k1", 1))
        #expect(try await trail.sealed().code == 0)
        #expect(try await trail.seals() > 1)
        let keys = try await trail.scratch.texts("SELECT key_id FROM audit_seals UNION SELECT key_id FROM audit_head")
        #expect(keys == ["k1"])
        try trail.write(keys: ("k1", 1))
        #expect(try await trail.verify().code == 0)
    }

    @Test func `a trail with columns of a later release is left to that one`() async throws {
        _ = try await trail.sealed()
        try await trail.scratch.execute("ALTER TABLE audit_events ADD COLUMN colour text, ADD COLUMN shape text")
        let run = try await trail.verify().ended(1)
        #expect(run.output.isEmpty)
        #expect(
            run.errors == """
                countersign: audit_events has columns that this release doesn't know (colour, shape): run \
                `countersign audit verify` of the one that added them

                """)
    }

    @Test func `rows that were taken away are passed over by a later start`() async throws {
        _ = try await trail.sealed()
        try await trail.scratch.execute("DELETE FROM audit_events")
        #expect(try await trail.verify().code == 1)
        let run = try await trail.verify("--since", "2099-01-01T00:00:00Z").ended()
        #expect(run.output.hasPrefix("0 rows under 0 seals checked, 0 not sealed yet, findings: 0; head 1:"))
    }

    @Test(.noFixture(AuditTrailFixture.self)) func `without a key ring nothing is touched`() async throws {
        let run = try await CountersignProcess.run(
            ["audit", "verify"], environment: ["COUNTERSIGN_POSTGRES_URL": "postgresql:///nowhere"])
        #expect(run.code == 2)
        #expect(run.errors.contains("keyring.path"))
    }
}
