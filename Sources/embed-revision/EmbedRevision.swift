import Foundation

/// `embed-revision REVISION GIT OUTPUT`: the build step that writes the commit into one Swift file.
@main
struct EmbedRevision {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst().map { URL(filePath: $0) }
        guard arguments.count == 3 else { fail("usage: embed-revision REVISION GIT OUTPUT") }
        let commit = Revision.written(in: arguments[0]) ?? Revision.checkedOut(in: arguments[1]) ?? "unknown"
        let source = """
            // Made by embed-revision from the commit that is checked out.
            let embeddedCommit = "\(commit)"

            """
        do {
            try Data(source.utf8).write(to: arguments[2], options: .atomic)
        } catch {
            fail("\(arguments[2].path): error: \(error.localizedDescription)")
        }
    }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data((message + "\n").utf8))
        exit(1)
    }
}
