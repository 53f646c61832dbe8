import Accounts
import KeyRing
import Postgres
import Storage
import TestSupport
import Testing

/// Old months of the trail that its owner takes away. The months of migration 0007 begin with 2026-11.
@Suite(.fixture { try await AuditSealFixture.withQuarter($0) }, .timeLimit(.minutes(5)))
struct AuditRetentionTests {
    typealias Found = AuditSealFixture.Found

    var trail: AuditSealFixture { .current }

    @Test
    func `a month goes with its partition, its rows and their seals, and the check begins behind the last of these`()
        async throws
    {
        let head = try #require(try await trail.verify().head)
        #expect(try await trail.drop("2027-01") == ["audit_events_2026_11", "audit_events_2026_12"])
        #expect(try await trail.months() == ["audit_events_2027_01", "audit_events_2027_02", "audit_events_2027_03"])
        #expect(try await trail.database.number("SELECT min(seal_number) FROM audit_seals") == 2)
        try await trail.seal()
        let report = try await trail.verify()
        #expect(report.findings.isEmpty && report.isTooLong == false)
        // 14 rows under 7 seals before; the act has a row of its own under the eighth.
        #expect(report.rowCount == 11 && report.sealCount == 6)
        #expect(report.head?.number == 8 && report.head?.totalCount == 15)
        #expect(try await trail.verify(noted: (head.number, head.code)).findings.isEmpty)
        // A head that went with its month is no finding; one that never was is.
        #expect(try await trail.verify(noted: (1, [1, 2, 3])).findings.isEmpty)
        #expect(try await trail.verify(noted: (7, [1, 2, 3])).findings.count == 1)
        #expect(try await trail.plan("2027-01") == nil)
    }

    @Test func `a seal across the month's begin stays whole, with the rows from before it in their own partition`()
        async throws
    {
        let gone = ["audit_events_2026_11", "audit_events_2026_12", "audit_events_2027_01"]
        #expect(try await trail.drop("2027-03") == gone)
        #expect(try await trail.months() == ["audit_events_2027_02", "audit_events_2027_03"])
        #expect(try await trail.database.count("audit_events WHERE created_at < '2027-03-01Z'") == 1)
        try await trail.seal()
        #expect(try await trail.faults() == [])
        // The whole month goes with the next.
        try trail.set("2027-04-02T00:00:00Z")
        try await trail.grow(seals: 1)
        #expect(try await trail.drop("2027-04") == ["audit_events_2027_02", "audit_events_2027_03"])
        try await trail.seal()
        #expect(try await trail.faults() == [])
    }

    @Test(.fixture(AuditSealFixture.self))
    func `rows of no month, and of a false one, go with the seals that cover them`() async throws {
        // Before the first partition, as where no process has made one.
        try trail.set("2026-10-01T00:00:00Z")
        try await trail.grow(seals: 1)
        // A role that may only add rows dates one into the future: it is to hold up nothing.
        try await trail.insert(at: "'2028-01-01Z'")
        try await trail.grow(seals: 1)
        try trail.set("2026-12-05T00:00:00Z")
        try await trail.grow(seals: 1)
        _ = try await trail.drop("2026-12")
        #expect(try await trail.months() == ["audit_events_2026_12"])
        try await trail.seal()
        #expect(try await trail.faults() == [])
    }

    @Test func `rows that are dated into a month that is gone stay under their own seal`() async throws {
        _ = try await trail.drop("2027-01")
        try await trail.insert(at: "'2026-12-24Z'")
        try await trail.seal()
        #expect(try await trail.faults().map(\.fault) == [.misdated(1)])
        _ = try await trail.drop("2027-02")
        try await trail.seal()
        #expect(try await trail.faults().map(\.fault) == [.misdated(1)])
    }

    @Test func `an owner without the key ring makes no anchor, and adds nothing before one`() async throws {
        let reason = try await forge()
        #expect(try await trail.faults().contains(Found(4, .sealsMissing(3))))
        // Nor does one of another key ring, or of another seal.
        try await trail.tamper("UPDATE audit_events SET reason = \(reason) WHERE type = 'audit_dropped'")
        #expect(try await trail.faults().contains(Found(4, .sealsMissing(3))))
        try await AuditSealFixture.withQuarter { trail in
            _ = try await trail.drop("2027-02")
            try await trail.seal()
            try await trail.insert(at: "'2026-12-24Z'", transaction: "3")
            let anchor = try await trail.database.number("SELECT min(seal_number) FROM audit_seals")
            #expect(try await trail.faults() == [Found(anchor, .added(1))])
            try await trail.tamper(
                "DELETE FROM audit_events WHERE transaction_id = 3",
                "UPDATE audit_events SET reason = 'before 2027-02' WHERE type = 'audit_dropped'")
            #expect(try await trail.faults().contains { if case .sealsMissing = $0.fault { true } else { false } })
        }
    }

