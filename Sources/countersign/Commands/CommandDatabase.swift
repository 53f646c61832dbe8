import Logging
import Migrator
import Postgres

/// Runs the body with a small pool of connections. Throws if this binary can't serve on the database's schema.
///
/// - Parameter asOwner: as the owner of the tables, for what the service's role may not do.
func withDatabase<Result: Sendable>(
    _ options: ConfigurationOptions, asOwner: Bool = false, statementTimeout: Duration? = .seconds(10),
    _ body: (Database) async throws -> Result
) async throws -> Result {
    let configuration = try options.sources().load(DatabaseConfiguration.init)
    let silent = Logger(label: "countersign", factory: { _ in SwiftLogNoOpLogHandler() })
    var settings = Database.Configuration(configuration)
    if asOwner { settings.url = configuration.migrationURL }
    settings.poolSize = 2
    settings.acquireTimeout = .seconds(10)
    settings.statementTimeout = statementTimeout
    let database = Database(configuration: settings, logger: silent)
    do {
        try await Migrator(database: database, logger: silent).requireServableSchema()
        let result = try await body(database)
        await database.shutdown()
        return result
    } catch {
        await database.shutdown()
        throw error
    }
}
