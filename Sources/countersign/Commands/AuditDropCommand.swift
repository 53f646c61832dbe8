import Accounts
import ArgumentParser
import KeyRing
import Storage

extension AuditCommand {
    struct DropBefore: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "drop-before", abstract: "Takes the months before one of the audit trail away.",
            discussion: """
                Rows and seals from before the month go for good; the last of these seals stays as the anchor that `audit \
                verify` begins behind, and so do the few rows under the seal across the month's begin. Export them first: \
                --export writes all that goes to a new file, and nothing goes before that is on the disk.

                It works as the owner of the tables, by postgres.migrationUrl, and needs keyring.path. People go on signing \
                in: it waits for the trail for a second at a time. Rows in the default partition are deleted one by one \
                meanwhile: where there are many in audit_events_default, they sign in behind it. At a terminal it asks \
                once; elsewhere it needs --yes, but for a --dry-run.
                """)

        @OptionGroup var options: ConfigurationOptions
        @Argument(help: "The first month that stays, such as 2026-12; this month at the latest.", transform: Self.month)
        var month: AuditMonth
        @Option(
            help: "Write what goes to this new file first, as `audit export` does; readable by the owner alone.",
            completion: .file())
        var export: String?
        @Flag(help: "Say what would go, and take nothing away.") var dryRun = false
        @Flag(help: "Do not ask.") var yes = false

        func validate() throws {
            guard month.begin <= SystemClock().now() else {
                throw ValidationError("\(month) has not begun: this month is the last that can be named")
            }
            guard export != "-" else {
                throw ValidationError("--export is a file: what goes has to be on the disk before")
            }
            try TerminalQuestion.requireTerminal(unlessSaid: yes || dryRun)
        }

        func run() async throws {
            let keyRing = try options.sources().load(KeyRing.init)
            try await withDatabase(options, asOwner: true, statementTimeout: nil) { database in
                let retention = AuditRetention(database: database, keyRing: keyRing)
                try await retention.requireOwner()
                let call = SystemClock().call(by: .thisOperator)
                if let halt = try await AuditSeals(database: database, keyRing: keyRing).sealPending(by: call) {
                    throw CommandFailure("Nothing is sealed any more, and so nothing can go: \(halt).")
                }
                guard let plan = try await retention.plan(before: month) else {
                    if !dryRun { try await retention.deleteSeals() }
                    printLine("nothing from before \(month) is left to go")
                    return
                }
                printLine(
                    """
                    \(plan.rowCount) rows under \(plan.sealCount) seals from before \(month), the last one of \
                    \(plan.until.rfc3339), \(dryRun ? "would go" : "go")
                    """)
                if dryRun { return }
                try await write(plan, AuditExport(database: database))
                if !yes {
                    try TerminalQuestion(
                        "Take them away for good\(export == nil ? ", exported or not" : "")? [yes/no] "
                    )
                    .requireYes()
                }
                let gone = try await retention.carryOut(plan, by: SystemClock().call(by: .thisOperator))
                for name in gone { printLine("dropped \(name)") }
                printLine("`countersign audit verify` begins behind seal \(plan.lastSeal)")
            }
        }

        private func write(_ plan: AuditRetention.Plan, _ trail: AuditExport) async throws {
            guard let export else { return }
            var output = try StandardOutput(creating: export)
            try await trail.run(plan) { try output.append($0.line) }
            try output.commit()
        }

        @Sendable private static func month(_ text: String) throws -> AuditMonth {
            guard let month = AuditMonth(text) else { throw ValidationError("it has to be a month such as 2026-12") }
            return month
        }
    }
}
