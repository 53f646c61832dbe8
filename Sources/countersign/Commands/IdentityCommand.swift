import Accounts
import ArgumentParser
import Storage

struct IdentityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity", abstract: "Acts on people's provider identities.",
        subcommands: [Revoke.self, Unblock.self])

    /// What every command about an identity needs.
    struct Subject: ParsableArguments {
        @Argument(help: "The identity's id.") var identityID: String

        func validate() throws { _ = try id }

        /// The parsed id.
        var id: IdentityID {
            get throws {
                guard let id = IdentityID(identityID) else {
                    throw ValidationError("an identity's id is a UUID in lower case")
                }
                return id
            }
        }

        var isMissing: CommandFailure { CommandFailure("There is no identity \(identityID).") }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Ends an identity's authorization at its provider, and the sessions that it opened.",
            discussion: """
                Puts the revocation into the outbox, which the running service processes within a second, and prints \
                its id and status. The identity is unlinked, unless it is the last way into its account: then it is kept \
                and marked, and a later sign-in with it makes it active again.
                """)

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var subject: Subject
        @OptionGroup var reason: StatedReason
        @Flag(help: "Keep the identity linked in any case.") var keep = false

        func run() async throws {
            let id = try subject.id
            let event = AuditEvent(.revocationRequested, by: .operator, reason: reason.text)
            let outcome = try await withDatabase(options) { database in
                try await AccountStore(database: database).revoke(
                    id, unlinking: !keep, by: event, at: SystemClock().now())
            }
            switch outcome {
            case .unlinked(let revocation): print("\(revocation.id) \(revocation.status.rawValue) unlinked")
            case .kept(let revocation): print("\(revocation.id) \(revocation.status.rawValue) kept")
            case .notFound, .lastSignInMethod, .sessionGone: throw subject.isMissing
            }
        }
    }

    struct Unblock: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lets an identity sign in again whose account its provider has disabled.",
            discussion: """
                The provider blocked it by an event, and a later event may block it again. An identity that is not \
                blocked stays as it is.
                """)

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var subject: Subject
        @OptionGroup var reason: StatedReason

        func run() async throws {
            let id = try subject.id
            let isFound = try await withDatabase(options) { database in
                try await AccountStore(database: database).unblock(
                    id, reason: reason.text, at: SystemClock().now(),
                    from: ChangeOrigin(actor: .operator, requestID: nil))
            }
            guard isFound else { throw subject.isMissing }
        }
    }
}

/// A failure of a command, in one sentence for the operator; exit code 1.
struct CommandFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
