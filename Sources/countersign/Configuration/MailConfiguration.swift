import Accounts
import Curl
import SignIn

/// The configuration of outgoing mail.
struct MailConfiguration: Sendable {
    let server: SMTPServer
    let from: EmailAddress
    let serviceName: String
    let templates: MailTemplates

    /// Nil when no mail is configured.
    ///
    /// - Parameter name: what the pages call the service.
    init?(from reader: inout ConfigurationReader, called name: String) {
        serviceName = reader.optional(Settings.Mail.serviceName) ?? name
        // Checked even when no mail is sent yet.
        let templates = MailTemplates(serviceName: serviceName, from: &reader)
        let url = reader.optional(Settings.Mail.smtpURL)
        let address = reader.optional(Settings.Mail.from)
        if url != nil, address == nil { reader.refuse(Settings.Mail.from.name, "is required beside mail.smtpUrl") }
        if url == nil, address != nil { reader.refuse(Settings.Mail.smtpURL.name, "is required beside mail.from") }
        guard let url, let address, let from = EmailAddress(address), let server = SMTPServer(url), let templates else {
            return nil
        }
        self.server = server
        self.from = from
        self.templates = templates
    }
}

extension MailTemplates {
    /// The built-in templates and those in the directory that `mail.templatesPath` names, if it is set. Nil after a
    /// fault.
    fileprivate init?(serviceName: String, from reader: inout ConfigurationReader) {
        guard let directory = reader.optional(Settings.Mail.templatesPath) else {
            self.init(serviceName: serviceName)
            return
        }
        do {
            try self.init(serviceName: serviceName, directory: directory)
        } catch {
            for sentence in error.sentences { reader.refuse(Settings.Mail.templatesPath, directory, sentence) }
            return nil
        }
    }
}
