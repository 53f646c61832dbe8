/// A way to a mail server. When `send` returns, the server has accepted the mail.
package protocol MailTransport: Sendable {
    func send(_ mail: OutgoingMail) async throws(MailTransportError)
}

/// A mail as it is sent: the envelope and the message.
package struct OutgoingMail: Sendable {
    /// The address that failures are reported to; `local@domain`.
    package let sender: String
    /// `local@domain`.
    package let recipient: String
    /// A message of RFC 5322, header and body, in lines that end in CR LF.
    package let content: [UInt8]

    package init(sender: String, recipient: String, content: [UInt8]) {
        self.sender = sender
        self.recipient = recipient
        self.content = content
    }
}
