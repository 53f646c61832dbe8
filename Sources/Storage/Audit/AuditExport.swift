package import Accounts
package import Postgres

/// What the audit trail consists of.
package enum AuditEntry: Sendable {
    /// The columns that are not NULL, in the order in which a seal covers them.
    case row([AuditField])
    /// Comes behind the rows that it covers. Its columns, and `previous_mac`, the code of the seal before it.
    case seal([AuditField])
}

/// The audit trail of a period, in the order of its seals and page by page: in the same memory however long it is.
///
/// A seal can be checked only with all of its rows. So all rows of the period are there, and with the first and the last
/// of them those that their seals cover besides.
package struct AuditExport: Sendable {
    private let database: Database

    package init(database: Database) { self.database = database }

    /// - Parameters:
    ///   - until: exclusive; without it the period goes on to the last row, sealed or not.
    ///   - write: gets one entry after the other.
    /// - Throws: `AuditHalt.columnsUnknown` when a later release has added columns, and what `write` throws.
    package func run(since: Timestamp, until: Timestamp? = nil, _ write: (AuditEntry) throws -> Void) async throws {
        if let halt = try await AuditSeals.columnsUnknown(in: database) { throw halt }
        // What is sealed from here on is exported as not sealed yet.
        let last = try await AuditSeals.last(in: database)
        guard let start = try await first(by: AuditPosition.columns, since: since, until: until) else { return }
        let end: AuditPosition
        if until == nil {
            end = .end
        } else {
            guard let found = try await first(by: AuditPosition.descending, since: since, until: until) else { return }
            end = found
        }
        let firstNumber = try await number(covering: start) ?? .max
        let lastNumber =
            if let last, end <= last.seal.position { try await number(covering: end) ?? last.seal.number } else {
                last?.seal.number ?? 0
            }
        let previous = try await seal(before: firstNumber)
        var rows = AuditPages(after: previous?.seal.position ?? .start, in: database)
        try await self.write(&rows, after: previous, upTo: lastNumber, to: write)
        while let row = try await rows.next(upTo: end) { try write(.row(row.fields)) }
    }

    /// All that a plan takes away: the rows up to its anchor with their seals, that one too.
    package func run(_ plan: AuditRetention.Plan, _ write: (AuditEntry) throws -> Void) async throws {
        if let halt = try await AuditSeals.columnsUnknown(in: database) { throw halt }
        var rows = AuditPages(after: plan.before?.seal.position ?? .start, in: database)
        try await self.write(&rows, after: plan.before, upTo: plan.lastSeal, to: write)
    }

    private func write(
        _ rows: inout AuditPages, after first: StoredAuditSeal?, upTo last: Int64,
        to write: (AuditEntry) throws -> Void
    ) async throws {
        var previous = first
        while case let page = try await AuditSeals.page(
            after: previous?.seal.number ?? 0, upTo: last, in: database), !page.isEmpty
        {
            for stored in page {
                while let row = try await rows.next(upTo: stored.seal.position) { try write(.row(row.fields)) }
                try write(.seal(stored.fields(after: previous)))
                previous = stored
            }
        }
    }

    /// The position of the row of the period that comes first in an order.
    private func first(
        by order: SQL, since: Timestamp, until: Timestamp?
    ) async throws(PostgresError) -> AuditPosition? {
        let isBefore: SQL = if let until { "created_at < \(until)" } else { "true" }
        // With the times as values only the partitions of these months are read.
        return try await Database.planningEachTime { () async throws(PostgresError) in
            try await database.query(
                """
                SELECT \(AuditPosition.columns)
                FROM audit_events
                WHERE created_at >= \(since) AND \(isBefore)
                ORDER BY \(order)
                LIMIT 1
                """, as: AuditPosition.init)
        }.first
    }

    /// The number of the seal that covers a position; `nil` when none does yet.
    private func number(covering position: AuditPosition) async throws(PostgresError) -> Int64? {
        try await database.query(AuditSeals.number(covering: position), as: Int64.self).first
    }

    private func seal(before number: Int64) async throws(PostgresError) -> StoredAuditSeal? {
        try await database.query(
            """
            SELECT \(StoredAuditSeal.columns)
            FROM audit_seals
            WHERE seal_number < \(number)
            ORDER BY seal_number DESC
            LIMIT 1
            """, as: StoredAuditSeal.init
        ).first
    }
}

extension StoredAuditSeal {
    /// - Parameter previous: the seal that was read before. Its code is left out when there are seals missing in between.
    fileprivate func fields(after previous: StoredAuditSeal?) -> [AuditField] {
        var fields: [AuditField] = [
            AuditField(name: "seal_number", value: .number(seal.number)),
            AuditField(name: "chain", value: .number(Int64(seal.position.chain))),
            AuditField(name: "transaction_id", value: .number(seal.position.transactionID)),
            AuditField(name: "event_id", value: .id(seal.position.eventID)),
            AuditField(name: "row_count", value: .number(seal.rowCount)),
            AuditField(name: "total_count", value: .number(seal.totalCount)),
            AuditField(name: "key_id", value: .text(seal.keyID)),
            AuditField(name: "created_at", value: .time(seal.createdAt)),
            AuditField(name: "mac", value: .octets(code)),
        ]
        if let beginsAt = seal.beginsAt { fields.append(AuditField(name: "begins_at", value: .time(beginsAt))) }
        if let previous, previous.seal.number == seal.number - 1 {
            fields.append(AuditField(name: "previous_mac", value: .octets(previous.code)))
        }
        return fields
    }
}
