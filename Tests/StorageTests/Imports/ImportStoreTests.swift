import Accounts
import KeyRing
import Postgres
import Storage
import TestSupport
import Testing

/// A migrated database, and the store of imports over it.
private struct ImportWorld: TestFixture {
    let database: Database
    let keyRing: KeyRing
    let name: ImportName

    static func run(_ body: (ImportWorld) async throws -> Void) async throws { try await run(poolSize: 1, body) }

    static func run(poolSize: Int, _ body: (ImportWorld) async throws -> Void) async throws {
        try await ScratchDatabase.withMigratedPool {
            $0.poolSize = poolSize
        } _: { database in
            let keyRing = try KeyRing(parsing: "k1 \(String(repeating: "BwcH", count: 10))Bwc=\n")
            let name = try #require(ImportName("moved"))
            try await body(ImportWorld(database: database, keyRing: keyRing, name: name))
        }
    }
}

/// Runs of one import, which may not mix. One connection: when it hands in its counts, those of all that it did before are
/// among them.
@Suite(.fixture(ImportWorld.self)) struct ImportStoreTests {
    var database: Database { ImportWorld.current.database }
    var store: ImportStore { ImportStore(database: database, keyRing: ImportWorld.current.keyRing) }
    var name: ImportName { ImportWorld.current.name }

    private let call = Call.at(Timestamp(seconds: 1_800_000_000))

    private func row(_ number: Int) throws -> ImportRow {
        let id = try #require(ExternalID("u\(number)"))
        return ImportRow(
            externalID: id,
            content: .person(
                ImportedPerson(
                    externalID: id, email: EmailAddress("u\(number)@example.com"), emailProof: .stated,
                    displayName: nil, createdAt: call.now, isDisabled: false, identities: [], passwordHash: nil)))
    }

    @Test(.fixture { try await ImportWorld.run(poolSize: 2, $0) })
    func `a run that another one or an undo has come after writes nothing and ends nothing`() async throws {
        let first = try await store.begin(name, source: "ndjson", by: call)
        _ = try await store.merge([try row(1)], of: first, by: call)
        let second = try await store.begin(name, source: "ndjson", by: call)
        await #expect(throws: ImportSuperseded.self) { _ = try await store.merge([try row(2)], of: first, by: call) }
        try await store.finish(first, as: .finished, counts: [("created", 9)], summary: "moved: created 9", by: call)
        let results = try await store.merge([try row(1), try row(3)], of: second, by: call)
        #expect(results.map(\.outcome.word) == ["unchanged", "created"])
        try await store.settle(name, by: call)
        await #expect(throws: ImportSuperseded.self) { _ = try await store.merge([try row(4)], of: second, by: call) }
        let record = try #require(try await store.records.record(of: name))
        #expect(record.state == .cutOff && record.counts.isEmpty && record.accounts == 2)
        // The list of a page that is looked at often does without the number.
        for isCounted in [true, false] {
            let listed = try await store.records.list(countsAccounts: isCounted)
            #expect(listed.map(\.state) == [.cutOff] && listed.map(\.accounts) == [isCounted ? 2 : nil])
        }
        let ends = try await database.query(
            "SELECT reason FROM audit_events WHERE type = 'accounts_imported' ORDER BY reason", as: String.self)
        #expect(ends == ["moved: cut off, with 1 rows in", "moved: cut off, with 2 rows in"])
    }

    @Test func `what an undo has removed that never ended is recorded once, by the next run`() async throws {
        let run = try await store.begin(name, source: "ndjson", by: call)
        _ = try await store.merge([try row(1), try row(2)], of: run, by: call)
        try await store.finish(run, as: .finished, counts: [("created", 2)], summary: "moved: created 2", by: call)
        let page = try await store.undo(run, after: nil, isRehearsal: false, by: call)
        #expect(page.removed == 2 && page.kept.isEmpty && page.next == nil)
        let record = try #require(try await store.records.record(of: name))
        #expect(record.state == .cutOff && record.accounts == 0)
        for _ in 0..<2 { _ = try await store.begin(name, source: "ndjson", by: call) }
        let undone = try await database.query(
            "SELECT reason FROM audit_events WHERE type = 'import_undone'", as: String.self)
        #expect(undone == ["moved: cut off, with 2 removed"])
        let announced = try await database.query(
            """
            SELECT count(*) || ' ' || type || ' ' || members
            FROM unstamped_events
            GROUP BY type, members
            ORDER BY type
            """, as: String.self)
        #expect(
            announced == [
                #"2 account.created {"by":"import"}"#,
                #"2 account.deleted {"by":"admin","reason":"import_undone"}"#,
            ])
    }

    @Test(.timeLimit(.minutes(2)))
    func `what people write is counted, and what an import or a service that waits writes is not`() async throws {
        let before = try await store.rowsOfPeople()
        let now = call.now
        let run = try await store.begin(name, source: "ndjson", by: call)
        let rows = try (1...500).map { try row($0) }
        let results = try await store.merge(rows, of: run, by: call)
        #expect(results.count { $0.outcome.word == "created" } == 500)
        #expect(try await ServiceDatabase(database, keyRing: ImportWorld.current.keyRing).feed.stamp() == 500)
        for _ in 0..<100 { try await database.execute("SELECT 1") }

        _ = try await database.addSession(at: now, lasting: 60)
        try await database.execute("UPDATE sessions SET last_used_at = \(now.advanced(bySeconds: 1))")
        try await database.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, created_at)
            VALUES (gen_random_uuid(), 'signed_in', 'person', \(now))
            """)
        var counted: Int64
        repeat {
            try await pollingPause()
            counted = try await store.rowsOfPeople() - before
        } while counted < 3
        #expect(counted == 3)
    }

    @Test func `an event of the trail looks for imported rows once there is an import, and not before`() async throws {
        func triggers() async throws -> [String] {
            try await database.query(
                """
                EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF)
                INSERT INTO audit_events (event_id, type, actor, account_id, created_at)
                SELECT gen_random_uuid(), 'signed_in', 'person', account_id, \(call.now)
                FROM accounts
                """, as: String.self
            ).filter { $0.contains("audit_events_mark_imported_rows") }
        }
        #expect(try await triggers().isEmpty)
        let run = try await store.begin(name, source: "ndjson", by: call)
        _ = try await store.merge([try row(1)], of: run, by: call)
        let untouched: SQL = "SELECT count(*) FROM imported_rows WHERE NOT is_touched"
        #expect(try await database.number(untouched) == 1)
        #expect(try await triggers().count == 1)
        #expect(try await database.number(untouched) == 0)
    }
}
