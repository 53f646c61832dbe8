import Foundation
import TestSupport
import Testing

@testable import countersign

/// A configuration that comes through a pipe, such as the output of `sops -d`.
@Suite(.timeLimit(.minutes(2))) struct ConfigurationPipeTests {
    private static let yaml = "server.port: 70000\nlog.level: loud\n"

    private static func expectFaults(_ text: String) {
        #expect(text.contains("server.port"), "\(text)")
        #expect(text.contains("log.level"), "\(text)")
        #expect(!text.contains("is no file"), "\(text)")
    }

    @Test func `a configuration can come through standard input`() async throws {
        let run = try await CountersignProcess.run(["config", "check", "--config", "/dev/stdin"], input: Self.yaml)
        #expect(run.code == 2)
        Self.expectFaults(run.errors)
    }

    @Test func `a command that reads its configuration from a pipe has no core file by then`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "configuration-\(UUID())").path
        try #require(mkfifo(path, 0o600) == 0)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let process = Process()
        process.executableURL = try CountersignProcess.executable
        process.arguments = ["config", "check", "--config", path]
        process.environment = [:]
        let errors = Pipe()
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        try process.start()
        // Opening the pipe succeeds once the command has opened its end.
        var descriptor: Int32 = -1
        while descriptor < 0, process.isRunning {
            descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            if descriptor < 0 { try await Task.sleep(for: .milliseconds(5)) }
        }
        try #require(descriptor >= 0, "the command ended and opened nothing")
        let writer = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        let limits = try String(contentsOfFile: "/proc/\(process.processIdentifier)/limits", encoding: .utf8)
        #expect(limits.contains(#/Max core file size +0 +0 /#), "\(limits)")
        // In two pieces, as they come out of another program.
        let (first, second) = (Self.yaml.prefix(10), Self.yaml.dropFirst(10))
        try writer.write(contentsOf: Data(first.utf8))
        try writer.write(contentsOf: Data(second.utf8))
        try writer.close()
        let output = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 2)
        Self.expectFaults(String(decoding: output, as: UTF8.self))
    }
}
