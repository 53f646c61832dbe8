import Foundation
import Testing

struct AcceptanceListTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .resolvingSymlinksInPath()

    private struct Suite {
        let name: String
        let count: Int?
        var rows: [(theirs: String, ours: String)] = []
    }

    private static func suites() throws -> [Suite] {
        let page = try String(contentsOf: folder.appendingPathComponent("AcceptanceLists.md"), encoding: .utf8)
        var suites: [Suite] = []
        for line in page.components(separatedBy: "\n") {
            if line.hasPrefix("## ") {
                let words = line.dropFirst(3).components(separatedBy: " (")
                suites.append(Suite(name: words[0], count: Int((words.last ?? "").filter(\.isNumber))))
            } else if line.hasPrefix("| "), line != "| theirs | ours |" {
                let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
                suites[suites.count - 1].rows.append((cells[0], cells.count > 1 ? cells[1] : ""))
            }
        }
        return suites
    }

    private static func sources() throws -> String {
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        return try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
    }

    /// What stands between backticks.
    private static func names(_ cell: String) -> [String] {
        cell.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
    }

    @Test func `each test of ours that the lists name exists`() throws {
        let sources = try Self.sources()
        var missing: Set<String> = []
        for suite in try Self.suites() {
            for row in suite.rows {
                let names = Self.names(row.ours)
                let isExplained = row.ours.hasPrefix("Objective-C alone: ") || row.ours.hasPrefix("no such part: ")
                #expect(isExplained || !names.isEmpty, "\(suite.name): \(row.theirs)")
                for name in names where name.contains(" ") && !sources.contains("func `\(name)`(") {
                    missing.insert(name)
                }
            }
        }
        #expect(missing == [])
    }

    @Test func `the lists are whole`() throws {
        let suites = try Self.suites()
        for suite in suites { #expect(suite.rows.count == suite.count, "\(suite.name)") }
        // The six suites of GTMAppAuth.
        #expect(suites.prefix(6).map(\.rows.count) == [28, 12, 20, 15, 18, 3])
        #expect(suites.count == 16)
    }
}
