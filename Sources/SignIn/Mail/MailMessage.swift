import Accounts

/// A mail as RFC 5322 and RFC 2046 §5.1.4 have it: one text, plain and in HTML, for the reader's program to choose from.
struct MailMessage {
    let id: MailID
    let date: Timestamp
    let sender: EmailAddress
    let senderName: String
    let recipient: EmailAddress
    /// A language tag (RFC 5646).
    let language: String
    let subject: String
    let text: String
    let html: String

    /// In lines that end in CR LF. All ASCII, unless an address isn't: that goes to servers with SMTPUTF8 alone, where a
    /// header may hold it as it is (RFC 6532 §3.2).
    var bytes: [UInt8] {
        let boundary = "=_\(id)"
        // The id is the same for each attempt: a mail that arrives twice shows as one.
        var message = MIMEText.field("From", displayName: senderName, address: sender.text)
        message += "To: \(recipient.text)\r\n"
        message += MIMEText.field("Subject", subject)
        message += """
            Date: \(date.rfc5322)\r
            Message-ID: <\(id)@\(sender.domain)>\r
            Auto-Submitted: auto-generated\r
            Content-Language: \(language)\r
            MIME-Version: 1.0\r
            Content-Type: multipart/alternative; boundary="\(boundary)"\r
            \r\n
            """
        // The last is the best (RFC 2046 §5.1.4).
        for part in [MIMEText.part("text/plain", text), MIMEText.part("text/html", html)] {
            message += "--\(boundary)\r\n\(part)"
        }
        return Array("\(message)--\(boundary)--\r\n".utf8)
    }
}

extension Timestamp {
    /// RFC 5322 §3.3 in UTC: `Thu, 01 Jan 2026 00:00:00 +0000`.
    fileprivate var rfc5322: String {
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let text = rfc3339
        let parts = text.split { "-T:Z".contains($0) }
        guard parts.count == 6, let month = Int(parts[1]), (1...12).contains(month) else { return text }
        // 1970 began on a Thursday.
        let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let weekday = weekdays[Int(((days % 7) + 7) % 7)]
        return "\(weekday), \(parts[2]) \(months[month - 1]) \(parts[0]) \(parts[3]):\(parts[4]):\(parts[5]) +0000"
    }
}
