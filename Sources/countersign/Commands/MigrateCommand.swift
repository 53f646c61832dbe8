import ArgumentParser
import Logging
import Migrator
import Postgres
import Primitives

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Brings the database's schema up or down.",
        subcommands: [Up.self, Down.self, Status.self, Verify.self, New.self])

    struct Up: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "up",
            abstract: "Applies the migrations that are missing. Any number of runners may do so at once.",
            discussion: """
                On the schema of a later release it applies nothing, and says so. Where that release has taken away what this \
                one needs, it fails, as serve does.
                """)

        @OptionGroup var options: ConfigurationOptions
        @Option(help: "The last version to apply; all if absent.") var to: Int?
        @Flag(help: "Say what would be applied, and touch nothing.") var dryRun = false

        func validate() throws {
            let versions = 1...Migration.embedded.count
            guard to.map({ versions.contains($0) }) ?? true else {
                throw ValidationError("--to is a number from 1 to \(versions.upperBound)")
            }
        }

        func run() async throws {
            try await withMigrator(options) { migrator in
                let steps: [MigrationStep]
                if dryRun {
                    steps = try await migrator.plan(to: to)
                    for step in steps { printLine("would apply \(step.label)") }
                } else {
                    steps = try await migrator.up(to: to) { printLine("applied \($0.label)") }
                }
                guard steps.isEmpty else { return }
                if let label = try await migrator.latestOfLaterProgram() {
                    printLine("nothing to apply: a later release brought the schema to \(label)")
                } else {
                    printLine("nothing to apply")
                }
            }
        }
    }

    struct Down: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "down",
            abstract: "Takes the latest migrations back, and with them what their columns and tables hold.",
            discussion: "Asks once when standard input is a terminal, and nothing elsewhere.")

        @OptionGroup var options: ConfigurationOptions
        @Option(help: "How many; more than are applied is all.") var steps = 1
        @Flag(help: "Do not ask.") var yes = false

        func validate() throws {
            guard steps > 0 else { throw ValidationError("--steps is a number from 1") }
        }

        func run() async throws {
            try await withMigrator(options) { migrator in
                let plan = try await migrator.planDown(steps: steps).map(\.label)
                // It is for development, whose scripts have nothing to lose and so say no --yes.
                if !plan.isEmpty, !yes, TerminalQuestion.canBeAsked {
                    try TerminalQuestion(
                        "Take back \(plan.joined(separator: ", ")), and delete what only they hold? [yes/no] "
                    ).requireYes()
                }
                let taken = try await migrator.down(steps: steps) { printLine("took back \($0.label)") }
                if taken.isEmpty { printLine("nothing to take back") }
            }
        }
    }

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Lists the migrations and whether they are applied.")

        @OptionGroup var options: ConfigurationOptions

        func run() async throws {
            try await withMigrator(options) { migrator in
                for entry in try await migrator.status() {
                    printLine("\(entry.label)  \(entry.state)")
                }
            }
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify", abstract: "Checks that the database's migrations are exactly those of this binary.",
            discussion: "By what it notes of them: a table or an index that was changed by hand is not seen.")

        @OptionGroup var options: ConfigurationOptions

        func run() async throws {
            try await withMigrator(options) { migrator in
                let faults = try await migrator.verify()
                guard faults.isEmpty else { throw SchemaDiffers(faults: faults) }
                printLine("the schema is current")
            }
        }
    }

    struct New: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "new", abstract: "Writes the two files of a new migration.")

        @Argument(help: "verb_object, such as create_accounts.") var name: String
        @Option(help: "Where migrations are kept.") var directory = "Migrations"

        func validate() throws {
            guard NewMigration.isName(name) else {
                throw ValidationError(
                    "a migration is called verb_object, in lower-case letters, digits and underscores, such as "
                        + "create_accounts")
            }
        }

        func run() throws {
            let migration = try NewMigration(name: name, directory: directory)
            printLine(migration.upPath)
            printLine(migration.downPath)
        }
    }
}

/// The faults that `migrate verify` found, one sentence per line.
struct SchemaDiffers: Error, CustomStringConvertible {
    let faults: [MigrationFault]

    var description: String { faults.map(\.description).joined(separator: "\ncountersign: ") }
}

extension MigrationEntry.State: CustomStringConvertible {
    public var description: String {
        switch self {
        case .pending: "pending"
        case .applied(let time): "applied \(time)"
        case .interrupted: "interrupted"
        case .edited: "edited"
        case .unknown: "unknown to this binary"
        case .superseding: "unknown to this binary, which can't serve on it"
        }
    }
}

private func withMigrator(_ options: ConfigurationOptions, _ body: (Migrator) async throws -> Void) async throws {
    let configuration = try options.sources().load(DatabaseConfiguration.init)
    try await withMigrator(configuration, logger: .standardError, body)
}

/// Runs the body with one connection as the owner of the schema.
func withMigrator(
    _ configuration: DatabaseConfiguration, logger: Logger, _ body: (Migrator) async throws -> Void
) async throws {
    let database = Database(
        configuration: Database.Configuration(
            url: configuration.migrationURL, poolSize: 1, acquireTimeout: .seconds(10),
            // A build waits for older transactions, and says nothing meanwhile.
            statementTimeout: nil, applicationName: "countersign migrate"),
        // A failure of the connection ends the command with a message, so it need not be logged before.
        logger: .quiet)
    let migrator = Migrator(
        database: database, service: configuration.serviceRole.map { ServiceRole(name: $0) }, logger: logger)
    try await closing(database.shutdown) { try await body(migrator) }
}
