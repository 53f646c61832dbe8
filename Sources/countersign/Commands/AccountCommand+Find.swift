import Accounts
import Administration
import ArgumentParser
import Foundation
import HTTPAPI
import JSON

extension AccountCommand {
    struct Find: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "find", abstract: "Finds people by what support was given, as the console's search box does.",
            discussion: """
                An address or its beginning, a whole name, the id of an account, an identity or a session, apple: or \
                google: and a subject, or the id in the system before. A line each: account, status, address, name. Exit \
                code 1 when nobody is found. For the request id of an error page use the console.
                """)

        @OptionGroup var options: ConfigurationOptions
        @Argument(help: "What is searched for.") var query: String
        @OptionGroup var list: ListLimit
        @Flag(help: "A JSON object a line.") var json = false

        func validate() throws {
            guard !text.isEmpty else { throw ValidationError("say whom: an empty text finds everybody") }
        }

        /// Without the white space that comes along when it is pasted.
        private var text: String { query.trimmingCharacters(in: .whitespacesAndNewlines) }

        func run() async throws {
            let count = try await withAdministration(options) { administration, _ in
                var count = 0
                try await eachItem(upTo: list.limit) {
                    try await administration.people(matching: text, after: $0, limit: $1)
                } do: { record in
                    print(json ? record.json : record.line)
                    count += 1
                }
                return count
            }
            if count == 0 { throw CommandFailure("There is no such account.") }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Prints an account, one line of what it is and one for each of its identities.")

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var target: ActTarget<Exported>
        @Flag(help: "One JSON object, as GET /admin/v1/accounts/{id} answers with.") var json = false

        func run() async throws {
            let record = try await withAdministration(options) { administration, _ in
                try await Exported.act.onCommandLine(target.text) { () async throws(AdministrationFailure) in
                    try await administration.account(try await administration.accountID(target.text))
                }
            }
            guard !json else { return print(record.json) }
            print(record.line)
            for identity in record.account.identities { print(identity.line) }
        }
    }
}

extension AccountRecord {
    /// Account, status, address and name; `-` for what there is none of.
    var line: String {
        [
            account.id.description, account.status.rawValue, account.email?.text ?? "-",
            account.displayName?.text ?? "-",
        ].joined(separator: " ")
    }

    fileprivate var json: String { JSONWriter.text { $0.members(of: self) } }
}

extension Identity {
    /// Identity, provider, realm, subject and authorization.
    fileprivate var line: String {
        [id.description, key.provider.rawValue, key.realm.text, key.subject.text, authorization.rawValue]
            .joined(separator: " ")
    }
}
