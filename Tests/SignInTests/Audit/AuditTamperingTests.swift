import Accounts
import Postgres
import Storage
import TestSupport
import Testing

/// Changes to the trail by an attacker who owns the database: each is possible, and none can be hidden.
@Suite(.fixture(AuditSealFixture.self), .timeLimit(.minutes(5))) struct AuditTamperingTests {
    var fixture: AuditSealFixture { .current }

    typealias Found = AuditSealFixture.Found

    /// The first row of the second seal.
    private static let victim: SQL = """
        event_id = (
            SELECT event_id
            FROM audit_events
            WHERE transaction_id > (SELECT transaction_id FROM audit_seals WHERE seal_number = 1)
            ORDER BY transaction_id
            LIMIT 1)
        """

    /// Cuts off the rows behind the first seal.
    private static let cut: SQL = """
        DELETE FROM audit_events
        WHERE transaction_id > (SELECT transaction_id FROM audit_seals WHERE seal_number = 1)
        """

    @Test func `a trail that nobody has touched is as it was sealed`() async throws {
        #expect(try await fixture.verify().head == nil)
        try await fixture.grow(seals: 3)
        let report = try await fixture.verify()
        #expect(report.findings.isEmpty)
        #expect(report.sealCount == 3)
        #expect(report.rowCount == 6)
        #expect(report.unsealedCount == 0)
        #expect(report.head?.number == 3)
        #expect(report.head?.totalCount == 6)
        #expect(report.isRewritable)
    }

    /// A value that was there, one that was not, and one that is taken away.
    @Test(arguments: [
        ("type", "'signed_out'"), ("actor", "'operator'"), ("account_id", "NULL"), ("account_id", "gen_random_uuid()"),
        ("identity_id", "gen_random_uuid()"), ("revocation_id", "gen_random_uuid()"),
        ("session_id", "gen_random_uuid()"), ("provider", "'google'"), ("jti", "''"), ("reason", "'apple '"),
        ("request_id", "NULL"), ("network", "'192.0.2.0/24'"), ("occurrences", "2"),
        ("created_at", "created_at + interval '1 microsecond'"),
    ])
    func `a changed value is found where it is`(_ column: String, _ value: String) async throws {
        try await fixture.grow(seals: 3)
        try await fixture.tamper(
            "UPDATE audit_events SET \(unsafeSQL: column) = \(unsafeSQL: value) WHERE \(Self.victim)")
        #expect(try await fixture.faults() == [Found(2, .changed)])
    }

    @Test func `no column is left out`() async throws {
        let columns = try await fixture.database.query(
            """
            SELECT attname::text FROM pg_attribute
            WHERE attrelid = 'audit_events'::regclass AND attnum > 0 AND NOT attisdropped
            """, as: String.self)
        #expect(columns.sorted() == AuditVerification.coveredColumns.sorted())
    }

    @Test func `a deleted row is missed`() async throws {
        try await fixture.grow(seals: 3)
        try await fixture.tamper("DELETE FROM audit_events WHERE \(Self.victim)")
        let finding = try #require(try await fixture.verify().findings.first)
        #expect(Found(finding.sealNumber, finding.fault) == Found(2, .missing(1)))
        #expect(finding.from == Timestamp(seconds: SignInFixture.start + 2))
        #expect(finding.to == Timestamp(seconds: SignInFixture.start + 4))
    }

    @Test func `a row that is slipped in among old ones is found`() async throws {
        try await fixture.grow(seals: 3)
        try await fixture.tamper(
            """
            INSERT INTO audit_events (event_id, type, actor, transaction_id, created_at)
            SELECT gen_random_uuid(), 'account_deleted', 'person', transaction_id, created_at
            FROM audit_events
            WHERE \(Self.victim)
            """)
        #expect(try await fixture.faults() == [Found(2, .added(1))])
    }

    @Test func `a row that is moved is missed here and found there`() async throws {
        try await fixture.grow(seals: 3)
        try await fixture.tamper("UPDATE audit_events SET transaction_id = 1 WHERE \(Self.victim)")
        #expect(try await fixture.faults() == [Found(1, .added(1)), Found(2, .missing(1))])
        try await fixture.tamper("UPDATE audit_events SET chain = 0 WHERE transaction_id = 1")
        #expect(try await fixture.faults() == [Found(1, .added(1)), Found(2, .missing(1))])
    }

    /// The service's role can add rows, and choose their time.
    @Test(arguments: [-5 * 86_400, 86_400])
    func `a row that is added to the past or the future of the trail is found`(seconds: Int64) async throws {
        try await fixture.grow(seals: 2)
        try await fixture.insert("account_disabled", at: "to_timestamp(\(SignInFixture.start + seconds))")
        try await fixture.seal()
        #expect(try await fixture.faults() == [Found(3, .misdated(1))])
    }

    /// By the service's role, before anything is sealed.
    @Test func `a row that is added before the beginning of the trail is found`() async throws {
        try await fixture.insert("account_disabled", at: "to_timestamp(\(SignInFixture.start - 5 * 86_400))")
        try await fixture.grow(seals: 2)
        #expect(try await fixture.faults() == [Found(1, .misdated(1))])
        // Neither with another beginning, nor without what the seal says.
        for beginning in ["begins_at - interval '10 days'", "NULL"] {
            try await fixture.tamper("UPDATE audit_seals SET begins_at = \(unsafeSQL: beginning) WHERE seal_number = 1")
            #expect(try await fixture.faults().first == Found(1, .changed))
        }
    }

    /// Made by the release before the one whose first seal says it.
    @Test func `a trail whose first seal says no beginning is as it was sealed`() async throws {
        try await fixture.tamper(
            """
            INSERT INTO audit_events (event_id, type, actor, transaction_id, created_at)
            VALUES ('01890000-0000-7000-8000-000000000001', 'signed_in', 'person', 3, '2020-01-01Z')
            """,
            """
            INSERT INTO audit_seals (seal_number, chain, transaction_id, event_id, row_count, total_count, key_id, mac,
                created_at)
            VALUES (1, 1, 3, '01890000-0000-7000-8000-000000000001', 1, 1, 'k1',
                decode('f4ec5afe155a9bdddfb7c7b6c72c875d381ca12f6091be0f088cdc3a2f0b6560', 'hex'), '2026-01-01Z')
            """,
            """
            INSERT INTO audit_head (seal_number, total_count, key_id, mac, created_at)
            VALUES (1, 1, 'k1', decode('2af3cd2d4d1e4c3462687ecbf995052f5225fad7daeef182eaf51c622cdd7717', 'hex'), '2026-01-01Z')
            """)
        #expect(try await fixture.faults() == [])
        try await fixture.grow(seals: 2)
        #expect(try await fixture.faults() == [])
    }

    @Test func `a row of a transaction in the future, which is never sealed, is found`() async throws {
        try await fixture.grow(seals: 1)
        try await fixture.insert(
            "account_disabled", at: "to_timestamp(\(SignInFixture.start))", transaction: "9000000000000000000")
        #expect(try await fixture.faults() == [])
        fixture.clock.advance(by: 3_600)
        try await fixture.record(1)
        try await fixture.whenFinal()
        #expect(try await fixture.seals.seal(by: .at(fixture.clock.now())) == .sealed(1))
        #expect(try await fixture.faults() == [Found(2, .neverSealed(1))])
    }

    /// A row of which only the time differs could hide between two pages.
    @Test func `a copy of a row is found at the end of a page too`() async throws {
        try await fixture.tamper(
            """
            INSERT INTO audit_events (event_id, type, actor, created_at)
            SELECT ('01890000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'signed_in', 'person', to_timestamp(\(SignInFixture.start))
            FROM generate_series(1, 4500) n
            """)
        try await fixture.seal()
        #expect(try await fixture.verify().sealCount == 5)
        #expect(try await fixture.faults() == [])
        try await fixture.tamper(
            """
            INSERT INTO audit_events (event_id, type, actor, transaction_id, created_at)
            SELECT event_id, type, actor, transaction_id, created_at + interval '1 microsecond'
            FROM audit_events
            WHERE event_id::text LIKE '%000000002000' OR event_id::text LIKE '%000000004001'
            """)
        #expect(try await fixture.faults() == [Found(2, .added(1)), Found(5, .added(1))])
    }

    @Test func `rows that are cut off are missed`() async throws {
        try await fixture.grow(seals: 3)
        try await fixture.tamper(Self.cut)
        #expect(try await fixture.faults() == [Found(2, .missing(2)), Found(3, .missing(2))])
    }

    @Test func `rows that are cut off with their seals are missed, and nothing is sealed over it`() async throws {
        try await fixture.grow(seals: 3)
        try await fixture.tamper(Self.cut, "DELETE FROM audit_seals WHERE seal_number > 1")
        #expect(try await fixture.faults() == [Found(3, .cutOff(seals: 2, rows: 4))])
        try await fixture.record(1)
        #expect(try await fixture.seals.seal(by: .at(fixture.clock.now())) == .halted(.headMismatch))
        try await fixture.tamper("DELETE FROM audit_seals")
        #expect(try await fixture.faults() == [Found(3, .cutOff(seals: 3, rows: 6))])
        #expect(try await fixture.seals.seal(by: .at(fixture.clock.now())) == .halted(.headMismatch))
    }

    /// The whole state of an earlier time is consistent in itself. Only a later head that was noted elsewhere reveals it.
    @Test func `a trail that is rolled back with its head is known by the head that was noted`() async throws {
        try await fixture.grow(seals: 1)
        let early = try #require(try await fixture.verify().head)
        try await fixture.tamper("CREATE TABLE old_head AS SELECT * FROM audit_head")
        try await fixture.grow(seals: 2)
        let late = try #require(try await fixture.verify().head)
        let noted = (number: late.number, code: Array(late.code.prefix(8)))
        #expect(try await fixture.verify(noted: noted).findings.isEmpty)
        try await fixture.tamper(
            Self.cut, "DELETE FROM audit_seals WHERE seal_number > 1", "DELETE FROM audit_head",
            "INSERT INTO audit_head SELECT * FROM old_head")
        #expect(try await fixture.faults() == [])
        let expected = [AuditFinding(fault: .notAsNoted, sealNumber: 3)]
        #expect(try await fixture.verify(noted: noted).findings == expected)
        // Also when the trail has grown to the same length again.
        try await fixture.grow(seals: 2)
        #expect(try await fixture.faults() == [])
        #expect(try await fixture.verify(noted: noted).findings == expected)
        #expect(try await fixture.verify(noted: (early.number, early.code)).findings.isEmpty)
    }

    @Test(arguments: ["1", "2"])
    func `a seal that is taken out is missed`(_ number: String) async throws {
        try await fixture.grow(seals: 4)
        try await fixture.tamper("DELETE FROM audit_seals WHERE seal_number = \(unsafeSQL: number)")
        let next = try #require(Int64(number)) + 1
        #expect(try await fixture.faults() == [Found(next, .sealsMissing(1))])
        // Deleted with its rows, those are missed too.
        try await fixture.tamper(
            """
            DELETE FROM audit_events
            WHERE transaction_id <= (SELECT transaction_id FROM audit_seals WHERE seal_number = \(next))
            """)
        #expect(try await fixture.faults().contains(Found(next, .sealsMissing(1))))
        #expect(try await fixture.faults().contains(Found(next, .missing(4))))
    }

    @Test(arguments: [
        ("created_at = created_at + interval '1 second'", [2]), ("total_count = total_count + 1", [2]),
        // The code of the next seal covers it.
        ("mac = sha256(mac)", [2, 3]),
    ])
    func `a changed seal is found`(_ change: String, _ seals: [Int64]) async throws {
        try await fixture.grow(seals: 4)
        try await fixture.tamper("UPDATE audit_seals SET \(unsafeSQL: change) WHERE seal_number = 2")
        #expect(try await fixture.faults() == seals.map { Found($0, .changed) })
    }

    @Test(arguments: ["9223372036854775807", "-9223372036854775808"])
    func `a seal with a count that can't be is found`(_ count: String) async throws {
        try await fixture.grow(seals: 2)
        try await fixture.tamper(
            """
            INSERT INTO audit_seals (seal_number, chain, transaction_id, event_id, row_count, total_count, key_id, created_at,
                mac)
            SELECT seal_number + 2, chain, transaction_id, event_id, 1, '\(unsafeSQL: count)'::bigint, key_id, created_at,
                sha256('x')
            FROM audit_seals
            WHERE seal_number = 2
            """)
        #expect(try await fixture.faults().contains(Found(4, .sealsMissing(1))))
    }

    @Test func `a head with numbers that can't be is found`() async throws {
        try await fixture.grow(seals: 3)
        try await fixture.tamper(
            """
            UPDATE audit_head SET seal_number = 9223372036854775807, total_count = -9223372036854775808
            """)
        #expect(try await fixture.faults() == [Found(.max, .cutOff(seals: .max - 3, rows: .min))])
    }

    /// The seal's own code is no code of a head.
    @Test(arguments: [
        "mac = sha256(mac)", "mac = (SELECT mac FROM audit_seals WHERE seal_number = 3)",
        "total_count = total_count + 1", "seal_number = 2, total_count = 4",
    ])
    func `a changed head is found, and nothing is sealed over it`(_ change: String) async throws {
        try await fixture.grow(seals: 3)
        try await fixture.tamper("UPDATE audit_head SET \(unsafeSQL: change)")
        #expect(try await fixture.verify().findings.map(\.fault) == [.headChanged])
        #expect(try await fixture.seals.seal(by: .at(fixture.clock.now())) == .halted(.headMismatch))
    }

    @Test func `a head that is taken away is missed`() async throws {
        try await fixture.grow(seals: 2)
        try await fixture.tamper("DELETE FROM audit_head")
        #expect(try await fixture.faults() == [Found(2, .headMissing)])
        #expect(try await fixture.seals.seal(by: .at(fixture.clock.now())) == .halted(.headMismatch))
    }

    @Test func `a trail that somebody else has sealed is not ours`() async throws {
        let theirs = fixture.with(try SignInFixture.makeKeyRing(octet: 8))
        try await theirs.grow(seals: 2)
        #expect(try await fixture.faults() == [Found(2, .headChanged), Found(1, .changed), Found(2, .changed)])
    }

    @Test func `no more findings are reported than a person can read`() async throws {
        try await fixture.grow(seals: AuditVerification.findingLimit + 1, of: 1)
        try await fixture.tamper("UPDATE audit_events SET reason = 'x'")
        let report = try await fixture.verify()
        #expect(report.findings.count == AuditVerification.findingLimit)
        #expect(report.isCutShort)
    }
}
