import Foundation
import Postgres
import TestSupport
import Testing

/// Rows that the schema of a version can hold, and a query for what must be left of them all from then on.
struct OldRows: Sendable {
    let version: Int
    let insert: SQL
    /// One text; has to be the same after every later migration, up and down.
    let digest: SQL

    /// In the order of the versions, with which the names of the files begin.
    static var all: [OldRows] { get throws { try DataFile.all(in: "OldRows").map { try OldRows($0) } } }

    private init(_ file: DataFile) throws {
        let statements = file.text.components(separatedBy: "\n-- digest\n")
        try #require(statements.count == 2, "\(file)")
        version = try #require(Int(file.name.prefix(4)), "\(file)")
        insert = SQL(unsafeSQL: statements[0])
        digest = SQL(unsafeSQL: statements[1])
    }
}
