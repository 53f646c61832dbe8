import AccountImport
import Accounts
import ArgumentParser
import Foundation
import SignIn
import Storage

struct ImportRunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Brings people in (the word may be left out).",
        discussion: """
            Each row of the source becomes an account, or the report says why not. A second run leaves alone what came \
            before: so a run that ended early is run again, and so are people brought in who have come since. Try it with \
            --dry-run, which changes nothing and reports the same.

            Exit 0: all are in. 1: some rows are in conflict or were refused, the source was one page of several, or the run \
            was stopped. 2: the command line or the configuration is wrong, or the source can't be read; what was written \
            before stays.
            """)

    enum VerifiedMeaning: String, ExpressibleByArgument, CaseIterable {
        case stated, proven

        var proof: EmailProof {
            switch self {
            case .stated: .stated
            case .proven: .proven
            }
        }
    }

    @OptionGroup var options: ConfigurationOptions
    @Argument(help: "The system that they come from.") var source: ImportSourceKind
    @Argument(
        help: "Its file, - for standard input; of a database a file of mode 0600 with its URL.", completion: .file())
    var file: String?
    @Option(help: "The URL of its database, without a password: PGPASSFILE names the file that has it.")
    var from: String?
    @Option(
        name: .customLong("id"),
        help: """
            The import's name: up to 64 lower-case letters, digits, dots, hyphens and underscores; the source's, if absent.
            """, transform: ImportName.argument)
    var name: ImportName?
    @Flag(help: "Change nothing, and report what a run would come to.") var dryRun = false
    @Option(
        help: "Where the report goes, readable by the owner alone; standard output, if absent or -.",
        completion: .file())
    var report: String?
    @Option(help: "The name in apple.teams of the team of Apple identities that say none.") var appleTeam: String?
    @Flag(help: "Leave Apple identities out.") var skipApple = false
    @Flag(help: "Leave Google identities out.") var skipGoogle = false
    @Flag(help: "Leave passwords out.") var skipPasswords = false
    @Option(
        name: .customLong("provider-alias"),
        help: """
            What the source calls a provider: ALIAS=apple or ALIAS=google, by the word of the note identity_skipped:WORD. May \
            be given again; not for firebase.
            """)
    var aliases: [ProviderAlias] = []
    @Option(help: "What an address is that the source calls verified: stated, or proven, on your word.")
    var verifiedMeans = VerifiedMeaning.stated

    func validate() throws {
        if appleTeam != nil, skipApple { throw ValidationError("--apple-team and --skip-apple exclude each other") }
        if !aliases.isEmpty, !source.takesAliases {
            throw ValidationError("--provider-alias is not for \(source.rawValue), whose words for providers are fixed")
        }
        switch (source.isDatabase, file, from) {
        case (false, nil, _):
            throw ValidationError("\(source.rawValue) is read from a FILE, or from standard input as -")
        case (false, _, .some): throw ValidationError("--from is for the sources that are databases")
        case (true, nil, nil): throw ValidationError("\(source.rawValue) is read from a database: name it by --from")
        case (true, .some, .some): throw ValidationError("the database is named by --from or in a FILE, not by both")
        default: break
        }
    }

    func run() async throws {
        let rules = try options.sources().load { (reader: inout ConfigurationReader) -> RowRules? in
            makeRules(
                teams: AppleConfiguration(from: &reader)?.teams.map(\.name) ?? [],
                passwords: PasswordsConfiguration(from: &reader).foreign)
        }
        if let appleTeam, !rules.appleTeams.contains(Realm(appleTeam)) {
            throw UsageFault(sentence: "apple.teams has no team \(appleTeam)")
        }
        // Before our own database is reached: what is wrong with the URL shows first.
        let url = source.isDatabase ? try SourceDatabase.url(from: from, file: file) : nil
        let stop = await StopSignal()
        let output = ReportedRun(report == "-" ? nil : report, isRehearsal: dryRun)
        guard let name = name ?? ImportName(source.rawValue) else { throw ValidationError("--id names no import") }
        let aliases = ProviderAliases(aliases.map { ($0.alias, $0.provider) })
        let ending = try await withImports(options, mayBegin: true) { store in
            let run = ImportRun(
                name: name, source: source.rawValue, rules: rules, isRehearsal: dryRun, store: store,
                clock: SystemClock(), origin: .thisOperator
            ) { stop.isRaised }
            do {
                if let url {
                    return try await SourceDatabase.reading(url) { connection in
                        try await run.run {
                            try await output.open()
                            return try await source.open(connection, aliases)
                        } report: {
                            try await output.write($0, from: $1)
                        }
                    }
                }
                let input = try FileInput(file ?? "-") { stop.isRaised }
                await output.watch(input)
                return try await run.run {
                    try await output.open(besides: input)
                    return try source.open(input, aliases)
                } report: {
                    try await output.write($0, from: $1)
                }
            } catch let other as OtherImportSource {
                throw UsageFault(
                    sentence: """
                        the import \(name) came from \(other.source), and this is \(source.rawValue): name another one by \
                        --id, as an id counts only once within an import
                        """)
            } catch {
                // Whole batches before it stay, and are in the report.
                try await output.finish()
                guard let fault = error as? SourceFault else { throw error }
                throw UsageFault(sentence: fault.sentence)
            }
        }
        if ending == .busy { throw UsageFault.isBusy(name) }
        let counts = try await output.finish()
        for notice in notices(counts, rules, aliases, ending) { printNotice(notice) }
        switch ending {
        case .busy: break
        case .stopped:
            printNotice("stopped behind the batch at hand: run the same command again, and it goes on where it was")
            throw ExitCode(1)
        case .done where dryRun:
            printNotice(
                """
                nothing was changed: look through the report; what a run leaves out of a row no later run adds. Then run \
                the same command without --dry-run
                """)
        case .done where counts.hasLeftOut:
            printNotice(
                """
                some are not in: the report says which and why. Who is in conflict is here already; with the note \
                holder_claimed, row_claimed or holder_differs it may be another person. With holder_imported two rows \
                have one address: let neither person sign in by it, take the import back by `countersign import undo \
                \(name)`, put it right at the source, and import again. Put right the others there, and run it again
                """)
        case .done where counts.has(.differs(.email)) || counts.has(.differs(.identities)):
            printNotice(
                """
                the id of each row is in, but some rows have another address or other identities than the account here (note \
                differs): of people who have changed them since or, where the rows are another system's, of other people, \
                who are not in: bring those in under another --id
                """)
        case .done(let isWhole):
            let which = isWhole ? "all" : "these"
            printNotice("\(which) are in; `countersign import undo \(name)` takes back what is untouched")
        }
        if counts.hasLeftOut || ending == .done(isWhole: false) { throw ExitCode(1) }
    }

    private func makeRules(teams: [String], passwords: ForeignPasswords) -> RowRules {
        var rules = RowRules()
        rules.appleTeams = Set(teams.map(Realm.init))
        rules.appleTeam = appleTeam.map(Realm.init)
        rules.skipsApple = skipApple
        rules.skipsGoogle = skipGoogle
        rules.skipsPasswords = skipPasswords
        rules.verified = verifiedMeans.proof
        rules.passwordKinds = passwords.kinds
        rules.allowsOwnForms = source.makesOwnForms
        return rules
    }
}

