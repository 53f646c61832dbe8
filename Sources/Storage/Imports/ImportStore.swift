package import Accounts
package import KeyRing
import OpenSSL
package import Postgres

/// An import as it stands.
package struct ImportRecord: Sendable {
    package let id: ImportID
    package let name: ImportName
    /// The kind of source of its first run.
    package let source: String
    package let createdAt: Timestamp
    package let lastRunAt: Timestamp
    /// `nil` while a run is under way, and where one was killed.
    package let finishedAt: Timestamp?
    /// Rows of the last run by outcome, by outcome and code (`conflict:email_taken`), and by note.
    package let counts: [(outcome: String, count: Int)]
    /// The rows that became an account.
    package let accounts: Int
}

/// An import under way: what its rows are known by.
package struct OpenImport: Sendable {
    let id: ImportID
    private let key: [UInt8]

    fileprivate init(id: ImportID, key: [UInt8]) {
        self.id = id
        self.key = key
    }

    /// That of no rows, for a rehearsal of an import that is not there yet.
    package static func rehearsed(at now: Timestamp) throws -> OpenImport {
        OpenImport(id: ImportID(now: now), key: try SecureRandom.bytes(32))
    }

    func digest(of externalID: ExternalID) throws -> [UInt8] {
        try HMACSHA256.authenticationCode(for: Array(externalID.text.utf8), key: key).bytes
    }
}

/// `imports`: what was brought in from other systems, by name.
package struct ImportStore: Sendable {
    let database: Database
    let keyRing: KeyRing

    package init(database: Database, keyRing: KeyRing) {
        self.database = database
        self.keyRing = keyRing
    }

    /// Runs the body while no other run of this name can.
    ///
    /// - Returns: `nil` when another is under way.
    package func alone<Result: Sendable>(
        _ name: ImportName, _ body: @Sendable () async throws -> Result
    ) async throws -> Result? {
        try await database.withConnection { connection in
            let locked = try await connection.query(
                "SELECT pg_try_advisory_lock(hashtextextended('countersign import ' || \(name.text)::text, 0))"
            ) { row throws(PostgresError) in try row.decode(Bool.self) }
            // It is let go with the connection.
            return locked == [true] ? try await body() : nil
        }
    }

    /// Begins a run: makes the import of this name if there is none.
    package func begin(_ name: ImportName, source: String, by call: Call) async throws -> OpenImport {
        let id = ImportID(now: call.now)
        let sealed = try keyRing.seal(try SecureRandom.bytes(32), for: .imports, at: Self.location(id))
        _ = try await database.execute(
            """
            INSERT INTO imports (import_id, name, source, sealed_key, created_at, last_run_at)
            VALUES (\(id), \(name.text), \(source), \(sealed), \(call.now), \(call.now))
            ON CONFLICT ON CONSTRAINT imports_name_key DO UPDATE
            SET last_run_at = EXCLUDED.last_run_at, finished_at = NULL
            """)
        guard let begun = try await find(name) else { throw Refusal.accountNotFound }
        return begun
    }

    /// The import of this name, if there is one.
    package func find(_ name: ImportName) async throws -> OpenImport? {
        let rows = try await database.query("SELECT import_id, sealed_key FROM imports WHERE name = \(name.text)") {
            row throws(PostgresError) in try row.decode(ImportID.self, [UInt8].self)
        }
        return try rows.first.map { id, sealed in
            OpenImport(id: id, key: try keyRing.open(sealed, for: .imports, at: Self.location(id)))
        }
    }

    /// Ends a run, which is recorded.
    ///
    /// - Parameters:
    ///   - counts: as ``ImportRecord/counts``.
    ///   - summary: for the audit trail.
    package func finish(
        _ run: OpenImport, counts: [(outcome: String, count: Int)], summary: String, by call: Call
    ) async throws {
        try await database.change(by: call) { change in
            _ = try await change.execute(
                """
                UPDATE imports
                SET outcomes = \(counts.map(\.outcome)), outcome_counts = \(counts.map(\.count)), finished_at = \(call.now)
                WHERE import_id = \(run.id)
                """)
            try await change.record(.accountsImported, reason: summary)
        }
    }

    package func list() async throws(PostgresError) -> [ImportRecord] { try await records("true") }

    package func record(of name: ImportName) async throws(PostgresError) -> ImportRecord? {
        try await records("name = \(name.text)").first
    }

    private func records(_ condition: SQL) async throws(PostgresError) -> [ImportRecord] {
        try await database.query(
            """
            SELECT import_id, name, source, created_at, last_run_at, finished_at, outcomes, outcome_counts,
                (SELECT count(*) FROM imported_rows r WHERE r.import_id = imports.import_id)
            FROM imports
            WHERE \(condition)
            ORDER BY name
            """
        ) { row throws(PostgresError) in
            let (id, name, source, created, run, finished, outcomes, counts, accounts) = try row.decode(
                ImportID.self, String.self, String.self, Timestamp.self, Timestamp.self, Timestamp?.self,
                [String].self, [Int].self, Int.self)
            guard let name = ImportName(name) else { throw PostgresValue.mismatch("a text that names no import") }
            return ImportRecord(
                id: id, name: name, source: source, createdAt: created, lastRunAt: run, finishedAt: finished,
                counts: zip(outcomes, counts).map { ($0, $1) }, accounts: accounts)
        }
    }

    static func location(_ id: ImportID) -> SealedLocation {
        SealedLocation(table: "imports", row: id.description, column: "sealed_key")
    }
}

extension ImportStore {
    /// The transactions that the database has committed so far, as far as its statistics know: they are about a second late.
    package func transactions() async throws(PostgresError) -> Int64 {
        let counts = try await database.query(
            "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        ) { row throws(PostgresError) in try row.decode(Int64.self) }
        return counts.first ?? 0
    }
}
