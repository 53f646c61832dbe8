import Accounts
import Postgres
import TestSupport
import Testing

@testable import Storage

/// The seals at the edges of a period are found along an index, however many seals there are.
@Suite(.timeLimit(.minutes(2))) struct AuditSealPlanTests {
    @Test func `no edge of a period reads all seals, and each is the right one`() async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let start = Timestamp(seconds: 1_767_225_600)
            // A seal a minute, each over ten rows of ten transactions.
            try await database.execute(
                """
                INSERT INTO audit_seals (seal_number, chain, transaction_id, event_id, row_count, total_count, key_id, mac,
                    created_at)
                SELECT number, 1, number * 10, '01890000-0000-7000-8000-000000000001', 10, number * 10, 'k1', sha256(''),
                    \(start) + number * interval '1 minute'
                FROM generate_series(1, 20000) number
                """)
            try await database.execute("ANALYZE audit_seals")
            let time = start.advanced(bySeconds: 10_000 * 60)
            let id = try #require(Identifier<AuditEvent>("01890000-0000-7000-8000-000000000001"))
            let position = AuditPosition(chain: 1, transactionID: 123_455, eventID: id)
            for (statement, index, number) in [
                (AuditSeals.last(before: time), "audit_seals_created_at_idx", 9_999),
                (AuditSeals.first(after: time), "audit_seals_created_at_idx", 10_001),
                (AuditSeals.number(covering: position), "audit_seals_position_idx", 12_346),
            ] as [(SQL, String, Int64)] {
                let plan = try await database.query("EXPLAIN \(statement)", as: String.self).joined(separator: "\n")
                #expect(plan.contains(index), "\(plan)")
                #expect(!plan.contains("Seq Scan") && !plan.contains("Sort"), "\(plan)")
                let found = try await database.query("SELECT seal_number FROM (\(statement)) edge", as: Int64.self)
                #expect(found == [number])
            }
        }
    }
}
