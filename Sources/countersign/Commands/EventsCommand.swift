import Accounts
import ArgumentParser
import JSON
import Storage

struct EventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events", abstract: "Lists, shows and replays the events that Apple and Google have sent.",
        subcommands: [List.self, Show.self, Replay.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints events, the newest first, one JSON line each.")

        @OptionGroup var options: ConfigurationOptions
        @Option(help: "Of one provider, apple or google; both if absent.") var provider: Provider?
        @Option(help: "In one status; all if absent.") var status: EventStatus?
        @Option(help: "How many, at most.") var limit = 50

        func validate() throws {
            guard 1...10_000 ~= limit else { throw ValidationError("--limit is a number from 1 to 10,000") }
        }

        func run() async throws {
            let events = try await withRecords(options) { records in
                try await records.list(provider: provider, status: status?.rawValue, limit: limit)
            }
            for event in events { print(event.line) }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Prints one event as a JSON line.")

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var choice: EventChoice

        func run() async throws {
            let id = try choice.eventID
            print(try choice.found(try await withRecords(options) { try await $0.event(id) }).line)
        }
    }

    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Has an event processed again, and prints it as a JSON line.",
            discussion: """
                The running service processes it within a second, under the policy that is configured now. An event \
                that a newer consent or event has superseded has no effect again.
                """)

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var choice: EventChoice

        func run() async throws {
            let id = try choice.eventID
            let event = AuditEvent(.eventReplayed, by: .operator)
            let replayed = try await withRecords(options) { records in
                try await records.replay(id, recording: event, by: SystemClock().call(by: .commandLine))
            }
            print(try choice.found(replayed).line)
        }
    }
}

/// The argument that names an event by its id.
struct EventChoice: ParsableArguments {
    @Argument(help: "The event's id, as the list has it.") var id: String

    var eventID: ProviderEventID {
        get throws {
            guard let id = ProviderEventID(id) else {
                throw UsageFault(sentence: "an event's id is a UUID in lower case")
            }
            return id
        }
    }

    func found(_ event: StoredProviderEvent?) throws -> StoredProviderEvent {
        guard let event else { throw CommandFailure("There is no event \(id).") }
        return event
    }
}

/// The status of a stored event.
enum EventStatus: String, CaseIterable, ExpressibleByArgument {
    case pending
    case done
    case outdated
    case unknownSubject = "unknown_subject"
    case unknownType = "unknown_type"
}

private func withRecords<Result: Sendable>(
    _ options: ConfigurationOptions, _ body: (ProviderEventRecords) async throws -> Result
) async throws -> Result {
    try await withDatabase(options) { try await body(ProviderEventRecords(database: $0)) }
}

extension StoredProviderEvent {
    fileprivate var line: String {
        JSONWriter.text { writer in
            writer.member("eventId", "\(id)")
            writer.member("provider", provider)
            writer.member("type", type)
            writer.member("status", status)
            writer.member("subject", subject)
            writer.member("detail", detail)
            writer.member("jti", tokenID)
            writer.member("occurredAt", occurredAt.rfc3339)
            writer.member("receivedAt", receivedAt.rfc3339)
            writer.member("processedAt", processedAt?.rfc3339)
        }
    }
}
