package import Curl
import Foundation
package import JSON
import OpenSSL
package import Synchronization

/// A running `countersign-sandbox`, the stand-in for Apple and Google, in a process of its own.
///
///     try await Sandbox.run { sandbox in
///         try await sandbox.addApplePerson("kim", #"{"email":"kim@example.com"}"#)
///         let credential = try await sandbox.authorizeApple("kim", clientID: "com.example.lamp")
///     }
///
/// The process ends with the closure, also when it throws, and with the test process, also when that crashes.
package final class Sandbox: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// `http://127.0.0.1:PORT`.
    package let url: String
    package let fetcher: CurlFetcher
    /// The id of the latest request that `history` has returned: those that are yet to come have greater ones.
    package let latest = Mutex<Int64>(0)
    private let server: Mutex<Server?>

    /// The other end of the pipe is the sandbox's standard input: when it closes, the sandbox ends.
    private struct Server {
        let process: Process
        let lifeline: Pipe
    }

    package var appleKeysURL: String { url + "/apple/auth/keys" }
    package var googleKeysURL: String { url + "/google/oauth2/v3/certs" }
    package var appleTokenURL: String { url + "/apple/auth/token" }
    package var appleRevokeURL: String { url + "/apple/auth/revoke" }
    package var appleAuthorizeURL: String { url + "/apple/auth/authorize" }
    package var appleUserMigrationURL: String { url + "/apple/auth/usermigrationinfo" }
    package var googleAuthorizeURL: String { url + "/google/o/oauth2/v2/auth" }
    package var googleTokenURL: String { url + "/google/token" }
    package var googleRevokeURL: String { url + "/google/revoke" }

    /// Runs a closure with a sandbox, and stops the sandbox afterwards.
    package static func run<Result>(
        seed: String = "test", arguments: [String] = [],
        isolation: isolated (any Actor)? = #isolation,
        _ body: (Sandbox) async throws -> Result
    ) async throws -> Result {
        let sandbox = try await start(seed: seed, arguments: arguments)
        do {
            let result = try await body(sandbox)
            await sandbox.stop()
            return result
        } catch {
            await sandbox.stop()
            throw error
        }
    }

    /// Starts a sandbox that the caller has to stop.
    package static func start(seed: String = "test", arguments: [String] = []) async throws -> Sandbox {
        let process = Process()
        let lifeline = Pipe()
        let output = Pipe()
        let executable = try FinishedProcess.product("countersign-sandbox")
        process.executableURL = executable
        // Kept beside the build, the keys cost their prime search once instead of in every test.
        let keys = executable.deletingLastPathComponent().appending(path: "countersign-sandbox-keys").path
        process.arguments = ["--port", "0", "--seed", seed, "--keys", keys, "--until-input-ends"] + arguments
        process.standardInput = lifeline
        process.standardOutput = output
        try process.start()
        let server = Server(process: process, lifeline: lifeline)
        guard let line = await firstLine(of: output), let start = line.range(of: "http://") else {
            process.terminate()
            throw Failure(description: "countersign-sandbox ended before it was ready.")
        }
        return try Sandbox(url: String(line[start.lowerBound...]), server: server)
    }

    private init(url: String, server: consuming sending Server) throws {
        self.url = url
        self.server = Mutex(server)
        fetcher = try CurlFetcher()
    }

    deinit {
        end()
    }

    /// Ends the process and waits until it has ended. A second call does nothing.
    package func stop() async {
        end()
        await fetcher.shutdown()
    }

    /// Sends SIGTERM and waits for the end. Returns the exit status, the negative number of the signal that ended the
    /// process, or nil when it had been ended before.
    @discardableResult
    package func end() -> Int32? {
        server.withLock { server in
            guard let running = server else { return nil }
            server = nil
            running.process.terminate()
            running.process.waitUntilExit()
            let status = running.process.terminationStatus
            return running.process.terminationReason == .exit ? status : -status
        }
    }

    /// nil when the pipe closes before a whole line has come. Reading blocks, so a thread of its own does it.
    private static func firstLine(of pipe: Pipe) async -> String? {
        let handle = pipe.fileHandleForReading
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var line: [UInt8] = []
                while !line.contains(UInt8(ascii: "\n")) {
                    let data = handle.availableData
                    guard !data.isEmpty else { return continuation.resume(returning: nil) }
                    line += data
                }
                continuation.resume(
                    returning: String(decoding: line.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
            }
        }
    }

    /// The form in which the history shows a secret: equal secrets have equal fingerprints.
    package static func fingerprint(_ secret: String) -> String {
        "sha256:"
            + SHA256.hash(Array(secret.utf8)).prefix(8).map { octet in
                let digits = String(octet, radix: 16)
                return digits.count == 1 ? "0" + digits : digits
            }.joined()
    }

    /// Sends a control request that must succeed. The body is JSON text.
    @discardableResult
    package func control(_ path: String, _ body: String? = nil) async throws -> JSONValue {
        let response = try await fetcher.fetch(
            FetchRequest(
                body == nil ? .get : .post, url: "\(url)/control/\(path)", body: body.map { Array($0.utf8) },
                maximumBodyBytes: 16 << 20
            ).uncontended)
        guard 200..<300 ~= response.status else {
            throw Failure(
                description: "\(path): \(response.status) \(String(decoding: response.body, as: UTF8.self))")
        }
        var limits = JSONLimits.standard
        limits.maximumBytes = 16 << 20
        limits.maximumStringBytes = 1 << 20
        return try JSONValue(parsing: response.body, limits: limits)
    }

    /// Like `control`, for a body that is written member by member.
    @discardableResult
    package func control(_ path: String, _ write: (inout JSONWriter) throws -> Void) async throws -> JSONValue {
        try await control(path, String(decoding: JSONWriter.object(write), as: UTF8.self))
    }
}
