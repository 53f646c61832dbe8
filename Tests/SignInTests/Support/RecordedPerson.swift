import Accounts
import Postgres
import TestSupport

/// A person of whom every table has a row, and every column a value. Each text but the fixed ones begins with the
/// person's name; what may not leave the database is made of ``secrets``.
struct RecordedPerson: Sendable {
    let id: AccountID
    let name: String

    /// Texts that are stored as they are, or by their SHA-256.
    var secrets: [String] { (1...12).map { "\(name)-secret-\($0)" } }

    init(_ name: String, in database: Database, at now: Timestamp) async throws {
        id = AccountID(now: now)
        self.name = name
        try await database.run(script: try DataFile("RecordedPerson.sql").text)
        try await database.execute("SELECT record_person(\(id), \(name), \(now), \(now.advanced(bySeconds: 300)))")
    }
}
