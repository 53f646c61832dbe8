import Accounts
import Postgres

/// Pages of lists. They are planned for their values: the choice of the index needs that of the limit.
extension Database {
    /// - Parameter statement: of the page's rows and one more, if there is one.
    func page<Item: Sendable, Cursor: Sendable>(
        _ statement: SQL, limit: Int, file: StaticString = #fileID, line: UInt = #line, cursor: (Item) -> Cursor,
        as decode: @escaping @Sendable (PostgresRow) throws(PostgresError) -> Item
    ) async throws(PostgresError) -> Page<Item, Cursor> {
        let items = try await Database.planningEachTime { () async throws(PostgresError) in
            try await query(statement, file: file, line: line, as: decode)
        }
        return Page(items, limit: limit, cursor: cursor)
    }

    /// A page after which the list continues behind its last row, or behind the last one examined.
    ///
    /// - Parameter statement: of rows as `SQL.scanning` has them.
    func scannedPage<Item: Sendable, Cursor: Sendable>(
        _ statement: SQL, limit: Int, file: StaticString = #fileID, line: UInt = #line, cursor: (Item) -> Cursor,
        as decode: @escaping @Sendable (PostgresRow) throws(PostgresError) -> (item: Item, isMatch: Bool)
    ) async throws(PostgresError) -> Page<Item, Cursor> {
        let found = try await Database.planningEachTime { () async throws(PostgresError) in
            try await query(statement, file: file, line: line, as: decode)
        }
        let matches = found.filter(\.isMatch).prefix(limit).map(\.item)
        let last = found.count > limit ? matches.last : found.last { !$0.isMatch }?.item
        return Page(items: matches, next: last.map(cursor))
    }
}

extension SQL {
    /// Rows with `true`: those of the page and one more, if there is one. If there is none and the page has examined as
    /// many candidates as it may, these are followed by the last one examined, with `false`.
    ///
    /// - Parameters:
    ///   - candidates: a query in the `order`, whose rows are `a` to the rest.
    ///   - condition: on those that `candidates` has by itself.
    static func scanning(
        _ candidates: SQL, for columns: SQL, where condition: SQL, order: SQL, scanLimit: Int, limit: Int
    ) -> SQL {
        """
        WITH matching AS MATERIALIZED (
            SELECT \(columns)
            FROM (\(candidates) LIMIT \(scanLimit)) a
            WHERE \(condition)
            ORDER BY \(order)
            LIMIT \(limit + 1)
        )
        SELECT \(columns), true
        FROM matching a
        UNION ALL
        (SELECT \(columns), false
        FROM (\(candidates) OFFSET \(scanLimit - 1) LIMIT 1) a
        WHERE (SELECT count(*) FROM matching) <= \(limit))
        """
    }
}
