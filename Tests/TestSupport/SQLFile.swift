internal import Foundation
package import Postgres
import Testing

/// A file of SQL that lies beside a test.
package struct SQLFile: Sendable {
    package let text: String

    /// - Parameter path: from the directory of the file that asks for it.
    package init(_ path: String, beside source: String = #filePath) throws {
        let file = URL(filePath: source).deletingLastPathComponent().appending(path: path)
        text = try String(contentsOf: file, encoding: .utf8)
    }

    /// What stands between the line `-- name: NAME` and the next such line.
    package func part(_ name: String) throws -> String {
        let parts = text.split(separator: "-- name: ")
        let part = try #require(parts.first { $0.hasPrefix("\(name)\n") }, "\(name)")
        return String(part.dropFirst(name.count))
    }
}

extension Database {
    /// Runs the statements of a script in one transaction.
    package func run(script: String) async throws {
        try await withConnection { try await $0.executeScript(unsafeSQL: script) }
    }
}
