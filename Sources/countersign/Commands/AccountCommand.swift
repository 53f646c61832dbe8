import Accounts
import Administration
import ArgumentParser
import SignIn

struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account", abstract: "Finds, shows and changes people's accounts.",
        subcommands: [
            Find.self, Show.self, ActCommand<Disable>.self, ActCommand<Enable>.self, ActCommand<SignOut>.self,
            ActCommand<Delete>.self,
            Export.self, ActCommand<ReplaceEmail>.self, ActCommand<CancelReplaceEmail>.self, ActCommand<Rename>.self,
            ActCommand<SendCode>.self, ActCommand<UnlinkClient>.self,
        ])

    enum Disable: CommandedAct {
        typealias Input = StatedReason
        static let act = Act.disableAccount
    }

    enum Enable: CommandedAct {
        struct Input: ActArguments {
            @OptionGroup var reason: StatedReason
            @Option(help: "An address for an account that has no way to sign in left.") var email: EmailAddress?

            var input: ActInput { ActInput(reason: reason.text, email: email) }
        }
        static let act = Act.enableAccount
    }

    enum SignOut: CommandedAct {
        typealias Input = StatedReason
        static let act = Act.signOutAccount
    }

    enum Delete: CommandedAct {
        struct Input: ActArguments {
            @OptionGroup var reason: OptionalReason
            @Flag(help: "Do not ask.") var yes = false

            func validate() throws { try TerminalQuestion.requireTerminal(unlessSaid: yes) }

            var input: ActInput { reason.input }

            func isMeant(_ id: String, _ administration: Administration) async throws(AdministrationFailure) -> Bool {
                let record = try await administration.account(try await administration.accountID(id))
                return yes
                    || TerminalQuestion("Delete \(record.line), and all that is known of the person? [yes/no] ")
                        .isAnsweredByYes()
            }
        }
        static let act = Act.deleteAccount

        /// An account may be named by its address, of which nothing is left.
        static func line(doneTo id: String) -> String? { "deleted \(id)" }
    }

    enum ReplaceEmail: CommandedAct {
        struct Input: ActArguments {
            @OptionGroup var reason: StatedReason
            @Option(help: "The address that takes the place of the account's.") var email: EmailAddress

            var input: ActInput { ActInput(reason: reason.text, email: email) }

            /// Says before whether the account has a mailbox that a notice can go to.
            func isMeant(_ id: String, _ administration: Administration) async throws(AdministrationFailure) -> Bool {
                let record = try await administration.account(try await administration.accountID(id))
                if record.account.mailboxes.allSatisfy({ $0 == nil }) {
                    printNotice(
                        """
                        no address of the account is known to be its person's, so no notice is mailed: only an open session \
                        can stop it
                        """)
                }
                return true
            }
        }
        static let act = Act.replaceEmail

        /// The address, and when it takes effect.
        static func line(of record: any AdminRecord) -> String {
            (record as? EmailReplacement).map(\.words) ?? record.line
        }
    }

    enum CancelReplaceEmail: CommandedAct { static let act = Act.cancelEmailReplacement }

    enum Rename: CommandedAct {
        struct Input: ActArguments {
            @OptionGroup var reason: OptionalReason
            @Option(help: "The name; an empty one for none.") var name: String

            func validate() throws {
                guard name.isEmpty || DisplayName(name) != nil else {
                    throw ValidationError("--name is a name that can be read, or empty")
                }
            }

            var input: ActInput { ActInput(reason: reason.text, name: DisplayName(name)) }
        }
        static let act = Act.renameAccount
    }

    enum SendCode: CommandedAct { static let act = Act.mailCode }

    enum UnlinkClient: CommandedAct {
        struct Input: ActArguments {
            @Argument(help: "The clientId of the linked client.", transform: oauthClientID) var client: OAuthClientID
            @OptionGroup var reason: OptionalReason

            var input: ActInput { ActInput(reason: reason.text, client: client) }
        }
        static let act = Act.unlinkClient
    }

    enum Exported: CommandedAct {
        typealias Input = NoInput
        static let act = Act.exportAccount
    }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export",
            abstract: "Prints everything that is stored about the person of an account, as one JSON document.",
            discussion: """
                What GET /admin/v1/accounts/{id}/export answers with. Without password hashes, tokens and codes. Recorded \
                in the audit trail.
                """)

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var target: ActTarget<Exported>

        func run() async throws {
            try await withAdministration(options) { administration, administrator in
                let export = try await Exported.act.onCommandLine(target.text) {
                    () async throws(AdministrationFailure) in
                    try await administration.export(try await administration.accountID(target.text), by: administrator)
                }
                var output = StandardOutput()
                try await export.write { try output.append($0) }
                try output.append([UInt8(ascii: "\n")])
                try output.flush()
            }
        }
    }
}

struct SessionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session", abstract: "Acts on people's sessions.", subcommands: [ActCommand<End>.self])

    enum End: CommandedAct { static let act = Act.endSession }
}

extension EmailAddress: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}
