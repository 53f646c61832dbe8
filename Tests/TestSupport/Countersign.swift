package import Curl
import Foundation
import OpenSSL
import Primitives

/// A running `countersign serve`: the real executable in a process of its own, which a test calls over HTTP.
///
///     try await ScratchDatabase.withMigrated { scratch in
///         let settings = ["postgres.url": scratch.url, "apple.keysUrl": sandbox.appleKeysURL]
///         try await Countersign.serve(settings) { service in
///             let answer = try await service.post("/v1/sign-in/apple", ["identityToken": .string(token)])
///         }
///     }
///
/// The process ends with the closure, also when it throws, and with the test process, also when that crashes.
package final class Countersign: Sendable {
    /// Configuration keys and their values, as `server.drainSeconds`.
    package typealias Settings = [String: String]
    /// A value that leaves a setting out, also one that has a default for tests.
    package static let unset = "(unset)"

    package typealias Ending = SideProcess.Ending
    /// A command that is under way.
    package typealias Command = SideProcess

    package static let appleClient = "com.example.lamp"
    package static let googleClient = "lamp-web.apps.googleusercontent.com"

    /// `http://127.0.0.1:PORT` of the public listener.
    package let url: String
    /// `http://127.0.0.1:PORT` of the private listener.
    package let privateURL: String
    package let fetcher: CurlFetcher
    package let port: UInt16
    package let privatePort: UInt16
    private let process: SideProcess

    /// Serves with these settings for as long as the closure runs. Settings that a test does not name have values that
    /// suit one: free ports, a key ring, the client IDs above, no drain.
    ///
    /// - Parameter launcher: a program with its words, which becomes the service: its executable and its words follow.
    package static func serve<Result>(
        _ settings: Settings, arguments: [String] = [], launcher: [String] = [],
        _ body: (Countersign) async throws -> Result
    ) async throws -> Result {
        let service = try await start(settings, arguments: arguments, launcher: launcher)
        return try await closing({ _ = await service.stop() }, after: { try await body(service) })
    }

    /// Starts a service that the caller has to stop. Returns when both listeners answer and it is ready.
    ///
    /// - Parameter ports: the public and the private one, when it has to be these, as after a restart.
    package static func start(
        _ settings: Settings, arguments: [String] = [], launcher: [String] = [], ports: (UInt16, UInt16)? = nil
    ) async throws -> Countersign {
        var refusal = ""
        // Another process may bind a port between its choice and its use, or may not have released it yet.
        for _ in 0..<5 {
            let free = try FreePort.choose(2)
            let service = try Countersign(
                settings, arguments: arguments, launcher: launcher, ports: ports ?? (free[0], free[1]))
            if await service.becomesReady() { return service }
            let ending = await service.kill(SIGKILL)
            refusal = ending.error
            guard refusal.contains("listener can't use") else { break }
            if ports != nil { try await Task.sleep(for: .seconds(1)) }
        }
        throw SetUpFailure("countersign ended before it was ready: \(refusal.suffix(2_000))")
    }

    /// Runs a command to its end. Ports and the rest are set as for `serve`, and so is the launcher.
    package static func run(
        _ arguments: [String], _ settings: Settings = [:], launcher: [String] = []
    ) async throws -> Ending { await (try begin(arguments, settings, launcher: launcher)).end() }

    /// Begins a command. What is set is as for `run`.
    package static func begin(
        _ arguments: [String], _ settings: Settings = [:], launcher: [String] = []
    ) throws -> Command {
        var settings = settings
        let ports = try FreePort.choose(2)
        for (key, port) in zip(["server.port", "admin.port"], ports) where settings[key] == nil {
            settings[key] = String(port)
        }
        return try launch(arguments, launcher, settings)
    }

    private static func launch(
        _ arguments: [String], _ launcher: [String], _ settings: Settings
    ) throws -> SideProcess {
        let program = try FinishedProcess.product("countersign").path
        return try SideProcess(launcher + [program] + arguments, environment: environment(of: settings))
    }

    private init(_ settings: Settings, arguments: [String], launcher: [String], ports: (UInt16, UInt16)) throws {
        (port, privatePort) = ports
        var settings = settings
        settings["server.port"] = String(port)
        settings["admin.port"] = String(privatePort)
        url = "http://127.0.0.1:\(port)"
        privateURL = "http://127.0.0.1:\(privatePort)"
        fetcher = try CurlFetcher()
        process = try Self.launch(["serve"] + arguments, launcher, settings)
    }

    private func becomesReady() async -> Bool {
        for address in ["\(privateURL)/health/ready", "\(url)/.well-known/jwks.json"] {
            while true {
                guard process.isRunning else { return false }
                // The connection is refused until the listener is there.
                if let response = try? await fetcher.fetch(FetchRequest(url: address)), response.status == 200 { break }
                guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return false }
            }
        }
        return true
    }

    package var processID: Int32 { process.id }

    /// The standard error so far: with the lines of whatever the service has answered.
    package var log: String { process.error }

    package var isRunning: Bool { process.isRunning }

    /// Whether the process has ended although no test sent it a signal.
    package var endedByItself: Bool { process.endedByItself }

    /// Sends SIGTERM and waits for the end.
    @discardableResult
    package func stop() async -> Ending { await kill(SIGTERM) }

    /// Sends a signal and waits for the end.
    @discardableResult
    package func kill(_ signal: Int32) async -> Ending {
        await fetcher.shutdown()
        process.send(signal)
        return await process.end()
    }

    /// Sends a signal without waiting for the end.
    package func send(_ signal: Int32) { process.send(signal) }

    /// Waits for the end of a process that is shutting down already.
    package func end() async -> Ending { await process.end() }

    /// The key ring that every service of this test run uses, so that they can share a database.
    package static let keyRingPath = Result {
        let key = Data(try SecureRandom.bytes(32)).base64EncodedString()
        return try ScratchDirectory.ofRun.write("keyring", "test \(key)\n")
    }

    /// The environment for these settings: `apple.clientIds` is `COUNTERSIGN_APPLE_CLIENT_IDS`. Nothing is inherited.
    private static func environment(of settings: Settings) throws -> [String: String] {
        var all: Settings = [
            "server.drainSeconds": "0", "apple.clientIds": appleClient, "google.clientIds": googleClient,
            "keyring.path": try keyRingPath.get(),
        ]
        all.merge(settings) { _, asked in asked }
        var environment = ["PATH": "/usr/bin:/bin"]
        for (key, value) in all where value != unset {
            let words = key.map { $0 == "." ? "_" : $0.isUppercase ? "_\($0)" : $0.uppercased() }
            environment["COUNTERSIGN_" + words.joined()] = value
        }
        return environment
    }
}
