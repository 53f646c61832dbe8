import Foundation
import Postgres
import TestSupport
import Testing

@testable import Migrator

/// The migrations of this build that run outside a transaction, interrupted after each statement.
@Suite struct RepeatabilityTests {
    private static let nonTransactional = Migration.embedded.filter { !$0.isTransactional }

    /// Those that were released, up to 0029, change no more: 0028 stands for them.
    private static let tried = nonTransactional.filter { SoakCases.areAll || $0.version >= 28 }

    /// Columns, constraints and indexes, each with its state.
    private static func schema(_ database: Database) async throws -> [String] {
        try await database.query(
            """
            SELECT 'column ' || attrelid::regclass || '.' || attname || ' ' || atttypid::regtype || ' ' || attnotnull
            FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
            WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped
            UNION ALL
            SELECT 'constraint ' || conrelid::regclass || '.' || conname || ' ' || convalidated || ' '
                || pg_get_constraintdef(oid)
            FROM pg_constraint WHERE connamespace = 'public'::regnamespace
            UNION ALL
            SELECT 'index ' || indisvalid || ' ' || pg_get_indexdef(indexrelid)
            FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = 'public'::regnamespace
            ORDER BY 1
            """, as: String.self)
    }

    /// Leaves what a runner leaves that dies after `count` statements of a script.
    private static func interrupt(
        _ migration: Migration, _ script: MigrationScript, after count: Int, in database: Database
    ) async throws {
        try await database.execute(
            """
            INSERT INTO schema_migrations (version, name, checksum)
            VALUES (\(Int32(migration.version)), \(migration.name), \(migration.checksum))
            ON CONFLICT (version) DO UPDATE SET finished_at = NULL
            """)
        for statement in script.statements.prefix(count) { try await database.execute(SQL(unsafeSQL: statement.text)) }
    }

    @Test(arguments: tried.map(\.version))
    func `a migration of ours that is interrupted after any statement, up or down, is finished either way`(version: Int)
        async throws
    {
        let migration = Migration.embedded[version - 1]
        try await ScratchDatabase.withEmpty { _, database in
            let migrator = database.migrator(Array(Migration.embedded.prefix(version)))
            _ = try await migrator.up(to: version)
            let above = try await Self.schema(database)
            _ = try await migrator.down()
            let below = try await Self.schema(database)
            #expect(above != below)

            for count in 0...migration.up.statements.count {
                try await Self.interrupt(migration, migration.up, after: count, in: database)
                #expect(try await migrator.up().map(\.label) == [migration.label])
                #expect(try await Self.schema(database) == above, "up after \(count) statements")
                _ = try await migrator.down()
                try await Self.interrupt(migration, migration.up, after: count, in: database)
                #expect(try await migrator.down().map(\.label) == [migration.label])
                #expect(try await Self.schema(database) == below, "down after \(count) statements up")
            }
            _ = try await migrator.up()
            for count in 0...migration.down.statements.count {
                try await Self.interrupt(migration, migration.down, after: count, in: database)
                #expect(try await migrator.up().map(\.label) == [migration.label])
                #expect(try await Self.schema(database) == above, "up after \(count) statements down")
                try await Self.interrupt(migration, migration.down, after: count, in: database)
                #expect(try await migrator.down().map(\.label) == [migration.label])
                #expect(try await Self.schema(database) == below, "down after \(count) statements")
                _ = try await migrator.up()
            }
        }
    }

    @Test(arguments: [(15, "sessions"), (17, "identities")])
    func `an index of ours whose build is killed is built again`(version: Int, table: String) async throws {
        try await ScratchDatabase.withEmpty { scratch, database in
            let migrations = Array(Migration.embedded.prefix(version))
            let migrator = database.migrator(migrations)
            _ = try await migrator.up(to: version - 1)
            // The build waits for a writer, long after the index is in the catalogue.
            try await database.holding("LOCK TABLE \(table) IN ROW EXCLUSIVE MODE") {
                await #expect(processExitsWith: .signal(SIGKILL)) { [url = scratch.url as String, version, table] in
                    try await InterruptionTests.dieMigrating(
                        url, Array(Migration.embedded.prefix(version)),
                        at: "SELECT FROM pg_index WHERE NOT indisvalid AND indrelid = '\(table)'::regclass"
                    ) { _ = try await $0.up() }
                }
                try await InterruptionTests.untilOrphansAreGone(database)
                #expect(try await database.count("SELECT count(*) FROM pg_index WHERE NOT indisvalid") == 1)
            }
            #expect(try await migrator.up().map(\.label) == [migrations[version - 1].label])
            #expect(try await database.count("SELECT count(*) FROM pg_index WHERE NOT indisvalid") == 0)
            #expect(try await migrator.verify().isEmpty)
        }
    }
}
