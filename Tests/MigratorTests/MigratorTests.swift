import Postgres
import TestSupport
import Testing

@testable import Migrator

/// On a real PostgreSQL, each test on a database of its own.
@Suite(.timeLimit(.minutes(15))) struct MigratorTests {
    private static let createA = Migration(
        version: 1, name: "create_a", up: "-- why\nCREATE TABLE a (id integer PRIMARY KEY);\n",
        down: "-- why\nDROP TABLE a;\n")
    private static let createB = Migration(
        version: 2, name: "create_b",
        up: "-- why\nCREATE TABLE b (id integer REFERENCES a);\nINSERT INTO a VALUES (1);\n",
        down: "-- why\nDROP TABLE b;\nDELETE FROM a;\n")
    private static let broken = Migration(
        version: 3, name: "break_a", up: "-- why\nINSERT INTO a VALUES (7);\nSELECT no_such_column FROM a;\n",
        down: "-- why\nDELETE FROM a WHERE id = 7;\n")

    @Test func `up applies everything once, in order, and down takes it back`() async throws {
        try await ScratchDatabase.withEmpty { _, database in
            let migrator = database.migrator([Self.createA, Self.createB])
            #expect(try await migrator.plan().map(\.label) == ["0001_create_a", "0002_create_b"])
            #expect(try await database.count("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0)
            #expect(try await migrator.up().map(\.label) == ["0001_create_a", "0002_create_b"])
            #expect(try await database.count("SELECT count(*) FROM a") == 1)
            #expect(try await migrator.up().isEmpty)
            #expect(try await migrator.verify().isEmpty)
            try await migrator.requireServableSchema()

            #expect(try await migrator.down().map(\.label) == ["0002_create_b"])
            #expect(try await database.count("SELECT count(*) FROM a") == 0)
            #expect(try await migrator.down(steps: 5).map(\.label) == ["0001_create_a"])
            #expect(try await migrator.down().isEmpty)
            #expect(try await database.count("SELECT count(*) FROM schema_migrations") == 0)
            #expect(try await migrator.up().count == 2)
        }
    }

    @Test func `up stops at the version that was asked for, and status shows which are missing`() async throws {
        try await ScratchDatabase.withEmpty { _, database in
            let migrator = database.migrator([Self.createA, Self.createB])
            #expect(try await migrator.status().map(\.state) == [.pending, .pending])
            #expect(try await migrator.up(to: 1).map(\.label) == ["0001_create_a"])
            let status = try await migrator.status()
            #expect(status.map(\.label) == ["0001_create_a", "0002_create_b"])
            #expect(status[1].state == .pending)
            guard case .applied(let time) = status[0].state else {
                Issue.record("0001 is not applied")
                return
            }
            #expect(time.wholeMatch(of: /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z/) != nil)
            let fault = await #expect(throws: MigrationFault.self) { try await migrator.requireServableSchema() }
            #expect(fault?.description.contains("1 migration behind this binary, beginning with 0002_create_b") == true)
        }
    }

    @Test func `a database that was never migrated is not served on`() async throws {
        try await ScratchDatabase.withEmpty { _, database in
            let migrator = database.migrator([Self.createA])
            let fault = await #expect(throws: MigrationFault.self) { try await migrator.requireServableSchema() }
            #expect(fault?.description.contains("no schema yet") == true)
        }
    }

    @Test func `a migration that fails leaves nothing, and those before it stay`() async throws {
        try await ScratchDatabase.withEmpty { _, database in
            let migrator = database.migrator([Self.createA, Self.createB, Self.broken])
            let fault = await #expect(throws: MigrationFault.self) { try await migrator.up() }
            #expect(
                fault?.description.contains("0003_break_a up failed and nothing of it was kept (SQLSTATE 42703") == true
            )
            let kept = try await database.count("SELECT count(*) FROM a WHERE id = 7")
            #expect(kept == 0)
            #expect(try await migrator.status().map(\.state).last == .pending)
            #expect(try await database.migrator([Self.createA, Self.createB]).verify().isEmpty)
        }
    }

    @Test func `an edited migration is refused before anything is done`() async throws {
        try await ScratchDatabase.withEmpty { _, database in
            _ = try await database.migrator([Self.createA]).up()
            let edited = Migration(
                version: 1, name: "create_a", up: "-- why not\nCREATE TABLE a (id integer PRIMARY KEY);\n",
                down: "-- why\nDROP TABLE a;\n")
            let migrator = database.migrator([edited, Self.createB])
            for attempt in [
                { _ = try await migrator.up() }, { _ = try await migrator.down() }, { _ = try await migrator.plan() },
                { try await migrator.requireServableSchema() },
            ] as [() async throws -> Void] {
                let fault = await #expect(throws: MigrationFault.self) { try await attempt() }
                #expect(fault?.description.contains("0001_create_a was edited or renamed") == true)
            }
            #expect(try await database.count("SELECT count(*) FROM pg_tables WHERE tablename = 'b'") == 0)
        }
    }

    @Test(arguments: ["COMMIT;", "ROLLBACK;", "BEGIN;"])
    func `a script that would end its transaction is refused before any runs`(word: String) async throws {
        try await ScratchDatabase.withEmpty { _, database in
            let ending = Migration(version: 2, name: "end_it", up: "-- why\n\(word)\n", down: "-- why\n")
            let fault = await #expect(throws: MigrationFault.self) {
                try await database.migrator([Self.createA, ending]).up()
            }
            #expect(fault?.description.contains("0002_end_it up says \(word.dropLast())") == true)
            let tables = try await database.count("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
            #expect(tables == 0)
        }
    }

    @Test(arguments: ["-- why", "-- no-transaction: why"])
    func `a migration that can't lock its table gives way and tries again`(_ head: String) async throws {
        let alter = Migration(
            version: 2, name: "widen_a", up: "\(head)\nALTER TABLE a ADD COLUMN IF NOT EXISTS note text;\n",
            down: "\(head)\nALTER TABLE a DROP COLUMN IF EXISTS note;\n")
        try await ScratchDatabase.withEmpty { _, database in
            _ = try await database.migrator([Self.createA]).up()
            let migration = try await database.transaction { transaction in
                try await transaction.execute("LOCK TABLE a IN ACCESS SHARE MODE")
                let migration = Task { try await database.migrator([Self.createA, alter]).up() }
                try await transaction.awaitWaiters()
                // This read is queued behind the waiting ALTER TABLE, and gets through although no lock is released.
                #expect(try await database.count("SELECT count(*) FROM a") == 0)
                return migration
            }
            #expect(try await migration.value.map(\.label) == ["0002_widen_a"])
        }
    }

    @Test func `a migration that deadlocks with a transaction gives way and tries again`()
        async throws
    {
        let alter = Migration(
            version: 3, name: "widen_both",
            up: "-- why\nALTER TABLE a ADD COLUMN note text;\nALTER TABLE b ADD COLUMN note text;\n",
            down: "-- why\nALTER TABLE a DROP COLUMN note;\nALTER TABLE b DROP COLUMN note;\n")
        try await ScratchDatabase.withEmpty { _, database in
            _ = try await database.migrator([Self.createA, Self.createB]).up()
            let migration = try await database.transaction { transaction in
                // The other side is the one to notice.
                try await transaction.execute("SET LOCAL deadlock_timeout = '60s'")
                try await transaction.execute("SET LOCAL statement_timeout = '60s'")
                try await transaction.execute("LOCK TABLE b IN ACCESS SHARE MODE")
                let migration = Task { try await database.migrator([Self.createA, Self.createB, alter]).up() }
                try await transaction.awaitWaiters()
                try await transaction.execute("LOCK TABLE a IN ACCESS SHARE MODE")
                return migration
            }
            #expect(try await migration.value.map(\.label) == ["0003_widen_both"])
        }
    }
}
