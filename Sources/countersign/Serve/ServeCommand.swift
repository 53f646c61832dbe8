import ArgumentParser
import HTTPAPI
import HTTPServer
import Logging
import Migrator
import Postgres
import UnixSignals

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Runs the service until SIGTERM or SIGINT.",
        discussion: "Refuses to start on a database whose schema it can't serve.")

    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "Apply missing migrations first, as the owner that postgres.migrationUrl names.")
    var migrate = false

    func run() async throws {
        // Before the configuration is read, so that a change of it is never missed.
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let reading = try ConfigurationReading(of: options.sources(), ServiceConfiguration.init)
        let configuration = reading.section
        let level = Reloadable(configuration.reloadable.logLevel)
        let logger = Logger(
            label: "countersign", factory: { _ in ServiceLogHandler(configuration.log, level: level) })
        for variable in reading.sources.unknownVariables {
            logger.warning("variable belongs to no key", metadata: ["variable": "\(variable)"])
        }
        for warning in configuration.warnings {
            logger.warning("\(warning.message)", metadata: warning.metadata.mapValues { "\($0)" })
        }
        if migrate {
            try await withMigrator(configuration.database, logger: logger) { migrator in
                _ = try await migrator.up { logger.notice("migration applied", metadata: ["migration": "\($0.label)"]) }
            }
        }
        let reload = ConfigurationReload(
            hangups: hangups, read: { [options] in try options.sources(isReload: true) }, start: reading,
            logger: logger, logLevel: level)
        try await Composition.run(
            configuration, shown: ConfigurationListing(sources: reading.sources), reload: reload, logger: logger)
    }
}
