import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The worker that has partitions made, and the seals of the rows in them.
@Suite(.fixture(MonthlyTrail.self), .timeLimit(.minutes(5))) struct AuditPartitionerTests {
    var trail: MonthlyTrail { .current }

    @Test func `what is made is logged once, and a trail that goes on in it is sound`() async throws {
        for _ in 1...2 { try await trail.partitioner.round() }
        #expect(trail.log.lines == ["notice audit partition made partition=\(trail.month)"])
        try await trail.fixture.grow(seals: 2)
        #expect(try await trail.rows(in: trail.month) == 4)
        let report = try await trail.fixture.verify()
        #expect(report.findings.isEmpty)
        #expect(report.rowCount == 4)
    }

    @Test
    func `rows that lie in the default partition are sound there, and after the owner has moved them`() async throws {
        try await trail.fixture.grow(seals: 1)
        for _ in 1...2 { try await trail.partitioner.round() }
        let warning = "warning audit partition not made partition=\(trail.month) reason=rows_in_default"
        #expect(trail.log.lines == [warning, warning])
        try await trail.fixture.grow(seals: 1)
        #expect(try await trail.rows(in: "audit_events_default") == 4)
        #expect(try await trail.fixture.faults() == [])

        let month = trail.month
        try await trail.fixture.database.withConnection { connection in
            try await connection.executeScript(
                unsafeSQL: """
                    CREATE TABLE \(month) (LIKE audit_events INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
                    WITH moved AS (DELETE FROM audit_events_default RETURNING *) INSERT INTO \(month) SELECT * FROM moved;
                    ALTER TABLE audit_events ATTACH PARTITION \(month) FOR VALUES FROM (\(MonthlyTrail.begin)) TO (\(MonthlyTrail.end));
                    """)
        }
        try await trail.partitioner.round()
        #expect(trail.log.lines.count == 2)
        try await trail.fixture.grow(seals: 1)
        #expect(try await trail.rows(in: month) == 6)
        let report = try await trail.fixture.verify()
        #expect(report.findings.isEmpty)
        #expect(report.rowCount == 6)
    }
}

/// A trail whose present month has no partition, and the worker that makes one.
struct MonthlyTrail: TestFixture {
    let fixture: AuditSealFixture
    let log: RecordingLog
    let partitioner: AuditPartitioner
    /// The partition of the database's present month.
    let month: String
    /// The first moments of that month and of the next, as expressions.
    static let (begin, end) = (
        "date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'",
        "(date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC'"
    )

    /// The clock is the database's, and its present month has no partition.
    static func run(_ body: (MonthlyTrail) async throws -> Void) async throws {
        try await AuditSealFixture.run { fixture in
            try await fixture.database.awaitLastingMonth()
            fixture.clock.set(to: try await fixture.database.number("SELECT extract(epoch FROM now())::bigint"))
            let (partitions, log) = (AuditPartitions(database: fixture.database), RecordingLog())
            _ = try await partitions.make()
            let month = try await fixture.database.query(
                "SELECT 'audit_events_' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM')", as: String.self)[0]
            try await fixture.tamper("DROP TABLE \(unsafeSQL: month)")
            let partitioner = AuditPartitioner(partitions: partitions, clock: fixture.clock, logger: log.logger)
            try await body(MonthlyTrail(fixture: fixture, log: log, partitioner: partitioner, month: month))
        }
    }

    func rows(in table: String) async throws -> Int64 { try await fixture.database.count("\(unsafeSQL: table)") }
}
