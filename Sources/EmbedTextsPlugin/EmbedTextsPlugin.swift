import Foundation
import PackagePlugin

/// A build tool plugin that compiles the files of `Languages` into the target that has them.
///
/// They lie in the target's own directory, which SwiftPM watches: a new language is noticed by the next build.
@main
struct EmbedTextsPlugin: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let directory = target.directoryURL.appending(path: "Languages")
        let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedTexts.swift")
        // All entries, not only "*.json": a file with a wrong name has to reach the tool to be refused there.
        let files = try FileManager.default
            .contentsOfDirectory(at: directory, includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
        return [
            .buildCommand(
                displayName: "Embedding the texts of \(files.count) languages",
                executable: try context.tool(named: "embed-texts").url,
                arguments: [directory.path, output.path],
                inputFiles: files,
                outputFiles: [output])
        ]
    }
}
