import Accounts
import Administration
import ArgumentParser

struct AdminKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin-key", abstract: "Makes, lists and revokes the keys of administrators.",
        subcommands: [Create.self, List.self, ActCommand<Revoke>.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create", abstract: "Makes a key and prints it, alone on its line.",
            discussion: """
                It is shown this once: the database holds its SHA-256. Needs postgres.migrationUrl where the service has a \
                role of its own, which can make no key.
                """)

        @OptionGroup var options: ConfigurationOptions
        @Option(help: "Who has it or what it is for; stands in the audit trail. Names may repeat.") var name: String
        @Option(help: "What it may do: read, revoke, manage, feed; with commas, or given again.") var scopes: [String]

        func validate() throws {
            guard AdminKey.isName(name) else {
                throw ValidationError(
                    "--name is a line of 1 to 100 bytes that is seen, with nothing in it hidden or reordered")
            }
            // A search of the trail would take it for all who are of the kind.
            guard AuditEvent.Actor(rawValue: name) == nil else {
                throw ValidationError("--name can't be \(name): the trail calls others so")
            }
            _ = try parsedScopes
        }

        private var parsedScopes: Set<AdminKey.Scope> {
            get throws {
                let names = scopes.joined(separator: ",").split(separator: ",", omittingEmptySubsequences: false)
                let parsed = names.compactMap { AdminKey.Scope(rawValue: String($0)) }
                guard !parsed.isEmpty, parsed.count == names.count else {
                    throw ValidationError("--scopes are read, revoke, manage and feed, with commas between them")
                }
                return Set(parsed)
            }
        }

        func run() async throws {
            let scopes = try parsedScopes
            guard try !options.sources().names(in: Settings.Console.staff).contains(name) else {
                throw CommandFailure("\(name) is a name of console.staff: in the trail the two would be one.")
            }
            try StandardOutput().requireWritable()
            let (key, secret) = try await withAdministration(options, asOwner: true) { administration, administrator in
                try await administration.createKey(named: name, scopes: scopes, by: administrator)
            }
            printOnce(
                secret.text,
                orSay: """
                    the key \(key.id) is made, and could not be printed: `countersign admin-key revoke \(key.id)`, and make \
                    another one
                    """)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Prints all keys, one JSON line each.")

        @OptionGroup var options: ConfigurationOptions

        func run() async throws {
            let keys = try await withAdministration(options) { administration, _ in
                try await administration.adminKeys()
            }
            for key in keys { printLine(key.line) }
        }
    }

    enum Revoke: CommandedAct {
        typealias Input = NoInput
        static let act = Act.revokeKey
    }
}
