import Migrator
import Postgres
import TestSupport

extension ScratchDatabase {
    /// A database for this test alone, empty, with a pool.
    static func withEmpty(_ body: @Sendable (ScratchDatabase, Database) async throws -> Void) async throws {
        try await withFresh { scratch in
            try await scratch.withPool { database in try await body(scratch, database) }
        }
    }
}

extension Database {
    func count(_ sql: SQL) async throws -> Int64 {
        try await query(sql, as: Int64.self).first ?? -1
    }

    func migrator(_ migrations: [Migration], service: ServiceRole? = nil) -> Migrator {
        Migrator(database: self, migrations: migrations, service: service, logger: .silent)
    }

    /// Holds the locks of `statement` until the body returns.
    func holding<T: Sendable>(_ statement: String, while body: @Sendable () async throws -> T) async throws -> T {
        try await transaction { transaction in
            try await transaction.execute(SQL(unsafeSQL: statement))
            return try await body()
        }
    }
}
