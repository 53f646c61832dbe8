import Foundation
import Synchronization
import TestSupport

/// A third-party resource server: a JOSE library for Python, in a process of its own, that verifies access tokens by
/// the key sets that it fetches. PyJWT, Authlib and python-jose are Debian's; joserfc, which Debian 12 lacks, is
/// installed by `Scripts/python-environment`.
final class TokenVerifier: Sendable {
    static let libraries = ["pyjwt", "authlib", "jose", "joserfc"]

    private let input: Pipe
    private let process: Mutex<Process>
    private let state = Mutex<(submitted: Int, answers: [String], hasEnded: Bool)>((0, [], false))

    /// - Parameters:
    ///   - services: the services whose key sets it fetches, in turn.
    ///   - scale: the seconds that a second of Cache-Control takes.
    init(_ library: String, services: [Countersign], issuer: String, scale: Double) throws {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        let script = root.appending(path: "Tests/TokenVerifier/token-verifier.py")
        let process = Process()
        process.executableURL =
            library == "joserfc" ? root.appending(path: ".local/python/bin/python") : URL(filePath: "/usr/bin/python3")
        process.arguments =
            [script.path, library, "--issuer", issuer, "--audience", issuer, "--scale", "\(scale)"]
            + services.map { "\($0.url)/.well-known/jwks.json" }
        input = Pipe()
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        try process.start()
        self.process = Mutex(process)
        Thread.detachNewThread { [self] in
            var buffer: [UInt8] = []
            while case let data = output.fileHandleForReading.availableData, !data.isEmpty {
                buffer += data
                while let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                    let line = String(decoding: buffer[..<end], as: UTF8.self)
                    state.withLock { $0.answers.append(line) }
                    buffer.removeFirst(end + 1)
                }
            }
            state.withLock { $0.hasEnded = true }
        }
    }

    /// Waits for its first key set.
    func waitUntilReady() async throws {
        try await eventually("a verifier") {
            try state.withLock { state in
                if state.hasEnded {
                    throw TimedOut(
                        description:
                            "a verifier ended before it was ready: run Scripts/setup and Scripts/python-environment")
                }
                return state.answers.first == "ready"
            }
        }
    }

    /// Submits a token once fewer than 20 answers are outstanding.
    func submit(_ token: String) async throws {
        try await eventually("a verifier's answers") {
            state.withLock { $0.submitted - $0.answers.count < 20 || $0.hasEnded }
        }
        try input.fileHandleForWriting.write(contentsOf: Data("\(token)\n".utf8))
        state.withLock { $0.submitted += 1 }
    }

    /// Ends it, and returns its answers for all tokens.
    func end() async throws -> [String] {
        try input.fileHandleForWriting.close()
        try await eventually("a verifier's end") { state.withLock(\.hasEnded) }
        process.withLock { $0.waitUntilExit() }
        return Array(state.withLock(\.answers).dropFirst())
    }
}
