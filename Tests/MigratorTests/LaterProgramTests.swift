import Postgres
import TestSupport
import Testing

@testable import Migrator

/// An older program on the schema of a later one, as it is in the middle of an upgrade and after going back.
@Suite(.timeLimit(.minutes(15))) struct LaterProgramTests {
    private static let createA = Migration(
        version: 1, name: "create_a", up: "-- why\nCREATE TABLE a (id integer PRIMARY KEY, old text);\n",
        down: "-- why\nDROP TABLE a;\n")
    private static let widenA = Migration(
        version: 2, name: "widen_a", up: "-- why\nALTER TABLE a ADD COLUMN new text;\n",
        down: "-- why\nALTER TABLE a DROP COLUMN new;\n")
    private static let dropOld = Migration(
        version: 3, name: "drop_old", up: "-- why\n-- serves-from: 0002\nALTER TABLE a DROP COLUMN old;\n",
        down: "-- why\nALTER TABLE a ADD COLUMN old text;\n")

    @Test func `an older program serves on an added column, applies nothing and takes nothing back`() async throws {
        try await ScratchDatabase.withEmpty { _, database in
            _ = try await database.migrator([Self.createA, Self.widenA]).up()
            let older = database.migrator([Self.createA])
            try await older.requireServableSchema()
            #expect(try await older.up().isEmpty)
            #expect(try await older.plan().isEmpty)
            #expect(try await older.latestOfLaterProgram() == "0002_widen_a")
            #expect(try await older.verify().map(\.description).count == 1)
            let fault = await #expect(throws: MigrationFault.self) { try await older.down() }
            #expect(fault?.description.contains("0002_widen_a is applied to the database but unknown") == true)
            #expect(try await database.count("SELECT count(new) FROM a") == 0)
        }
    }

    @Test func `a column is dropped under programs that know the level that the migration names`() async throws {
        try await ScratchDatabase.withEmpty { _, database in
            let latest = database.migrator([Self.createA, Self.widenA, Self.dropOld])
            let middle = database.migrator([Self.createA, Self.widenA])
            let oldest = database.migrator([Self.createA])
            _ = try await latest.up(to: 2)
            try await oldest.requireServableSchema()
            _ = try await latest.up()
            try await latest.requireServableSchema()
            try await middle.requireServableSchema()
            let fault = await #expect(throws: MigrationFault.self) { try await oldest.requireServableSchema() }
            #expect(
                fault?.description == "Migration 0003_drop_old of a later release took away what this one needs: "
                    + "start that release, or another that knows migration 0002.")
            await #expect(throws: MigrationFault.self) { try await oldest.up() }
            #expect(try await middle.up().isEmpty)
            _ = try await latest.down()
            try await oldest.requireServableSchema()
        }
    }

    @Test func `a later migration that stopped half-way leaves the older program serving`() async throws {
        let unique = Migration(
            version: 2, name: "index_old",
            up: "-- no-transaction: a is large\nCREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS a_old ON a (old);\n",
            down: "-- no-transaction: a is large\nDROP INDEX CONCURRENTLY IF EXISTS a_old;\n")
        try await ScratchDatabase.withEmpty { _, database in
            let older = database.migrator([Self.createA])
            let later = database.migrator([Self.createA, unique])
            _ = try await older.up()
            try await database.execute("INSERT INTO a VALUES (1, 'same'), (2, 'same')")
            await #expect(throws: MigrationFault.self) { try await later.up() }
            #expect(try await later.status().map(\.state).last == .interrupted)
            try await older.requireServableSchema()
            let fault = await #expect(throws: MigrationFault.self) { try await later.requireServableSchema() }
            #expect(fault?.description.contains("0002_index_old was interrupted") == true)
        }
    }

    @Test func `a later migration that takes long leaves the older program serving`() async throws {
        let slow = Migration(
            version: 2, name: "wait_long", up: "-- why\nSELECT pg_advisory_xact_lock(1);\n", down: "-- why\n")
        try await ScratchDatabase.withEmpty { _, database in
            let older = database.migrator([Self.createA])
            let later = database.migrator([Self.createA, slow])
            _ = try await older.up()
            let run = try await database.holding("SELECT pg_advisory_xact_lock(1)") {
                let run = Task { try await later.up() }
                let waiting: SQL = """
                    SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
                    WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()
                    """
                while try await database.count(waiting) == 0 { try await pollingPause() }
                // Readiness is polled every second, however long a migration takes.
                try await older.requireServableSchema()
                return run
            }
            #expect(try await run.value.map(\.label) == ["0002_wait_long"])
        }
    }
}
