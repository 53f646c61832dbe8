import Postgres
import Testing

/// The plans that the server keeps for the one connection of a pool.
enum KeptPlans {
    /// What they read as a whole: a plan that was made while a table was small is kept while it grows, until the table's
    /// statistics change.
    ///
    /// - Parameter part: of the text of the statements that are asked about.
    static func scans(of part: String, in database: Database) async throws -> [String] {
        var scans: [String] = []
        for (name, count) in try await statements(with: part, in: database) {
            let values = Array(repeating: "NULL", count: Int(count)).joined(separator: ", ")
            let plan = try await database.query("EXPLAIN EXECUTE \(unsafeSQL: "\"\(name)\"(\(values))")") {
                row throws(PostgresError) in try row.decode(String.self)
            }
            scans += plan.filter { $0.contains("Seq Scan on") }
        }
        return scans
    }

    /// The number of pages that they read for these values.
    static func pages(readBy part: String, with values: String, in database: Database) async throws -> Int {
        var pages = 0
        for (name, _) in try await statements(with: part, in: database) {
            pages += try await database.pages(readBy: "EXECUTE \(unsafeSQL: "\"\(name)\"(\(values))")")
        }
        return pages
    }

    private static func statements(with part: String, in database: Database) async throws -> [(String, Int32)] {
        let statements = try await database.query(
            """
            SELECT name, cardinality(parameter_types) FROM pg_prepared_statements
            WHERE strpos(statement, \(part)) > 0 AND generic_plans > 0
            """, as: String.self, Int32.self)
        #expect(!statements.isEmpty)
        return statements
    }
}

extension Database {
    /// The number of pages of tables and indexes that a statement reads. It is carried out.
    func pages(readBy statement: SQL) async throws -> Int {
        let plan = try await query("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) \(statement)") {
            row throws(PostgresError) in try row.decode(String.self)
        }
        // The first line is that of the whole.
        let buffers = try #require(plan.first { $0.contains("Buffers: shared") }, "\(plan)")
        return buffers.matches(of: #/(?:hit|read)=(\d+)/#).reduce(0) { $0 + (Int($1.output.1) ?? 0) }
    }
}
