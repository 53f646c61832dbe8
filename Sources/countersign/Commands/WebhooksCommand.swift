import Accounts
import Administration
import ArgumentParser
import Curl
import Primitives
import Webhooks

struct WebhooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks", abstract: "Lists, tests, pauses, resumes and replays what is pushed to receivers.",
        subcommands: [
            List.self, Test.self, ActCommand<Pause>.self, ActCommand<Resume>.self, Replay.self, Failures.self,
            Secret.self,
        ])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Prints the endpoints, one JSON line each.")

        @OptionGroup var options: ConfigurationOptions

        func run() async throws {
            let webhooks = try await withWebhooks(options) { administration, _ in try await administration.webhooks() }
            for webhook in webhooks { printLine(webhook.line) }
        }
    }

    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "test",
            abstract: "Posts an event of the type endpoint.test to an endpoint, and prints what came of it.")

        @OptionGroup var options: ConfigurationOptions
        @Argument(help: "Its name.") var name: String

        func run() async throws {
            let result = try await withWebhook(name, options) { try await $0.testWebhook(name, by: $1) }
            printLine(result.line)
            guard result.isDelivered else { throw ExitCode(1) }
        }
    }

    enum Pause: CommandedAct { static let act = Act.pauseWebhook }

    enum Resume: CommandedAct { static let act = Act.resumeWebhook }

    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "replay",
            abstract: "Pushes events of the feed once more, beside what is new, and prints how many.")

        @OptionGroup var options: ConfigurationOptions
        @Argument(help: "The endpoint's name.") var name: String
        @Option(help: "From when on, as 2026-01-31T12:00:00Z.") var since: String?
        @Option(help: "The id of one event, which is pushed alone; in place of --since.") var event: String?
        @Option(
            name: .customLong("type"),
            help: """
                A type of events, also one that the endpoint does not get by itself; if absent, all that it gets, or the one \
                event.
                """)
        var types: [String] = []

        func validate() throws {
            _ = try start
            for type in types where AccountEvent.Kind(rawValue: type) == nil {
                throw ValidationError(
                    "--type takes these: \(AccountEvent.Kind.allCases.map(\.rawValue).joined(separator: ", "))")
            }
        }

        private var start: ReplayStart {
            get throws {
                switch (since, event) {
                case (let since?, nil):
                    guard let time = Timestamp(rfc3339: since) else {
                        throw ValidationError("--since is a time in UTC, such as 2026-01-31T12:00:00Z")
                    }
                    return .since(time)
                case (nil, let event?):
                    guard let id = AccountEventID(event) else { throw ValidationError("--event is the id of an event") }
                    return .event(id)
                default: throw ValidationError("give either --since or --event")
                }
            }
        }

        func run() async throws {
            let start = try start
            let kinds = Set(types.compactMap(AccountEvent.Kind.init))
            let count = try await withWebhook(name, options, orEvent: event) {
                try await $0.replayWebhook(name, start, types: kinds.isEmpty ? nil : kinds, by: $1)
            }
            printLine(#"{"events":\#(count)}"#)
        }
    }

    struct Failures: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "failures",
            abstract: "Prints the events that an endpoint did not take and that were given up, one JSON line each.")

        @OptionGroup var options: ConfigurationOptions
        @Argument(help: "Its name.") var name: String

        func run() async throws {
            try await withWebhook(name, options) { administration, _ in
                try await eachItem(pageSize: 1000) {
                    try await administration.webhookFailures(name, before: $0, limit: $1)
                } do: {
                    printLine($0.line)
                }
            }
        }
    }

    struct Secret: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "secret", abstract: "Prints a new secret for an endpoint's file.")

        @Flag(
            help: """
                A key pair instead: whsk_…, which signs and goes into the file, and on a second line whpk_…, which does not \
                and is what receivers verify with.
                """)
        var ed25519 = false

        func run() throws {
            guard ed25519 else { return printLine(try WebhookSecret.fresh()) }
            let pair = try WebhookSecret.freshPair()
            printLine(pair.secret)
            printLine(pair.publicKey)
        }
    }
}

/// Runs the body with the use cases of administrators and the endpoints of the configuration, on behalf of an operator.
func withWebhooks<Result: Sendable>(
    _ options: ConfigurationOptions, _ body: (Administration, Administrator) async throws -> Result
) async throws -> Result {
    let configuration = try options.sources().load { WebhooksConfiguration(from: &$0) }
    let fetcher = try CurlFetcher()
    return try await closing(fetcher.shutdown) {
        try await withAdministration(
            options, webhooks: { configuration.pushed },
            sender: WebhookSender(fetcher: fetcher, targets: configuration.targets, clock: SystemClock()), body)
    }
}

/// The same for one endpoint: says that there is none of that name, or not the event that is asked for.
private func withWebhook<Result: Sendable>(
    _ name: String, _ options: ConfigurationOptions, orEvent event: String? = nil,
    _ body: (Administration, Administrator) async throws -> Result
) async throws -> Result {
    let missing = "There is no endpoint \(name)\(event.map { ", or the event \($0) is not kept" } ?? "")."
    return try await withWebhooks(options) { administration, administrator in
        try await naming(missing) { try await body(administration, administrator) }
    }
}
