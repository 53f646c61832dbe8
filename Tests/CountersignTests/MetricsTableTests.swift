import Foundation
import Testing

@testable import countersign

/// That each metric is told of where operators look: on the page itself and in the document.
@Suite struct MetricsTableTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

    @Test func `the document has a row for each help text`() throws {
        let document = try String(
            contentsOf: Self.root.appending(path: "docs/operations/metrics.md"), encoding: .utf8)
        let rows = document.matches(of: /(?m)^\| `(\w+)` \|/).map { String($0.1) }
        #expect(rows.sorted() == HelpTexts.all.keys.sorted())
    }

    @Test func `each metric that the sources make has a help text`() throws {
        let sources = Self.root.appending(path: "Sources").resolvingSymlinksInPath()
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        let making = /\b(Counter|FloatingPointCounter|Gauge|Meter|Recorder|Timer)\(\s*label: "([^"]*)"/
        var made = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            for match in try String(contentsOf: file, encoding: .utf8).matches(of: making) {
                let label = String(match.2)
                let name =
                    switch match.1 {
                    case "Counter", "FloatingPointCounter": MetricName.ofCounter(label)
                    case "Timer": MetricName.ofTimer(label)
                    default: MetricName.ofGauge(label)
                    }
                #expect(HelpTexts.all[name] != nil, "\(name) of \(file.lastPathComponent)")
                made += 1
            }
        }
        #expect(made >= 2)
    }

    @Test(arguments: HelpTexts.all)
    func `a help text is one sentence that needs no escape`(_ name: String, _ text: String) {
        #expect(text.hasSuffix("."))
        #expect(!text.contains { $0 == "\n" || $0 == "\\" })
    }
}
