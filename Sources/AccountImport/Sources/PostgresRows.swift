import JSON
package import Postgres

/// The rows of a query in another database, each one JSON object, read through a cursor of one read-only transaction: what is
/// written there meanwhile is not seen, and nothing waits.
struct PostgresRows {
    private let connection: LeasedConnection
    private var rows: [[UInt8]] = []
    private var isAtEnd = false

    /// - Parameter query: yields one column, the text of an object.
    init(_ connection: LeasedConnection, _ query: SQL) async throws {
        self.connection = connection
        try await connection.execute("DECLARE people NO SCROLL CURSOR FOR \(query)")
    }

    /// - Returns: `nil` behind the last row.
    mutating func next() async throws -> JSONValue? {
        if rows.isEmpty, !isAtEnd {
            do {
                rows = try await connection.query("FETCH 500 FROM people") { row throws(PostgresError) in
                    Array(try row.decode(String.self).utf8)
                }.reversed()
            } catch {
                throw SourceFault(reading: error)
            }
            isAtEnd = rows.isEmpty
        }
        guard let row = rows.popLast() else { return nil }
        // A row that is too long is one without an id.
        return try JSONValue(row: row) ?? JSONValue(parsing: Array("{}".utf8), limits: .row)
    }
}

extension SourceFault {
    /// What the source's own database says.
    package init(reading error: PostgresError) {
        let reason = error.message.map { " (\($0.prefix { !$0.isNewline }))" } ?? ""
        self.init("The source's database can't be read\(reason).")
    }
}

extension PostgresSession {
    /// Begins the transaction in which a database is read.
    package func beginReading() async throws(PostgresError) {
        try await execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }

    /// Whether there are such tables, and columns of them (`table.column`), where a name without a schema is looked for.
    func has(_ tables: [String]) async throws(PostgresError) -> Bool {
        let found = try await query(
            "SELECT count(to_regclass(t)) = count(*) FROM unnest(\(tables)) AS t"
        ) { row throws(PostgresError) in try row.decode(Bool.self) }
        return found == [true]
    }

    func has(column: String, of table: String) async throws(PostgresError) -> Bool {
        let found = try await query(
            """
            SELECT EXISTS (
                SELECT FROM pg_attribute
                WHERE attrelid = to_regclass(\(table)) AND attname = \(column) AND NOT attisdropped)
            """
        ) { row throws(PostgresError) in try row.decode(Bool.self) }
        return found == [true]
    }
}
