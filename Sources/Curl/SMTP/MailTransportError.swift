/// Why a mail was not accepted. `description` is a fixed sentence, and nothing here contains the server's text, which
/// may quote the recipient.
package struct MailTransportError: Error, Sendable, Equatable {
    package enum Code: String, Sendable, CaseIterable {
        /// The server won't take this mail: it answered the envelope or the message with 5xx (RFC 5321 §4.2.1).
        case refused
        /// The server won't take this mail now: the same with 4xx.
        case postponed
        /// The server won't take a mail for this recipient now, and says that it is for the recipient's sake.
        case recipientPostponed = "recipient_postponed"
        /// An address that could break the line that it is sent in.
        case invalidAddress = "invalid_address"
        /// An address beyond ASCII, and a server that doesn't offer SMTPUTF8 (RFC 6531 §3.2).
        case internationalAddress = "international_address"
        case tooLarge = "too_large"
        /// The server doesn't accept user and password, or offers no authentication.
        case notAuthenticated = "not_authenticated"
        /// The server doesn't talk to this machine: it refused the connection or the greeting.
        case notServed = "not_served"
        /// No STARTTLS, no handshake, or a certificate that doesn't prove the host.
        case tls
        case resolve
        case connect
        case timedOut = "timed_out"
        /// The server has not answered the message; it may have accepted it nevertheless.
        case timedOutAfterData = "timed_out_after_data"
        /// The connection was lost before the server confirmed the mail; it may have accepted it nevertheless.
        case closed
        /// As many mails are being sent as the configuration allows.
        case busy
        /// The peer doesn't speak SMTP, or libcurl failed in a way that has no other name here.
        case other
    }

    package let code: Code
    /// The server's last reply code, if that is the cause: 400 to 599.
    package let reply: Int?
    /// libcurl's text for the error.
    package let detail: String

    package init(_ code: Code, reply: Int? = nil, detail: String = "") {
        self.code = code
        self.reply = reply
        self.detail = detail
    }

    /// Whether the same mail would fail again. A failure of the server, of the network or of this service's account
    /// there is not the mail's.
    package var isPermanent: Bool {
        switch code {
        case .refused, .invalidAddress, .internationalAddress, .tooLarge: true
        case .postponed, .recipientPostponed, .notAuthenticated, .notServed, .tls, .resolve, .connect, .timedOut,
            .timedOutAfterData, .closed, .busy, .other:
            false
        }
    }

    /// The reason code for records and the log: `smtp_550`, `rcpt_450`, or the name of the code.
    package var reasonCode: String {
        reply.map { "\(code == .recipientPostponed ? "rcpt" : "smtp")_\($0)" } ?? code.rawValue
    }

    package static func == (left: MailTransportError, right: MailTransportError) -> Bool {
        left.code == right.code && left.reply == right.reply
    }
}

extension MailTransportError: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { "The mail was not taken." }

    package var debugDescription: String {
        "MailTransportError(\(code.rawValue), reply: \(reply.map(String.init) ?? "none"), \(detail.isEmpty ? "no detail" : detail))"
    }
}
