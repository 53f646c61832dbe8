import Foundation
import TestSupport

/// A TLS server run by the `openssl` command, with a certificate made for it. On release it ends and its files are
/// removed.
///
/// Sendable because nothing in it changes after `init` but the two pipes, which `exchange` alone uses.
final class TLSPeer: @unchecked Sendable {
    enum Certificate {
        /// For 127.0.0.1, issued by the peer's own authority.
        case issued
        case issuedForAnotherHost
        /// For 127.0.0.1, its own authority.
        case selfSigned
        case selfSignedExpired
    }

    enum Mode {
        /// Each request is answered with the prepared response.
        case respond(String)
        /// One connection, whose decrypted bytes are left to `exchange`.
        case raw
    }

    let port: Int
    private let directory: ScratchDirectory
    private let process: Process
    private let input = Pipe()
    private let output = Pipe()

    init(_ certificate: Certificate, _ mode: Mode, protocols: String? = nil) async throws {
        directory = try ScratchDirectory()
        try await Self.makeCertificates(certificate, in: directory.url)
        var arguments = ["s_server", "-accept", "127.0.0.1:0", "-cert", "peer.pem", "-key", "peer.key"]
        if let protocols { arguments += ["-alpn", protocols] }
        if case .respond(let response) = mode {
            try directory.write("page", response)
            arguments.append("-HTTP")
        }
        process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = arguments
        process.currentDirectoryURL = directory.url
        process.standardError = FileHandle.nullDevice
        process.standardInput = input
        process.standardOutput = output
        try process.start()
        var banner = ""
        while banner.firstMatch(of: /ACCEPT .*:(\d+)\n/) == nil {
            let bytes = output.fileHandleForReading.availableData
            guard !bytes.isEmpty else { throw CocoaError(.fileReadUnknown) }
            banner += String(decoding: bytes, as: UTF8.self)
        }
        port = banner.firstMatch(of: /ACCEPT .*:(\d+)\n/).flatMap { Int($0.1) } ?? 0
    }

    deinit {
        // Not `terminate()`: the child inherits the signal mask of the thread that started it, and dispatch's threads
        // block SIGTERM.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        directory.remove()
    }

    var url: String { "https://127.0.0.1:\(port)/page" }
    /// The path of the authority's certificate, for clients that are to trust the peer.
    var authority: String { directory.url.appending(path: "authority.pem").path }

    /// Reads on until `isEnough`, writes the answer, returns all that was read. On a thread of its own, since it blocks: two of
    /// those that tasks share would be all that there are.
    func exchange(
        after earlier: [UInt8] = [], answering answer: [UInt8], when isEnough: @escaping @Sendable ([UInt8]) -> Bool
    ) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                var received = earlier
                while !isEnough(received) {
                    let bytes = output.fileHandleForReading.availableData
                    if bytes.isEmpty { break }
                    received += bytes
                }
                input.fileHandleForWriting.write(Data(answer))
                continuation.resume(returning: received)
            }
        }
    }

    private static func makeCertificates(_ certificate: Certificate, in directory: URL) async throws {
        func make(_ command: String) async throws { try await FinishedProcess.openssl(command, in: directory) }
        let request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=peer"
        let host = certificate == .issuedForAnotherHost ? "DNS:other.example" : "IP:127.0.0.1"
        let peer = "-keyout peer.key -out peer.pem -addext subjectAltName=\(host)"
        switch certificate {
        case .issued, .issuedForAnotherHost:
            try await make("\(request) -keyout authority.key -out authority.pem")
            try await make("\(request) \(peer) -CA authority.pem -CAkey authority.key")
        case .selfSigned:
            try await make("\(request) \(peer)")
            try await make("x509 -in peer.pem -out authority.pem")
        case .selfSignedExpired:
            try await make("\(request) \(peer)")
            try await make("x509 -in peer.pem -signkey peer.key -days -1 -out authority.pem")
            try await make("x509 -in authority.pem -out peer.pem")
        }
    }
}
