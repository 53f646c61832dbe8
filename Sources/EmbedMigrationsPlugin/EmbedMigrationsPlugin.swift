import Foundation
import PackagePlugin

/// Compiles the package's `Migrations` directory into the target that uses this plugin.
///
/// A binary can't carry yesterday's schema: every file is a declared input, so that an edit rebuilds the target; and the
/// link `Sources/Migrator/Migrations` makes the directory a part of the package's structure, so that SwiftPM asks this
/// plugin again when a file comes or goes. (It watches the directories of targets alone.)
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
