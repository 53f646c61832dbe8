package import Postgres

/// Statements of a test beside the process on the database, each call by a connection of its own.
extension ScratchDatabase {
    /// The number that a query selects.
    package func count(_ query: SQL) async throws -> Int64 {
        try await withPool(.test(poolSize: 1)) { try await $0.query(query, as: Int64.self)[0] }
    }

    /// The texts that a query selects, one from each row.
    package func texts(_ query: SQL) async throws -> [String] {
        try await withPool(.test(poolSize: 1)) { try await $0.query(query, as: String.self) }
    }

    /// Runs statements, for changes that no request makes.
    package func execute(_ statements: SQL...) async throws {
        try await withPool(.test(poolSize: 1)) { database in
            for statement in statements { try await database.execute(statement) }
        }
    }
}