    /// Rows and seals that were deleted without the command, and a row that says otherwise.
    ///
    /// - Returns: the reason that the command would have given under another key ring.
    private func forge() async throws -> String {
        let end: SQL = "(SELECT transaction_id FROM audit_seals WHERE seal_number = 4)"
        let other = trail.with(try SignInFixture.makeKeyRing(octet: 9))
        try await trail.tamper(
            "DELETE FROM audit_events WHERE transaction_id <= \(end)", "DELETE FROM audit_seals WHERE seal_number < 4")
        let plan = try #require(try await other.plan("2027-02"))
        _ = try await other.retention.carryOut(plan, by: .at(trail.clock.now()))
        let reasons = try await trail.database.query(
            "SELECT reason FROM audit_events WHERE type = 'audit_dropped'", as: String.self)
        try await trail.tamper("UPDATE audit_events SET reason = '4:00' WHERE type = 'audit_dropped'")
        try await trail.seal()
        return try #require(reasons.first)
    }

    @Test func `seals that a command has left behind go with the next one, and are no finding meanwhile`() async throws
    {
        try await trail.tamper("CREATE TABLE kept AS SELECT * FROM audit_seals")
        _ = try await trail.drop("2027-02")
        try await trail.tamper("INSERT INTO audit_seals SELECT * FROM kept ON CONFLICT DO NOTHING")
        try await trail.seal()
        #expect(try await trail.faults() == [])
        #expect(try await trail.database.number("SELECT min(seal_number) FROM audit_seals") == 1)
        try await trail.retention.deleteSeals()
        #expect(try await trail.database.number("SELECT min(seal_number) FROM audit_seals") == 4)
        #expect(try await trail.faults() == [])
    }

    @Test func `it waits for who reads the trail, and lets those who write go on`() async throws {
        let gone = try await trail.database.withConnection { reader in
            try await reader.execute("BEGIN")
            try await reader.execute("SELECT count(*) FROM audit_events")
            async let gone = trail.drop("2027-01")
            try await reader.awaitWaiters()
            // Waits no longer than the command asks.
            try await trail.record(1)
            try await reader.execute("COMMIT")
            return try await gone
        }
        #expect(gone == ["audit_events_2026_11", "audit_events_2026_12"])
        try await trail.seal()
        #expect(try await trail.faults() == [])
    }

    @Test(.fixture(AuditSealFixture.self))
    func `over a year that keeps three months the trail stays as long as three months`() async throws {
        let months = (0..<13).map { AuditMonth(year: 2026 + Int64((11 + $0) / 12), month: (11 + $0) % 12 + 1) }
            .compactMap(\.self)
        var sizes: [Int64] = []
        for (number, month) in months.enumerated() {
            for day in stride(from: Int64(0), to: 28, by: 7) {
                trail.clock.set(to: month.begin.advanced(bySeconds: day * 86_400).seconds)
                try await trail.grow(seals: 1)
            }
            if number >= 3 { _ = try await trail.drop("\(months[number - 2])") }
            try await trail.seal()
            #expect(try await trail.faults() == [], "\(month)")
            sizes.append(
                try await trail.database.number(
                    "SELECT (SELECT count(*) FROM audit_events) * 1000 + (SELECT count(*) FROM audit_seals)"))
        }
        // Three months of four seals over two rows, the anchor, and a row and a seal a month for the act itself.
        let largest = try #require(sizes.dropFirst(5).max())
        #expect(largest == sizes.dropFirst(5).min() && largest <= 27 * 1000 + 17, "\(sizes)")
        #expect(try await trail.database.count("pg_inherits WHERE inhparent = 'audit_events'::regclass") == 25 - 11)
    }
}

extension AuditSealFixture {
    /// Two seals of two rows in each of three months, and a seventh; the sixth is across the end of 2027-02.
    fileprivate static func withQuarter(_ body: (AuditSealFixture) async throws -> Void) async throws {
        try await run { trail in
            for month in ["2026-12", "2027-01", "2027-02"] {
                try trail.set("\(month)-10T00:00:00Z")
                try await trail.grow(seals: 1)
                try trail.set("\(month)-28T23:59:59Z")
                try await trail.grow(seals: 1)
            }
            try await trail.grow(seals: 1)
            try await body(trail)
        }
    }

    fileprivate var retention: AuditRetention { AuditRetention(database: database, keyRing: keyRing) }

    fileprivate func set(_ time: String) throws { clock.set(to: try #require(Timestamp(rfc3339: time)).seconds) }

    fileprivate func plan(_ month: String) async throws -> AuditRetention.Plan? {
        try await retention.plan(before: try #require(AuditMonth(month)))
    }

    /// Takes away what is sealed from before a month.
    fileprivate func drop(_ month: String) async throws -> [String] {
        let plan = try await self.plan(month)
        return try await retention.carryOut(try #require(plan), by: .at(clock.now()))
    }

    fileprivate func months() async throws -> [String] {
        try await database.query(
            "SELECT DISTINCT tableoid::regclass::text FROM audit_events WHERE type = 'signed_in' ORDER BY 1",
            as: String.self)
    }
}
