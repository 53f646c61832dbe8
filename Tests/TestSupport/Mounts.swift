import Foundation

/// Small file systems in memory, for tests of a disk that is full.
package enum Mounts {
    /// Whether this process may mount: root may, but for most containers.
    package static let arePermitted: Bool = {
        let directory = FileManager.default.temporaryDirectory.appending(path: "countersign-mount-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            try mountDisk(of: 1, at: directory)
            try unmount(directory)
            return true
        } catch { return false }
    }()

    static func mountDisk(of megabytes: Int, at directory: URL) throws {
        try run("/usr/bin/mount", "-t", "tmpfs", "-o", "size=\(megabytes)m,mode=0755", "tests", directory.path)
    }

    /// At once from its directory, and for good when the last process has closed its files.
    static func unmount(_ directory: URL) throws { try run("/usr/bin/umount", "--lazy", directory.path) }

    private static func run(_ executable: String, _ words: String...) throws {
        let process = Process()
        process.executableURL = URL(filePath: executable)
        process.arguments = words
        process.standardError = FileHandle.nullDevice
        try process.start()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw SetUpFailure("\(executable) failed.") }
    }
}
