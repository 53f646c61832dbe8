import Administration
import ArgumentParser
import Postgres

/// The message and the exit code of a command that threw. The message has one sentence per fault; never a stack trace,
/// never a secret.
struct CommandEnding {
    let message: String
    let code: Int32

    /// - Parameter words: of the command line.
    init(of error: any Error, words: [String] = []) {
        let fault: (sentence: String, code: Int32)? =
            switch error {
            case let faults as ConfigurationFaults:
                (faults.faults.map(\.description).joined(separator: "\ncountersign: "), 2)
            case let fault as UsageFault: (fault.sentence, 2)
            case let error as PostgresError: (Self.sentence(error), 1)
            case AdministrationFailure.database(let error): (Self.sentence(error), 1)
            case let error where Countersign.exitCode(for: error) == .validationFailure:
                ("\(Countersign.message(for: error)) (see `\(Self.command(in: words)) --help`)", 2)
            case let error
            where error is ExitCode || error is CleanExit || Countersign.exitCode(for: error) == .success:
                nil
            default: ("\(error)", 1)
            }
        message = fault.map { "countersign: \($0.sentence)" } ?? Countersign.message(for: error)
        code = fault?.code ?? Countersign.exitCode(for: error).rawValue
    }

    /// The command that the words call, behind those that it is below.
    private static func command(in words: [String]) -> String {
        var commands: [any ParsableCommand.Type] = [Countersign.self]
        var below: [any ParsableCommand.Type] { commands.last?.configuration.subcommands ?? [] }
        for word in words {
            guard let next = below.first(where: { $0.configuration.commandName == word }) else { break }
            commands.append(next)
        }
        // Its word may be left out.
        if let next = commands.last?.configuration.defaultSubcommand { commands.append(next) }
        return commands.compactMap { $0.configuration.commandName }.joined(separator: " ")
    }

    private static func sentence(_ error: PostgresError) -> String {
        let reason = error.message.map { " (\($0.prefix { !$0.isNewline }))" } ?? ""
        return switch error.code {
        // No command holds its writes.
        case .connectFailed, .acquireTimedOut, .queueFull, .writesHeld:
            "The database can't be reached\(reason)."
        case .connectionLost:
            "The connection to the database was lost\(reason): run the command again."
        case .outcomeUnknown:
            "Nobody knows whether it took effect\(reason): see, and run the command again if it did not."
        case .serverEncoding(let encoding):
            "The database's encoding is \(encoding): create it with ENCODING 'UTF8'."
        case .server("42501"):
            """
            The database's role may not do that (SQLSTATE 42501)\(reason): set postgres.migrationUrl, whose role owns the \
            tables, and run migrate up, which grants what the service needs.
            """
        case .server(let state):
            "The database refused (SQLSTATE \(state))\(reason)."
        case .cancelled, .encoding, .decoding, .closed, .protocolViolation:
            "\(error)"
        }
    }
}

/// A fault of the command line or of what it names, in one sentence; exit code 2.
struct UsageFault: Error {
    let sentence: String
}
