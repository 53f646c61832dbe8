import OpenSSL
import Primitives

/// One step of the schema: the script that applies it and the one that reverts it.
package struct Migration: Sendable, Equatable {
    /// 1, 2, 3 … without a gap.
    package let version: Int
    /// `verb_object`, as in the file name.
    package let name: String
    package let up: MigrationScript
    package let down: MigrationScript
    /// SHA-256 over the name and both scripts, lower-case hex. An edit of either direction, or a new name, changes it.
    package let checksum: String

    package init(version: Int, name: String, up: String, down: String) {
        self.version = version
        self.name = name
        self.up = MigrationScript(text: up)
        self.down = MigrationScript(text: down)
        // NUL can't occur in a name or in SQL, so it separates the three without ambiguity.
        checksum = Hexadecimal.encode(
            SHA256.hash([UInt8](name.utf8) + [0] + [UInt8](up.utf8) + [0] + [UInt8](down.utf8)))
    }

    /// Whether each direction takes effect as a whole or not at all. Both directions have to agree, because a migration
    /// that was interrupted, up or down, may be finished in either direction.
    package var isTransactional: Bool { up.isTransactional && down.isTransactional }

    /// The name of its files without the suffix, such as `0004_create_sessions`.
    package var label: String { Migration.label(version: version, name: name) }

    static func label(version: Int, name: String) -> String { fourDigits(version) + "_" + name }

    static func fourDigits(_ version: Int) -> String {
        let digits = String(version)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
