import Accounts
import Administration
import ArgumentParser
import JSON
import KeyRing
import Storage

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Brings people in from another system, and takes them back.",
        subcommands: [ImportRunCommand.self, List.self, Show.self, Undo.self], defaultSubcommand: ImportRunCommand.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Prints the imports, a JSON object a line.")

        @OptionGroup var options: ConfigurationOptions

        func run() async throws {
            let records = try await withImportRecords(options) { try await $0.list(countsAccounts: true) }
            for record in records { printLine(record.line) }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Prints an import as a JSON object.")

        @OptionGroup var options: ConfigurationOptions
        @Argument(help: "The import's name.", transform: ImportName.argument) var name: ImportName

        func run() async throws {
            let record = try await withImportRecords(options) { try await $0.record(of: name) }
            guard let record else { throw CommandFailure("There is no import \(name).") }
            printLine(record.line)
        }
    }

    struct Undo: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "undo", abstract: "Removes the accounts of an import that nothing else has touched.",
            discussion: """
                An account stays where its person, an administrator or a provider has done anything with it since: each is \
                printed as a JSON object a line, and then the command exits with 1. Another run of the import makes those \
                again that went.
                """)

        @OptionGroup var options: ConfigurationOptions
        @Argument(help: "The import's name.", transform: ImportName.argument) var name: ImportName
        @Flag(help: "Say what would be done, and do nothing.") var dryRun = false

        func run() async throws {
            let kept = try await withImports(options) { store in
                guard let kept = try await store.alone(name, { _ in try await undo(in: store) }) else {
                    throw UsageFault.isBusy(name)
                }
                return kept
            }
            if kept > 0 { throw ExitCode(1) }
        }

        private func undo(in store: ImportStore) async throws -> Int {
            guard let run = try await store.find(name) else { throw CommandFailure("There is no import \(name).") }
            let clock = SystemClock()
            if !dryRun { try await store.settle(name, by: clock.call(by: .thisOperator)) }
            let stop = await StopSignal()
            var (removed, kept) = (0, 0)
            var next: [UInt8]?
            func finish(_ state: ImportRecord.State) async throws {
                guard !dryRun else { return }
                try await store.finishUndo(run, of: name, kept: kept, as: state, by: clock.call(by: .thisOperator))
            }
            do {
                repeat {
                    let page = try await store.undo(
                        run, after: next, isRehearsal: dryRun, by: clock.call(by: .thisOperator))
                    for account in page.kept { printLine(account.line) }
                    removed += page.removed
                    kept += page.kept.count
                    next = page.next
                    // Who lacks the list of what stays can have the rest of it from another run.
                } while next != nil && !stop.isRaised && StandardOutput.isWhole
            } catch {
                // What went is gone, and so it is recorded, unless it is the database that is away.
                try? await finish(.failed)
                throw error
            }
            try await finish(next == nil ? .finished : .stopped)
            let end = next == nil ? "" : "; stopped"
            printNotice("\(name): \(removed) removed, \(kept) kept\(end)\(dryRun ? " (nothing was done)" : "")")
            if next != nil { throw ExitCode(1) }
            return kept
        }
    }
}

extension KeptAccount {
    fileprivate var line: String {
        JSONWriter.text { writer in
            writer.member("accountId", "\(id)")
            writer.member("externalId", externalID)
            writer.member("outcome", "kept")
        }
    }
}

extension UsageFault {
    static func isBusy(_ name: ImportName) -> UsageFault {
        UsageFault(sentence: "another run of the import \(name) is under way")
    }
}

/// Runs the body with the records of the imports, which need no key ring. Their rows are counted.
private func withImportRecords<Result: Sendable>(
    _ options: ConfigurationOptions, _ body: (ImportRecords) async throws -> Result
) async throws -> Result {
    try await withDatabase(options, statementTimeout: .seconds(60)) { try await body(ImportRecords(database: $0)) }
}

/// Runs the body with the imports of the database.
///
/// - Parameter mayBegin: whether an import may be made, whose key is sealed under the first line of the ring.
/// - Throws: `UsageFault` where that is to be, and the line is not the service's: no later ring would open it.
func withImports<Result: Sendable>(
    _ options: ConfigurationOptions, mayBegin: Bool = false, _ body: (ImportStore) async throws -> Result
) async throws -> Result {
    let keyRing = try options.sources().load(KeyRing.init)
    return try await withDatabase(options, statementTimeout: .seconds(60)) { database in
        if mayBegin {
            let isForeign = try await DatabaseInspection(database: database).isFirstLineForeign(in: keyRing)
            let other = try await KeyRingLines(database: database, keyRing: keyRing).otherFirstLine()
            guard !isForeign, other == nil else {
                let advice = other.map { ", which writes under \($0)" } ?? ""
                throw UsageFault(
                    sentence: """
                        the first line of the key ring, \(keyRing.current(for: .imports).keyID), is not that of the \
                        service\(advice): give its ring, or start it with this one first
                        """)
            }
        }
        return try await body(ImportStore(database: database, keyRing: keyRing))
    }
}

extension ImportName {
    @Sendable static func argument(_ text: String) throws -> ImportName {
        guard let name = ImportName(text) else {
            throw ValidationError(
                """
                it has to be 1 to 64 lower-case letters, digits, dots, hyphens and underscores, a letter or a digit first
                """)
        }
        return name
    }
}
