import Foundation

/// `embed-migrations DIRECTORY OUTPUT`: the build step that turns `Migrations/*.sql` into one Swift file.
@main
struct EmbedMigrations {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard let directory = arguments.first, let output = arguments.last, arguments.count == 2 else {
            fail("usage: embed-migrations DIRECTORY OUTPUT")
        }
        do {
            let pairs = try MigrationDirectory(path: directory).pairs()
            try Data(EmbeddedSource.text(of: pairs).utf8).write(to: URL(filePath: output), options: .atomic)
        } catch let fault as MigrationFileFault {
            // The form that build tools recognise as a diagnostic of that file.
            fail("\(fault.path): error: \(fault.sentence)")
        } catch {
            fail("\(directory): error: \(error.localizedDescription)")
        }
    }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data((message + "\n").utf8))
        exit(1)
    }
}
