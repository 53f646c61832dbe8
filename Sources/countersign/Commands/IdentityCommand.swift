import Accounts
import ArgumentParser
import JSON
import Storage

struct IdentityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity", abstract: "Acts on people's provider identities.",
        subcommands: [List.self, Revoke.self, Unblock.self])

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

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the identities that can't sign in because their provider has disabled the account there.",
            discussion: """
                A line each: identity, account, provider, realm, subject, since when, and the provider's word for why. \
                Exit code 1 when there is none.
                """)

        @OptionGroup var options: ConfigurationOptions
        @Flag(help: "Those that a provider's event has blocked; there is no other list.") var blocked = false
        @Flag(help: "A JSON object a line.") var json = false

        func validate() throws {
            guard blocked else { throw ValidationError("say --blocked: there is no list of all identities") }
        }

        func run() async throws {
            // Blocks have no index: among many millions of identities finding them takes longer than a request may.
            let isEmpty = try await withDatabase(options, statementTimeout: nil) { database in
                let identities = BlockedIdentities(database: database)
                var output = StandardOutput()
                var last: BlockedIdentity?
                repeat {
                    let page = try await identities.page(after: last)
                    for identity in page {
                        try output.append(Array(((json ? identity.json : identity.line) + "\n").utf8))
                    }
                    if page.isEmpty { break }
                    last = page.last
                } while true
                try output.flush()
                return last == nil
            }
            if isEmpty { throw CommandFailure("No identity is blocked.") }
        }
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
            do {
                let (revocation, isUnlinked) = try await withDatabase(options) { database in
                    try await AccountStore(database: database).revoke(
                        id, unlinking: !keep, recording: event, by: SystemClock().call(by: .commandLine))
                }
                print("\(revocation.id) \(revocation.status.rawValue) \(isUnlinked ? "unlinked" : "kept")")
            } catch Refusal.identityNotFound {
                throw subject.isMissing
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
            do {
                try await withDatabase(options) { database in
                    try await AccountStore(database: database).unblock(
                        id, reason: reason.text, by: SystemClock().call(by: .commandLine))
                }
            } catch Refusal.identityNotFound {
                throw subject.isMissing
            }
        }
    }
}

extension BlockedIdentity {
    fileprivate var line: String {
        [
            id.description, accountID.description, key.provider.rawValue, key.realm.text, key.subject.text,
            block.since.rfc3339, block.reason,
        ].joined(separator: " ")
    }

    /// The members that an identity has in the API, its realm and its account.
    fileprivate var json: String {
        JSONWriter.text { writer in
            writer.member("identityId", id.description)
            writer.member("accountId", accountID.description)
            writer.member("provider", key.provider.rawValue)
            writer.member("realm", key.realm.text)
            writer.member("subject", key.subject.text)
            writer.object("blocked") { writer in
                writer.member("since", block.since.rfc3339)
                writer.member("reason", block.reason)
            }
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
