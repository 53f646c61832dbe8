import Foundation
import TestSupport
import Testing

/// Whatever the stores write of an account is announced where it is written, or listed in `FeedCoverage.json` with the
/// reason why it is not. The sources are read, so that a new statement fails until it is decided.
@Suite struct FeedCoverageTests {
    /// What writes and is no event, with the reason why.
    private struct Silent: Decodable {
        /// Of which nothing is an event of an account.
        let tables: [String: String]
        /// Which write to the tables of accounts, by file and function.
        let functions: [String: String]
    }

    private struct WritingFunction {
        let name: String
        let tables: Set<String>
        let announces: Bool
    }

    /// The functions of the sources that write, the innermost around each statement.
    private static func writingFunctions() throws -> [WritingFunction] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources/Storage")
            .standardized
        let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
            .compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
        return try files.flatMap { file in
            let lines = try String(contentsOf: file, encoding: .utf8).split(
                separator: "\n", omittingEmptySubsequences: false)
            let unit = file.deletingPathExtension().lastPathComponent
            return lines.indices.compactMap { index -> WritingFunction? in
                guard let head = lines[index].firstMatch(of: /^( *)(?:@\w+ )*(?:\w+ )*func (\w+)/) else { return nil }
                let end =
                    lines[index].hasSuffix("}")
                    ? index : lines[index...].firstIndex { $0.hasPrefix(head.1 + "}") } ?? lines.endIndex - 1
                let body = lines[index...end].joined(separator: "\n")
                let tables = body.matches(
                    of: /(?:INSERT INTO|\bUPDATE|DELETE FROM|\.delete\(\s*from:) "?(\\\([\w.]+\)|[a-z][\w.]*)/
                ).map { String($0.1) }
                guard !tables.isEmpty else { return nil }
                return WritingFunction(
                    name: "\(unit).\(head.2)", tables: Set(tables), announces: body.contains(/announce\w*\(/))
            }
        }
    }

    @Test func `what is written of an account is announced there, or has a reason not to be`() throws {
        let silent = try DataFile("FeedCoverage.json").decoded(as: Silent.self)
        let functions = try Self.writingFunctions()
        #expect(functions.count > 90)
        // Names that the text of a statement puts together.
        let spelled = ["\\(codes)", "\\(table)", "\\(tables.rows)"]
        for function in functions where !function.announces {
            let tables = function.tables.filter { silent.tables[$0] == nil && !spelled.contains($0) }
            #expect(
                tables.isEmpty || silent.functions[function.name] != nil,
                "\(function.name) writes \(tables.sorted()), announces nothing and is not listed")
        }
        let names = Set(functions.filter { !$0.announces }.map(\.name))
        for listed in silent.functions.keys where !names.contains(listed) {
            Issue.record("\(listed) is listed and writes nothing by itself, or announces")
        }
        let accounts: Set<String> = ["accounts", "identities", "sessions", "oauth_grants"]
        #expect(accounts.isDisjoint(with: silent.tables.keys))
        #expect(accounts.isSubset(of: functions.filter(\.announces).flatMap(\.tables)))
    }
}
