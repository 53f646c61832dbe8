import Accounts
import KeyRing
import Postgres
import TestSupport
import Testing

@testable import Storage

/// What is read of the trail is bounded by what is looked for, however many rows follow it.
@Suite(
    .fixture { try await ScratchDatabase.withMigratedPool(configure: { $0.poolSize = 1 }, $0) }, .timeLimit(.minutes(2))
)
struct AuditReachTests {
    var database: Database { .current }

    /// Far fewer than the index of either month has.
    private static let few = 250
    private static let id = "00000000-0000-7000-8000-000000000001"

    /// Fifty thousand rows in each of two months, of transactions that are still to come.
    private func fill() async throws {
        try await database.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, transaction_id, created_at)
            SELECT gen_random_uuid(), 'signed_in', 'person', 1000000000000 + number / 4,
                timestamptz '2026-12-01Z' + number * interval '50 seconds'
            FROM generate_series(1, 100000) number
            """)
        try await database.execute("ANALYZE audit_events")
    }

    private func position(_ chain: Int32, _ transactionID: Int64) throws -> AuditPosition {
        AuditPosition(
            chain: chain, transactionID: transactionID, eventID: try #require(Identifier<AuditEvent>(Self.id)))
    }

    @Test func `the rows up to a position are those that the comparison of row values finds`() async throws {
        try await database.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, chain, transaction_id, created_at)
            SELECT ('00000000-0000-7000-8000-00000000000' || digit)::uuid, 'signed_in', 'person', chain, number,
                timestamptz '2026-12-01Z' + chain * interval '1 day' + number * interval '1 hour'
            FROM generate_series(1, 3) chain, generate_series(1, 3) number, generate_series(0, 2) digit
            """)
        var counts: [Int64] = []
        for (chain, number) in [(0, 5), (1, 1), (2, 0), (2, 2), (2, 9), (3, 3), (4, 1)] as [(Int32, Int64)] {
            let position = try position(chain, number)
            let (found, same) = try await database.query(
                """
                SELECT count(*) FILTER (WHERE \(position.andAllBefore)),
                    bool_and(\(position.andAllBefore) = ((\(AuditPosition.columns)) <= \(position.row)))
                FROM audit_events
                """, as: Int64.self, Bool.self)[0]
            #expect(same, "\(position)")
            counts.append(found)
        }
        #expect(counts == [0, 2, 9, 14, 18, 26, 27])
    }

    @Test func `to count or delete the rows up to a position, those behind it are not looked at`() async throws {
        try await fill()
        try await database.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, transaction_id, created_at)
            VALUES (\(unsafeSQL: "'\(Self.id)'"), 'signed_in', 'person', 3, timestamptz '2026-12-24Z')
            """)
        let before = try position(1, 4).andAllBefore
        #expect(try await database.pages(readBy: "SELECT count(*) FROM audit_events WHERE \(before)") < Self.few)
        #expect(try await database.pages(readBy: "DELETE FROM audit_events WHERE \(before)") < Self.few)
        #expect(try await database.query("SELECT count(*) FROM audit_events", as: Int64.self) == [100_000])
    }

    @Test func `a page of the trail is read without a look through the months behind it`() async throws {
        try await fill()
        for _ in 1...3 {
            var pages = AuditPages(after: .start, in: database)
            let none = try await pages.next(upTo: try position(1, 4))
            let some = try await pages.take(upTo: try position(1, 1_000_000_000_100))
            #expect(none == nil && some.count == 399 && some.rows.count == 399)
        }
        let pages = try await KeptPlans.pages(
            readBy: "event_id, created_at) >", with: "1, 4, '\(Self.id)', '-infinity', 2000", in: database)
        #expect(pages < Self.few)
    }

    /// The sealer looks twice a second.
    @Test func `while a transaction is open the rows that wait for its end are not all looked at`() async throws {
        try await fill()
        let keyRing = try KeyRing(parsing: "k1 BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\n")
        let seals = AuditSeals(database: database, keyRing: keyRing)
        let call = Call.at(Timestamp(seconds: 1_800_000_000))
        for _ in 1...3 { #expect(try await seals.seal(by: call) == .sealed(0)) }
        let pages = try await KeptPlans.pages(
            readBy: ") AS pending", with: "1, 4, '\(Self.id)', 1000, 1", in: database)
        #expect(pages < Self.few)
        // What is final comes before them, and is sealed alone.
        try await database.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, transaction_id, created_at)
            SELECT gen_random_uuid(), 'signed_in', 'person', 3, timestamptz '2027-01-24Z' FROM generate_series(1, 7)
            """)
        #expect(try await seals.seal(by: call) == .sealed(7))
        #expect(try await seals.seal(by: call) == .sealed(0))
    }
}
