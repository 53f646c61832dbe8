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
                    printLine(json ? record.json : record.line)
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
            abstract: "Prints an account, with its identities, the sessions that are open and the linked clients.",
            discussion: """
                A line of what it is: account, status, address, name. Where its address is about to be replaced, one of \
                the word emailReplacement, the new address, and when it takes effect. One for each identity: identity, \
                provider, realm, subject, authorization, and where it applies the words blocked and \
                credentialChangeRequired. One for each session, the newest first: session, the word session, when it was \
                opened, when it was last used, device. Of more than 50 sessions the newest 50, which is said. One for each \
                linked client, the oldest link first: the clientId that account unlink-client takes, the word client, when \
                it was linked, when it was last used, name.
                """)

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var target: ActTarget<Exported>
        @Flag(
            help: """
                One JSON object, as GET /admin/v1/accounts/{id} answers with, "sessions" as that of its sessions, and \
                "linkedClients" as that of those; "moreSessions" is true where there are more sessions.
                """)
        var json = false

        /// As many as the admin API lists when it is not asked for another number.
        private static let sessionLimit = 50

        func run() async throws {
            let (record, sessions, clients) = try await withAdministration(options) { administration, administrator in
                try await Exported.act.onCommandLine(target.text) {
                    () async throws(AdministrationFailure)
                        -> (AccountRecord, Page<SessionSummary, SessionID>, [LinkedClient]) in
                    let record = try await administration.account(try await administration.accountID(target.text))
                    let sessions = try await administration.sessions(
                        of: record.account.id, before: nil, limit: Self.sessionLimit)
                    let clients = try await administration.oauth?.linkedClients(
                        of: record.account.id, by: administrator.call)
                    return (record, sessions, clients ?? [])
                }
            }
            if json {
                printLine(
                    JSONWriter.text { writer in
                        writer.members(of: record)
                        writer.objects("sessions", of: sessions.items) { $1.members(of: $0) }
                        writer.objects("linkedClients", of: clients) { $1.members(of: $0) }
                        if sessions.next != nil { writer.member("moreSessions", true) }
                    })
            } else {
                printLine(record.line)
                if let replacement = record.emailReplacement { printLine("emailReplacement \(replacement.words)") }
                for identity in record.account.identities { printLine(identity.line) }
                for session in sessions.items { printLine(session.line) }
                for client in clients { printLine(client.line) }
            }
            if sessions.next != nil { printNotice("There are more sessions than these \(Self.sessionLimit).") }
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

extension EmailReplacement {
    /// The address, and when it takes effect.
    var words: String { "\(email.text) \(dueAt.rfc3339)" }
}

extension Identity {
    /// Identity, provider, realm, subject, authorization, and what else there is to know of it.
    fileprivate var line: String {
        var words = [id.description, key.provider.rawValue, key.realm.text, key.subject.text, authorization.rawValue]
        if isBlocked { words.append("blocked") }
        if credentialChangeRequiredAt != nil { words.append("credentialChangeRequired") }
        return words.joined(separator: " ")
    }
}

extension SessionSummary {
    /// Session, the word for one, when it was opened and last used, and the device; `-` for an unknown one.
    fileprivate var line: String {
        // What an app says of its device is any text, and this is a terminal's line.
        let shown = DisplayName([device?.name, device?.platform].compactMap(\.self).joined(separator: ", "))
        return [id.description, "session", createdAt.rfc3339, lastUsedAt.rfc3339, shown?.text ?? "-"]
            .joined(separator: " ")
    }
}

extension LinkedClient {
    /// Client, the word for one, when it was linked and last used, and its name; `-` for never.
    fileprivate var line: String {
        [clientID.text, "client", linkedAt.rfc3339, lastUsedAt?.rfc3339 ?? "-", name].joined(separator: " ")
    }
}
