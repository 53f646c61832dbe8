import Accounts
import ArgumentParser
import JSON
import Primitives
import Storage

extension AuditCommand {
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export", abstract: "Prints the rows and the seals of a period, a JSON object a line.",
            discussion: """
                Each line is {"row":{…}} or {"seal":{…}}, with the columns of the tables. A seal comes behind the rows \
                that it covers and has the code of the seal before it, so that every seal can be checked again with \
                the key ring. Seals are printed with all of their rows: the first and the last one may cover some from \
                before and after the period. Rows behind the last seal are not sealed yet.
                """)

        @OptionGroup var options: ConfigurationOptions
        @Option(help: "The begin, such as 2026-11-01T00:00:00Z.", transform: AuditCommand.timestamp)
        var since: Timestamp
        @Option(
            help: "The end, which is left out itself; without it everything since.", transform: AuditCommand.timestamp)
        var until: Timestamp?

        func validate() throws {
            if let until, until <= since { throw ValidationError("--until has to be later than --since") }
        }

        func run() async throws {
            // Finding the begin of a period in a long trail takes longer than a request may.
            try await withDatabase(options, statementTimeout: nil) { database in
                var output = StandardOutput()
                try await AuditExport(database: database).run(since: since, until: until) { entry in
                    try output.append(entry.line)
                }
                try output.flush()
            }
        }
    }
}

extension AuditEntry {
    /// A JSON object and a line feed.
    var line: [UInt8] {
        JSONWriter.object { writer in
            switch self {
            case .row(let fields): writer.object("row") { $0.members(of: fields) }
            case .seal(let fields): writer.object("seal") { $0.members(of: fields) }
            }
        } + [UInt8(ascii: "\n")]
    }
}

extension JSONWriter {
    fileprivate mutating func members(of fields: [AuditField]) {
        for field in fields {
            switch field.value {
            case .id(let id): member(field.name, id.description)
            case .text(let text): member(field.name, text)
            case .time(let time): member(field.name, time.rfc3339Exact)
            case .number(let number): member(field.name, number)
            case .octets(let octets): member(field.name, Hexadecimal.encode(octets))
            }
        }
    }
}
