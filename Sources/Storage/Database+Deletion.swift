import Postgres

extension Database {
    /// Deletes rows of which a condition is true, and leaves those that another transaction has locked.
    ///
    /// The rows are found once: a planner may execute a sub-select of `IN` several times, each for other rows.
    /// - Returns: their number, at most `limit`.
    func delete(
        from table: SQL, where condition: SQL, limit: Int, file: StaticString = #fileID, line: UInt = #line
    ) async throws(PostgresError) -> Int {
        try await execute(
            """
            DELETE FROM \(table)
            WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM \(table) WHERE \(condition) LIMIT \(limit) FOR UPDATE SKIP LOCKED))
            """, file: file, line: line)
    }
}
