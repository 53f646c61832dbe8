import Accounts
import ArgumentParser
import JSON
import Primitives
import Providers

struct GoogleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "google", abstract: "Calls Google with the configured service account.",
        subcommands: [RISC.self])

    struct RISC: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "risc", abstract: "Manages where Google sends security events (Cross-Account Protection).",
            discussion: """
                Uses the service account of google.serviceAccountPath, which needs the role roles/riscconfigs.admin in \
                the project of the OAuth clients; docs/events.md explains how to set it up.
                """,
            subcommands: [Status.self, Register.self, Verify.self, Enable.self, Disable.self])
    }

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Prints where events go and which, as a JSON line; warns of what differs.")

        @OptionGroup var options: EventStreamOptions

        func run() async throws {
            try await withEventStream(options) { access in
                await access.warnOfMismatch()
                let settings = try await access.stream.settings()
                warnOfMissingEvents(in: settings)
                printLine(settings.line(try await access.stream.status()))
            }
        }

        private func warnOfMissingEvents(in settings: GoogleEventStream.Settings) {
            let missing = ProviderEvent.Kind.allCases.filter { kind in
                GoogleProvider.eventType(kind).map { !settings.eventTypes.contains($0) } ?? false
            }
            guard !missing.isEmpty else { return }
            let names = missing.map(\.rawValue).joined(separator: ", ")
            printNotice("warning: Google is not asked for \(names); `countersign google risc register` asks for all")
        }
    }

    struct Register: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "register", abstract: "Has events sent to a URL, and prints what Google accepted.",
            discussion: "Registering again replaces the URL and the events, and leaves the stream on or off as it is.")

        @OptionGroup var options: EventStreamOptions
        @Option(help: "Where this service's /v1/events/google is reached: https, on an authorized domain.")
        var url: String
        @Option(
            help: """
                Events, between commas, or given again: a full name, or the last part of one that this version knows, as \
                sessions-revoked. All that it knows if absent.
                """, transform: eventTypes)
        var events: [[String]] = []

        func validate() throws {
            guard WebAddress.isProviderURL(url) else {
                throw ValidationError("--url is an https: URL (http: only with a loopback host)")
            }
        }

        func run() async throws {
            let events = events.isEmpty ? GoogleEventStream.eventTypes : events.flatMap(\.self)
            try await withEventStream(options) { access in
                await access.warnOfMismatch()
                try await access.stream.register(.init(url: url, eventTypes: events))
                let kept = try await access.stream.settings()
                let dropped = events.filter { !kept.eventTypes.contains($0) }
                if !dropped.isEmpty { printNotice("warning: Google dropped \(dropped.joined(separator: ", "))") }
                printLine(kept.line(try await access.stream.status()))
            }
        }

        /// Google drops a misspelt name silently, so it is refused here.
        @Sendable private static func eventTypes(_ text: String) throws -> [String] {
            try text.split(separator: ",", omittingEmptySubsequences: false).map { item in
                if item.contains("://") { return String(item) }
                guard let kind = ProviderEvent.Kind(rawValue: String(item)), let type = GoogleProvider.eventType(kind)
                else { throw ValidationError("--events has \(item), which is no event of Google's") }
                return type
            }
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify", abstract: "Has Google send a verification event.",
            discussion: "The running service stores and logs it: `countersign events list --provider google` shows it.")

        @OptionGroup var options: EventStreamOptions
        @Option(help: "A text that identifies it, at most 255 bytes.") var state: String

        func validate() throws {
            guard 1...255 ~= state.utf8.count, !state.utf8.contains(where: \.isASCIIControl) else {
                throw ValidationError("--state is a line of 1 to 255 bytes")
            }
        }

        func run() async throws {
            try await withEventStream(options) { access in
                try await access.stream.verify(state: state)
                printLine("Google was asked for a verification event")
            }
        }
    }

    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "enable", abstract: "Switches the stream on.")

        @OptionGroup var options: EventStreamOptions

        func run() async throws {
            try await withEventStream(options) { access in
                try await access.stream.enable(true)
                printLine("enabled")
            }
        }
    }

    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "disable", abstract: "Switches the stream off: events that happen meanwhile are never sent.")

        @OptionGroup var options: EventStreamOptions

        func run() async throws {
            try await withEventStream(options) { access in
                try await access.stream.enable(false)
                printLine("disabled")
            }
        }
    }
}

extension GoogleEventStream.Settings {
    fileprivate func line(_ status: GoogleEventStream.Status) -> String {
        JSONWriter.text { writer in
            writer.member("status", status.rawValue)
            writer.member("url", url)
            writer.member("events", eventTypes)
        }
    }
}
