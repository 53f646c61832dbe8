import ArgumentParser
import HTTPServer
import Logging
import Migrator
import Synchronization
import UnixSignals
import Version

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
        // Nothing but what is critical until nothing can stop the start any more: one that fails says so in a sentence,
        // which must not be buried under what else it took down.
        let level = Reloadable(Logger.Level.critical)
        let logger = Logger(label: "countersign", factory: { _ in ServiceLogHandler(configuration.log, level: level) })
        let isLogOpen = Mutex(false)
        @Sendable func openLog() {
            let isFirst = isLogOpen.withLock { isOpen in
                defer { isOpen = true }
                return !isOpen
            }
            guard isFirst else { return }
            level.value = configuration.reloadable.logLevel
            Self.logBeginning(of: reading, to: logger)
        }
        if migrate {
            try await withMigrator(configuration.database, logger: logger) { migrator in
                _ = try await migrator.up { step in
                    openLog()
                    logger.notice("migration applied", metadata: ["migration": "\(step.label)"])
                }
            }
        }
        let reload = ConfigurationReload(
            hangups: hangups, read: { [options] in try options.sources(isReload: true) }, start: reading,
            logger: logger, logLevel: level)
        try await Composition.run(
            configuration, shown: ConfigurationListing(sources: reading.sources), reload: reload, logger: logger,
            openLog: openLog)
    }

    private static func logBeginning(of reading: ConfigurationReading<ServiceConfiguration>, to logger: Logger) {
        logger.notice(
            "starting", metadata: ["version": "\(ProgramVersion.number)", "commit": "\(ProgramVersion.commit)"])
        for variable in reading.sources.unknownVariables {
            logger.warning("variable belongs to no key", metadata: ["variable": "\(variable.name)"])
        }
        for warning in reading.section.warnings { warning.log(to: logger) }
    }
}
