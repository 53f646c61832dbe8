package import Accounts
import Foundation
package import Postgres

/// The place of a row in the order of its table.
package struct ExportCursor: Sendable {
    let time: Timestamp
    let id: String
}

/// A value of a row, by its type in the database.
package enum ExportedValue: Hashable, Sendable {
    case text(String)
    case texts([String])
    case number(Int64)
    case flag(Bool)
    case time(Timestamp)
}

package struct ExportedRow: Sendable {
    let cursor: ExportCursor
    /// In the order of the table's columns; `nil` for NULL.
    package let values: [ExportedValue?]
}

/// What the tables hold about the person of an account, row by row: ``ExportedTable/all``.
package struct PersonalData: Sendable {
    private let database: Database

    package init(database: Database) { self.database = database }

    /// Records that the data of the account is exported.
    ///
    /// - Returns: whether there is such an account.
    package func recordExport(of id: AccountID, by call: Call) async throws -> Bool {
        try await database.change(by: call) { change in
            guard try await change.execute("SELECT FROM accounts WHERE account_id = \(id)") == 1 else {
                return false
            }
            try await change.record(.accountExported, accountID: id)
            return true
        }
    }

    /// Whether the account is still there, and so whatever was read of it until now was all that there is.
    package func holdsAccount(_ id: AccountID) async throws(PostgresError) -> Bool {
        try await database.execute("SELECT FROM accounts WHERE account_id = \(id)") == 1
    }

    package func page(
        _ table: ExportedTable, of id: AccountID, after cursor: ExportCursor?, limit: Int, by call: Call
    ) async throws(PostgresError) -> Page<ExportedRow, ExportCursor> {
        try await database.page(
            table.statement(of: id, after: cursor, limit: limit + 1, by: call), limit: limit, cursor: \.cursor
        ) { row throws(PostgresError) in
            var values: [ExportedValue?] = []
            for index in table.columns.indices { values.append(try ExportedValue?(from: row[index + 2])) }
            return ExportedRow(
                cursor: ExportCursor(time: try Timestamp(from: row[0]), id: try String(from: row[1])),
                values: values)
        }
    }
}

extension ExportedValue: PostgresDecodable {
    package init(from value: PostgresValue) throws(PostgresError) {
        self =
            switch value.type {
            case PostgresType.text.oid: .text(try String(from: value))
            case PostgresType.text.arrayOID: .texts(try [String](from: value))
            case PostgresType.uuid.oid: .text(try UUID(from: value).text)
            case PostgresType.bool.oid: .flag(try Bool(from: value))
            case PostgresType.int4.oid: .number(Int64(try Int32(from: value)))
            case PostgresType.int8.oid: .number(try Int64(from: value))
            case PostgresType.timestamptz.oid: .time(try Timestamp(from: value))
            default: throw PostgresValue.mismatch("type \(value.type), which no export knows")
            }
    }
}
