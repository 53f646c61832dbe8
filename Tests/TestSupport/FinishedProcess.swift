package import Foundation

/// A program that has run to its end, and what it wrote.
package struct FinishedProcess: Sendable {
    package let code: Int32
    package let output: String
    package let errors: String

    package var lines: [Substring] { output.split(separator: "\n", omittingEmptySubsequences: false).dropLast() }

    /// - Parameters:
    ///   - environment: of this process, if nil.
    ///   - input: none, if nil.
    ///   - directory: where it is started from; where the test was, if nil.
    package static func run(
        _ executable: URL, _ arguments: [String], environment: [String: String]? = nil, input: Data? = nil,
        directory: String? = nil
    ) async throws -> FinishedProcess {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        if let environment { process.environment = environment }
        if let directory { process.currentDirectoryURL = URL(filePath: directory) }
        let (stdin, stdout, stderr) = (Pipe(), Pipe(), Pipe())
        if input == nil { process.standardInput = FileHandle.nullDevice } else { process.standardInput = stdin }
        process.standardOutput = stdout
        process.standardError = stderr
        try process.start()
        // All three at once: a full pipe would block the process, and the thread that feeds it.
        async let fed: Void = onThread {
            guard let input else { return }
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
        return FinishedProcess(
            code: process.terminationStatus, output: String(decoding: texts.0, as: UTF8.self),
            errors: String(decoding: texts.1, as: UTF8.self))
    }

    /// Runs an `openssl` command, its words separated by spaces, in a directory.
    package static func openssl(_ command: String, in directory: URL) async throws {
        let words = command.split(separator: " ").map(String.init)
        let run = try await Self.run(URL(filePath: "/usr/bin/openssl"), words, directory: directory.path)
        guard run.code == 0 else { throw SetUpFailure("openssl \(command): \(run.errors)") }
    }

    /// Off the threads that Swift's tasks share, which blocking calls would use up.
    package static func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in Thread { continuation.resume(returning: body()) }.start() }
    }

    /// SwiftPM puts every product of a build into one directory, the test bundle too.
    package static func product(_ name: String) throws -> URL {
        let bundle = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        let executable = bundle.deletingLastPathComponent().appending(path: name)
        guard FileManager.default.isExecutableFile(atPath: executable.path) else {
            throw SetUpFailure("There is no \(executable.path); build the product \(name).")
        }
        return executable
    }
}
