import Foundation
import Glibc
import Postgres

/// The kinds of audit rows that the tests of a run have left in their databases, in the file that
/// `COUNTERSIGN_TEST_AUDIT_KINDS` names, a line for each kind and database. `Scripts/test` compares it with the kinds that
/// there are: one that no test provokes may never be written.
enum AuditKinds {
    private static let path = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_AUDIT_KINDS"]

    static func note(in scratch: ScratchDatabase) async throws {
        guard let path else { return }
        let kinds = try await scratch.withPool(.test(poolSize: 1)) { database in
            let tables = try await database.query("SELECT to_regclass('audit_events') IS NOT NULL", as: Bool.self)
            guard tables == [true] else { return [String]() }
            return try await database.query("SELECT DISTINCT type FROM audit_events", as: String.self)
        }
        guard !kinds.isEmpty else { return }
        // One write at the end of the file, so that no other test's lines get between them.
        let file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0o644)
        guard file >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer { close(file) }
        let lines = Array(kinds.map { $0 + "\n" }.joined().utf8)
        guard write(file, lines, lines.count) == lines.count else { throw POSIXError(.EIO) }
    }
}
