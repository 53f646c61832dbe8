import Foundation
import PackagePlugin

/// Compiles the package's `Migrations` directory into the target that uses this plugin.
///
/// Every SQL file is a declared input, so that editing, adding or removing one rebuilds the target: a binary can't
/// carry yesterday's schema.
@main
struct EmbedMigrationsPlugin: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let directory = context.package.directoryURL.appending(path: "Migrations")
        let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedMigrations.swift")
        // All entries, not only "*.sql": a file with a wrong name has to reach the tool to be refused there.
        let files = try FileManager.default
            .contentsOfDirectory(at: directory, includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
        return [
            .buildCommand(
                displayName: "Embedding \(files.count) migration files",
                executable: try context.tool(named: "embed-migrations").url,
                arguments: [directory.path, output.path],
                inputFiles: files,
                outputFiles: [output])
        ]
    }
}
