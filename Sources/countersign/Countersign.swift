import ArgumentParser
import Foundation
import OpenSSL
import Version

/// `countersign`: the service and its tools.
///
/// | exit code | meaning |
/// |---|---|
/// | 0 | done |
/// | 1 | it could not be done, or the answer is no (a token is not valid, a schema differs) |
/// | 2 | the command line or the configuration is wrong; nothing was touched |
/// | 129, 130, 143 | as process 1 alone: SIGHUP, SIGINT or SIGTERM ended it (``ProcessLimits/endAtSignals()``) |
@main
struct Countersign: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "countersign",
        abstract: "Verifies sign-ins with Apple and Google and keeps the accounts behind them.",
        discussion: """
            Every command reads the same configuration, and asks for no more of it than it uses. Exit code 0: done. 1: it \
            could not be done, or the answer is no. 2: the command line or the configuration is wrong, and nothing was \
            touched.
            """,
        version: ProgramVersion.description,
        subcommands: [
            ServeCommand.self, HealthCommand.self, MigrateCommand.self, ConfigCommand.self, DoctorCommand.self,
            TokenCommand.self, AccountCommand.self, ImportCommand.self, IdentityCommand.self, SessionCommand.self,
            RevocationCommand.self, AppleCommand.self, GoogleCommand.self, EventsCommand.self, FeedCommand.self,
            WebhooksCommand.self, ReconcileCommand.self, AuditCommand.self,
            AdminKeyCommand.self, ConsoleCommand.self, OAuthClientCommand.self, KeysCommand.self, KeyRingCommand.self,
        ])

    static func main() async {
        ProcessLimits.endAtSignals()
        ProcessLimits.limitArenas()
        ProcessLimits.forbidCoreFiles()
        OpenSSLLibrary.disableAtExitCleanup()
        ProcessLimits.occupyStandardStreams()
        var code: Int32 = 0
        do {
            var command = try Self.command(in: words)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            code = ended(by: error)
        }
        do { try StandardOutput.requirePrinted() } catch { code = max(code, ended(by: error)) }
        if code != 0 { Foundation.exit(code) }
    }

    private static var words: [String] { Array(CommandLine.arguments.dropFirst()) }

    /// The command that the words call.
    ///
    /// - Throws: `ValidationError`, too, where they end before one: of such words the library makes a request for help.
    static func command(in words: [String]) throws -> any ParsableCommand {
        let command = try parseAsRoot(words)
        let below = type(of: command).configuration.subcommands.map { $0.configuration }.filter(\.shouldDisplay)
        guard below.isEmpty else {
            throw ValidationError("one of these is missing: \(below.compactMap(\.commandName).joined(separator: ", "))")
        }
        return command
    }

    /// Says why a command ended.
    ///
    /// - Returns: its exit code.
    private static func ended(by error: any Error) -> Int32 {
        let ending = CommandEnding(of: error, words: words)
        if !ending.message.isEmpty {
            // What help and the version are is output.
            if ending.code == 0 { printLine(ending.message) } else { StandardError.write(ending.message + "\n") }
        }
        return ending.code
    }
}
