import Postgres
import Testing

/// The plans that the server keeps for the one connection of a pool.
enum KeptPlans {
    /// What they read as a whole: a plan that was made while a table was small is kept while it grows, until the table's
    /// statistics change.
    ///
    /// - Parameter part: of the text of the statements that are asked about.
    static func scans(of part: String, in database: Database) async throws -> [String] {
        let statements = try await database.query(
            """
            SELECT name, cardinality(parameter_types) FROM pg_prepared_statements
            WHERE strpos(statement, \(part)) > 0 AND generic_plans > 0
            """, as: String.self, Int32.self)
        #expect(!statements.isEmpty)
        var scans: [String] = []
        for (name, count) in statements {
            let values = Array(repeating: "NULL", count: Int(count)).joined(separator: ", ")
            let plan = try await database.query("EXPLAIN EXECUTE \(unsafeSQL: "\"\(name)\"(\(values))")") {
                row throws(PostgresError) in try row.decode(String.self)
            }
            scans += plan.filter { $0.contains("Seq Scan on") }
        }
        return scans
    }
}
