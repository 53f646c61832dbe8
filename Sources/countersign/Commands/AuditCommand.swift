import Accounts
import ArgumentParser
import KeyRing
import Primitives
import Storage

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Looks after the audit trail.",
        subcommands: [Verify.self, Export.self, DropBefore.self])

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify", abstract: "Seals what waits for it, then checks every row of the audit trail.",
            discussion: """
                Prints what is not as it was sealed, a line each, and at the end how far the trail goes: keep the head \
                that it names somewhere else, and give it to a later run as --head. Only that detects that a whole end \
                of the trail was removed together with its seals and its head.
                """)

        @OptionGroup var options: ConfigurationOptions
        @Option(
            help: "Start at the last seal before this time, for a trail whose old rows were taken away.",
            transform: AuditCommand.timestamp)
        var since: Timestamp?
        @Option(help: "A head that an earlier run has printed: NUMBER:CODE.", transform: NotedHead.init)
        var head: NotedHead?

        func run() async throws {
            let keyRing = try options.sources().load(KeyRing.init)
            let report = try await withDatabase(options) { database in
                let halt = try await AuditSeals(database: database, keyRing: keyRing)
                    .sealPending(by: SystemClock().call(by: .commandLine))
                var report = try await AuditVerification(database: database, keyRing: keyRing)
                    .run(since: since, noted: head.map { ($0.number, $0.code) })
                if let halt, report.findings.isEmpty { report.findings = [AuditFinding(fault: .halted(halt))] }
                return report
            }
            if report.isRewritable { printNotice("warning: the role of postgres.url may change and delete audit rows") }
            for finding in report.findings { printLine(finding.line) }
            if report.isCutShort { printLine("and more: the check ended here") }
            printLine(report.summary)
            if !report.findings.isEmpty { throw ExitCode(1) }
        }
    }

    @Sendable static func timestamp(_ text: String) throws -> Timestamp {
        guard let timestamp = Timestamp(rfc3339: text) else {
            throw ValidationError("it has to be a time in UTC such as 2026-11-01T00:00:00Z")
        }
        return timestamp
    }
}

/// A head of the trail as an earlier run printed it, `NUMBER:CODE`.
struct NotedHead {
    let number: Int64
    let code: [UInt8]

    init(_ text: String) throws {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int64(parts[0]), number > 0, let code = Hexadecimal.decode(parts[1]),
            code.count >= AuditHead.shownOctets
        else { throw ValidationError("--head is a head as this command prints it, NUMBER:CODE") }
        self.number = number
        self.code = code
    }
}

extension AuditFinding {
    var line: String {
        guard let sealNumber else { return sentence }
        var range = to.map { "up to \($0.rfc3339)" }
        if let from { range = to.map { "\(from.rfc3339) to \($0.rfc3339)" } ?? "after \(from.rfc3339)" }
        return "seal \(sealNumber)\(range.map { " (\($0))" } ?? ""): \(sentence)"
    }

    private var sentence: String {
        switch fault {
        case .changed: "a row, or the seal itself, was changed"
        case .missing(let count): "rows are missing: \(count)"
        case .added(let count): "rows were added: \(count)"
        case .misdated(let count): "rows have times far from those of the seals around them: \(count)"
        case .neverSealed(let count): "rows from before it are under no seal: \(count)"
        case .sealsMissing(let count): "seals before it are missing: \(count)"
        case .keyMissing(let id): "the key ring lacks the key \(id), so that what is under it can only be counted"
        case .cutOff(let seals, let rows): "the end of the trail was cut off: \(seals) seals, \(rows) rows"
        case .headMissing: "audit_head is empty, and should name this seal"
        case .headChanged: "audit_head was changed"
        case .notAsNoted: "it is not the seal that was noted as the head"
        case .halted(let halt): "nothing is sealed any more: \(halt)"
        }
    }
}

extension AuditReport {
    var summary: String {
        let known = head.map { "\($0.text) over \($0.totalCount) rows" }
        return "\(rowCount) rows under \(sealCount) seals checked, \(unsealedCount) not sealed yet, "
            + "findings: \(findings.count); head \(known ?? "none")"
    }
}
