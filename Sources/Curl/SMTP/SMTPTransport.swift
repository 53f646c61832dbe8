import CCurl
import Primitives
import Synchronization

/// Mail over libcurl, each mail on a connection and a thread of its own. libcurl waits for the server's reply to a
/// message, and to `QUIT`, inside of one call: in the loop that all requests share, a slow mail server would delay
/// every one of them.
package final class SMTPTransport: MailTransport {
    package struct Configuration: Sendable {
        /// The timeout of resolving, connecting and the TLS handshake.
        package var connectTimeout = Duration.seconds(5)
        /// The timeout of all that comes before the server's answer to the message. A process that shuts down waits for it.
        package var timeout = Duration.seconds(20)
        /// The timeout of that answer. Who waits for less than the server takes sends the mail twice: RFC 5321
        /// §4.5.3.2.6 has ten minutes, which nobody who needs a code has.
        package var answerTimeout = Duration.seconds(120)
        /// The most bytes of one message.
        package var maximumBytes = 262_144
        /// Mails that are sent at once; one more is refused as `busy`.
        package var maximumInFlight = 16
        /// A PEM file of trusted certificates in place of the system's.
        package var caBundlePath: String?

        package init() {}
    }

    private let server: SMTPServer
    private let configuration: Configuration
    private let inFlight = Mutex(0)

    package init(server: SMTPServer, configuration: Configuration = Configuration()) {
        self.server = server
        self.configuration = configuration
    }

    /// Sends a mail. A cancelled task still waits: an interrupted message may have been accepted, and would be sent
    /// again.
    package func send(_ mail: OutgoingMail) async throws(MailTransportError) {
        let addresses = [mail.sender, mail.recipient]
        guard addresses.allSatisfy(Self.isAddress) else { throw MailTransportError(.invalidAddress) }
        guard mail.content.count <= configuration.maximumBytes else { throw MailTransportError(.tooLarge) }
        try await perform(mail, of: addresses)
    }

    /// Connects to the server, with TLS and authentication as for a mail of this sender, and sends none.
    package func greet(for sender: String) async throws(MailTransportError) { try await perform(nil, of: [sender]) }

    private func perform(_ mail: OutgoingMail?, of addresses: [String]) async throws(MailTransportError) {
        let outcome: SMTPTransfer.Outcome = await withCheckedContinuation { continuation in
            guard acquirePermit() else { return continuation.resume(returning: .failure(MailTransportError(.busy))) }
            let isStarted = DedicatedThread.start("smtp") { [self] in
                transfer(mail, of: addresses, answering: continuation)
                releasePermit()
            }
            guard !isStarted else { return }
            releasePermit()
            continuation.resume(returning: .failure(MailTransportError(.other, detail: "pthread_create")))
        }
        try outcome.get()
    }

    private func transfer(
        _ mail: OutgoingMail?, of addresses: [String],
        answering continuation: CheckedContinuation<SMTPTransfer.Outcome, Never>
    ) {
        do throws(FetchError) {
            let transfer = try SMTPTransfer(mail, of: addresses, to: server, configuration: configuration)
            continuation.resume(returning: transfer.run())
            transfer.hangUp()
        } catch {
            continuation.resume(returning: .failure(MailTransportError(.other, detail: error.detail)))
        }
    }

    private func acquirePermit() -> Bool {
        inFlight.withLock { count in
            guard count < configuration.maximumInFlight else { return false }
            count += 1
            return true
        }
    }

    private func releasePermit() { inFlight.withLock { $0 -= 1 } }

    /// libcurl writes an address into its command as it is: a line break would begin a command of its own, an angle
    /// bracket end the path and begin its parameters.
    private static func isAddress(_ text: String) -> Bool {
        let bytes = text.utf8
        return (3...254).contains(bytes.count) && bytes.contains(UInt8(ascii: "@"))
            && !bytes.contains { $0 <= 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: ">") }
    }
}
