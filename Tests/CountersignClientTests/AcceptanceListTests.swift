import Foundation
import Testing

/// Checks what AcceptanceLists.md says of itself: the lists are whole, and each test of ours that they name is one that
/// runs. That ours shows what theirs does is for who reads the two.
struct AcceptanceListTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .resolvingSymlinksInPath()

    /// What becomes of a test of theirs.
    private enum Kind: String, CaseIterable {
        case takenOver = "taken over"
        case objectiveC = "Objective-C alone"
        case noSuchPart = "no such part"
    }

    private struct Row {
        let theirs: String
        let ours: String

        var kind: Kind { Kind.allCases.first { ours.hasPrefix($0.rawValue + ": ") } ?? .takenOver }
        /// What stands between backticks.
        var names: [String] {
            ours.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        }
    }

    private struct Suite {
        let name: String
        let count: Int?
        var rows: [Row] = []
    }

    private static func page() throws -> String {
        try String(contentsOf: folder.appendingPathComponent("AcceptanceLists.md"), encoding: .utf8)
    }

    private static func suites() throws -> [Suite] {
        var suites: [Suite] = []
        for line in try page().components(separatedBy: "\n") {
            if line.hasPrefix("## ") {
                let words = line.dropFirst(3).components(separatedBy: " (")
                suites.append(Suite(name: words[0], count: Int((words.last ?? "").filter(\.isNumber))))
            } else if line.hasPrefix("| "), line != "| theirs | ours |" {
                let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
                suites[suites.count - 1].rows.append(Row(theirs: cells[0], ours: cells.count > 1 ? cells[1] : ""))
            }
        }
        return suites
    }

    /// The names of our tests that run everywhere: not one in a comment, one without `@Test`, or one with a condition.
    private static func runningTests() throws -> Set<String> {
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        var names: Set<String> = []
        for case let file as URL in files where file.pathExtension == "swift" {
            let code = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
                .filter { !$0.trimmingCharacters(in: .whitespaces).hasPrefix("//") }.joined(separator: "\n")
            for test in code.components(separatedBy: "@Test").dropFirst() {
                let parts = test.components(separatedBy: "func `")
                guard parts.count > 1, !parts[0].contains("disabled"), !parts[0].contains(".enabled") else { continue }
                names.insert(String(parts[1].prefix { $0 != "`" }))
            }
        }
        return names
    }

    @Test func `each test of ours that the lists name runs`() throws {
        let tests = try Self.runningTests()
        #expect(tests.count > 200)
        var missing: Set<String> = []
        for suite in try Self.suites() {
            for row in suite.rows {
                #expect(!row.names.isEmpty || row.kind == .noSuchPart, "\(suite.name): \(row.theirs)")
                missing.formUnion(row.names.filter { !tests.contains($0) })
            }
        }
        #expect(missing == [])
    }

    @Test func `the lists are whole, and name no test of theirs twice`() throws {
        let suites = try Self.suites()
        for suite in suites {
            #expect(suite.rows.count == suite.count, "\(suite.name)")
            #expect(Set(suite.rows.map(\.theirs)).count == suite.count, "\(suite.name)")
        }
        // The six suites of GTMAppAuth.
        #expect(suites.prefix(6).map(\.rows.count) == [28, 12, 20, 15, 18, 3])
        #expect(suites.count == 16)
    }

    /// So that a row becomes one of the latter two by somebody's decision alone.
    @Test func `as many are taken over, Objective-C alone and without a part as the page says`() throws {
        let rows = try Self.suites().flatMap(\.rows)
        let counts = Kind.allCases.map { kind in rows.count { $0.kind == kind } }
        #expect(counts.reduce(0, +) == rows.count)
        let sentence =
            "Of \(rows.count) tests \(counts[0]) are taken over, \(counts[1]) are *Objective-C alone*, and of \(counts[2]) there is *no such part*"
        #expect(try Self.page().contains(sentence), "\(sentence)")
    }
}
