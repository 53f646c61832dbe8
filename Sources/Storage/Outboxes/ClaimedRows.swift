package import Accounts
package import Postgres

/// Rows that a worker has claimed: the work in those that it can read, and those that it can't.
///
/// A row that can't be read fails alone. The store that claimed it takes it out of the queue (a dead letter, which an
/// operator finds by the log), so that neither the rest of the batch nor later rounds wait for it.
package struct ClaimedRows<Work: Sendable>: Sendable {
    package internal(set) var work: [Work]
    package let unreadable: [UnreadableRow]

    /// - Parameter session: the session that read the rows; it names the tables of the errors.
    init(_ rows: [Result<Work, UnreadableRow>], in session: some PostgresSession) async {
        var work: [Work] = []
        var unreadable: [UnreadableRow] = []
        for row in rows {
            switch row {
            case .success(let readable): work.append(readable)
            case .failure(let row):
                unreadable.append(
                    UnreadableRow(id: row.id, attempt: row.attempt, error: await session.namingTable(of: row.error)))
            }
        }
        self.work = work
        self.unreadable = unreadable
    }
}

/// A row with a value that this release doesn't know.
package struct UnreadableRow: Error {
    package let id: RowID
    /// The number of the attempt that it was claimed for, of a row of the outbox.
    let attempt: Int32?
    /// With table and column.
    package let error: PostgresError

    /// The `last_error` of an outbox row that was given up for this.
    package static let reason = "unreadable"
}

/// The primary key of a row of any table.
package typealias RowID = Identifier<UnreadableRow>

extension PostgresRow {
    /// The work in a claimed row, whose first column is its primary key.
    ///
    /// - Parameter attempt: the column with the number of the attempt, if it has one.
    func claimed<Work>(
        attempt: Int? = nil, file: StaticString = #fileID, line: UInt = #line,
        _ read: (PostgresRow) throws(PostgresError) -> Work
    ) throws(PostgresError) -> Result<Work, UnreadableRow> {
        do throws(PostgresError) {
            return .success(try read(self))
        } catch {
            var located = error
            located.location = CodeLocation(file: file, line: line).description
            var number: Int32?
            if let attempt { number = try Int32(from: self[attempt]) }
            return .failure(UnreadableRow(id: try RowID(from: self[0]), attempt: number, error: located))
        }
    }
}
