import Foundation
import PackagePlugin

/// A build tool plugin that compiles the package's `Migrations` directory into the target that uses it.
///
/// No binary carries an outdated schema: every file is a declared input, so that an edit rebuilds the target; and the
/// link `Sources/Migrator/Migrations` makes the directory a part of the package's structure, so that SwiftPM runs this
/// plugin again when a file is added or removed. (It watches the directories of targets alone.)
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
