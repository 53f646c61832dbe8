package import Foundation
import Primitives
import Synchronization

/// A real mail server on this machine: Debian's aiosmtpd, in a process of its own.
///
///     try await MailServer.run { server in
///         …
///         let message = try #require(await server.messages(1).first)
///     }
///
/// It ends with the closure, also when that throws, and with the test process, also when that crashes.
package final class MailServer: Sendable {
    package enum Security: Sendable {
        case none
        /// STARTTLS, before which no mail is accepted.
        case startTLS
        case tls
    }

    /// A message that the server accepted, as Python's email package reads it.
    package struct Message: Decodable, Sendable {
        package let sender: String
        package let recipients: [String]
        /// The parameters of the MAIL command.
        package let options: [String]
        package let isEncrypted: Bool
        package let isAuthenticated: Bool
        package let content: Data
        /// Name and decoded value.
        package let headers: [[String]]
        package let text: String?
        package let html: String?
        package let defects: [String]

        package func header(_ name: String) -> String? { headers.first { $0[0] == name }?[1] }
    }

    package let port: UInt16
    /// The path of a PEM file with the certificate that clients have to trust.
    package let authority: String
    private let process: SideProcess
    /// What it has written of messages, and how much of its output that is.
    private let read: Mutex<(messages: [Message], count: Int)>

    /// - Parameter isForServers: whether it takes mail of other servers: it offers neither authentication nor SMTPUTF8.
    package static func run<Result>(
        _ security: Security = .none, login: String? = nil, isForServers: Bool = false,
        _ body: (MailServer) async throws -> Result
    ) async throws -> Result {
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        let server = try await MailServer(security, login: login, isForServers: isForServers, in: directory.url)
        return try await closing(server.process.abort) { try await body(server) }
    }

    private init(_ security: Security, login: String?, isForServers: Bool, in directory: URL) async throws {
        authority = directory.appending(path: "certificate.pem").path
        let program = URL(filePath: #filePath).appending(path: "../../MailServer/mail-server.py").standardized.path
        // Debian's, whatever other one is first in PATH: that is what its python3-aiosmtpd is installed for.
        var words = ["/usr/bin/python3", program]
        if security != .none {
            try await Self.makeCertificate(in: directory)
            words += ["--certificate", directory.appending(path: "server.pem").path]
        }
        if security == .tls { words.append("--tls-first") }
        if let login { words += ["--login", login] }
        if isForServers { words.append("--for-servers") }
        process = try SideProcess(words, endsWithInput: true)
        guard let line = await process.firstLine(), let port = UInt16(line) else {
            throw SetUpFailure("The mail server ended before it was ready; is python3-aiosmtpd installed?")
        }
        self.port = port
        read = Mutex(([], line.utf8.count + 1))
    }

    /// The messages so far, each of which is a line.
    package var messages: [Message] {
        read.withLock { read in
            let bytes = process.outputBytes
            guard let end = bytes[read.count...].lastIndex(of: UInt8(ascii: "\n")) else { return read.messages }
            for line in bytes[read.count..<end].split(separator: UInt8(ascii: "\n")) {
                guard let message = try? JSONDecoder().decode(Message.self, from: Data(line)) else {
                    let text = String(decoding: line, as: UTF8.self)
                    fatalError("The mail server wrote a line that is no message: \(text)")
                }
                read.messages.append(message)
            }
            read.count = end + 1
            return read.messages
        }
    }

    /// Waits for at least `count` messages; returns fewer when the server ends before.
    package func messages(_ count: Int) async -> [Message] {
        while messages.count < count, process.isRunning, (try? await pollingPause()) != nil {}
        return messages
    }

    /// Makes a self-signed certificate for 127.0.0.1.
    private static func makeCertificate(in directory: URL) async throws {
        try await FinishedProcess.openssl(
            """
            req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=mail \
            -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out certificate.pem
            """, in: directory)
        let parts = try ["certificate.pem", "key.pem"].map { try Data(contentsOf: directory.appending(path: $0)) }
        try (parts[0] + parts[1]).write(to: directory.appending(path: "server.pem"))
    }
}
