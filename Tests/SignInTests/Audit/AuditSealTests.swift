import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The sealing of rows: all of them, once, in an order that no late commit upsets.
@Suite(.fixture(AuditSealFixture.self), .timeLimit(.minutes(5))) struct AuditSealTests {
    var fixture: AuditSealFixture { .current }

    @Test func `an empty trail has no seal`() async throws {
        #expect(try await fixture.seals.seal(by: .at(fixture.clock.now())) == .sealed(0))
        #expect(try await fixture.database.count("audit_seals") == 0)
        #expect(try await fixture.verify().head == nil)
    }

    /// Transaction ids give an order that times don't: here the first row is the last to be committed.
    @Test func `a row that was written first and committed last is sealed, before those that overtook it`() async throws
    {
        try await fixture.grow(seals: 1)
        let outcome = try await fixture.database.transaction { transaction in
            _ = try await transaction.execute(
                """
                INSERT INTO audit_events (event_id, type, actor, created_at)
                VALUES ('ffffffff-ffff-7fff-8fff-ffffffffffff', 'account_deleted', 'person', to_timestamp(\(SignInFixture.start)))
                """)
            try await fixture.record(3)
            let outcome = try await fixture.seals.seal(by: .at(fixture.clock.now()))
            #expect(try await fixture.seals.oldestUnsealed() != nil)
            return outcome
        }
        #expect(outcome == .sealed(0))
        try await fixture.seal()
        let report = try await fixture.verify()
        #expect(report.findings.isEmpty)
        #expect(report.head?.totalCount == 6)
        let overtaking: SQL = """
            audit_events late
            JOIN audit_events e ON e.transaction_id > late.transaction_id
            WHERE late.type = 'account_deleted'
            """
        #expect(try await fixture.database.count(overtaking) == 3)
    }

    @Test func `any number of sealers seal each row once`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { try await fixture.record(40) }
                group.addTask {
                    while try await fixture.database.count("audit_events") < 160 {
                        _ = try await fixture.seals.seal(by: .at(fixture.clock.now()))
                    }
                }
            }
            try await group.waitForAll()
        }
        try await fixture.seal()
        let report = try await fixture.verify()
        #expect(report.findings.isEmpty)
        #expect(report.rowCount == 160)
        #expect(report.head?.totalCount == 160)
        #expect(report.sealCount == report.head?.number)
    }

    @Test func `a sealer that finds another one at work leaves the rows to it`() async throws {
        try await fixture.record(1)
        let outcome = try await fixture.database.transaction { transaction in
            _ = try await transaction.query(
                "SELECT pg_advisory_xact_lock(hashtextextended('countersign audit seals', 0))::text", as: String.self)
            return try await fixture.seals.seal(by: .at(fixture.clock.now()))
        }
        #expect(outcome == .busy)
        #expect(try await fixture.database.count("audit_seals") == 0)
    }

    @Test func `a sealer that is killed leaves nothing half done`() async throws {
        try await fixture.grow(seals: 1)
        try await fixture.record(2)
        let sealer = try await fixture.database.transaction { transaction in
            // The seal can be written, the head can't.
            _ = try await transaction.execute("LOCK TABLE audit_head IN SHARE ROW EXCLUSIVE MODE")
            let sealer = Task { try await fixture.seal() }
            var killed: [Bool] = []
            while killed.isEmpty {
                killed = try await transaction.query(
                    """
                    SELECT pg_terminate_backend(pid)
                    FROM pg_locks l
                    JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
                    WHERE NOT granted AND relation = 'audit_head'::regclass
                    """, as: Bool.self)
            }
            #expect(killed == [true])
            return sealer
        }
        await #expect(throws: PostgresError.self) { try await sealer.value }
        #expect(try await fixture.database.count("audit_seals") == 1)
        #expect(try await fixture.verify().unsealedCount == 2)
        try await fixture.seal()
        let report = try await fixture.verify()
        #expect(report.findings.isEmpty)
        #expect(report.rowCount == 4)
    }

    @Test func `a new key goes on where the old one ended, which is asked for when it is gone`() async throws {
        try await fixture.grow(seals: 2)
        let old = try SignInFixture.makeKeyRing(id: "k1", octet: 7)
        let both = try SignInFixture.makeKeyRing(lines: [("k2", 8), ("k1", 7)])
        let new = try SignInFixture.makeKeyRing(id: "k2", octet: 8)

        // Without its key the head can't be verified.
        try await fixture.record(1)
        #expect(try await fixture.with(new).seals.seal(by: .at(fixture.clock.now())) == .halted(.keyMissing("k1")))

        try await fixture.with(both).grow(seals: 2)
        #expect(try await fixture.with(both).faults() == [])
        #expect(try await fixture.with(new).faults() == [.init(1, .keyMissing("k1"))])
        #expect(try await fixture.with(old).faults().map(\.fault) == [.keyMissing("k2"), .keyMissing("k2")])

        // Rows are counted where they can't be checked.
        try await fixture.tamper(
            "DELETE FROM audit_events WHERE transaction_id = (SELECT min(transaction_id) FROM audit_events)")
        #expect(try await fixture.with(new).faults() == [.init(1, .missing(1)), .init(2, .keyMissing("k1"))])
    }

    // MARK: Two releases at once

    /// A seal that leaves the new column out would look like a change to the release that knows it.
    @Test func `a column that a later release has added stops the sealing until it is gone, and is logged once`()
        async throws
    {
        let log = RecordingLog()
        let sealer = AuditSealer(seals: fixture.seals, clock: fixture.clock, logger: log.logger)
        try await fixture.grow(seals: 1)
        try await fixture.tamper("ALTER TABLE audit_events ADD COLUMN colour text")
        #expect(try await fixture.seals.seal(by: .at(fixture.clock.now())) == .sealed(0))
        try await fixture.record(2)
        try await fixture.whenFinal()
        let halt = AuditHalt.columnsUnknown(["colour"])
        #expect(try await fixture.seals.seal(by: .at(fixture.clock.now())) == .halted(halt))
        for _ in 0..<3 { #expect(try await sealer.round() == false) }
        #expect(log.lines.count { $0.contains("deferred to processes of a later release") } == 1)
        #expect(Self.haltMessages(log).isEmpty)
        #expect(try await fixture.database.count("audit_seals") == 1)
        #expect(try await fixture.seals.oldestUnsealed() != nil)
        await #expect(throws: halt) { try await fixture.verify() }

        try await fixture.tamper("ALTER TABLE audit_events DROP COLUMN colour")
        while try await fixture.database.count("audit_seals") < 2 {
            #expect(try await sealer.round() == false)
            try await pollingPause()
        }
        let report = try await fixture.verify()
        #expect(report.findings.isEmpty)
        #expect(report.rowCount == 4)
    }

    // MARK: Restoring and retention

    /// A trail as it stands after a dump of it was restored: its last transaction ids are still to come here.
    private func restored(_ fixture: AuditSealFixture) async throws {
        try await fixture.grow(seals: 1)
        try await fixture.tamper(
            "ALTER TABLE audit_events ALTER COLUMN chain SET DEFAULT 2",
            """
            INSERT INTO audit_events (event_id, type, actor, chain, transaction_id, created_at)
            SELECT gen_random_uuid(), 'signed_in', 'person', 1, 1000000000000 + n, to_timestamp(\(SignInFixture.start))
            FROM generate_series(1, 3) n
            """)
        try await fixture.seal()
        try await fixture.tamper("ALTER TABLE audit_events ALTER COLUMN chain SET DEFAULT 1")
    }

    @Test func `after a restore nothing is sealed until a new chain begins, which goes on with the seals`() async throws
    {
        try await restored(fixture)
        let halt = AuditHalt.restored(chain: 1)
        #expect(try await fixture.seals.seal(by: .at(fixture.clock.now())) == .halted(halt))
        #expect(halt.description.contains("ALTER TABLE audit_events ALTER COLUMN chain SET DEFAULT 2"))
        try await fixture.tamper("ALTER TABLE audit_events ALTER COLUMN chain SET DEFAULT 2")
        try await fixture.grow(seals: 2)
        let report = try await fixture.verify()
        #expect(report.findings.isEmpty)
        #expect(report.head?.number == 4)
        #expect(report.head?.totalCount == 9)
        // A return to a chain that has ended halts it too.
        try await fixture.tamper("ALTER TABLE audit_events ALTER COLUMN chain SET DEFAULT 1")
        #expect(try await fixture.seals.seal(by: .at(fixture.clock.now())) == .halted(.restored(chain: 2)))
    }

    /// Their transaction ids are below those that the seals have covered.
    @Test func `rows that came before the new chain began are reported`() async throws {
        try await restored(fixture)
        try await fixture.record(2)
        try await fixture.tamper("ALTER TABLE audit_events ALTER COLUMN chain SET DEFAULT 2")
        try await fixture.grow(seals: 1)
        #expect(try await fixture.faults() == [.init(2, .added(2))])
    }

    @Test func `rows that were dumped before they were sealed are sealed with the new chain`() async throws {
        try await restored(fixture)
        try await fixture.insert(at: "to_timestamp(\(SignInFixture.start))", transaction: "2000000000000")
        try await fixture.tamper("ALTER TABLE audit_events ALTER COLUMN chain SET DEFAULT 2")
        try await fixture.grow(seals: 1)
        let report = try await fixture.verify()
        #expect(report.findings.isEmpty)
        #expect(report.head?.totalCount == 8)
        #expect(report.unsealedCount == 0)
    }

    @Test func `rows that were deleted are not missed by a verification that starts after them`() async throws {
        try await fixture.grow(seals: 4)
        let start = Timestamp(seconds: SignInFixture.start)
        try await fixture.tamper("DELETE FROM audit_events WHERE created_at < \(start.advanced(bySeconds: 4))")
        #expect(try await fixture.faults() == [.init(1, .missing(2)), .init(2, .missing(2))])
        let report = try await fixture.verify(since: start.advanced(bySeconds: 5))
        #expect(report.findings.isEmpty)
        #expect(report.sealCount == 2)
        #expect(report.rowCount == 4)
        // Seals may be deleted with their rows, except for the one to start after.
        try await fixture.tamper("DELETE FROM audit_seals WHERE seal_number < 2")
        #expect(try await fixture.verify(since: start.advanced(bySeconds: 5)).findings.isEmpty)
        // Before the first seal there is none to start after.
        #expect(try await fixture.verify(since: start).findings.map(\.fault) == [.sealsMissing(1), .missing(4)])
    }

    // MARK: The rounds of the service

    @Test func `a round goes on while it fills seals, and reminds of a halt once a minute`() async throws {
        let log = RecordingLog()
        let sealer = AuditSealer(seals: fixture.seals, clock: fixture.clock, logger: log.logger)
        #expect(try await sealer.round() == false)
        try await fixture.tamper(
            """
            INSERT INTO audit_events (event_id, type, actor, created_at)
            SELECT gen_random_uuid(), 'signed_in', 'person', to_timestamp(\(SignInFixture.start))
            FROM generate_series(1, 1001)
            """)
        while try await sealer.round() == false { try await pollingPause() }
        while try await fixture.database.count("audit_seals") < 2 {
            #expect(try await sealer.round() == false)
            try await pollingPause()
        }
        #expect(try await fixture.faults() == [])
        #expect(Self.haltMessages(log).isEmpty)
        // The head is logged once an hour, for operators that keep the log apart from the database.
        #expect(log.lines.count { $0.contains("audit trail sealed up to head") } == 1)
        // A clock that is set back delays no line by as much.
        fixture.clock.advance(by: -86_400)
        #expect(try await sealer.round() == false)
        #expect(log.lines.count { $0.contains("audit trail sealed up to head") } == 2)

        try await fixture.tamper("DELETE FROM audit_head")
        for _ in 0..<3 { #expect(try await sealer.round() == false) }
        fixture.clock.advance(by: 59)
        #expect(try await sealer.round() == false)
        #expect(Self.haltMessages(log).count == 1)
        #expect(Self.haltMessages(log).first?.contains("countersign audit verify") == true)
        fixture.clock.advance(by: 1)
        #expect(try await sealer.round() == false)
        #expect(Self.haltMessages(log).count == 2)
        fixture.clock.advance(by: -86_400)
        for _ in 0..<3 { #expect(try await sealer.round() == false) }
        #expect(Self.haltMessages(log).count == 3)
    }

    /// An attacker who deletes seals and head could have the changed trail sealed again, and nothing in it would show it.
    @Test(arguments: [
        ["DELETE FROM audit_seals", "DELETE FROM audit_head"],
        [
            "DELETE FROM audit_seals WHERE seal_number > 1", "DELETE FROM audit_head",
            "INSERT INTO audit_head SELECT * FROM old_head",
        ],
    ])
    func `what was sealed is not sealed again by a process that remembers it`(_ tampering: [StaticString]) async throws
    {
        let log = RecordingLog()
        let sealer = AuditSealer(seals: fixture.seals, clock: fixture.clock, logger: log.logger)
        try await fixture.grow(seals: 1)
        try await fixture.tamper("CREATE TABLE old_head AS SELECT * FROM audit_head")
        try await fixture.grow(seals: 1)
        _ = try await sealer.round()
        let known = try #require(try await fixture.seals.end())
        for statement in tampering { try await fixture.tamper(SQL(stringLiteral: statement)) }
        let left = try await fixture.database.count("audit_seals")
        let found = try await fixture.seals.end()
        for _ in 0..<3 { #expect(try await sealer.round() == false) }
        #expect(try await fixture.database.count("audit_seals") == left)
        #expect(Self.haltMessages(log).count == 1)
        // The database by itself is sound: a failover that has lost the last moments looks the same.
        #expect(try await fixture.seals.halt() == nil)
        let halt = AuditHalt.behindRemembered(known: known, found: found)
        #expect(halt.description.contains("seal \(known.text), ") && known.number == 2)
        #expect(halt.description.contains("last one is \(found?.text ?? "none"). "))
        #expect(Self.haltMessages(log).first?.contains("\(halt)") == true)
    }

    private static func haltMessages(_ log: RecordingLog) -> [String] {
        log.lines.filter { $0.contains("trail not sealed") }
    }
}
