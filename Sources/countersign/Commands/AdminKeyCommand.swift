import Accounts
import ArgumentParser
import JSON
import SignIn
import Storage

struct AdminKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin-key", abstract: "Makes, lists and revokes the keys of administrators.",
        subcommands: [Create.self, List.self, Revoke.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a key and prints it, alone on its line.",
            discussion: """
                It is shown this once: the database holds its SHA-256. Needs postgres.migrationUrl where the service has a \
                role of its own, which can make no key.
                """)

        @OptionGroup var options: ConfigurationOptions
        @Option(help: "Who has it or what it is for; stands in the audit trail. Names may repeat.") var name: String
        @Option(help: "What it may do: read, revoke, manage; with commas.") var scopes: String

        func validate() throws {
            guard AdminKey.isName(name) else {
                throw ValidationError("--name is a line of 1 to 100 bytes")
            }
            _ = try parsedScopes
        }

        private var parsedScopes: Set<AdminKey.Scope> {
            get throws {
                let names = scopes.split(separator: ",", omittingEmptySubsequences: false)
                let parsed = names.compactMap { AdminKey.Scope(rawValue: String($0)) }
                guard !parsed.isEmpty, parsed.count == names.count else {
                    throw ValidationError("--scopes are read, revoke and manage, with commas between them")
                }
                return Set(parsed)
            }
        }

        func run() async throws {
            let scopes = try parsedScopes
            let secret = try AdminSecret()
            let call = SystemClock().call(by: .commandLine)
            let key = AdminKey(id: AdminKeyID(now: call.now), name: name, scopes: scopes, createdAt: call.now)
            try await withDatabase(options, asOwner: true) { database in
                try await AdminKeyStore(database: database).insert(key, hash: secret.hash, by: call)
            }
            print(secret.text)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Prints all keys, one JSON line each.")

        @OptionGroup var options: ConfigurationOptions

        func run() async throws {
            let keys = try await withDatabase(options) { try await AdminKeyStore(database: $0).list() }
            for key in keys { print(key.line) }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Revokes a key; from then on it opens nothing.")

        @OptionGroup var options: ConfigurationOptions
        @Argument(help: "The key's id, as the list has it.") var id: String

        func validate() throws {
            guard AdminKeyID(id) != nil else { throw ValidationError("a key's id is a UUID in lower case") }
        }

        func run() async throws {
            guard let keyID = AdminKeyID(id) else { return }
            let isRevoked = try await withDatabase(options) { database in
                try await AdminKeyStore(database: database).revoke(keyID, by: SystemClock().call(by: .commandLine))
            }
            guard isRevoked else { throw CommandFailure("There is no key \(id).") }
        }
    }
}

extension AdminKey {
    fileprivate var line: String {
        JSONWriter.text { writer in
            writer.member("keyId", "\(id)")
            writer.member("name", name)
            writer.member("scopes", scopes.map(\.rawValue).sorted())
            writer.member("createdAt", createdAt.rfc3339)
            writer.member("lastUsedAt", lastUsedAt?.rfc3339)
            writer.member("revokedAt", revokedAt?.rfc3339)
        }
    }
}
