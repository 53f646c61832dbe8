package import Foundation

/// A build step that makes one Swift file of a directory, run as the build runs it.
package struct Embedding: Sendable {
    package let code: Int32
    /// Empty when no file was written.
    package let source: String
    package let message: String

    /// Runs it on a directory with these files.
    package static func run(_ tool: String, on files: [String: String]) async throws -> Embedding {
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        for (name, text) in files { try directory.write(name, text) }
        return try await run(tool, on: directory.url)
    }

    package static func run(_ tool: String, on directory: URL) async throws -> Embedding {
        let result = try ScratchDirectory()
        defer { result.remove() }
        let output = result.url.appending(path: "out.swift")
        let run = try await FinishedProcess.run(FinishedProcess.product(tool), [directory.path, output.path])
        let source = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
        return Embedding(code: run.code, source: source, message: run.errors)
    }
}
