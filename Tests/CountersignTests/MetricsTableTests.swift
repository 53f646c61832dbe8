import Foundation
import Testing

@testable import Prometheus
@testable import countersign

/// That each metric is described where operators look: on the page itself and in the document.
@Suite struct MetricsTableTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

    @Test func `the document has a row for each help text`() throws {
        let document = try String(contentsOf: Self.root.appending(path: "docs/operations/metrics.md"), encoding: .utf8)
        let rows = document.matches(of: /(?m)^\| `(\w+)` \|/).map { String($0.1) }
        #expect(rows.sorted() == HelpTexts.all.keys.sorted())
    }

    @Test func `the help texts are of the metrics that the sources make`() throws {
        let sources = Self.root.appending(path: "Sources").resolvingSymlinksInPath()
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var made: Set<String> = []
        for case let file as URL in files
        where file.pathExtension == "swift" && file.lastPathComponent != "HelpTexts.swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            made.formUnion(text.matches(of: /"((?:countersign|process)_\w+)"/).map { String($0.1) })
            for match in text.matches(of: /\bCounter\(\s*label: "([^"]*)"/) {
                #expect(MetricName.ofCounter(String(match.1)) == match.1, "\(file.lastPathComponent)")
            }
        }
        #expect(made.sorted() == HelpTexts.all.keys.sorted())
    }

    /// A name in a document that no metric has (any more) would mean an alert that never fires.
    @Test(
        arguments: [
            "operations/alerts.yml", "operations/alerts-test.yml", "operations/grafana-dashboard.json",
            "operations/metrics.md", "operations/logs.md", "mail.md", "audit.md",
        ])
    func `the metrics that operators are given to look at are there`(_ file: String) throws {
        let document = try String(contentsOf: Self.root.appending(path: "docs/\(file)"), encoding: .utf8)
        let named = Set(document.matches(of: /\b(?:countersign|process)_[a-z_]+/).map { String($0.0) })
        let samples = Set(HelpTexts.all.keys.flatMap { [$0, $0 + "_bucket", $0 + "_sum", $0 + "_count"] })
        #expect(named.subtracting(samples).sorted() == [])
        #expect(!named.isEmpty)
    }

    @Test(arguments: HelpTexts.all)
    func `a help text is one sentence that needs no escape`(_ name: String, _ text: String) {
        #expect(text.hasSuffix("."))
        #expect(!text.contains { $0 == "\n" || $0 == "\\" })
    }
}
