import Foundation
import Postgres
import TestSupport
import Testing

@testable import Migrator

/// `kill -9` of a runner: a child process that migrates and kills itself at the worst moment.
@Suite(.timeLimit(.minutes(15))) struct InterruptionTests {
    static let createA = Migration(
        version: 1, name: "create_a", up: "-- why\nCREATE TABLE a (id integer);\n", down: "-- why\nDROP TABLE a;\n")

    static let concurrent = [
        createA,
        Migration(
            version: 2, name: "index_a",
            up: """
                -- no-transaction: a is large
                CREATE TABLE IF NOT EXISTS marks (id integer);
                CREATE INDEX CONCURRENTLY IF NOT EXISTS "a index" ON a (id);
                CREATE INDEX CONCURRENTLY IF NOT EXISTS a_second ON a (id);

                """,
            down: """
                -- no-transaction: a is large
                DROP INDEX CONCURRENTLY IF EXISTS a_second;
                DROP INDEX CONCURRENTLY IF EXISTS "a index";
                DROP TABLE IF EXISTS marks;

                """),
    ]

    /// Migrates until `moment` has a row, and dies there.
    static func dieMigrating(
        _ url: String, _ migrations: [Migration], at moment: String,
        _ run: @escaping @Sendable (Migrator) async throws -> Void
    ) async throws {
        var configuration = Database.Configuration.test(poolSize: 1)
        configuration.url = url
        let runner = Database(configuration: configuration, logger: .silent)
        let watcher = Database(configuration: configuration, logger: .silent)
        try await withThrowingTaskGroup { group in
            group.addTask { try await run(runner.migrator(migrations)) }
            group.addTask {
                while try await watcher.count("SELECT count(*) FROM (\(unsafeSQL: moment)) AS moment") == 0 {
                    await Task.yield()
                }
                kill(getpid(), SIGKILL)
            }
            try await group.waitForAll()
        }
    }

    /// The server process of a dead runner goes when it notices, within a second; before, it would finish an index as
    /// soon as the writer is done that it waits for.
    static func untilOrphansAreGone(_ database: Database) async throws {
        let orphans: SQL = """
            SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
            WHERE locktype = 'advisory' AND datname = current_database()
            """
        while try await database.count(orphans) > 0 { try await pollingPause() }
    }

    @Test(arguments: [true, false])
    func `a concurrent index build that was interrupted is built again, or reverted`(goesUp: Bool) async throws {
        try await ScratchDatabase.withEmpty { scratch, database in
            let migrator = database.migrator(Self.concurrent)
            _ = try await migrator.up(to: 1)
            // The build waits for this writer, long after the index is in the catalogue.
            try await database.holding("INSERT INTO a VALUES (1)") {
                await #expect(processExitsWith: .signal(SIGKILL)) { [url = scratch.url as String] in
                    try await Self.dieMigrating(
                        url, Self.concurrent, at: "SELECT FROM pg_index WHERE NOT indisvalid"
                    ) { _ = try await $0.up() }
                }
                #expect(try await migrator.status().map(\.state).last == .interrupted)
                let fault = await #expect(throws: MigrationFault.self) { try await migrator.requireServableSchema() }
                #expect(fault?.description.contains("0002_index_a was interrupted") == true)
                #expect(try await database.count("SELECT count(*) FROM pg_index WHERE NOT indisvalid") == 1)
                try await Self.untilOrphansAreGone(database)
            }
            let valid: SQL = "SELECT count(*) FROM pg_index WHERE indrelid = 'a'::regclass AND indisvalid"
            if goesUp {
                #expect(try await migrator.up().map(\.label) == ["0002_index_a"])
                #expect(try await database.count(valid) == 2)
                #expect(try await migrator.verify().isEmpty)
            } else {
                #expect(try await migrator.down().map(\.label) == ["0002_index_a"])
                #expect(try await database.count(valid) == 0)
                #expect(try await migrator.status().map(\.state).last == .pending)
            }
            #expect(try await database.count("SELECT count(*) FROM pg_index WHERE NOT indisvalid") == 0)
        }
    }

    @Test func `an index that the data forbids is reported, and built once the data allows it`() async throws {
        let unique = Migration(
            version: 2, name: "index_a",
            up: "-- no-transaction\nCREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS a_id ON a (id);\n",
            down: "-- no-transaction\nDROP INDEX CONCURRENTLY IF EXISTS a_id;\n")
        try await ScratchDatabase.withEmpty { _, database in
            let migrator = database.migrator([Self.createA, unique])
            _ = try await migrator.up(to: 1)
            try await database.execute("INSERT INTO a VALUES (1), (1)")
            let fault = await #expect(throws: MigrationFault.self) { try await migrator.up() }
            #expect(fault?.description.contains("0002_index_a up failed half-way") == true)
            #expect(fault?.description.contains("SQLSTATE 23505") == true)
            #expect(try await migrator.status().map(\.state).last == .interrupted)
            try await database.execute("DELETE FROM a")
            #expect(try await migrator.up().map(\.label) == ["0002_index_a"])
            #expect(
                try await database.count(
                    "SELECT count(*) FROM pg_index WHERE indisvalid AND indrelid = 'a'::regclass") == 1)
        }
    }
}
