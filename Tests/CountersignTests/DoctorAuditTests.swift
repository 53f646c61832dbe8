import Foundation
import Postgres
import TestSupport
import Testing

@testable import countersign

/// What the doctor says of the seals of the audit trail.
@Suite(.timeLimit(.minutes(3))) struct DoctorAuditTests {
    private static func finding(_ trail: AuditTrailFixture) async throws -> Finding {
        let variables = [
            "COUNTERSIGN_POSTGRES_URL": trail.scratch.url, "COUNTERSIGN_KEYRING_PATH": trail.keyRing.path,
            "COUNTERSIGN_APPLE_CLIENT_IDS": "a",
        ]
        let findings = try await Doctor.with(variables) { await $0.database() }.filter { $0.check == .auditSeals }
        #expect(findings.count == 1)
        return try #require(findings.first)
    }

    @Test func `a row that has waited for minutes is a warning, until it is sealed`() async throws {
        try await AuditTrailFixture.runEmpty { trail in
            #expect(try await Self.finding(trail).status == .ok)
            try await trail.record(1, at: "now() - interval '8 minutes'")
            let waiting = try await Self.finding(trail)
            #expect(waiting.status == .warning && waiting.detail.hasSuffix("for 8 minutes"), "\(waiting.line)")
            try await trail.sealed()
            try await trail.record(1, at: "now()")
            #expect(try await Self.finding(trail).line == "ok auditSeals: the audit trail is sealed")
        }
    }

    /// Its last transaction ids are still to come here.
    @Test func `after a dump was restored into another cluster the new chain is asked for`() async throws {
        try await AuditTrailFixture.run { trail in
            try await trail.scratch.execute(
                "ALTER TABLE audit_events ALTER COLUMN chain SET DEFAULT 2",
                """
                INSERT INTO audit_events (event_id, type, actor, chain, transaction_id, created_at)
                VALUES (gen_random_uuid(), 'signed_in', 'person', 1, 1000000000000, now())
                """)
            try await trail.sealed()
            #expect(try await Self.finding(trail).status == .ok)
            try await trail.scratch.execute("ALTER TABLE audit_events ALTER COLUMN chain SET DEFAULT 1")
            let restored = try await Self.finding(trail)
            #expect(restored.status == .warning && restored.detail.hasSuffix("chain SET DEFAULT 2"), "\(restored.line)")
        }
    }

    @Test func `a trail without its head, and one whose key is gone, are warnings`() async throws {
        try await AuditTrailFixture.run { trail in
            try await trail.sealed()
            try trail.write(keys: ("k2", 2))
            #expect(try await Self.finding(trail).detail.hasSuffix("under the key k1, which the key ring lacks"))
            try trail.write(keys: ("k1", 1))
            #expect(try await Self.finding(trail).status == .ok)
            try await trail.scratch.execute("DELETE FROM audit_head")
            let cut = try await Self.finding(trail)
            #expect(cut.status == .warning && cut.advice?.hasPrefix("treat it as an attack") == true, "\(cut.line)")
        }
    }
}
