import Foundation
import Postgres
import TestSupport
import Testing

@testable import Migrator

/// `kill -9` of a runner: a child process that migrates and kills itself at the worst moment.
@Suite(.timeLimit(.minutes(15))) struct InterruptionTests {
    /// Sleeps for as long as the table `pause` says, so that the same text hangs in one run and not in the next.
    static let slow = [
        Migration(
            version: 1, name: "create_a", up: "-- why\nCREATE TABLE a (id integer);\n", down: "-- why\nDROP TABLE a;\n"),
        Migration(
            version: 2, name: "fill_a",
            up: "-- why\nINSERT INTO a VALUES (1);\nSELECT pg_sleep(seconds) FROM pause;\nINSERT INTO a VALUES (2);\n",
            down: "-- why\nDELETE FROM a;\nSELECT pg_sleep(seconds) FROM pause;\n"),
    ]

    static let concurrent = [
        slow[0],
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

    /// Of the test's own database: others run beside it.
    private static let sleeping =
        "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"

    @Test func `a runner killed inside a transaction leaves the state before it, and the next one carries on`()
        async throws
    {
        try await ScratchDatabase.withEmpty { scratch, database in
            try await database.execute("CREATE TABLE pause (seconds integer)")
            try await database.execute("INSERT INTO pause VALUES (3600)")
            await #expect(processExitsWith: .signal(SIGKILL)) { [url = scratch.url as String] in
                try await Self.dieMigrating(url, Self.slow, at: Self.sleeping) { _ = try await $0.up() }
            }
            #expect(try await database.count("SELECT count(*) FROM a") == 0)
            let migrator = database.migrator(Self.slow)
            #expect(try await migrator.status().map(\.state).last == .pending)

            // Its server process still sleeps, with the lock; the next runner waits until the server has noticed.
            try await database.execute("UPDATE pause SET seconds = 0")
            #expect(try await migrator.up().map(\.label) == ["0002_fill_a"])
            #expect(try await database.count("SELECT count(*) FROM a") == 2)

            try await database.execute("UPDATE pause SET seconds = 3600")
            await #expect(processExitsWith: .signal(SIGKILL)) { [url = scratch.url as String] in
                try await Self.dieMigrating(url, Self.slow, at: Self.sleeping) { _ = try await $0.down() }
            }
            #expect(try await database.count("SELECT count(*) FROM a") == 2)
            try await database.execute("UPDATE pause SET seconds = 0")
            #expect(try await migrator.down().map(\.label) == ["0002_fill_a"])
        }
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
            let migrator = database.migrator([Self.slow[0], unique])
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
