import Accounts
import Administration
import Postgres
import Storage
import TestSupport
import Testing

/// Tables of the trail whose rows are far apart.
@Suite(.fixture(SignInFixture.self)) struct TrailSheetTests {
    var fixture: SignInFixture { .current }

    private struct Departure: Error {}

    /// A table of one row, which is older than two pages of rows that don't match.
    private static func sparse(_ fixture: SignInFixture) async throws -> TrailSheet {
        let (account, now) = (AccountID(now: fixture.clock.now()), fixture.clock.now())
        try await fixture.database.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, account_id, created_at)
            SELECT gen_random_uuid(), CASE n WHEN 0 THEN 'account_disabled' ELSE 'signed_in' END, 'person',
                \(account)::uuid, \(now)::timestamptz + n * interval '1 millisecond'
            FROM generate_series(0, \(Int64(2 * AuditTrail.scanLimit))) n
            """)
        var filter = AuditFilter()
        (filter.accountID, filter.kind) = (account, .accountDisabled)
        let kim = try await fixture.administered()
        return try await kim.administration.trailSheet(filter, by: kim.administrator)
    }

    @Test func `a row far behind others is in the table, whose reader is looked for meanwhile`() async throws {
        var parts: [String] = []
        try await Self.sparse(fixture).write { part in parts.append(String(decoding: part, as: UTF8.self)) }
        #expect(parts.map { $0.split(separator: "\r\n").count } == [1, 0, 0, 1])
        #expect(parts.last?.contains(",account_disabled,person,") == true)
    }

    @Test func `a reader that has left ends the search`() async throws {
        var parts = 0
        do {
            try await Self.sparse(fixture).write { part in
                parts += 1
                if part.isEmpty { throw Departure() }
            }
            Issue.record("the table came to its end")
        } catch is Departure {}
        #expect(parts == 2)
    }
}
