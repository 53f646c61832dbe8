package import Accounts
package import KeyRing
import OpenSSL
package import Postgres

/// The outcome of a round of sealing.
package enum SealingOutcome: Sendable, Equatable {
    /// The number of rows. There may be more when it is as many as a seal can cover.
    case sealed(Int)
    /// Another process is sealing.
    case busy
    /// Sealing would hide a fault that an operator has to examine.
    case halted(AuditHalt)

    /// Whether the next round may find more rows right away.
    package var mayHaveMore: Bool { self == .sealed(AuditSeal.limit) }
}

/// A reason for which nothing is sealed.
package enum AuditHalt: Error, Equatable, Sendable, CustomStringConvertible {
    /// Transaction ids have gone backwards: a dump was restored into another cluster.
    case restored(chain: Int32)
    /// The last seal is not the one that the head names: seals were cut off or changed.
    case headMismatch
    /// The last seal is neither the one that a running process has read before, nor a later one.
    case behindRemembered(known: AuditHead, found: AuditHead?)
    /// The head is under a key that the key ring lacks.
    case keyMissing(String)
    /// Rows have waited for long, and there is neither a seal nor a head.
    case sealsGone
    /// A later release has added columns: a seal of this one would not cover them, and the rows would look changed.
    case columnsUnknown([String])

    package var description: String {
        switch self {
        case .restored(let chain):
            """
            the database was restored into another cluster, where transaction ids start over: as its owner, \
            ALTER TABLE audit_events ALTER COLUMN chain SET DEFAULT \(chain + 1)
            """
        case .headMismatch:
            "the last seal is not the one that audit_head names: run `countersign audit verify`"
        case .behindRemembered(let known, let found):
            """
            this process has seen the seal \(known.text), which the database lacks: its last one is \
            \(found?.text ?? "none"). It has failed over to an asynchronous standby, was restored, or was rolled back: \
            docs/operations/runbook.md, PostgreSQL fails over
            """
        case .keyMissing(let id):
            "the last seal is under the key \(id), which the key ring lacks"
        case .sealsGone:
            """
            rows have waited for more than ten minutes, and there is neither a seal nor a head. Unless no process of the \
            service has run since they were written, somebody has taken these away: docs/audit.md, Verify
            """
        case .columnsUnknown(let names):
            """
            audit_events has columns that this release doesn't know (\(names.joined(separator: ", "))): run \
            `countersign audit verify` of the one that added them
            """
        }
    }
}

