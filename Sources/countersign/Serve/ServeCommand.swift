import ArgumentParser
import Logging
import Migrator
import Postgres

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Runs the service until SIGTERM or SIGINT.",
        discussion: "Refuses to start on a database whose schema is not the one of this binary.")

    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "Apply missing migrations first, as the owner that postgres.migrationUrl names.")
    var migrate = false

    func run() async throws {
        let configuration = try options.sources().load { ServiceConfiguration(from: &$0) }
        let logger = Logger(label: "countersign", factory: { _ in ServiceLogHandler(configuration.log) })
        if migrate {
            try await withMigrator(configuration.database, logger: logger) { migrator in
                _ = try await migrator.up { logger.notice("migrated", metadata: ["migration": "\($0.label)"]) }
            }
        }
        try await Composition.run(configuration, logger: logger)
    }
}
