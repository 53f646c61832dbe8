import Accounts
import Administration
import ArgumentParser

struct EventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events", abstract: "Lists, shows and replays the events that Apple and Google have sent.",
        subcommands: [List.self, Show.self, ActCommand<Replay>.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Prints events, the newest first, one JSON line each.")

        @OptionGroup var options: ConfigurationOptions
        @Option(help: "Of one provider, apple or google; both if absent.") var provider: Provider?
        @Option(help: "In one status; all if absent.") var status: StoredProviderEvent.Status?
        @OptionGroup var list: ListLimit

        func run() async throws {
            try await withAdministration(options) { administration, _ in
                try await eachItem(upTo: list.limit) {
                    try await administration.providerEvents(of: provider, in: status, before: $0, limit: $1)
                } do: {
                    printLine($0.line)
                }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Prints one event as a JSON line.")

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var target: ActTarget<Replay>

        func run() async throws {
            let event = try await withAdministration(options) { administration, _ in
                try await Act.replayEvent.onCommandLine(target.text) { () async throws(AdministrationFailure) in
                    guard let id = ProviderEventID(target.text) else { throw .notFound }
                    return try await administration.providerEvent(id)
                }
            }
            printLine(event.line)
        }
    }

    enum Replay: CommandedAct { static let act = Act.replayEvent }
}

extension StoredProviderEvent.Status: ExpressibleByArgument {}
