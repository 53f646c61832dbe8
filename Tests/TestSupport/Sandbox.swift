package import Curl
import Foundation
package import JSON
import OpenSSL
import Primitives
package import Synchronization
import Testing

/// A running `countersign-sandbox`, the stand-in for Apple and Google, in a process of its own.
///
///     try await Sandbox.run { sandbox in
///         try await sandbox.addApplePerson("kim", #"{"email":"kim@example.com"}"#)
///         let credential = try await sandbox.authorizeApple("kim", clientID: "com.example.lamp")
///     }
///
/// The process ends with the closure, also when it throws, and with the test process, also when that crashes.
package final class Sandbox: Sendable {
    /// `http://127.0.0.1:PORT`.
    package let url: String
    package let fetcher: CurlFetcher
    /// The id of the latest request that `history` has returned: those that are yet to come have greater ones.
    package let latest = Mutex<Int64>(0)
    private let process: SideProcess

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
        seed: String = "test", arguments: [String] = [], _ body: (Sandbox) async throws -> Result
    ) async throws -> Result {
        let sandbox = try await start(seed: seed, arguments: arguments)
        return try await closing(
            {
                #expect(!sandbox.process.endedByItself, "\(sandbox.process.error)")
                _ = await sandbox.stop()
            }, after: { try await body(sandbox) })
    }

    /// Starts a sandbox that the caller has to stop.
    package static func start(seed: String = "test", arguments: [String] = []) async throws -> Sandbox {
        let executable = try FinishedProcess.product("countersign-sandbox")
        // Kept beside the build, the keys cost their prime search once instead of in every test.
        let keys = executable.deletingLastPathComponent().appending(path: "countersign-sandbox-keys").path
        let options = ["--port", "0", "--seed", seed, "--keys", keys, "--until-input-ends"]
        let process = try SideProcess([executable.path] + options + arguments, endsWithInput: true)
        guard let line = await process.firstLine(), let start = line.range(of: "http://") else {
            process.send(SIGTERM)
            throw SetUpFailure("countersign-sandbox ended before it was ready: \(process.error)")
        }
        return try Sandbox(url: String(line[start.lowerBound...]), process)
    }

    private init(url: String, _ process: SideProcess) throws {
        self.url = url
        self.process = process
        fetcher = try CurlFetcher()
    }

    /// Sends SIGTERM and waits for the end.
    @discardableResult
    package func stop() async -> SideProcess.Ending {
        process.send(SIGTERM)
        let ending = await process.end()
        await fetcher.shutdown()
        return ending
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
            throw SetUpFailure("\(path): \(response.status) \(String(decoding: response.body, as: UTF8.self))")
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
