import Postgres
import TestSupport
import Testing

/// `countersign audit verify`, as a process.
@Suite(.fixture(AuditTrailFixture.self), .timeLimit(.minutes(15))) struct AuditCommandTests {
    var trail: AuditTrailFixture { .current }

    @Test func `what is pending is sealed, and the head of a sound trail is printed`() async throws {
        let run = try await trail.sealed().ended()
        let counts = "3 rows under 1 seals checked, 0 not sealed yet, findings: 0; "
        #expect(run.output.hasPrefix(counts))
        let line = /head (1:[0-9a-f]{16}) over 3 rows\n/
        let head = try #require(run.output.dropFirst(counts.count).wholeMatch(of: line)).1
        #expect(run.errors.contains("warning: the role of postgres.url may change and delete audit rows"))
        #expect(try await trail.verify("--head", String(head)).code == 0)
        let other = try await trail.verify("--head", "1:0000000000000000").ended(1)
        #expect(other.output.hasPrefix("seal 1: it is not the seal that was noted as the head\n"))
        #expect(try await trail.verify("--head", "2:" + head.dropFirst(2)).code == 1)
    }

    @Test func `a role that can only add is warned of nothing`() async throws {
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

    @Test func `a key that is gone is named`() async throws {
        _ = try await trail.sealed()
        try trail.write(keys: ("k2", 2))
        let run = try await trail.verify().ended(1)
        #expect(run.output.contains("the key ring lacks the key k1"))
        try trail.write(keys: ("k2", 2), ("k1", 1))
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
