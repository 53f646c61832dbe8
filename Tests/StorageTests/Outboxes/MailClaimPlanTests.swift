import Accounts
import Postgres
import TestSupport
import Testing

@testable import Storage

/// The mail that is to be sent next is found along an index, however many wait.
@Suite(.timeLimit(.minutes(2))) struct MailClaimPlanTests {
    private static let start = Timestamp(seconds: 1_767_225_600)

    /// Claims a mail, and returns what the database did.
    private static func claim(in database: Database) async throws -> [String] {
        let now = start.advanced(bySeconds: 60_000)
        let claiming = MailStore(database: database).claiming(by: .at(now), lease: 30)
        return try await database.query(
            "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) \(claiming) SELECT message_id FROM claimed", as: String.self)
    }

    @Test func `beside twenty thousand notices a code is found at once, else the next of them`() async throws {
        try await ScratchDatabase.withMigratedPool { database in
            try await database.execute(
                """
                INSERT INTO outbox (message_id, kind, template, recipient, language, expires_at, next_attempt_at,
                    created_at)
                SELECT gen_random_uuid(), 'mail', 'client_linked', 'kim@example.com', 'en',
                    \(Self.start) + interval '1 day', \(Self.start) + number * interval '1 second', \(Self.start)
                FROM generate_series(1, 20000) number
                """)
            try await database.execute("ANALYZE outbox")
            for hasCode in [false, true] {
                if hasCode {
                    try await database.execute(
                        """
                        INSERT INTO outbox (message_id, kind, template, recipient, language, code_id, expires_at,
                            next_attempt_at, created_at)
                        SELECT gen_random_uuid(), 'mail', 'sign_in_code', 'ada@example.com', 'en', gen_random_uuid(),
                            \(Self.start) + interval '1 day', \(Self.start) + interval '30000 seconds', \(Self.start)
                        """)
                }
                let lines = try await Self.claim(in: database)
                let plan = lines.joined(separator: "\n")
                for part in ["Seq Scan", "Sort", "Rows Removed by Filter"] { #expect(!plan.contains(part), "\(plan)") }
                #expect(plan.contains("outbox_due_codes_idx"), "\(plan)")
                let notices = try #require(lines.first { $0.contains("outbox_due_idx") }, "\(plan)")
                #expect(notices.contains("never executed") == hasCode, "\(plan)")
                let claimed = try await database.query(
                    "SELECT template FROM outbox WHERE claimed_until IS NOT NULL ORDER BY template", as: String.self)
                #expect(claimed == (hasCode ? ["client_linked", "sign_in_code"] : ["client_linked"]))
            }
        }
    }
}
