import Migrator
package import Postgres

extension ScratchDatabase {
    /// Runs a closure with a pool on a fresh database that has the schema of this build.
    package static func withMigratedPool<T: Sendable>(
        configure: (inout Database.Configuration) -> Void = { _ in }, _ body: (Database) async throws -> T
    ) async throws -> T {
        try await withFreshPool(key: migratedKey, prepareTemplate: migrate(_:), configure: configure, body)
    }

    /// The same without a pool, for tests that start a process on the database.
    package static func withMigrated<T: Sendable>(_ body: (ScratchDatabase) async throws -> T) async throws -> T {
        try await withFresh(key: migratedKey, prepareTemplate: migrate(_:), body)
    }

    private static let migratedKey = Migration.embedded.map(\.checksum).joined()

    @Sendable private static func migrate(_ url: String) async throws {
        try await ScratchDatabase(url: url).withPool(.test(poolSize: 1)) { database in
            _ = try await Migrator(database: database, logger: .silent).up()
        }
    }
}

extension ScratchDatabase: TestFixture {
    package static func run(_ body: (ScratchDatabase) async throws -> Void) async throws {
        try await withMigrated(body)
    }
}

/// A pool on an empty database.
extension Database: TestFixture {
    package static func run(_ body: (Database) async throws -> Void) async throws {
        try await ScratchDatabase.withFreshPool { try await body($0) }
    }
}
