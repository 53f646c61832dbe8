package import Foundation
import Synchronization

/// A third-party program that runs beside the service during a test, such as HAProxy or PgBouncer.
package final class SideProcess: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let process: Mutex<Process>
    private let watchdog: Watchdog
    private let ended: Task<Int32, Never>
    private let output: URL

    private init(_ executable: String, _ arguments: [String], _ environment: [String: String], in directory: URL) throws
    {
        let process = Process()
        process.executableURL = URL(filePath: executable)
        process.arguments = arguments
        process.environment = ["PATH": "/usr/sbin:/usr/bin:/bin"].merging(environment) { _, asked in asked }
        process.standardInput = FileHandle.nullDevice
        output = directory.appending(path: "output")
        try Data().write(to: output)
        let writing = try FileHandle(forWritingTo: output)
        process.standardOutput = writing
        process.standardError = writing
        let (statuses, status) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { status.yield($0.terminationStatus) }
        try process.start()
        watchdog = try Watchdog(over: process.processIdentifier)
        ended = Task { await statuses.first { _ in true } ?? -1 }
        self.process = Mutex(process)
    }

    /// Runs a program for as long as `body` runs.
    ///
    /// - Parameter prepare: writes the program's files to a directory of its own, and returns the arguments.
    package static func run<T>(
        _ executable: String, environment: [String: String] = [:], prepare: (URL) throws -> [String],
        _ body: (SideProcess) async throws -> T
    ) async throws -> T {
        guard FileManager.default.isExecutableFile(atPath: executable) else {
            throw Failure(description: "\(executable) is not installed; Scripts/setup does it.")
        }
        let directory = FileManager.default.temporaryDirectory.appending(path: "countersign-side-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        defer { try? FileManager.default.removeItem(at: directory) }
        let side = try SideProcess(executable, try prepare(directory), environment, in: directory)
        do {
            let result = try await body(side)
            await side.stop()
            return result
        } catch {
            await side.stop()
            throw error
        }
    }

    package var isRunning: Bool { process.withLock(\.isRunning) }

    /// The output so far.
    package var log: String { (try? String(contentsOf: output, encoding: .utf8)) ?? "" }

    private func stop() async {
        process.withLock { process in
            // SIGKILL: the child may have inherited a signal mask that blocks any other signal.
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        }
        _ = await ended.value
        watchdog.dismiss()
    }
}
