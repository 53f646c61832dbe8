package import Foundation

/// A directory of one test, which removes it:
///
///     let directory = try ScratchDirectory()
///     defer { directory.remove() }
package struct ScratchDirectory: Sendable {
    package let url: URL

    package init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "countersign-\(UUID().uuidString)")
        // Other users' programs may enter it.
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    }

    package func remove() { try? FileManager.default.removeItem(at: url) }

    /// Writes a file, by default for its owner alone, and returns its path. The name may have directories.
    @discardableResult
    package func write(_ name: String, _ text: String, mode: Int = 0o600) throws -> String {
        let file = url.appending(path: name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
        return file.path
    }
}

extension ScratchDirectory {
    /// The directory of this test run, for files that several tests share. It goes when the process does, in whatever way.
    package static var ofRun: ScratchDirectory { get throws { try run.get().directory } }

    private struct Run: Sendable {
        let directory: ScratchDirectory
        let watchdog: Watchdog

        init() throws {
            directory = try ScratchDirectory()
            watchdog = try Watchdog(running: #"rm -rf "$1""#, directory.url.path)
        }
    }

    private static let run = Result { try Run() }
}
