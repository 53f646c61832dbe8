import Accounts
import ArgumentParser
import Foundation
import SignIn
import Storage

struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account", abstract: "Acts on people's accounts.",
        subcommands: [Export.self, ReplaceEmail.self, CancelReplaceEmail.self])

    /// What every command about an account needs.
    struct Subject: ParsableArguments {
        @Argument(help: "The account's id.") var accountID: String

        func validate() throws { _ = try id }

        /// The parsed id.
        var id: AccountID {
            get throws {
                guard let id = AccountID(accountID) else {
                    throw ValidationError("an account's id is a UUID in lower case")
                }
                return id
            }
        }

        var isMissing: CommandFailure { CommandFailure("There is no account \(accountID).") }
    }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints everything that is stored about the person of an account, as one JSON document.",
            discussion: """
                What GET /admin/v1/accounts/{id}/export answers with. Without password hashes, tokens and codes. Recorded \
                in the audit trail.
                """)

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var subject: Subject

        func run() async throws {
            let id = try subject.id
            try await withDatabase(options) { database in
                let export = try await PersonalDataExport(
                    of: id, from: PersonalData(database: database), by: SystemClock().call(by: .commandLine))
                guard let export else { throw subject.isMissing }
                try await export.write { part in
                    try FileHandle.standardOutput.write(contentsOf: Data(part))
                }
            }
            try FileHandle.standardOutput.write(contentsOf: Data("\n".utf8))
        }
    }

    struct ReplaceEmail: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Gives an account another address, for a person who has lost the mailbox or the Apple ID.",
            discussion: """
                Notifies every mailbox of the account, and prints the address and when it takes effect: in 24 hours, by \
                the running service, unless somebody in a session of the account stops it. Then all sessions end, the \
                password goes, and the person enters by a code that is mailed to the new address. Asking again begins \
                another day. Needs mail to be configured.
                """)

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var subject: Subject
        @OptionGroup var reason: StatedReason
        @Option(help: "The address that takes the place of the account's.") var email: String

        func validate() throws {
            guard EmailAddress(email) != nil else { throw ValidationError("--email is no email address") }
        }

        func run() async throws {
            guard let address = EmailAddress(email) else { return }
            let id = try subject.id
            guard let language = try options.sources().load(NoticeLanguage.init).tag else {
                throw CommandFailure(
                    """
                    No mail is configured (mail.smtpUrl, mail.from): nobody could be notified, and nobody could enter by \
                    a mailed code.
                    """)
            }
            let origin = ChangeOrigin(actor: .operator, requestID: nil, mailLanguage: language)
            do {
                let replacement = try await withDatabase(options) { database in
                    try await EmailReplacementStore(database: database).request(
                        address, for: id, reason: reason.text, by: SystemClock().call(by: origin))
                }
                print("\(replacement.email.text) \(replacement.dueAt.rfc3339)")
            } catch Refusal.accountNotFound {
                throw subject.isMissing
            } catch Refusal.accountDisabled {
                throw CommandFailure("The account is disabled: enable it first.")
            } catch Refusal.emailUnchanged {
                throw CommandFailure("The account has this address already.")
            } catch Refusal.emailTaken {
                throw CommandFailure("The address belongs to another account.")
            }
        }
    }

    struct CancelReplaceEmail: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Stops the replacement of an account's address that is not in effect yet.")

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var subject: Subject
        @OptionGroup var reason: StatedReason

        func run() async throws {
            let id = try subject.id
            do {
                try await withDatabase(options) { database in
                    try await EmailReplacementStore(database: database).cancel(
                        of: id, reason: reason.text, by: SystemClock().call(by: .commandLine))
                }
            } catch Refusal.accountNotFound {
                throw subject.isMissing
            }
        }
    }
}

/// The language of notices to people who have made no request: the default one of the configured mail.
private struct NoticeLanguage: Sendable {
    /// `nil` when no mail is sent.
    let tag: String?

    init?(from reader: inout ConfigurationReader) {
        let server = ServerConfiguration(from: &reader)
        tag = MailConfiguration(from: &reader, server: server)?.templates.languages.first
    }
}
