import Foundation

/// The two empty files of a migration to be written.
package struct NewMigration: Sendable {
    package let upPath: String
    package let downPath: String

    package enum Fault: Error, Sendable, CustomStringConvertible {
        case name
        case directory(String)
        case exists(String)

        package var description: String {
            switch self {
            case .name:
                "A migration is called verb_object, in lower-case letters, digits and underscores, such as create_accounts."
            case .directory(let path): "The directory \(path) can't be read or written."
            case .exists(let path): "\(path) exists already; nothing was written."
            }
        }
    }

    /// Whether a migration may be called so: `verb_object`.
    package static func isName(_ text: String) -> Bool { text.wholeMatch(of: /[a-z][a-z0-9]*(_[a-z0-9]+)+/) != nil }

    /// Writes the pair under the next free number. Files that exist are never touched.
    package init(name: String, directory: String) throws(Fault) {
        guard Self.isName(name) else { throw .name }
        guard let entries = try? FileManager.default.contentsOfDirectory(atPath: directory) else {
            throw .directory(directory)
        }
        let latest = entries.compactMap { $0.prefixMatch(of: /([0-9]{4})_/).flatMap { Int($0.1) } }.max() ?? 0
        let base = URL(filePath: directory).appending(path: Migration.label(version: latest + 1, name: name)).path
        upPath = base + ".up.sql"
        downPath = base + ".down.sql"
        let words = name.split(separator: "_").joined(separator: " ")
        try Self.write("-- why: \(words), because …\n", to: upPath, in: directory)
        try Self.write("-- why: take back \"\(words)\".\n", to: downPath, in: directory)
    }

    private static func write(_ text: String, to path: String, in directory: String) throws(Fault) {
        do {
            try Data(text.utf8).write(to: URL(filePath: path), options: .withoutOverwriting)
        } catch let error as CocoaError where error.code == .fileWriteFileExists {
            throw .exists(path)
        } catch {
            throw .directory(directory)
        }
    }
}
