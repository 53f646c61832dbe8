import Administration
import ArgumentParser

struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console", abstract: "Looks after the staff who sign in to the console with Google.",
        subcommands: [End.self, Forget.self])

    struct End: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "end",
            abstract: "Ends all sessions of a member of the staff at the console, in every process, at once.",
            discussion: """
                They can sign in again, unless console.staff lacks their name. Exit code 1 when nobody has signed in under the \
                name.
                """)

        @OptionGroup var options: ConfigurationOptions
        @Argument(help: "The name in console.staff.") var name: String

        func run() async throws {
            let ended = try await withAdministration(options) { administration, administrator in
                try await known(name) { () async throws(AdministrationFailure) in
                    try await administration.endConsole(of: name, by: administrator)
                }
            }
            printLine("ended \(ended)")
        }
    }

    struct Forget: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "forget", abstract: "Releases a name for another account at Google, and ends its sessions.",
            discussion: """
                From the first sign-in on a name belongs to one account at Google, whatever address that gets. Exit code 1 \
                when nobody has signed in under the name.
                """)

        @OptionGroup var options: ConfigurationOptions
        @Argument(help: "The name in console.staff.") var name: String

        func run() async throws {
            try await withAdministration(options) { administration, administrator in
                try await known(name) { () async throws(AdministrationFailure) in
                    try await administration.forgetConsole(name, by: administrator)
                }
            }
        }
    }
}

/// Runs the body, and names who is not known.
private func known<Result: Sendable>(
    _ name: String, _ body: () async throws(AdministrationFailure) -> Result
) async throws -> Result {
    try await naming("Nobody has signed in to the console as \(name).", body)
}
