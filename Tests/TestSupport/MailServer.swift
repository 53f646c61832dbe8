package import Foundation
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

        package func header(_ name: String) -> String? {
            headers.first { $0[0] == name }?[1]
        }
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private struct State {
        var port: UInt16?
        var messages: [Message] = []
        var hasEnded = false
        var waiters: [(isMet: @Sendable (State) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private struct Server {
        let process: Process
        /// The server ends when this pipe is closed.
        let lifeline: Pipe
    }

    package let port: UInt16
    /// The path of a PEM file with the certificate that clients have to trust.
    package let authority: String
    private let directory: URL
    private let state: Feed
    private let server: Mutex<Server?>

    package static func run<Result>(
        _ security: Security = .none, login: String? = nil,
        isolation: isolated (any Actor)? = #isolation, _ body: (MailServer) async throws -> Result
    ) async throws -> Result {
        let server = try await MailServer(security, login: login)
        defer { server.stop() }
        return try await body(server)
    }

    private init(_ security: Security, login: String?) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "mail-server-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        self.directory = directory
        authority = directory.appending(path: "certificate.pem").path
        var arguments = [URL(filePath: #filePath).appending(path: "../../MailServer/mail-server.py").standardized.path]
        if security != .none {
            try await Self.makeCertificate(in: directory)
            arguments += ["--certificate", directory.appending(path: "server.pem").path]
        }
        if security == .tls { arguments.append("--tls-first") }
        if let login { arguments += ["--login", login] }
        let process = Process()
        // Debian's, whatever other one is first in PATH: that is what its python3-aiosmtpd is installed for.
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = arguments
        let (lifeline, output) = (Pipe(), Pipe())
        process.standardInput = lifeline
        process.standardOutput = output
        // It prints a traceback for each client that disconnects early.
        process.standardError = FileHandle.nullDevice
        try process.start()
        server = Mutex(Server(process: process, lifeline: lifeline))
        state = Feed(of: output.fileHandleForReading)
        guard let port = await state.first(\.port) else {
            throw Failure(description: "The mail server ended before it was ready; is python3-aiosmtpd installed?")
        }
        self.port = port
    }

    deinit { stop() }

    /// The messages so far.
    package var messages: [Message] { state.messages }

    /// Waits for at least `count` messages; returns fewer when the server ends before.
    package func messages(_ count: Int) async -> [Message] {
        await state.messages(count)
    }

    package func stop() {
        let running = server.withLock { server in
            defer { server = nil }
            return server
        }
        guard let running else { return }
        // Not `terminate()`: the child inherits the signal mask of the thread that started it.
        kill(running.process.processIdentifier, SIGKILL)
        running.process.waitUntilExit()
        try? FileManager.default.removeItem(at: directory)
    }

    /// Makes a self-signed certificate for 127.0.0.1.
    private static func makeCertificate(in directory: URL) async throws {
        let run = try await FinishedProcess.run(
            URL(filePath: "/usr/bin/openssl"),
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=mail", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "certificate.pem",
            ], directory: directory.path)
        guard run.code == 0 else { throw Failure(description: "openssl made no certificate.") }
        let parts = try ["certificate.pem", "key.pem"].map { try Data(contentsOf: directory.appending(path: $0)) }
        try (parts[0] + parts[1]).write(to: directory.appending(path: "server.pem"))
    }

    /// The lines of its output, read by a thread of its own.
    private final class Feed: Sendable {
        private let state = Mutex(State())

        init(of handle: FileHandle) {
            Thread.detachNewThread { [self] in
                var buffer: [UInt8] = []
                while case let data = handle.availableData, !data.isEmpty {
                    buffer += data
                    while let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                        take(Data(buffer[..<end]))
                        buffer.removeFirst(end + 1)
                    }
                }
                change { $0.hasEnded = true }
            }
        }

        private func take(_ line: Data) {
            change { state in
                if state.port == nil {
                    state.port = UInt16(String(decoding: line, as: UTF8.self))
                } else if let message = try? JSONDecoder().decode(Message.self, from: line) {
                    state.messages.append(message)
                } else {
                    fatalError("The mail server wrote a line that is no message: \(line)")
                }
            }
        }

        private func change(_ body: (inout State) -> Void) {
            let met = state.withLock { state in
                body(&state)
                let now = state
                state.waiters = now.waiters.filter { !$0.isMet(now) }
                return now.waiters.filter { $0.isMet(now) }
            }
            for waiter in met { waiter.continuation.resume() }
        }

        private func wait(until isMet: @escaping @Sendable (State) -> Bool) async {
            await withCheckedContinuation { continuation in
                change { $0.waiters.append(({ $0.hasEnded || isMet($0) }, continuation)) }
            }
        }

        func first<Value: Sendable>(_ value: @escaping @Sendable (State) -> Value?) async -> Value? {
            await wait { value($0) != nil }
            return state.withLock { value($0) }
        }

        var messages: [Message] { state.withLock(\.messages) }

        func messages(_ count: Int) async -> [Message] {
            await wait { $0.messages.count >= count }
            return messages
        }
    }
}
