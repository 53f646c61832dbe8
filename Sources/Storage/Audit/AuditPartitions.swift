package import Accounts
package import Postgres
import Primitives

/// The partitions of `audit_events`, one for each month.
///
/// The service may not make tables: a function of the owner's makes them, those of this month and the next three, by the
/// database's clock.
package struct AuditPartitions: Sendable {
    private let database: Database

    package init(database: Database) { self.database = database }

    /// Makes what is missing. Finds nothing to do while another process is at it.
    ///
    /// - Returns: what had no partition, with `made`, or the function's word for why it has none still (`docs/audit.md`).
    package func make() async throws(PostgresError) -> [(name: String, outcome: String)] {
        try await database.query(
            "SELECT partition_name, outcome FROM make_audit_partitions()", as: String.self, String.self
        ).map { (name: $0, outcome: $1) }
    }

    /// The number of months after this one that have a partition, up to the first that has none.
    package func monthsAhead(by call: Call) async throws(PostgresError) -> Int {
        let names = try await database.query(
            """
            SELECT relname::text
            FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
            WHERE inhparent = 'audit_events'::regclass
            """, as: String.self)
        let today = CivilTime(secondsSince1970: call.now.seconds)
        var (year, month, count) = (today.year, today.month, 0)
        while true {
            (year, month) = month == 12 ? (year + 1, 1) : (year, month + 1)
            guard names.contains(AuditPartitions.name(year: year, month: month)) else { return count }
            count += 1
        }
    }

    private static func name(year: Int64, month: Int) -> String {
        "audit_events_\(year)_\(month < 10 ? "0" : "")\(month)"
    }
}
