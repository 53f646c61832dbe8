import Accounts
import Postgres
import TestSupport
import Testing

@testable import Storage

struct AuditPartitionWorld: TestFixture {
    let database: Database
    var partitions: AuditPartitions { AuditPartitions(database: database) }

    static func run(_ body: (AuditPartitionWorld) async throws -> Void) async throws {
        try await ScratchDatabase.withMigratedPool { database in
            try await database.awaitLastingMonth()
            let world = AuditPartitionWorld(database: database)
            // Those of the migration may be of other months than the present ones.
            _ = try await world.partitions.make()
            try await body(world)
        }
    }

    /// The first moment of a month, as an expression.
    func begin(_ month: Int) -> String {
        "((date_trunc('month', now() AT TIME ZONE 'UTC') + interval '\(month) months') AT TIME ZONE 'UTC')"
    }

    func name(_ month: Int) async throws -> String {
        try await database.query(
            "SELECT 'audit_events_' || to_char(\(unsafeSQL: begin(month)) AT TIME ZONE 'UTC', 'YYYY_MM')",
            as: String.self)[0]
    }

    func drop(_ months: Int...) async throws {
        for month in months { try await change("DROP TABLE \(try await name(month))") }
    }

    func change(_ statement: String) async throws { _ = try await database.execute(SQL(unsafeSQL: statement)) }

    func insertion(into month: Int) -> SQL {
        """
        INSERT INTO audit_events (event_id, type, actor, created_at)
        VALUES (gen_random_uuid(), 'signed_in', 'person', \(unsafeSQL: begin(month)))
        """
    }

    /// What was tried, `name outcome`.
    func make() async throws -> [String] { try await partitions.make().map { "\($0.name) \($0.outcome)" } }

    /// The partition of each row.
    func places() async throws -> [String?] {
        try await database.texts("SELECT tableoid::regclass::text FROM audit_events ORDER BY created_at")
    }

    /// All that a partition has of its own or of the table's.
    func shape(_ month: Int) async throws -> [String?] {
        let query = try DataFile("PartitionShape.sql").text.replacing(":name", with: try await name(month))
        return try await database.texts(SQL(unsafeSQL: query))
    }

    /// The tables of all tests' databases have the same ids.
    func isWaitedForDefault() async throws -> Bool {
        try await database.query(
            """
            SELECT EXISTS (
                SELECT FROM pg_locks
                WHERE NOT granted AND relation = 'audit_events_default'::regclass
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
            """, as: Bool.self)[0]
    }
}

