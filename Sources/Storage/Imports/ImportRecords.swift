package import Accounts
package import Postgres

/// An import as it stands.
package struct ImportRecord: Sendable {
    package let name: ImportName
    /// The kind of source of its first run.
    package let source: String
    package let createdAt: Timestamp
    package let lastRunAt: Timestamp
    /// `nil` while a run is under way, and where one was cut off.
    package let finishedAt: Timestamp?
    package let state: State
    /// Rows of the last run by outcome, by outcome and code (`conflict:email_taken`), and by note; of accounts that it created
    /// those with an address of a degree (`created:stated`), and disabled ones. While an undo is not over, what it has removed
    /// (`undone`).
    package let counts: [(outcome: String, count: Int)]
    /// The rows that became an account; `nil` where they were not counted.
    package let accounts: Int?

    package enum State: String, CaseIterable, Sendable {
        case underWay = "under_way"
        /// The process of the last run, or of an undo, was killed. What it had done stays.
        case cutOff = "cut_off"
        /// The last run was stopped behind a batch, or an undo behind a page.
        case stopped
        /// The last run came to a fault behind a batch, or an undo behind a page.
        case failed
        /// The last run came to the end of its source, or an undo to the end of the import.
        case finished

        /// How a run ended before its source did stands among its counts, as this with a 1.
        var mark: String { ImportRecord.State.markPrefix + rawValue }
        fileprivate static let markPrefix = "end:"
    }
}

/// `imports` as it stands: what was brought in, and whether a run is under way.
package struct ImportRecords: Sendable {
    private let database: Database

    package init(database: Database) { self.database = database }

    /// - Parameter countsAccounts: reads as much as was ever imported.
    package func list(countsAccounts: Bool) async throws(PostgresError) -> [ImportRecord] {
        try await records("true", countsAccounts: countsAccounts)
    }

    package func record(of name: ImportName) async throws(PostgresError) -> ImportRecord? {
        try await records("name = \(name.text)", countsAccounts: true).first
    }

    private func records(_ condition: SQL, countsAccounts: Bool) async throws(PostgresError) -> [ImportRecord] {
        let accounts: SQL =
            countsAccounts
            ? "(SELECT count(*) FROM imported_rows r WHERE r.import_id = imports.import_id)" : "NULL::bigint"
        return try await database.query(
            """
            SELECT name, source, created_at, last_run_at, finished_at, CASE
                    WHEN finished_at IS NOT NULL AND NOT \(ImportStore.isUndone) THEN \(ImportRecord.State.finished.rawValue)
                    WHEN \(isLocked) THEN \(ImportRecord.State.underWay.rawValue)
                    ELSE \(ImportRecord.State.cutOff.rawValue)
                END, outcomes, outcome_counts, \(accounts)
            FROM imports
            WHERE \(condition)
            ORDER BY name
            """
        ) { row throws(PostgresError) in
            let (name, source, created, run, finished, state, outcomes, counts, accounts) = try row.decode(
                String.self, String.self, Timestamp.self, Timestamp.self, Timestamp?.self, String.self,
                [String].self, [Int].self, Int?.self)
            guard let name = ImportName(name), let state = ImportRecord.State(rawValue: state) else {
                throw PostgresValue.mismatch("a text that names no import or no state")
            }
            let ended = [ImportRecord.State.cutOff, .stopped, .failed].first { outcomes.contains($0.mark) }
            return ImportRecord(
                name: name, source: source, createdAt: created, lastRunAt: run, finishedAt: finished,
                state: state == .finished ? ended ?? .finished : state,
                counts: zip(outcomes, counts).filter { !$0.0.hasPrefix(ImportRecord.State.markPrefix) }
                    .map { ($0.0, $0.1) }, accounts: accounts)
        }
    }

    /// Whether a run of the row's import holds the lock of its name (PostgreSQL, "pg_locks": a key of 64 bits is in halves).
    private var isLocked: SQL {
        """
        EXISTS (
            SELECT FROM pg_locks l
            WHERE l.locktype = 'advisory' AND l.objsubid = 1
                AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                AND (l.classid::bigint << 32) | l.objid::bigint = \(ImportStore.lockKey("imports.name")))
        """
    }
}
