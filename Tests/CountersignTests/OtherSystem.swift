import Postgres
import TestSupport

/// A database of another system, from which people are imported.
enum OtherSystem {
    /// The script of its tables, with these values in the places that their names have in it.
    static func tables(_ name: String, _ values: [String: String] = [:]) throws -> String {
        let script = try DataFile("Fixtures/import-sources.sql").part(name)
        return values.reduce(script) { $0.replacing(":\($1.key)", with: $1.value) }
    }

    /// Runs the body with a database that has these tables, and a pool on it.
    static func run(_ tables: String, _ body: (ScratchDatabase, Database) async throws -> Void) async throws {
        try await ScratchDatabase.withFresh { scratch in
            try await scratch.withPool(.test(poolSize: 2)) { database in
                try await database.run(script: tables)
                try await body(scratch, database)
            }
        }
    }
}