/// `ALIAS=apple`.
struct ProviderAlias: ExpressibleByArgument {
    let alias: String
    let provider: Provider

    init?(argument: String) {
        guard let equals = argument.lastIndex(of: "="), equals > argument.startIndex,
            let provider = Provider(rawValue: String(argument[argument.index(after: equals)...]))
        else { return nil }
        alias = String(argument[..<equals])
        self.provider = provider
    }
}

/// The report of a run, its counts, and on a terminal how far it is.
private actor ReportedRun {
    private let path: String?
    private var output = StandardOutput()
    private var counts = ImportCounts()
    private let isRehearsal: Bool
    private let begin = ContinuousClock.now
    private var shownAt = ContinuousClock.now
    private let isOnTerminal = isatty(STDERR_FILENO) == 1
    private var isFinished = false
    private static let maximumFaults = 20
    private var faultsNoticed = 0
    private var progress: @Sendable () -> (position: Int, size: Int)? = { nil }

    /// - Parameter path: of the report; standard output, if absent.
    init(_ path: String?, isRehearsal: Bool) {
        self.path = path
        self.isRehearsal = isRehearsal
    }

    /// Replaces the report of a run before: once this one has begun, and not where another of its name is under way.
    func open(besides source: FileInput? = nil) throws {
        guard let path else { return }
        output = try StandardOutput(replacing: path) { source?.isAt($0) == true }
    }

    func watch(_ input: FileInput) {
        guard let size = input.size, size > 0 else { return }
        progress = { (input.position, size) }
    }

    func write(_ results: [ImportResult], from first: Int) throws {
        for (index, result) in results.enumerated() {
            counts.add(result)
            try output.append(result.line(row: first + index, showsAccount: !isRehearsal))
            for case .rowMalformed(let fault) in result.notes { notice(fault, ofRow: first + index) }
        }
        guard isOnTerminal, ContinuousClock.now - shownAt >= .seconds(1) else { return }
        shownAt = .now
        StandardError.write("\r\(line)\u{1B}[K")
    }

    /// The first ones name what is to be put right; of a file in another format each row would say the same.
    private func notice(_ fault: String, ofRow row: Int) {
        guard faultsNoticed < Self.maximumFaults else { return }
        faultsNoticed += 1
        if isOnTerminal { StandardError.write("\r\u{1B}[K") }
        printNotice("row \(row) can't be read: \(fault)")
        if faultsNoticed == Self.maximumFaults {
            printNotice("further rows that can't be read are in the report alone")
        }
    }

    @discardableResult
    func finish() throws -> ImportCounts {
        guard !isFinished else { return counts }
        isFinished = true
        try output.flush()
        if isOnTerminal { StandardError.write("\r\u{1B}[K") }
        for line in counts.lines { printNotice(line) }
        printNotice("\(counts.rows) rows, \(rate) a second")
        return counts
    }

    private var rate: Int {
        let seconds: Double = (ContinuousClock.now - begin) / .seconds(1)
        return Int(Double(counts.rows) / max(0.001, seconds))
    }

    private var line: String {
        var line = "\(counts.rows) rows, \(rate) a second: \(counts.summary)"
        if let (position, size) = progress(), position > 0 {
            let elapsed = (ContinuousClock.now - begin).components.seconds
            line += ", \(max(0, elapsed * Int64(size - position) / Int64(position))) s left"
        }
        return line
    }
}
