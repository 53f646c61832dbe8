/// One row of a result, as the decode closure of a query sees it.
package struct PostgresRow {
    let result: ServerResult
    let index: Int

    /// The value in a column, counted from 0.
    package subscript(_ column: Int) -> PostgresValue {
        get throws(PostgresError) {
            guard let value = result.value(row: index, column: column) else {
                throw PostgresValue.mismatch("\(result.columnCount) columns where column \(column) was asked for")
            }
            return value
        }
    }

    /// The whole row, or the rest of it behind `first` columns, column by column: as many types as there are columns.
    ///
    ///     let (id, email) = try row.decode(UUID.self, String?.self)
    package func decode<each T: PostgresDecodable>(
        _ types: repeat (each T).Type, from first: Int = 0
    ) throws(PostgresError) -> (repeat each T) {
        var expected = first
        for _ in repeat each types { expected += 1 }
        guard expected == result.columnCount else {
            throw PostgresValue.mismatch("\(result.columnCount) columns where \(expected) were asked for")
        }
        var column = first
        return (repeat try decodeNext((each types), &column))
    }

    private func decodeNext<T: PostgresDecodable>(_: T.Type, _ column: inout Int) throws(PostgresError) -> T {
        defer { column += 1 }
        do throws(PostgresError) {
            return try T(from: try self[column])
        } catch {
            let (name, tableID) = result.origin(ofColumn: column)
            var located = PostgresValue.mismatch("column \(name): \(error.message ?? "")")
            located.tableID = tableID
            throw located
        }
    }
}
