package import Accounts
package import KeyRing
package import Postgres

/// Takes old months of the audit trail away, as the owner of the tables: the service's role can neither drop nor detach.
///
/// Rows go with the seals that cover them. The last of these seals stays, named as the *anchor* by a row of the trail, so
/// that a check begins behind it. Rows from before the month whose seal covers rows of the month, too, stay with it.
///
/// ```
///              anchor        month
///                │             │
///   seals ──┼────┼─────┼───────┼──┼─────┼──▶     the seal across the month's begin stays whole
///   rows  ░░░░░░░░░██████████████████████        ░ go
/// ```
package struct AuditRetention: Sendable {
    /// Why nothing was taken away.
    package enum Fault: Error, Equatable, Sendable, CustomStringConvertible {
        case notOwner
        /// The anchor would be under a key that the key ring lacks.
        case keyMissing(String)
        /// Others have read or written the trail without an end.
        case locked

        package var description: String {
            switch self {
            case .notOwner:
                "Only the owner of audit_events can take months away: set postgres.migrationUrl to the owner's."
            case .keyMissing(let id):
                "The last seal before the month is under the key \(id), which the key ring lacks."
            case .locked:
                "Others keep audit_events for themselves (a long export, a dump): run the command again later."
            }
        }
    }

    /// What goes.
    package struct Plan: Sendable {
        let month: AuditMonth
        let anchor: StoredAuditSeal
        /// Of the last time, if there was one.
        let before: StoredAuditSeal?

        /// The last seal that goes.
        package var lastSeal: Int64 { anchor.seal.number }
        package var sealCount: Int64 { lastSeal.saturatingSubtracting(before?.seal.number ?? 0) }
        package var rowCount: Int64 { anchor.seal.totalCount.saturatingSubtracting(before?.seal.totalCount ?? 0) }
        /// When the last of them was sealed.
        package var until: Timestamp { anchor.seal.createdAt }
    }

    /// The most seals that one statement deletes.
    private static let batch = 10_000
    private static let maximumTries = 20

    private let database: Database
    private let keyRing: KeyRing

    package init(database: Database, keyRing: KeyRing) {
        self.database = database
        self.keyRing = keyRing
    }

    /// - Returns: `nil` when no seal before the month is left to go.
    package func plan(before month: AuditMonth) async throws -> Plan? {
        let before = try await AuditSeals.anchor(in: database, keyRing)
        // The first row of the month. Under a seal from long before it a row of the month has a false time.
        let trusted = try await database.query(
            AuditSeals.last(before: month.begin.advanced(bySeconds: -AuditVerification.tolerance)),
            as: StoredAuditSeal.init
        ).first
        let start = trusted?.seal.position ?? .start
        let first = try await Database.planningEachTime { () async throws(PostgresError) in
            try await database.query(
                """
                SELECT \(AuditPosition.columns)
                FROM audit_events
                WHERE created_at >= \(month.begin)
                    AND (\(AuditPosition.columns)) > \(start.row)
                ORDER BY \(AuditPosition.columns)
                LIMIT 1
                """, as: AuditPosition.init)
        }.first
        let end = first ?? .end
        let anchor = try await database.query(
            """
            SELECT \(StoredAuditSeal.columns)
            FROM audit_seals
            WHERE (\(AuditPosition.columns)) < \(end.row)
            ORDER BY \(AuditPosition.descending)
            LIMIT 1
            """, as: StoredAuditSeal.init
        ).first
        guard let anchor, anchor.seal.number > before?.seal.number ?? 0 else { return nil }
        return Plan(month: month, anchor: anchor, before: before)
    }

    /// Carries a plan out: the months in one transaction, then the seals, a batch at a time.
    ///
    /// - Returns: the names of the partitions that are gone.
    /// - Throws: ``Fault``; nothing has gone then.
    package func carryOut(_ plan: Plan, by call: Call) async throws -> [String] {
        guard let key = keyRing.subkey(plan.anchor.seal.keyID, for: .audit) else {
            throw Fault.keyMissing(plan.anchor.seal.keyID)
        }
        let anchor = try AuditAnchor(plan.anchor, key: key)
        let gone = try await whenFree {
            try await database.change(by: call) { change in
                let gone = try await AuditRetention.takeAway(plan, in: change)
                try await change.record(
                    .auditDropped, reason: "before \(plan.month), rows \(plan.rowCount), \(anchor.text)")
                return gone
            }
        }
        // What is left of them when this fails goes with the next command.
        try await deleteSeals()
        return gone
    }

    /// Tries once more where others hold the trail. Those who write wait behind it meanwhile, so it asks for a second and lets
    /// them go on for another.
    private func whenFree<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        var tries = 0
        while true {
            do {
                return try await body()
            } catch let error as PostgresError where error.code == .server(sqlState: "55P03") {
                tries += 1
                guard tries < Self.maximumTries else { throw Fault.locked }
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    /// Deletes the seals before the anchor: also those that a command that was killed has left.
    package func deleteSeals() async throws {
        guard let anchor = try await AuditSeals.anchor(in: database, keyRing) else { return }
        var deleted = 0
        repeat {
            deleted = try await database.execute(
                """
                DELETE FROM audit_seals
                WHERE seal_number IN (
                    SELECT seal_number
                    FROM audit_seals
                    WHERE seal_number < \(anchor.seal.number)
                    ORDER BY seal_number
                    LIMIT \(Self.batch))
                """)
        } while deleted > 0
    }

    /// - Throws: ``Fault/notOwner``
    package func requireOwner() async throws {
        let isOwner = try await database.query(
            "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'audit_events'::regclass", as: Bool.self)
        guard isOwner == [true] else { throw Fault.notOwner }
    }

    /// The partitions whose months are over when the month begins.
    private static let oldPartitions: SQL = """
        SELECT c.oid::regclass
        FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid
        WHERE CASE
                -- The bounds of other tables are no times.
                WHEN i.inhparent = 'audit_events'::regclass
                THEN (regexp_match(pg_get_expr(c.relpartbound, c.oid), $re$ TO [(]'([^']+)'[)]$re$))[1]::timestamptz
            END <= current_setting('countersign.month')::timestamptz
        """

    /// - Returns: the names of the partitions that are gone.
    private static func takeAway(_ plan: Plan, in change: Change) async throws(PostgresError) -> [String] {
        let position = plan.anchor.seal.position
        // A block takes its values from settings, and its names from the catalogue. The lock is the sealer's.
        _ = try await change.execute(
            """
            SELECT set_config('lock_timeout', '1s', true), set_config('countersign.month', \(plan.month.begin)::text, true),
                set_config('countersign.behind', format('(chain, transaction_id, event_id) > (%L, %L, %L)',
                    \(position.chain)::integer, \(position.transactionID)::bigint, \(position.eventID)::uuid), true)
            """)
        _ = try await change.execute("SELECT pg_advisory_xact_lock(hashtextextended('countersign audit seals', 0))")
        _ = try await change.execute("LOCK TABLE audit_events IN ACCESS EXCLUSIVE MODE")
        let old = try await names(in: change)
        // What stays of a month is written back to its own partition: for the trail's triggers it is no new event.
        _ = try await change.execute(
            """
            DO $block$
            DECLARE
                partition regclass;
                has_rest boolean;
            BEGIN
                FOR partition IN \(oldPartitions) LOOP
                    EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE %s)', partition, current_setting('countersign.behind'))
                        INTO has_rest;
                    IF has_rest THEN
                        EXECUTE format('CREATE TEMPORARY TABLE audit_rest ON COMMIT DROP AS SELECT * FROM %s WHERE %s',
                            partition, current_setting('countersign.behind'));
                        EXECUTE format('TRUNCATE %s', partition);
                        EXECUTE format('INSERT INTO %s SELECT * FROM pg_temp.audit_rest', partition);
                        DROP TABLE pg_temp.audit_rest;
                    ELSE
                        EXECUTE format('DROP TABLE %s', partition);
                    END IF;
                END LOOP;
            END
            $block$
            """)
        // The default partition, and rows of a false time.
        _ = try await Database.planningEachTime { () async throws(PostgresError) in
            try await change.execute("DELETE FROM audit_events WHERE \(position.andAllBefore)")
        }
        let rest = try await names(in: change)
        return old.filter { !rest.contains($0) }
    }

    private static func names(in change: Change) async throws(PostgresError) -> [String] {
        try await change.query("SELECT p::text FROM (\(oldPartitions)) AS old (p) ORDER BY 1", as: String.self)
    }
}
