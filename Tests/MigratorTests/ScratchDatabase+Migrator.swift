import Migrator
import Postgres
import TestSupport

extension ScratchDatabase {
    /// A database for this test alone, empty, with a pool.
    static func withEmpty(_ body: @Sendable (ScratchDatabase, Database) async throws -> Void) async throws {
        try await withFresh { scratch in try await scratch.withPool { database in try await body(scratch, database) } }
    }

    /// The same with the migrations of this build up to a version, as a copy of a database that has them.
    static func withEmbedded(
        to version: Int = Migration.embedded.count, _ body: @Sendable (ScratchDatabase, Database) async throws -> Void
    ) async throws {
        let migrations = Array(Migration.embedded.prefix(version))
        try await withFresh(key: migrations.map(\.checksum).joined()) { url in
            try await ScratchDatabase(url: url).withPool(.test(poolSize: 1)) { database in
                _ = try await database.migrator(migrations).up()
            }
        } _: { scratch in
            try await scratch.withPool { database in try await body(scratch, database) }
        }
    }
}

extension Database {
    func count(_ sql: SQL) async throws -> Int64 { try await query(sql, as: Int64.self).first ?? -1 }

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
