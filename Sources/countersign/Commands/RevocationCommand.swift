import Accounts
import Administration
import ArgumentParser

struct RevocationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revocation", abstract: "Lists and retries the ends of authorizations at Apple and Google.",
        subcommands: [List.self, ActCommand<Retry>.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Prints revocations, the newest first, one JSON line each.")

        @OptionGroup var options: ConfigurationOptions
        @Option(help: "In one status; all if absent.") var status: OutboxStatus?
        @OptionGroup var list: ListLimit

        func run() async throws {
            try await withAdministration(options) { administration, _ in
                try await eachItem(upTo: list.limit) {
                    try await administration.revocations(status, before: $0, limit: $1)
                } do: {
                    printLine($0.line)
                }
            }
        }
    }

    enum Retry: CommandedAct { static let act = Act.retryRevocation }
}

extension OutboxStatus: ExpressibleByArgument {}
