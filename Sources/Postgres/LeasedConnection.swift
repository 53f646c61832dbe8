/// A connection that is leased outside of a transaction: each statement is committed by itself, and session state
/// (settings, advisory locks) lasts until the closure that got it returns. Not for use behind a pooler in transaction
/// mode.
package struct LeasedConnection: PostgresSession {
    let pool: Pool
    let lease: Lease

    package func query<T: Sendable>(
        _ sql: SQL, at location: CodeLocation,
        as decode: @escaping @Sendable (PostgresRow) throws(PostgresError) -> T
    ) async throws(PostgresError) -> [T] {
        try await pool.perform(Query.rows(sql, at: location, as: decode)) { pool.submit($0, on: lease) }
    }

    package func execute(_ sql: SQL, at location: CodeLocation) async throws(PostgresError) -> Int {
        try await pool.perform(Query.effect(sql, at: location)) { pool.submit($0, on: lease) }
    }

    /// Runs several statements at once, by the simple protocol. Without BEGIN in the text they are one transaction.
    package func executeScript(
        unsafeSQL text: String, file: StaticString = #fileID, line: UInt = #line
    ) async throws(PostgresError) {
        let script = try Query<Void>.script(text, at: CodeLocation(file: file, line: line))
        try await pool.perform(script) { pool.submit($0, on: lease) }
    }
}