/// `audit_seals` and `audit_head`: the seals that make a change of the trail evident.
///
/// Rows are inserted unchained, by any number of concurrent transactions, so that none has to wait for another. One
/// sealer at a time chains those that are final: the rows of transactions older than every open one that has written,
/// in any database of the cluster. One that only reads holds nothing up.
///
/// ```
///   committed ──▶ every older transaction is over ──▶ covered by a seal ──▶ the seal is in the head
/// ```
package struct AuditSeals: Sendable {
    let database: Database
    let keyRing: KeyRing

    package init(database: Database, keyRing: KeyRing) {
        self.database = database
        self.keyRing = keyRing
    }

    /// The last seal.
    package func end() async throws(PostgresError) -> AuditHead? {
        try await AuditSeals.last(in: database).map {
            AuditHead(number: $0.seal.number, totalCount: $0.seal.totalCount, code: $0.code)
        }
    }

    /// The time of the oldest row that no seal covers yet.
    package func oldestUnsealed() async throws(PostgresError) -> Timestamp? {
        let start = AuditPosition.start
        let times = try await database.query(
            """
            SELECT pending.created_at
            FROM (VALUES (0)) AS always
            LEFT JOIN LATERAL (
                SELECT \(AuditPosition.columns)
                FROM audit_seals
                ORDER BY seal_number DESC
                LIMIT 1
            ) last ON true
            CROSS JOIN LATERAL (
                SELECT e.created_at
                FROM audit_events e
                WHERE (e.chain, e.transaction_id, e.event_id) > (
                    COALESCE(last.chain, \(start.chain)), COALESCE(last.transaction_id, \(start.transactionID)),
                    COALESCE(last.event_id, \(start.eventID)))
                ORDER BY e.chain, e.transaction_id, e.event_id
                LIMIT 1
            ) pending
            """, as: Timestamp.self)
        return times.first
    }

    /// Seals the final rows, up to as many as a seal can cover.
    ///
    /// - Parameter isOfService: whether the key ring is the service's, whose first line writes. By that of a command no
    ///   trail is begun, and the line of the head goes on, which every process has that can seal.
    package func seal(by call: Call, isOfService: Bool = true) async throws -> SealingOutcome {
        try await database.change(by: call) { change in
            // Held until the commit, so the next sealer sees this seal.
            let locks = try await change.query(
                "SELECT pg_try_advisory_xact_lock(hashtextextended('countersign audit seals', 0))", as: Bool.self)
            guard locks == [true] else { return .busy }
            let last = try await AuditSeals.last(in: change)
            let head = try await AuditSeals.head(in: change)
            let (chain, nextTransactionID) = try await AuditSeals.current(in: change)
            if let halt = try halt(last, head, chain: chain, nextTransactionID: nextTransactionID) {
                return .halted(halt)
            }
            let position = last?.seal.position ?? .start
            let rows = try await change.query(
                """
                SELECT \(AuditRow.columns)
                FROM (
                    SELECT \(AuditRow.columns)
                    FROM audit_events
                    WHERE (\(AuditPosition.columns)) > \(position.row)
                    ORDER BY \(AuditPosition.columns), created_at
                    LIMIT \(AuditSeal.limit)
                ) AS pending
                -- Those that are final come first; a chain that has ended is, as a whole. Asked for inside, they would
                -- be looked for to the chain's end.
                WHERE (chain, transaction_id) < (\(chain), pg_snapshot_xmin(pg_current_snapshot())::text::bigint)
                ORDER BY \(AuditPosition.columns), created_at
                """, as: AuditRow.init)
            guard last != nil || isOfService else {
                let overdue = call.now.advanced(bySeconds: -AuditVerification.tolerance)
                return rows.contains { $0.createdAt < overdue } ? .halted(.sealsGone) : .sealed(0)
            }
            // Reading the rows has locked the table, so no column is added between this check and the commit.
            if !rows.isEmpty, let halt = try await AuditSeals.columnsUnknown(in: change) { return .halted(halt) }
            let key = isOfService ? nil : head.flatMap { keyRing.subkey($0.keyID, for: .audit) }
            try await seal(rows, after: last, under: key ?? keyRing.current(for: .audit), in: change)
            return .sealed(rows.count)
        }
    }

    /// Seals round after round until no final row is left. The first seal of a trail is left to the service: where seals and
    /// head were taken away, another first one would say that what is there now is what there was.
    ///
    /// - Returns: the reason for which that is impossible, if any.
    package func sealPending(by call: Call) async throws -> AuditHalt? {
        // By then a process of the service has had its turn that has just started, or rows that are final only now.
        let deadline = ContinuousClock.now + .seconds(3)
        while true {
            switch try await seal(by: call, isOfService: false) {
            case .sealed(let count) where count < AuditSeal.limit: return nil
            case .sealed: continue
            case .busy: try await Task.sleep(for: .milliseconds(50))
            case .halted(.sealsGone) where ContinuousClock.now < deadline: try await Task.sleep(for: .milliseconds(200))
            case .halted(let halt): return halt
            }
        }
    }

    /// The reason for which a round would seal nothing now, if any. Nothing is changed.
    package func halt() async throws -> AuditHalt? {
        // At one moment: another process may seal between the look at the last seal and that at the head.
        try await database.transaction(.repeatableRead) { transaction -> AuditHalt? in
            let last = try await AuditSeals.last(in: transaction)
            let head = try await AuditSeals.head(in: transaction)
            let (chain, nextTransactionID) = try await AuditSeals.current(in: transaction)
            if let found = try halt(last, head, chain: chain, nextTransactionID: nextTransactionID) { return found }
            return try await AuditSeals.columnsUnknown(in: transaction)
        }
    }

    /// The reason to stop, if there is one. Sealing over a head that is not the last seal's would hide the fault.
    private func halt(
        _ last: StoredAuditSeal?, _ head: StoredAuditHead?, chain: Int32, nextTransactionID: Int64
    ) throws -> AuditHalt? {
        switch (last, head) {
        case (nil, nil): return nil
        case (let last?, let head?):
            guard let key = keyRing.subkey(head.keyID, for: .audit) else { return .keyMissing(head.keyID) }
            guard try head.names(last, key: key) else { return .headMismatch }
            let position = last.seal.position
            let hasGoneBack =
                chain < position.chain || (chain == position.chain && nextTransactionID <= position.transactionID)
            return hasGoneBack ? .restored(chain: position.chain) : nil
        default: return .headMismatch
        }
    }

    private func seal(
        _ rows: [AuditRow], after last: StoredAuditSeal?, under key: KeyRing.Subkey, in change: Change
    ) async throws {
        guard let position = rows.last?.position else { return }
        let seal = AuditSeal(
            number: (last?.seal.number ?? 0) + 1, position: position, rowCount: Int64(rows.count),
            totalCount: (last?.seal.totalCount ?? 0) + Int64(rows.count), keyID: key.keyID, createdAt: change.call.now,
            beginsAt: last == nil ? try await AuditSeals.beginning(in: change) : nil)
        let code = try seal.code(following: last?.code, over: rows, key: key)
        let headCode = try StoredAuditHead.code(
            number: seal.number, totalCount: seal.totalCount, sealCode: code.bytes, key: key)
        _ = try await change.execute(
            """
            WITH sealed AS (
                INSERT INTO audit_seals (\(StoredAuditSeal.columns))
                VALUES (\(seal.number), \(position.chain), \(position.transactionID), \(position.eventID),
                    \(seal.rowCount), \(seal.totalCount), \(key.keyID), \(change.call.now), \(seal.beginsAt), \(code.bytes))
            )
            INSERT INTO audit_head (seal_number, total_count, key_id, mac, created_at)
            VALUES (\(seal.number), \(seal.totalCount), \(key.keyID), \(headCode.bytes), \(change.call.now))
            ON CONFLICT (is_head) DO UPDATE
            SET seal_number = excluded.seal_number, total_count = excluded.total_count, key_id = excluded.key_id,
                mac = excluded.mac, created_at = excluded.created_at
            """)
    }

    /// Since when there can be a trail: nothing was recorded before the schema's first migration. Only the owner can
    /// change when that was, and not what a seal says of it.
    private static func beginning(in change: Change) async throws(PostgresError) -> Timestamp? {
        let times = try await change.query("SELECT min(started_at) FROM schema_migrations", as: Timestamp?.self)
        return (times.first ?? nil).map { min($0, change.call.now) }
    }

    /// The chain that rows are now added to, which is the default of its column, and a transaction id that is not
    /// assigned yet.
    private static func current(
        in session: some PostgresSession
    ) async throws -> (chain: Int32, nextTransactionID: Int64) {
        let rows = try await session.query(
            """
            SELECT pg_get_expr(d.adbin, d.adrelid)::integer, pg_snapshot_xmax(pg_current_snapshot())::text::bigint
            FROM pg_attribute a
            JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
            WHERE a.attrelid = 'audit_events'::regclass AND a.attname = 'chain'
            """, as: Int32.self, Int64.self)
        guard let row = rows.first else { throw PostgresValue.mismatch("audit_events.chain without a default") }
        return row
    }

    /// The reason against making or checking a seal of this release: columns that it doesn't know.
    static func columnsUnknown(in session: some PostgresSession) async throws(PostgresError) -> AuditHalt? {
        let names = try await session.query(
            """
            SELECT attname::text
            FROM pg_attribute
            WHERE attrelid = 'audit_events'::regclass AND attnum > 0 AND NOT attisdropped
            ORDER BY attnum
            """, as: String.self)
        let unknown = names.filter { !AuditRow.columnNames.contains($0) }
        return unknown.isEmpty ? nil : .columnsUnknown(unknown)
    }

    static func last(in session: some PostgresSession) async throws(PostgresError) -> StoredAuditSeal? {
        try await session.query(
            "SELECT \(StoredAuditSeal.columns) FROM audit_seals ORDER BY seal_number DESC LIMIT 1",
            as: StoredAuditSeal.init
        ).first
    }

    /// The first seals after a number, in their order.
    static func page(
        after number: Int64, upTo last: Int64, in session: some PostgresSession
    ) async throws(PostgresError) -> [StoredAuditSeal] {
        try await session.query(
            """
            SELECT \(StoredAuditSeal.columns)
            FROM audit_seals
            WHERE seal_number > \(number) AND seal_number <= \(last)
            ORDER BY seal_number
            LIMIT 2000
            """, as: StoredAuditSeal.init)
    }

    static func head(in session: some PostgresSession) async throws(PostgresError) -> StoredAuditHead? {
        try await session.query(
            "SELECT seal_number, total_count, key_id, mac FROM audit_head", as: Int64.self, Int64.self, String.self,
            [UInt8].self
        ).first.map(StoredAuditHead.init)
    }
}

/// The seals at the edges of a period. Their positions go up with their numbers, and so do their times but for what clocks
/// differ: each is next to the edge in an index.
extension AuditSeals {
    /// The last seal before a time.
    static func last(before time: Timestamp) -> SQL {
        """
        SELECT \(StoredAuditSeal.columns)
        FROM audit_seals
        WHERE created_at < \(time)
        ORDER BY created_at DESC, seal_number DESC
        LIMIT 1
        """
    }

    /// The first seal after a time.
    static func first(after time: Timestamp) -> SQL {
        """
        SELECT \(StoredAuditSeal.columns)
        FROM audit_seals
        WHERE created_at > \(time)
        ORDER BY created_at, seal_number
        LIMIT 1
        """
    }

    /// The number of the seal that covers a position.
    static func number(covering position: AuditPosition) -> SQL {
        """
        SELECT seal_number
        FROM audit_seals
        WHERE (\(AuditPosition.columns)) >= \(position.row)
        ORDER BY \(AuditPosition.columns), seal_number
        LIMIT 1
        """
    }
}
