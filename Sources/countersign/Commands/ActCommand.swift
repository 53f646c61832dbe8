import Accounts
import Administration
import ArgumentParser

/// Which act a command does, and what it takes: a reason that may be left out, unless it says otherwise.
protocol CommandedAct: Sendable {
    associatedtype Input: ActArguments = OptionalReason
    static var act: Act { get }
    /// What a record that comes of it is printed as.
    static func line(of record: any AdminRecord) -> String
    /// What is printed when it is done and nothing else comes of it; `nil` for nothing.
    static func line(doneTo id: String) -> String?
}

extension CommandedAct {
    static func line(of record: any AdminRecord) -> String { record.line }
    static func line(doneTo id: String) -> String? { nil }
}

/// The arguments of an act beside what it is done to.
protocol ActArguments: ParsableArguments {
    var input: ActInput { get }
    /// Asks before what can't be undone.
    ///
    /// - Parameter id: of what it is done to.
    func isMeant(_ id: String, _ administration: Administration) async throws(AdministrationFailure) -> Bool
}

extension ActArguments {
    func isMeant(_ id: String, _ administration: Administration) async throws(AdministrationFailure) -> Bool { true }
}

/// A command that does an act of administrators, as an operator.
struct ActCommand<Commanded: CommandedAct>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: Commanded.act.name, abstract: Commanded.act.consequence)
    }

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var target: ActTarget<Commanded>
    @OptionGroup var input: Commanded.Input

    func run() async throws {
        let (id, result) = try await withUseCases { administration, administrator in
            try await Commanded.act.onCommandLine(target.text, client: input.input.client) {
                () async throws(AdministrationFailure) -> (String, ActResult?) in
                // An account may be named by its address.
                let id =
                    Commanded.act.subject == .account
                    ? "\(try await administration.accountID(target.text))" : target.text
                guard try await input.isMeant(id, administration) else { return (id, nil) }
                return (id, try await Commanded.act.perform(administration, id, input.input, administrator))
            }
        }
        switch result {
        case .nothing, .account(_, isChanged: false):
            // A code that was not mailed is not what was asked for; what is as it should be already is.
            guard Commanded.act.mail != .code else { throw CommandFailure(Commanded.act.nothing) }
            printNotice(Commanded.act.nothing)
        case .done, .accepted, .account, .document:
            if let line = Commanded.line(doneTo: id) { printLine(line) }
        case .failed(let sentence): throw CommandFailure(sentence)
        case nil: throw CommandFailure("Nothing was done.")
        case .record(let record, let isChanged):
            printLine(Commanded.line(of: record))
            guard isChanged else { throw CommandFailure(Commanded.act.nothing) }
        case .changed(let record, let isChanged):
            printLine(Commanded.line(of: record))
            if !isChanged { printNotice(Commanded.act.nothing) }
        }
    }

    /// With the endpoints of the configuration, where the act is done to one.
    private func withUseCases<Result: Sendable>(
        _ body: (Administration, Administrator) async throws -> Result
    ) async throws -> Result {
        if Commanded.act.subject == .webhook { return try await withWebhooks(options, body) }
        return try await withAdministration(options, mail: Commanded.act.mail, body)
    }
}

/// The argument that names what an act is done to.
struct ActTarget<Commanded: CommandedAct>: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The \(Commanded.act.subject.noun): \(Commanded.act.subject.naming).",
            valueName: Commanded.act.subject.value))
    var text: String

    func validate() throws {
        guard Commanded.act.subject.canName(text) else {
            throw ValidationError("the \(Commanded.act.subject.noun) is named by \(Commanded.act.subject.naming)")
        }
    }
}

extension Act.Subject {
    fileprivate var naming: String {
        switch self {
        case .account: "its id, a UUID in lower case, or its whole address"
        case .oauthClient: "its clientId"
        case .webhook: "its name"
        case .identity, .session, .revocation, .providerEvent, .adminKey: "its id, a UUID in lower case"
        }
    }

    /// What stands for that in help.
    fileprivate var value: String {
        switch self {
        case .account: "account"
        case .webhook: "name"
        case .identity, .session, .revocation, .providerEvent, .oauthClient, .adminKey: "id"
        }
    }

    fileprivate func canName(_ text: String) -> Bool {
        isID(text) || self == .account && EmailAddress.existing(text) != nil
    }
}

extension Act {
    /// Runs the body, and names what is not there.
    ///
    /// - Parameter client: that it is about, which may not be linked to what the text names.
    func onCommandLine<Result: Sendable>(
        _ text: String, client: OAuthClientID? = nil, _ body: () async throws(AdministrationFailure) -> Result
    ) async throws -> Result {
        let missing = client.map { "There is no \(subject.noun) \(text) with a linked client \($0.text)." }
        return try await naming(missing ?? "There is no \(subject.noun) \(text).", body)
    }
}

struct NoInput: ActArguments {
    var input: ActInput { ActInput() }
}

/// What every act takes that changes something of a person.
struct StatedReason: ActArguments {
    @Option(
        name: .customLong("reason"), help: "Why, without personal data; kept in the audit trail. At most 1,024 bytes.")
    var text: String

    func validate() throws {
        guard ActInput.isReason(text) else {
            throw ValidationError("--reason is a line of 1 to 1,024 bytes, and not of spaces alone")
        }
    }

    var input: ActInput { ActInput(reason: text) }
}

struct OptionalReason: ActArguments {
    @Option(
        name: .customLong("reason"), help: "Why, without personal data; kept in the audit trail. At most 1,024 bytes.")
    var text: String?

    func validate() throws {
        guard text.map(ActInput.isReason) ?? true else {
            throw ValidationError("--reason is a line of 1 to 1,024 bytes, and not of spaces alone")
        }
    }

    var input: ActInput { ActInput(reason: text) }
}
