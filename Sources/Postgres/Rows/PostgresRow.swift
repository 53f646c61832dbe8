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
        var columns = columns(from: first)
        return (repeat try columns.next((each types)))
    }

    /// The columns from `first` on, one by one.
    ///
    ///     var columns = row.columns()
    ///     let id: UUID = try columns.next()
    ///     let email: String? = try columns.next()
    ///
    /// For rows of which many are read: many times faster than ``decode(_:from:)``, whose types the compiler
    /// doesn't know before it runs.
    package func columns(from first: Int = 0) -> PostgresColumns { PostgresColumns(row: self, index: first) }

    /// Adds to an error the column that could not be read, and the table it is of.
    fileprivate func locating(_ error: PostgresError, inColumn column: Int) -> PostgresError {
        let (name, tableID) = result.origin(ofColumn: column)
        var located = PostgresValue.mismatch("column \(name): \(error.message ?? "")")
        located.tableID = tableID
        return located
    }
}

/// The columns of a row in their order.
package struct PostgresColumns {
    fileprivate let row: PostgresRow
    fileprivate var index: Int

    /// The value in the next column.
    package mutating func next<T: PostgresDecodable>(_: T.Type = T.self) throws(PostgresError) -> T {
        defer { index += 1 }
        do throws(PostgresError) {
            return try T(from: try row[index])
        } catch {
            throw row.locating(error, inColumn: index)
        }
    }

    /// The value in the next column; `nil` for NULL.
    package mutating func next<T: PostgresDecodable>(_: T?.Type = T?.self) throws(PostgresError) -> T? {
        defer { index += 1 }
        do throws(PostgresError) {
            let value = try row[index]
            return value.isNull ? nil : try T(from: value)
        } catch {
            throw row.locating(error, inColumn: index)
        }
    }
}
