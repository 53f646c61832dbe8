import Logging
import Postgres

/// A connection that changes the schema. It holds the lock, so that a runner that loses the connection loses the lock
/// and the open transaction with it.
struct MigrationSession {
    let connection: LeasedConnection
    let logger: Logger

    /// "counters" in ASCII. Advisory locks are per database, so nothing more is needed to distinguish two services.
    private static let lockKey: Int64 = 0x636F_756E_7465_7273

    /// How long a statement waits for a table lock, and how many times one that could not get it is tried.
    private static let lockTimeout = "'3s'"
    private static let lockAttempts = 10

    // MARK: - The lock

    /// Takes the lock, after the other runners. It polls rather than waits inside one statement: a waiting statement
    /// holds a snapshot, the concurrent index build of the active runner waits for all snapshots, and the two would
    /// wait for each other.
    func lock() async throws {
        var waited = 0
        while try await !connection.query("SELECT pg_try_advisory_lock(\(Self.lockKey))", as: Bool.self)
            .contains(true)
        {
            if waited % 50 == 0 { logger.notice("migration lock held by another runner, waiting") }
            waited += 1
            try await Task.sleep(for: .milliseconds(200))
        }
        // A migration may run for long. A runner that died in the middle of a statement is noticed by its server
        // process within a second (PostgreSQL 14 on; older ones finish the statement first), so that the lock comes
        // free.
        try await connection.executeScript(
            unsafeSQL: """
                SET statement_timeout = 0;
                SET lock_timeout = 0;
                SET idle_in_transaction_session_timeout = 0;
                SELECT set_config(name, '1s', false) FROM pg_settings WHERE name = 'client_connection_check_interval';
                """)
    }

    /// Releases the lock. Closing the connection would do so as well, a little later.
    func unlock() async throws { try await connection.execute("SELECT pg_advisory_unlock(\(Self.lockKey))") }

    // MARK: - The bookkeeping

    /// Creates `schema_migrations`, where there is none.
    private func prepareBookkeeping(for migration: Migration) async throws {
        guard try await !MigrationHistory.hasBookkeeping(connection) else { return }
        try await inTransaction(migration, .up) {
            try await connection.executeScript(unsafeSQL: Self.bookkeeping)
        }
    }

    /// The DDL of `schema_migrations`. Programs since 0.1.0 name these columns, and go on reading and writing them.
    private static let bookkeeping = """
        CREATE TABLE IF NOT EXISTS schema_migrations (
            version integer PRIMARY KEY CHECK (version > 0),
            name text NOT NULL,
            checksum text NOT NULL,
            started_at timestamptz NOT NULL DEFAULT now(),
            finished_at timestamptz,
            serves_from integer
        );
        COMMENT ON TABLE schema_migrations IS
            'What `countersign migrate` did. Not for editing: the migrator refuses what it did not write.';
        """

    // MARK: - Up and down

    /// - Parameter ending: what else has to be there before any process takes the migration for applied.
    func apply(_ migration: Migration, ending: () async throws -> Void) async throws {
        try await prepareBookkeeping(for: migration)
        if migration.isTransactional {
            try await inTransaction(migration, .up) {
                // First the row: another runner that got past the lock (a pooler may share its session) stops here.
                try await record(migration, isFinished: true)
                try await connection.executeScript(unsafeSQL: migration.up.text)
                try await ending()
            }
        } else {
            try await record(migration, isFinished: false)
            try await runOutsideTransaction(migration, .up)
            try await ending()
            try await connection.execute(
                "UPDATE schema_migrations SET finished_at = now() WHERE version = \(Int32(migration.version))")
        }
    }

    func revert(_ migration: Migration) async throws {
        if migration.isTransactional {
            try await inTransaction(migration, .down) {
                try await connection.executeScript(unsafeSQL: migration.down.text)
                try await forget(migration)
            }
        } else {
            try await connection.execute(
                "UPDATE schema_migrations SET finished_at = NULL WHERE version = \(Int32(migration.version))")
            try await runOutsideTransaction(migration, .down)
            try await forget(migration)
        }
    }

    private func record(_ migration: Migration, isFinished: Bool) async throws {
        // A row without finished_at is that of an interrupted migration, and this is the next attempt.
        try await connection.execute(
            """
            INSERT INTO schema_migrations (version, name, checksum, serves_from, finished_at)
            VALUES (\(Int32(migration.version)), \(migration.name), \(migration.checksum),
                    \(migration.up.servesFrom.map { Int32($0) }), CASE WHEN \(isFinished) THEN clock_timestamp() END)
            ON CONFLICT (version) DO UPDATE SET started_at = now() WHERE schema_migrations.finished_at IS NULL
            """)
    }

    private func forget(_ migration: Migration) async throws {
        try await connection.execute("DELETE FROM schema_migrations WHERE version = \(Int32(migration.version))")
    }

    /// Runs the script and writes its row in one transaction: both or neither.
    private func inTransaction(
        _ migration: Migration, _ direction: MigrationStep.Direction, _ body: () async throws -> Void
    ) async throws {
        do {
            try await withLockRetries(migration) {
                do {
                    try await connection.executeScript(unsafeSQL: "BEGIN; SET LOCAL lock_timeout = \(Self.lockTimeout)")
                    try await body()
                    try await connection.executeScript(unsafeSQL: "COMMIT")
                } catch let error as PostgresError {
                    try? await connection.executeScript(unsafeSQL: "ROLLBACK")
                    throw error
                }
            }
        } catch let error as PostgresError {
            throw MigrationFault.failed(migration.label, direction, isTransactional: true, error)
        }
    }

    /// Repeats `body` while it can't get its locks. A DDL statement that waits for a table lock blocks every statement
    /// behind it, so it gives up the wait, lets the others pass, and is tried again.
    private func withLockRetries(_ migration: Migration, _ body: () async throws -> Void) async throws {
        for attempt in 1... {
            do {
                return try await body()
            } catch let error as PostgresError
                where (error.sqlState == "55P03" || error.sqlState == "40P01") && attempt < Self.lockAttempts
            {
                logger.notice("table lock not acquired, will retry", metadata: ["migration": "\(migration.label)"])
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    /// Runs the statements one by one, each in its own transaction. An interrupted run leaves the row without
    /// `finished_at`, and the next one starts over.
    private func runOutsideTransaction(_ migration: Migration, _ direction: MigrationStep.Direction) async throws {
        let script = direction == .up ? migration.up : migration.down
        do {
            for index in script.concurrentIndexes where try await isInvalid(index) {
                logger.notice(
                    "invalid index of an interrupted build found, will be dropped", metadata: ["index": "\(index)"])
                try await connection.executeScript(unsafeSQL: "DROP INDEX CONCURRENTLY IF EXISTS \(index)")
            }
            for statement in script.statements {
                try await withLockRetries(migration) {
                    // A concurrent build waits for running transactions, and blocks none.
                    let limit = statement.isConcurrent ? "0" : Self.lockTimeout
                    try await connection.executeScript(unsafeSQL: "SET lock_timeout = \(limit)")
                    try await connection.executeScript(unsafeSQL: statement.text)
                }
            }
        } catch let error as PostgresError {
            throw MigrationFault.failed(migration.label, direction, isTransactional: false, error)
        }
        for index in script.concurrentIndexes where try await isInvalid(index) {
            throw MigrationFault.invalidIndex(migration.label, index: index)
        }
    }

    private func isInvalid(_ index: String) async throws -> Bool {
        try await connection.query(
            "SELECT NOT indisvalid FROM pg_index WHERE indexrelid = to_regclass(\(index))", as: Bool.self
        ).contains(true)
    }
}
