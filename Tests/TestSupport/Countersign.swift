package import Curl
import Foundation
import OpenSSL
import Synchronization

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

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// How a process ended and what it had written.
    package struct Ending: Sendable {
        /// The exit status; nil when a signal ended the process.
        package let status: Int32?
        package let output: String
        /// Standard error: the log of `serve`, the sentence of a command that failed.
        package let error: String
    }

    package static let appleClient = "com.example.lamp"
    package static let googleClient = "lamp-web.apps.googleusercontent.com"

    package let processID: Int32
    /// `http://127.0.0.1:PORT` of the public listener.
    package let url: String
    /// `http://127.0.0.1:PORT` of the private listener.
    package let privateURL: String
    package let fetcher: CurlFetcher
    package let port: UInt16
    package let privatePort: UInt16
    private let child: Child

    /// Serves with these settings for as long as the closure runs. Settings that a test does not name have values that
    /// suit one: free ports, a key ring, the client IDs above, no drain.
    ///
    /// - Parameter launcher: a program with its words, which becomes the service: its executable and its words follow.
    package static func serve<Result>(
        _ settings: Settings, arguments: [String] = [], launcher: [String] = [],
        isolation: isolated (any Actor)? = #isolation,
        _ body: (Countersign) async throws -> Result
    ) async throws -> Result {
        let service = try await start(settings, arguments: arguments, launcher: launcher)
        do {
            let result = try await body(service)
            await service.stop()
            return result
        } catch {
            await service.stop()
            throw error
        }
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
        throw Failure(description: "countersign ended before it was ready: \(refusal.suffix(2_000))")
    }

    /// Runs a command to its end. Ports and the rest are set as for `serve`, and so is the launcher.
    package static func run(
        _ arguments: [String], _ settings: Settings = [:], launcher: [String] = []
    ) async throws -> Ending {
        await (try begin(arguments, settings, launcher: launcher)).end()
    }

    /// A command that is under way.
    package struct Command: Sendable {
        private let child: Child

        fileprivate init(_ child: Child) { self.child = child }

        /// The standard output so far.
        package var output: String { child.output.text }

        /// Sends a signal without waiting for the end.
        package func send(_ signal: Int32) { child.signal(signal) }

        package func end() async -> Ending { await child.ended.value }
    }

    /// Begins a command. What is set is as for `run`.
    package static func begin(
        _ arguments: [String], _ settings: Settings = [:], launcher: [String] = []
    ) throws -> Command {
        var settings = settings
        let ports = try FreePort.choose(2)
        for (key, port) in zip(["server.port", "admin.port"], ports) where settings[key] == nil {
            settings[key] = String(port)
        }
        return Command(try Child(arguments, launcher, try environment(of: settings)))
    }

    private init(
        _ settings: Settings, arguments: [String], launcher: [String], ports: (UInt16, UInt16)
    ) throws {
        (port, privatePort) = ports
        var settings = settings
        settings["server.port"] = String(port)
        settings["admin.port"] = String(privatePort)
        url = "http://127.0.0.1:\(port)"
        privateURL = "http://127.0.0.1:\(privatePort)"
        fetcher = try CurlFetcher()
        child = try Child(["serve"] + arguments, launcher, try Self.environment(of: settings))
        processID = child.processID
    }

    private func becomesReady() async -> Bool {
        for address in ["\(privateURL)/health/ready", "\(url)/.well-known/jwks.json"] {
            while true {
                guard child.isRunning else { return false }
                // The connection is refused until the listener is there.
                if let response = try? await fetcher.fetch(FetchRequest(url: address)), response.status == 200 { break }
                guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return false }
            }
        }
        return true
    }

    /// The standard error so far: with the lines of whatever the service has answered.
    package var log: String { child.error.text }

    package var isRunning: Bool { child.isRunning }

    /// Whether the process has ended although no test sent it a signal.
    package var endedByItself: Bool { !child.isRunning && !child.isSignalled.load(ordering: .relaxed) }

    /// Sends SIGTERM and waits for the end.
    @discardableResult
    package func stop() async -> Ending { await kill(SIGTERM) }

    /// Sends a signal and waits for the end.
    @discardableResult
    package func kill(_ signal: Int32) async -> Ending {
        await fetcher.shutdown()
        child.signal(signal)
        return await child.ended.value
    }

    /// Sends a signal without waiting for the end.
    package func send(_ signal: Int32) { child.signal(signal) }

    /// Waits for the end of a process that is shutting down already.
    package func end() async -> Ending { await child.ended.value }

    /// The key ring that every service of this test run uses, so that they can share a database.
    package static let keyRingPath = Result {
        let file = FileManager.default.temporaryDirectory.appending(path: "keyring-\(getpid())")
        let key = Data(try SecureRandom.bytes(32)).base64EncodedString()
        let isWritten = FileManager.default.createFile(
            atPath: file.path, contents: Data("test \(key)\n".utf8), attributes: [.posixPermissions: 0o600])
        guard isWritten else { throw Failure(description: "\(file.path) can't be written.") }
        return file.path
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

/// A process and its output.
private final class Child: Sendable {
    let processID: Int32
    let output: Collected
    let error: Collected
    let ended: Task<Countersign.Ending, Never>
    let isSignalled = Atomic(false)
    private let process: Mutex<Process>

    init(_ arguments: [String], _ launcher: [String], _ environment: [String: String]) throws {
        let process = Process()
        let program = try FinishedProcess.product("countersign")
        let words = launcher + [program.path] + arguments
        process.executableURL = URL(filePath: words[0])
        process.arguments = Array(words.dropFirst())
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        let (output, error) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = error
        let (statuses, status) = AsyncStream.makeStream(of: Int32?.self)
        process.terminationHandler = { process in
            status.yield(process.terminationReason == .exit ? process.terminationStatus : nil)
        }
        try process.start()
        let written = Collected(from: output)
        let log = Collected(from: error)
        let watchdog = try Watchdog(over: process.processIdentifier)
        ended = Task {
            let status = await statuses.first { _ in true } ?? nil
            watchdog.dismiss()
            return Countersign.Ending(status: status, output: await written.whole(), error: await log.whole())
        }
        processID = process.processIdentifier
        self.output = written
        self.error = log
        self.process = Mutex(process)
    }

    var isRunning: Bool { process.withLock(\.isRunning) }

    /// Does nothing once the process has ended: its id may belong to another process.
    func signal(_ number: Int32) {
        process.withLock { process in
            guard process.isRunning else { return }
            isSignalled.store(true, ordering: .relaxed)
            Glibc.kill(process.processIdentifier, number)
        }
    }
}

/// The output of a pipe, read by a thread of its own.
private final class Collected: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var isOpen = true
    }

    private let state = Mutex(State())
    private let pipe: FileHandle
    private let ends: AsyncStream<Void>

    init(from pipe: Pipe) {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        self.ends = ends
        self.pipe = pipe.fileHandleForReading
        let descriptor = self.pipe.fileDescriptor
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let thread = Thread { [self] in
            while state.withLock({ drain(&$0) }) {
                var readable = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                _ = poll(&readable, 1, -1)
            }
            // Here alone: its number may be another file's from then on.
            state.withLock { state in
                try? self.pipe.close()
                state.isOpen = false
            }
            end.finish()
        }
        thread.start()
    }

    /// Reads what the pipe holds. False if the other end is closed.
    @discardableResult
    private func drain(_ state: inout State) -> Bool {
        guard state.isOpen else { return false }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(pipe.fileDescriptor, &buffer, buffer.count)
            if count > 0 {
                state.bytes += buffer.prefix(count)
            } else if count == 0 || errno != EINTR {
                return count < 0 && errno == EAGAIN
            }
        }
    }

    /// All that has been written so far, whether or not the thread has read it.
    var text: String {
        let bytes = state.withLock { state in
            drain(&state)
            return state.bytes
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The whole output, once the other end is closed.
    func whole() async -> String {
        for await _ in ends {}
        return text
    }
}
