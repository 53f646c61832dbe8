import Foundation

/// A cluster that a test may stop and start, made by `Scripts/postgres`.
package struct PrivateCluster {
    private struct Failed: Error {
        let command: String
    }

    private let directory: URL

    /// Lends a running cluster and its URL, and leaves nothing of it behind.
    package static func run<T: Sendable>(_ body: (PrivateCluster, String) async throws -> T) async throws -> T {
        let name = "countersign-\(UUID().uuidString.prefix(8))"
        let cluster = PrivateCluster(directory: FileManager.default.temporaryDirectory.appending(path: name))
        try FileManager.default.createDirectory(at: cluster.directory, withIntermediateDirectories: true)
        let result: Result<T, any Error>
        do {
            result = .success(try await body(cluster, try await cluster.start()))
        } catch {
            result = .failure(error)
        }
        try await cluster.stop()
        try FileManager.default.removeItem(at: cluster.directory)
        return try result.get()
    }

    package func start() async throws -> String { try await script("start", "--fast") }

    package func stop() async throws { _ = try await script("stop") }

    private func script(_ command: String, _ options: String...) async throws -> String {
        let output = directory.appending(path: "output")
        try Data().write(to: output)
        let process = Process()
        process.executableURL = URL(filePath: #filePath).appending(path: "../../../Scripts/postgres").standardized
        process.arguments = [command, directory.path] + options
        process.standardOutput = try FileHandle(forWritingTo: output)
        try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { _ in continuation.resume() }
            do {
                try process.run()
            } catch {
                continuation.resume(throwing: error)
            }
        }
        guard process.terminationStatus == 0 else { throw Failed(command: command) }
        return try String(contentsOf: output, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