/// The partitions of the audit trail, made by the owner's function. The months are counted from the present one of the
/// database's clock.
@Suite(.fixture(AuditPartitionWorld.self), .timeLimit(.minutes(5))) struct AuditPartitionTests {
    var world: AuditPartitionWorld { .current }

    @Test func `the months ahead are counted from this one to the first that has no partition`() async throws {
        func ahead(_ time: String) async throws -> Int {
            try await world.partitions.monthsAhead(by: .at(try #require(Timestamp(rfc3339: time))))
        }
        // Those of migration 0007 are of 2026-11 to 2028-10.
        #expect(try await ahead("2028-06-30T23:59:59Z") >= 4)
        for time in ["2099-05-01T00:00:00Z", "2098-12-31T23:59:59Z"] { #expect(try await ahead(time) == 0) }
        for (from, to) in [
            ("2098-12", "2099-01"), ("2099-01", "2099-02"), ("2099-02", "2099-03"), ("2099-04", "2099-05"),
        ] {
            try await world.change(
                """
                CREATE TABLE audit_events_\(from.replacing("-", with: "_")) PARTITION OF audit_events
                FOR VALUES FROM ('\(from)-01Z') TO ('\(to)-01Z')
                """)
        }
        #expect(try await ahead("2098-11-01T00:00:00Z") == 3)
        #expect(try await ahead("2098-12-31T23:59:59Z") == 2)
        #expect(try await ahead("2099-02-01T00:00:00Z") == 0)
        // One that was detached is none.
        try await world.change("ALTER TABLE audit_events DETACH PARTITION audit_events_2099_01")
        #expect(try await ahead("2098-11-01T00:00:00Z") == 1)
    }

    @Test
    func `this month and the next three get the partitions that they lack, like those of the migration`() async throws {
        #expect(try await world.make() == [])
        var shapes: [[String?]] = []
        for month in 0...3 { shapes.append(try await world.shape(month)) }
        try await world.drop(0, 1, 3)
        let names = [try await world.name(0), try await world.name(1), try await world.name(3)]
        #expect(try await world.make() == names.map { "\($0) made" })
        for month in 0...3 { #expect(try await world.shape(month) == shapes[month]) }
        #expect(try await world.make() == [])
    }

    @Test func `any number of processes at once make each partition once`() async throws {
        for _ in 1...5 {
            try await world.drop(1, 2, 3)
            var expected: [String] = []
            for month in 1...3 { expected.append("\(try await world.name(month)) made") }
            let made = try await concurrently(1...12) { _ in try await world.make() }
            #expect(made.flatMap { $0 }.sorted() == expected)
        }
    }

    @Test func `rows in the default partition stay there, and hold up no other month`() async throws {
        try await world.drop(0, 1)
        _ = try await world.database.execute(world.insertion(into: 0))
        let (this, next) = (try await world.name(0), try await world.name(1))
        #expect(try await world.make() == ["\(this) rows_in_default", "\(next) made"])
        #expect(try await world.places() == ["audit_events_default"])
        #expect(try await world.make() == ["\(this) rows_in_default"])

        // As docs/audit.md has it for the owner.
        let (from, to) = (world.begin(0), world.begin(1))
        try await world.database.withConnection { connection in
            try await connection.executeScript(
                unsafeSQL: """
                    LOCK TABLE audit_events IN ACCESS EXCLUSIVE MODE;
                    CREATE TABLE \(this) (LIKE audit_events INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
                    WITH moved AS (
                        DELETE FROM audit_events_default WHERE created_at >= \(from) AND created_at < \(to) RETURNING *
                    )
                    INSERT INTO \(this) SELECT * FROM moved;
                    ALTER TABLE audit_events ATTACH PARTITION \(this) FOR VALUES FROM (\(from)) TO (\(to));
                    """)
        }
        #expect(try await world.places() == [this])
        #expect(try await world.make() == [])
    }

    /// The function looks before it locks, and the row is committed in between.
    @Test func `a row that comes into the default partition meanwhile is not lost`() async throws {
        try await world.drop(1)
        let name = try await world.name(1)
        while true {
            let making = try await world.database.transaction { transaction in
                _ = try await transaction.execute(world.insertion(into: 1))
                let endings = Tally()
                let making = Task {
                    defer { endings.add() }
                    return try await world.make()
                }
                while try await !world.isWaitedForDefault(), endings.count == 0 { try await pollingPause() }
                return making
            }
            let outcome = try await making.value
            #expect(try await world.places() == ["audit_events_default"])
            // On a slow machine the lock isn't waited for until the commit.
            if outcome == ["\(name) locked"] {
                try await world.change("DELETE FROM audit_events")
            } else {
                #expect(outcome == ["\(name) rows_in_default"])
                return
            }
        }
    }

    @Test func `a month whose name is taken or whose time is another partition's is left out`() async throws {
        let (next, last) = (try await world.name(1), try await world.name(3))
        try await world.change("ALTER TABLE audit_events DETACH PARTITION \(next)")
        try await world.drop(3)
        let begin = world.begin(3)
        try await world.change(
            """
            CREATE TABLE mine PARTITION OF audit_events
            FOR VALUES FROM (\(begin) + interval '1 day') TO (\(begin) + interval '2 days')
            """)
        #expect(try await world.make() == ["\(next) name_taken", "\(last) overlaps"])
        try await world.change("DROP TABLE \(next), mine")
        #expect(try await world.make() == ["\(next) made", "\(last) made"])
    }

    @Test
    func `while somebody reads the trail nothing is waited for long, and the next run makes up for it`() async throws {
        try await world.drop(1, 2)
        let (next, second) = (try await world.name(1), try await world.name(2))
        let outcome = try await world.database.transaction { transaction in
            _ = try await transaction.execute("SELECT count(*) FROM audit_events")
            return try await world.make()
        }
        #expect(outcome == ["\(next) locked"])
        #expect(try await world.make() == ["\(next) made", "\(second) made"])
    }

    /// A sign-in writes into this month, which no other month's partition has to wait for.
    @Test func `rows are written while partitions are made, and the other way round`() async throws {
        try await world.drop(1)
        let name = try await world.name(1)
        let outcome = try await world.database.transaction { transaction in
            _ = try await transaction.execute(world.insertion(into: 0))
            return try await world.make()
        }
        #expect(outcome == ["\(name) made"])
        try await world.drop(1)
        try await world.database.transaction { transaction in
            _ = try await transaction.execute("SELECT make_audit_partitions()")
            _ = try await world.database.execute(world.insertion(into: 0))
        }
        #expect(try await world.places().count == 2)
    }
}
