import Accounts
import Postgres

/// A column of a table, and its place in a person's export.
package struct ExportedColumn: Sendable {
    /// Its name in the database.
    package let name: String
    /// The member of the document; by default the column's name in camel case.
    package let member: String
    /// The object that groups this member with its neighbours, if any.
    package let group: String?
    /// What is exported: the column itself, or what is made of it.
    let value: SQL

    init(_ name: StaticString, as member: String? = nil, in group: String? = nil, reading value: SQL? = nil) {
        self.name = name.description
        self.member = member ?? ExportedColumn.camelCased(name.description)
        self.group = group
        self.value = value ?? SQL(stringLiteral: name)
    }

    private static func camelCased(_ name: String) -> String {
        let words = name.split(separator: "_")
        return words.prefix(1).joined() + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}

extension ExportedColumn: ExpressibleByStringLiteral {
    package init(stringLiteral name: StaticString) { self.init(name) }
}

/// The rows of one table that belong to the person of an account, as a list in the export, the newest first.
package struct ExportedTable: Sendable {
    package enum Form: Sendable {
        /// One object: there is a row for each account.
        case object
        case list
    }

    /// Its name in the database.
    package let name: String
    /// The member of the document that holds its rows.
    package let member: String
    package let form: Form
    package let columns: [ExportedColumn]
    /// The columns that are left out, and why.
    package let omitted: [String: String]
    private let source: SQL
    /// The order of its rows: when each was made, and what is unique among those of one time, with its type.
    private let time: SQL
    private let id: SQL
    private let idType: SQL
    private let condition: @Sendable (AccountID, Timestamp) -> SQL

    init(
        _ name: StaticString, as member: String, _ form: Form = .list, columns: [ExportedColumn],
        omitted: [String: String] = [:], from source: SQL? = nil, time: SQL = "created_at", id: SQL,
        idType: SQL = "uuid", where condition: @escaping @Sendable (_ account: AccountID, _ now: Timestamp) -> SQL
    ) {
        self.name = name.description
        self.member = member
        self.form = form
        self.columns = columns
        self.omitted = omitted
        self.source = source ?? SQL(stringLiteral: name)
        self.time = time
        self.id = id
        self.idType = idType
        self.condition = condition
    }

    /// The rows after a cursor, each with its place in the order before the values of the columns.
    func statement(of account: AccountID, after cursor: ExportCursor?, limit: Int, by call: Call) -> SQL {
        let values: SQL = columns.reduce("\(time) AS place, (\(id))::text AS place_id") { "\($0), \($1.value)" }
        let isAfter: SQL =
            if let cursor { "(\(time), \(id)) < (\(cursor.time), \(cursor.id)::\(idType))" } else { "true" }
        return """
            SELECT \(values)
            FROM \(source)
            WHERE (\(condition(account, call.now))) AND \(isAfter)
            ORDER BY \(time) DESC, \(id) DESC
            LIMIT \(limit)
            """
    }
}
