import Foundation
package import Postgres
import Testing

/// A file of data beside the test that reads it. The manifest leaves it out of the target.
package struct DataFile: Sendable, CustomStringConvertible {
    /// Without the folder.
    package let name: String
    package let bytes: [UInt8]

    package var text: String { String(decoding: bytes, as: UTF8.self) }
    package var description: String { name }

    /// - Parameter path: from the folder of the source file.
    package init(_ path: String, beside source: String = #filePath) throws {
        let file = URL(filePath: source).deletingLastPathComponent().appending(path: path)
        name = file.lastPathComponent
        bytes = [UInt8](try Data(contentsOf: file))
    }

    /// Those of a folder, in the order of their names.
    package static func all(in folder: String, beside source: String = #filePath) throws -> [DataFile] {
        let path = URL(filePath: source).deletingLastPathComponent().appending(path: folder).path
        let names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        try #require(!names.isEmpty, "\(folder)")
        return try names.map { try DataFile("\(folder)/\($0)", beside: source) }
    }

    /// What is in it as JSON.
    package func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(bytes))
    }

    /// The rows of a table: a line each, whose columns tabs separate. A line that begins with `#` is a comment.
    package var rows: [[String]] {
        text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
    }

    /// Of a file of SQL: what stands between the line `-- name: NAME` and the next such line.
    package func part(_ name: String) throws -> String {
        let part = try #require(text.split(separator: "-- name: ").first { $0.hasPrefix("\(name)\n") }, "\(name)")
        return String(part.dropFirst(name.count))
    }
}

extension Database {
    /// Runs the statements of a script in one transaction.
    package func run(script: String) async throws {
        try await withConnection { try await $0.executeScript(unsafeSQL: script) }
    }
}
