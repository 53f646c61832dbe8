import Accounts
import KeyRing
import Postgres
import Storage
import TestSupport
import Testing

/// Runs of one import, which may not mix.
@Suite struct ImportStoreTests {
    private static let call = Call.at(Timestamp(seconds: 1_800_000_000))

    private static func row(_ number: Int) throws -> ImportRow {
        let id = try #require(ExternalID("u\(number)"))
        return ImportRow(
            externalID: id,
            content: .person(
                ImportedPerson(
                    externalID: id, email: EmailAddress("u\(number)@example.com"), emailProof: .stated,
                    displayName: nil,
                    createdAt: call.now, isDisabled: false, identities: [], passwordHash: nil)))
    }

    @Test func `a run that another one or an undo has come after writes nothing and ends nothing`() async throws {
        let name = try #require(ImportName("moved"))
        try await ScratchDatabase.withMigrated { scratch in
            try await scratch.withPool(.test(poolSize: 2)) { database in
                let keyRing = try KeyRing(parsing: "k1 \(String(repeating: "BwcH", count: 10))Bwc=\n")
                let store = ImportStore(database: database, keyRing: keyRing)
                let call = Self.call
                let first = try await store.begin(name, source: "ndjson", by: call)
                _ = try await store.merge([try Self.row(1)], of: first, by: call)
                let second = try await store.begin(name, source: "ndjson", by: call)
                await #expect(throws: ImportSuperseded.self) {
                    _ = try await store.merge([try Self.row(2)], of: first, by: call)
                }
                try await store.finish(first, counts: [("created", 9)], summary: "moved: created 9", by: call)
                let results = try await store.merge([try Self.row(1), try Self.row(3)], of: second, by: call)
                #expect(results.map(\.outcome.word) == ["unchanged", "created"])
                try await store.settle(name, by: call)
                await #expect(throws: ImportSuperseded.self) {
                    _ = try await store.merge([try Self.row(4)], of: second, by: call)
                }
                let record = try #require(try await store.records.record(of: name))
                #expect(record.state == .finished && record.counts.isEmpty && record.accounts == 2)
                let ends = try await database.query(
                    "SELECT reason FROM audit_events WHERE type = 'accounts_imported' ORDER BY reason", as: String.self)
                #expect(ends == ["moved: cut off, with 1 rows in", "moved: cut off, with 2 rows in"])
            }
        }
    }
}
