package import Accounts
package import KeyRing
import OpenSSL
package import Postgres

/// An import under way: what its rows are known by.
package struct OpenImport: Sendable {
    let id: ImportID
    private let key: [UInt8]
    /// When the run began that may write; no other may.
    let begunAt: Timestamp?

    fileprivate init(id: ImportID, key: [UInt8], begunAt: Timestamp? = nil) {
        self.id = id
        self.key = key
        self.begunAt = begunAt
    }

    /// That of no rows, for a rehearsal of an import that is not there yet.
    package static func rehearsed(at now: Timestamp) throws -> OpenImport {
        OpenImport(id: ImportID(now: now), key: try SecureRandom.bytes(32))
    }

    func digest(of externalID: ExternalID) throws -> [UInt8] {
        try HMACSHA256.authenticationCode(for: Array(externalID.text.utf8), key: key).bytes
    }
}

/// That no other run of the import's name is under way, as long as its connection is there.
package struct ImportLock: Sendable {
    fileprivate let connection: LeasedConnection

    /// - Throws: when the connection is lost, and the lock with it.
    package func requireHeld() async throws(PostgresError) { try await connection.execute("SELECT 1") }
}

/// The run has lost its lock, and another one of its name, or an undo, has come after it.
package struct ImportSuperseded: Error, CustomStringConvertible {
    package var description: String { "Another run of this import has begun, or it was undone: this one ends." }
}

/// The import of this name came from another kind of source, whose ids are of other people.
package struct OtherImportSource: Error {
    /// The word for that kind.
    package let source: String
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
        _ name: ImportName, _ body: @Sendable (ImportLock) async throws -> Result
    ) async throws -> Result? {
        try await database.withConnection { connection in
            let locked = try await connection.query(
                "SELECT pg_try_advisory_lock(\(ImportStore.lockKey("\(name.text)::text")))", as: Bool.self)
            // It is let go with the connection.
            return locked == [true] ? try await body(ImportLock(connection: connection)) : nil
        }
    }

    static func lockKey(_ name: SQL) -> SQL { "hashtextextended('countersign import ' || \(name), 0)" }

    /// - Throws: ``OtherImportSource``. Rows that are known by their id alone would count as those that came before.
    package func requireSource(_ source: String, of name: ImportName) async throws {
        let sources = try await database.query("SELECT source FROM imports WHERE name = \(name.text)", as: String.self)
        if let first = sources.first, first != source { throw OtherImportSource(source: first) }
    }

    /// Begins a run: makes the import of this name if there is none. What is recorded of a run is its end, once: if it is
    /// killed, by what comes after it.
    package func begin(_ name: ImportName, source: String, by call: Call) async throws -> OpenImport {
        let id = ImportID(now: call.now)
        let key = try SecureRandom.bytes(32)
        let sealed = try keyRing.seal(key, for: .imports, at: Self.location(id))
        let begun = try await database.change(by: call) { change in
            try await ImportStore.recordCutOff(name, in: change)
            let rows = try await change.query(
                """
                INSERT INTO imports (import_id, name, source, sealed_key, created_at, last_run_at)
                VALUES (\(id), \(name.text), \(source), \(sealed), \(call.now), \(call.now))
                ON CONFLICT ON CONSTRAINT imports_name_key DO UPDATE
                SET last_run_at = GREATEST(EXCLUDED.last_run_at, imports.last_run_at + interval '1 microsecond'),
                    finished_at = NULL, outcomes = '{}', outcome_counts = '{}'
                RETURNING import_id, sealed_key, last_run_at
                """, as: ImportID.self, [UInt8].self, Timestamp.self)
            return rows.first
        }
        guard let (id, sealed, begunAt) = begun else { throw Refusal.accountNotFound }
        return OpenImport(id: id, key: try keyRing.open(sealed, for: .imports, at: Self.location(id)), begunAt: begunAt)
    }

    /// Records that the last run of an import or its undo was cut off, if it was. For a caller that is ``alone(_:_:)``: then one
    /// without an end is under way nowhere.
    package func settle(_ name: ImportName, by call: Call) async throws {
        try await database.change(by: call) { change in
            try await ImportStore.recordCutOff(name, in: change)
        }
    }

    private static func recordCutOff(_ name: ImportName, in change: Change) async throws {
        if let removed = try await takeUndone(name, in: change) {
            try await change.record(.importUndone, reason: "\(name): cut off, with \(removed) removed")
        }
        let accounts = try await change.query(
            """
            UPDATE imports
            SET finished_at = \(change.call.now), outcomes = \([ImportRecord.State.cutOff.mark]), outcome_counts = '{1}'
            WHERE name = \(name.text) AND finished_at IS NULL
            RETURNING (SELECT count(*) FROM imported_rows r WHERE r.import_id = imports.import_id)
            """, as: Int.self)
        guard let accounts = accounts.first else { return }
        try await change.record(.accountsImported, reason: "\(name): cut off, with \(accounts) rows in")
    }

    /// The import of this name, if there is one.
    package func find(_ name: ImportName) async throws -> OpenImport? {
        let rows = try await database.query(
            "SELECT import_id, sealed_key FROM imports WHERE name = \(name.text)", as: ImportID.self, [UInt8].self)
        return try rows.first.map { id, sealed in
            OpenImport(id: id, key: try keyRing.open(sealed, for: .imports, at: Self.location(id)))
        }
    }

    /// Ends a run, which is recorded.
    ///
    /// - Parameters:
    ///   - state: how it ends: finished, stopped or failed.
    ///   - counts: as ``ImportRecord/counts``.
    ///   - summary: for the audit trail.
    package func finish(
        _ run: OpenImport, as state: ImportRecord.State, counts: [(outcome: String, count: Int)], summary: String,
        by call: Call
    ) async throws {
        let marks: [(outcome: String, count: Int)] = state == .finished ? [] : [(state.mark, 1)]
        let counts = counts + marks
        try await database.change(by: call) { change in
            let ended = try await change.execute(
                """
                UPDATE imports
                SET outcomes = \(counts.map(\.outcome)), outcome_counts = \(counts.map(\.count)), finished_at = \(call.now)
                WHERE import_id = \(run.id) AND last_run_at = \(run.begunAt) AND finished_at IS NULL
                """)
            // What came after it has recorded that it was cut off.
            guard ended == 1 else { return }
            try await change.record(.accountsImported, reason: summary)
        }
    }

    /// Fails unless the run is the last one of its import, which it then is until the change ends.
    static func requireCurrent(_ run: OpenImport, in change: Change) async throws {
        let current = try await change.execute(
            """
            SELECT FROM imports
            WHERE import_id = \(run.id) AND last_run_at = \(run.begunAt) AND finished_at IS NULL
            FOR SHARE
            """)
        guard current == 1 else { throw ImportSuperseded() }
    }

    package var records: ImportRecords { ImportRecords(database: database) }

    static func location(_ id: ImportID) -> SealedLocation {
        SealedLocation(table: "imports", row: id.description, column: "sealed_key")
    }
}

extension ImportStore {
    /// The rows that were written so far into sessions, access tokens of linked services and the audit trail, as far as the
    /// database's statistics know: they are about a second late.
    package func rowsOfPeople() async throws(PostgresError) -> Int64 {
        let counts = try await database.query(
            """
            SELECT COALESCE(sum(n_tup_ins + n_tup_upd), 0)::bigint
            FROM pg_stat_user_tables
            WHERE relid IN ('sessions'::regclass, 'oauth_access_tokens'::regclass)
                OR relid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'audit_events'::regclass)
            """, as: Int64.self)
        return counts.first ?? 0
    }
}
