import Accounts
import Primitives

/// A mail in the form of RFC 5322 and RFC 2046 §5.1.4: one text, plain and as HTML, for the mail client to choose from.
struct MailMessage {
    let id: MailID
    let date: Timestamp
    let sender: EmailAddress
    let senderName: String
    let recipient: EmailAddress
    let content: MailTemplates.Rendered

    /// The message, in lines that end in CR LF. All ASCII, unless an address isn't: such a mail goes only to servers with
    /// SMTPUTF8, where a header may hold the address as it is (RFC 6532 §3.2).
    var bytes: [UInt8] {
        let boundary = "=_\(id)"
        // The id is the same for each attempt: a mail that arrives twice shows as one.
        var message = MIMEText.field("From", displayName: senderName, address: sender.text)
        message += "To: \(recipient.text)\r\n"
        message += MIMEText.field("Subject", content.subject)
        message += """
            Date: \(CivilTime(secondsSince1970: date.seconds).rfc5322)\r
            Message-ID: <\(id)@\(sender.domain)>\r
            Auto-Submitted: auto-generated\r
            Content-Language: \(content.language)\r
            MIME-Version: 1.0\r
            Content-Type: multipart/alternative; boundary="\(boundary)"\r
            \r\n
            """
        // The preferred part comes last (RFC 2046 §5.1.4).
        for part in [MIMEText.part("text/plain", content.text), MIMEText.part("text/html", content.html)] {
            message += "--\(boundary)\r\n\(part)"
        }
        return Array("\(message)--\(boundary)--\r\n".utf8)
    }
}
