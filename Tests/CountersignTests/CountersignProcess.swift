import Foundation
import TestSupport
import Testing

/// A run of the built `countersign`, the executable beside the test bundle.
struct CountersignProcess {
    let code: Int32
    let output: String
    let errors: String

    var lines: [Substring] { output.split(separator: "\n", omittingEmptySubsequences: false).dropLast() }

    static var executable: URL {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "countersign")
    }

    /// Runs it with nothing of the test's own environment.
    ///
    /// - Parameter directory: where it is started from; where the test was, if nil.
    static func run(
        _ arguments: [String], environment: [String: String] = [:], input: String = "", directory: String? = nil
    ) async throws -> CountersignProcess {
        try await run(executable, arguments, environment: environment, input: Data(input.utf8), directory: directory)
    }

    static func run(
        _ executable: URL, _ arguments: [String], environment: [String: String] = [:], input: Data,
        directory: String? = nil
    ) async throws -> CountersignProcess {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.environment = environment
        if let directory { process.currentDirectoryURL = URL(filePath: directory) }
        let (stdin, stdout, stderr) = (Pipe(), Pipe(), Pipe())
        process.standardInput = stdin
        process.standardOutput = stdout
        process.standardError = stderr
        try process.start()
        // All three at once: a full pipe would block the process, and the thread that feeds it.
        async let fed: Void = onThread {
            // A process that reads no input closes the pipe, which is no fault of the test.
            signal(SIGPIPE, SIG_IGN)
            try? stdin.fileHandleForWriting.write(contentsOf: input)
            try? stdin.fileHandleForWriting.close()
        }
        async let output = onThread { try? stdout.fileHandleForReading.readToEnd() }
        async let errors = onThread { try? stderr.fileHandleForReading.readToEnd() }
        await fed
        let texts = await (output ?? Data(), errors ?? Data())
        await onThread { process.waitUntilExit() }
        return CountersignProcess(
            code: process.terminationStatus, output: String(decoding: texts.0, as: UTF8.self),
            errors: String(decoding: texts.1, as: UTF8.self))
    }

    /// Off the threads that Swift's tasks share, which blocking calls would use up.
    static func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: body()) }.start()
        }
    }
}
