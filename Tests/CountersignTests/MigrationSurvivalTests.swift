import Migrator
import Postgres
import TestSupport
import Testing

/// Migrations meet data: each is applied to, and taken back from, a database with rows of the version before it.
@Suite(.fixture(Database.self)) struct MigrationSurvivalTests {
    var database: Database { .current }

    @Test func `rows of every version survive all later migrations, down, up again and down`() async throws {
        let migrator = Migrator(database: database, logger: .silent)
        let versions = Migration.embedded.map(\.version)
        let old = try OldRows.all
        var expected: [String] = []
        for version in versions {
            _ = try await migrator.up(to: version)
            try await Self.expect(expected, of: old, at: version, in: database)
            for rows in old where rows.version == version {
                _ = try await database.execute(rows.insert)
                expected.append(try #require(try await Self.digest(rows, in: database)))
            }
        }
        #expect(expected.count == old.count && old.count == 32)
        for version in versions.reversed() {
            _ = try await migrator.down(steps: 1)
            expected.removeLast(old.count { $0.version == version })
            try await Self.expect(expected, of: old, at: version - 1, in: database)
            // Once more, with what the way down has left.
            _ = try await migrator.up(to: version)
            try await Self.expect(expected, of: old, at: version, in: database)
            _ = try await migrator.down(steps: 1)
            try await Self.expect(expected, of: old, at: version - 1, in: database)
        }
    }

    /// The audit trail is partitioned by month, and what falls outside of the months goes to a default partition.
    @Test(.fixture { try await ScratchDatabase.withMigratedPool($0) })
    func `an audit event is kept in the partition of its month`() async throws {
        let rows = try #require(try OldRows.all.first { $0.version == 7 })
        _ = try await database.execute(rows.insert)
        let digest = try #require(try await Self.digest(rows, in: database))
        let partitions = digest.split(separator: "\n").compactMap { $0.split(separator: "|").first }
        #expect(partitions == ["audit_events_2026_11", "audit_events_2026_12", "audit_events_default"])
    }

    private static func digest(_ rows: OldRows, in database: Database) async throws -> String? {
        let texts = try await database.query(rows.digest, as: String?.self)
        return texts.first ?? nil
    }

    private static func expect(
        _ expected: [String], of old: [OldRows], at version: Int, in database: Database
    ) async throws {
        for (rows, digest) in zip(old, expected) {
            let found = try await Self.digest(rows, in: database)
            #expect(found == digest, "rows of version \(rows.version), at version \(version)")
        }
    }
}
