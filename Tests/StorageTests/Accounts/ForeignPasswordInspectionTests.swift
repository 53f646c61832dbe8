import Postgres
import Storage
import TestSupport
import Testing

/// What is stored of hashes that came with imports, by cost.
@Suite struct ForeignPasswordInspectionTests {
    @Test func `hashes that are not ours are counted by kind and cost, the most frequent first`() async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let inspection = DatabaseInspection(database: database)
            let costs = try DataFile("foreign-hashes.tsv").rows
            let hashes = costs.flatMap(\.self) + ["$2b$10$cccc", "$scrypt$ln=17,r=8,p=1$aa$bb"]
            try await database.execute(
                """
                INSERT INTO accounts (account_id, password_hash, created_at)
                SELECT gen_random_uuid(), h, now() FROM unnest(\(hashes)) AS h
                """)
            let stored = try await inspection.foreignPasswords(limit: 100)
            #expect(stored.first?.count == 3 && stored.dropFirst().allSatisfy { $0.count == 2 })
            #expect(Set(stored.map(\.example)) == Set(costs.compactMap { $0.min() }))
            #expect(try await inspection.foreignPasswords(limit: 3).count == 3)
        }
    }
}
