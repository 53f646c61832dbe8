/// An executor of statements: the database (any connection, each statement a transaction by itself), a transaction, or
/// a leased connection.
package protocol PostgresSession: Sendable {
    func query<T: Sendable>(
        _ sql: SQL, at location: CodeLocation,
        as decode: @escaping @Sendable (PostgresRow) throws(PostgresError) -> T
    ) async throws(PostgresError) -> [T]

    func execute(_ sql: SQL, at location: CodeLocation) async throws(PostgresError) -> Int
}

extension PostgresSession {
    /// Runs a statement and reads each row on the connection's thread; `decode` must not block it.
    package func query<T: Sendable>(
        _ sql: SQL, file: StaticString = #fileID, line: UInt = #line,
        as decode: @escaping @Sendable (PostgresRow) throws(PostgresError) -> T
    ) async throws(PostgresError) -> [T] {
        do throws(PostgresError) {
            return try await query(sql, at: CodeLocation(file: file, line: line), as: decode)
        } catch {
            throw await namingTable(of: error)
        }
    }

    /// Runs a statement whose rows have one column.
    ///
    ///     let emails = try await session.query("SELECT email FROM accounts WHERE …", as: String?.self)
    package func query<Column: PostgresDecodable & Sendable>(
        _ sql: SQL, as column: Column.Type, file: StaticString = #fileID, line: UInt = #line
    ) async throws(PostgresError) -> [Column] {
        try await query(sql, file: file, line: line) { row throws(PostgresError) in try row.decode(column) }
    }

    /// Runs a statement whose rows have as many columns as there are types.
    ///
    ///     let sums = try await session.query("SELECT email, count(*) …", as: String.self, Int.self)
    package func query<First: PostgresDecodable & Sendable, each Other: PostgresDecodable & Sendable>(
        _ sql: SQL, as first: First.Type, _ others: repeat (each Other).Type, file: StaticString = #fileID,
        line: UInt = #line
    ) async throws(PostgresError) -> [(First, repeat each Other)] {
        try await query(sql, file: file, line: line) { row throws(PostgresError) in
            try row.decode(First.self, repeat (each Other).self)
        }
    }

    /// A decoding error with the name of the table that the value was read from. The result has its object identifier
    /// alone, so the name is asked for; without an answer the error stays as it is.
    package func namingTable(of error: PostgresError) async -> PostgresError {
        guard error.tableID != 0 else { return error }
        let location = CodeLocation(file: #fileID, line: #line)
        let names = try? await query("SELECT relname FROM pg_class WHERE oid = \(Int64(error.tableID))", at: location) {
            row throws(PostgresError) in try row.decode(String.self)
        }
        var named = error
        named.table = names?.first
        return named
    }

    /// Runs a statement. Returns the number of rows it affected.
    @discardableResult
    package func execute(
        _ sql: SQL, file: StaticString = #fileID, line: UInt = #line
    ) async throws(PostgresError) -> Int {
        try await execute(sql, at: CodeLocation(file: file, line: line))
    }
}

extension Query {
    /// A statement that returns its decoded rows.
    static func rows<T: Sendable>(
        _ sql: SQL, at location: CodeLocation,
        as decode: @escaping @Sendable (PostgresRow) throws(PostgresError) -> T
    ) throws(PostgresError) -> Query<[T]> where Output == [T] {
        let query = Query<[T]>(sql, .query, location) { result throws(PostgresError) in
            var rows: [T] = []
            rows.reserveCapacity(result.rowCount)
            for index in 0..<result.rowCount {
                rows.append(try decode(PostgresRow(result: result, index: index)))
            }
            return rows
        }
        return try query.checked()
    }

    /// A statement that returns the number of rows it affected.
    static func effect(_ sql: SQL, at location: CodeLocation) throws(PostgresError) -> Query<Int> where Output == Int {
        let query = Query<Int>(sql, .execute, location) { $0.affectedRows }
        return try query.checked()
    }

    static func script(
        _ text: String, at location: CodeLocation
    ) throws(PostgresError) -> Query<Void> where Output == Void {
        let query = Query<Void>(SQL(unsafeSQL: text), isScript: true, .script, location) { _ in }
        return try query.checked()
    }

    private func checked() throws(PostgresError) -> Query<Output> {
        if let fault = sql.fault { throw error(.encoding, message: fault) }
        return self
    }
}
