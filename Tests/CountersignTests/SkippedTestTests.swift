import Foundation
import TestSupport
import Testing

/// `Scripts/check-skips`, which `Scripts/test` asks after each run.
@Suite(.timeLimit(.minutes(5))) struct SkippedTestTests {
    private static let script = URL(filePath: #filePath).appending(path: "../../../Scripts/check-skips").standardized

    /// The events of a run, as the test program writes them.
    private static let events: [String] =
        [
            ("testSkipped", "EndToEndTests.Neighbours/FullDiskTests"),
            ("testSkipped", "EndToEndTests.Neighbours/FullDiskTests/`a full disk costs/is`()/FullDiskTests.swift:14:9"),
            ("testSkipped", "WebPagesTests.PageHTMLTests/`every page is written`()/PageHTMLTests.swift:192:6"),
            ("testEnded", "WebPagesTests.PageHTMLTests/`a page`()/PageHTMLTests.swift:19:6"),
        ].map { #"{"kind":"event","payload":{"kind":"\#($0)","testID":"\#($1)"},"version":0}"# } + [end]
    private static let end = #"{"kind":"event","payload":{"kind":"runEnded"},"version":0}"#

    private static func check(_ lines: [String], names: [String] = []) async throws -> FinishedProcess {
        let file = FileManager.default.temporaryDirectory.appending(path: "events-\(UUID().uuidString)")
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await check(file, names)
    }

    private static func check(_ file: URL, _ names: [String] = []) async throws -> FinishedProcess {
        try await FinishedProcess.run(
            script, [file.path] + names, environment: ["PATH": "/usr/bin:/bin"], input: Data())
    }

    @Test(
        arguments: [
            ([], 3), (["FullDiskTests"], 1), (["FullDiskTests", "every page is written"], 0),
            (["every page is written"], 2), (["FullDisk", "page", "HeaderTraceTests"], 3), (["PageHTMLTests"], 2),
        ] as [([String], Int)])
    func `a test that is skipped fails the run, unless it or its suite is named`(names: [String], faults: Int)
        async throws
    {
        let run = try await Self.check(Self.events, names: names)
        #expect(run.code == (faults == 0 ? 0 : 1))
        #expect(run.errors.split(separator: "\n").count == faults, "\(run.errors)")
    }

    @Test func `events that can not be read to the end of a run fail it, and those without a skipped test do not`()
        async throws
    {
        #expect(try await Self.check([Self.end]).code == 0)
        for lines in [["no JSON", Self.end], [Self.end, #"{"kind":"#], Array(Self.events.dropLast()), []] {
            let run = try await Self.check(lines, names: ["FullDiskTests", "every page is written"])
            #expect(run.code != 0 && !run.errors.isEmpty, "\(lines)")
        }
        #expect(try await Self.check(URL(filePath: "/nonexistent/events.json")).code != 0)
    }
}
