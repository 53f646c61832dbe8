import Foundation
import PackagePlugin

/// A build tool plugin that compiles the checked-out commit into the target that uses it.
///
/// It runs again when git's log of HEAD has a new line, which every commit, checkout, reset and rebase writes. Without
/// such a log, HEAD and the branch that it names are looked at.
@main
struct EmbedRevisionPlugin: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedCommit.swift")
        let revision = target.directoryURL.appending(path: "revision")
        let repository = context.package.directoryURL.appending(path: ".git")
        return [
            .buildCommand(
                displayName: "Embedding the commit",
                executable: try context.tool(named: "embed-revision").url,
                arguments: [revision.path, repository.path, output.path],
                inputFiles: [revision] + watched(in: repository),
                outputFiles: [output])
        ]
    }

    /// Those of git's files that are there: a build with an input that isn't fails, also when it has gone since this was asked,
    /// as the file of a branch does that is deleted or packed.
    private func watched(in repository: URL) -> [URL] {
        func isThere(_ file: URL) -> Bool { FileManager.default.fileExists(atPath: file.path) }
        let log = repository.appending(path: "logs/HEAD")
        guard !isThere(log) else { return [log] }
        let head = repository.appending(path: "HEAD")
        var files = [head, repository.appending(path: "packed-refs")]
        if let text = try? String(contentsOf: head, encoding: .utf8), text.hasPrefix("ref: ") {
            files.append(repository.appending(path: text.dropFirst(5).prefix { !$0.isNewline }.description))
        }
        return files.filter(isThere)
    }
}
