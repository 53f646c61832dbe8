import Accounts
import Postgres

/// The rows of the trail in their order, a page at a time: in the same memory however long the trail is.
struct AuditPages {
    private static let size = 2000

    private let database: Database
    /// The last row that was read. Two rows that differ in their time alone are an attacker's, so the time is part of
    /// the order.
    private var last: (position: AuditPosition, createdAt: Timestamp)
    private var page: ArraySlice<AuditRow> = []
    private var hasMore = true

    init(after start: AuditPosition, in database: Database) {
        self.database = database
        last = (start, Timestamp(microseconds: .max))
    }

    /// The next row, unless it is beyond the position.
    mutating func next(upTo position: AuditPosition) async throws(PostgresError) -> AuditRow? {
        while page.isEmpty {
            guard hasMore else { return nil }
            try await read()
        }
        guard let row = page.first, row.position <= position else { return nil }
        page.removeFirst()
        return row
    }

    /// - Returns: the number of rows up to a position, and the rows themselves, at most as many as a seal covers.
    mutating func take(upTo position: AuditPosition) async throws(PostgresError) -> (count: Int64, rows: [AuditRow]) {
        var count: Int64 = 0
        var rows: [AuditRow] = []
        while let row = try await next(upTo: position) {
            count += 1
            if rows.count < AuditSeal.limit { rows.append(row) }
        }
        return (count, rows)
    }

    /// Has no bound at its end: in each month behind that the server would look through the index for a row before it.
    private mutating func read() async throws(PostgresError) {
        let rows = try await database.query(
            """
            SELECT \(AuditRow.columns)
            FROM audit_events
            WHERE (\(AuditPosition.columns), created_at) > (\(last.position.chain),
                    \(last.position.transactionID), \(last.position.eventID), \(last.createdAt))
            ORDER BY \(AuditPosition.columns), created_at
            LIMIT \(AuditPages.size)
            """, as: AuditRow.init)
        page = rows[...]
        hasMore = rows.count == AuditPages.size
        if let row = rows.last { last = (row.position, row.createdAt) }
    }
}
