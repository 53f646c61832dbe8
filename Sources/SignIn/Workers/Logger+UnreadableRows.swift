import Logging
import Storage

extension Logger {
    /// Logs rows that a worker gave up because it can't read them: they were written by a later release, or by hand.
    func report(_ rows: [UnreadableRow], in table: String) {
        for row in rows {
            error(
                "unreadable row given up",
                metadata: [
                    "table": "\(table)", "row": "\(row.id)", "error": "\(String(reflecting: row.error))",
                ])
        }
    }
}
