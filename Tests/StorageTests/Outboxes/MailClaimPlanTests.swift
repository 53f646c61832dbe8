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
                #expect(plan.contains("outbox_turns_idx"), "\(plan)")
                let notices = try #require(lines.first { $0.contains("outbox_due_idx") }, "\(plan)")
                #expect(notices.contains("never executed") == hasCode, "\(plan)")
                let claimed = try await database.query(
                    "SELECT template FROM outbox WHERE claimed_until IS NOT NULL ORDER BY template", as: String.self)
                #expect(claimed == (hasCode ? ["client_linked", "sign_in_code"] : ["client_linked"]))
            }
        }
    }

    @Test func `behind twenty thousand codes another one is counted, and the next one found, by an index`() async throws
    {
        try await ScratchDatabase.withMigratedPool { database in
            try await database.execute(
                """
                INSERT INTO outbox (message_id, kind, template, recipient, language, code_id, asked_from, expires_at,
                    next_attempt_at, turn_at, created_at)
                SELECT gen_random_uuid(), 'mail', 'sign_in_code', 'kim@example.com', 'en', gen_random_uuid(),
                    '192.0.0.0/16 192.0.2.0/24', \(Self.start) + interval '1 day', \(Self.start),
                    \(Self.start) + number * interval '1 minute', \(Self.start)
                FROM generate_series(0, 19999) number
                """)
            let caller = Caller(
                requestID: "asked", address: nil, network: "192.0.7.0/24", wideNetwork: "192.0.0.0/16", device: nil)
            let delaying = CodeTurn.delay(of: "192.0.0.0/16 192.0.7.0/24", in: "192.0.0.0/16")
            // Planned before the server has counted the table's rows, and after.
            for _ in 1...2 {
                let counting = try await database.query(
                    "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) \(delaying)", as: String.self)
                #expect(counting.count { $0.contains("Index Scan using outbox_askers_idx") } == 2, "\(counting)")
                let turn = try await CodeTurn(of: caller, in: database)
                #expect(turn.asker == "192.0.0.0/16 192.0.7.0/24" && turn.delay == 600_000)
                let claim = try await Self.claim(in: database)
                #expect(claim.contains { $0.contains("Index Scan using outbox_turns_idx") }, "\(claim)")
                #expect(!claim.contains { $0.contains("Sort") }, "\(claim)")
                try await database.execute("ANALYZE outbox")
            }
        }
    }
}
