import Accounts
import Administration
import ArgumentParser
import JSON

struct IdentityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity", abstract: "Acts on people's provider identities.",
        subcommands: [List.self, ActCommand<Revoke>.self, ActCommand<Unblock>.self, ActCommand<Unlink>.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
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
            let isEmpty = try await withAdministration(options, statementTimeout: nil) { administration, _ in
                var output = StandardOutput()
                var last: BlockedIdentity?
                repeat {
                    let page = try await administration.blockedIdentities(after: last)
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

    enum Revoke: CommandedAct {
        struct Input: ActArguments {
            @OptionGroup var reason: StatedReason
            @Flag(help: "Keep the identity linked in any case.") var keep = false

            var input: ActInput { ActInput(reason: reason.text, keepsIdentity: keep) }
        }
        static let act = Act.revokeIdentity

        /// The revocation's id and status, and what became of the identity.
        static func line(of record: any AdminRecord) -> String {
            guard let revoked = record as? RevokedIdentity else { return record.line }
            let revocation = revoked.revocation
            return "\(revocation.id) \(revocation.status.rawValue) \(revoked.isUnlinked ? "unlinked" : "kept")"
        }
    }

    enum Unblock: CommandedAct {
        typealias Input = StatedReason
        static let act = Act.unblockIdentity
    }

    enum Unlink: CommandedAct { static let act = Act.unlinkIdentity }
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

    init(_ description: String) { self.description = description }
}

/// Runs the body, and says what is missing where nothing is found.
func naming<Result: Sendable>(_ missing: String, _ body: () async throws -> Result) async throws -> Result {
    do {
        return try await body()
    } catch AdministrationFailure.notFound {
        throw CommandFailure(missing)
    }
}
