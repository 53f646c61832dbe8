import Foundation
import TestSupport
import Testing

/// The file in which `deploy/feed/keep-feed` keeps the feed.
@Suite(.limitedConcurrency, .fixture(World.self), .timeLimit(.minutes(30))) struct KeptFeedTests: WorldSuite {
    private static let script = URL(filePath: #filePath).appending(path: "../../../deploy/feed/keep-feed")
        .standardized.path

    /// The whole feed, once it has so many events.
    private func feed(of count: Int) async throws -> String {
        var text = ""
        try await eventually("the feed has \(count) events") {
            text = try await world.run(["feed"]).expecting(0).output
            return text.split(separator: "\n").count == count
        }
        return text
    }

    @Test func `it goes on behind its last whole line, whatever is left of one more`() async throws {
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        let file = directory.url.appending(path: "feed.ndjson")
        // What becomes of the file before the follower is started again.
        let changes: [(what: String, change: (String) -> String?)] = [
            ("no file", { _ in nil }), ("a whole line", { $0 }), ("a part of a line", { String($0.dropLast(30)) }),
            ("a part of the first line", { String($0.prefix(40)) }), ("nothing", { _ in "" }),
            ("what a power cut leaves", { $0 + "\0\0\0" }),
        ]
        var kept = ""
        for (number, (what, change)) in changes.enumerated() {
            _ = try await world.newAccount("kept-\(number)")
            let whole = try await feed(of: 2 * (number + 1))
            if let left = change(kept) { try Data(left.utf8).write(to: file) }
            let follower = try Countersign.begin(
                ["feed", "--follow"], ["postgres.url": scratch.url], launcher: ["/bin/sh", Self.script, file.path])
            try await eventually("the file is the feed after \(what)") {
                (try? String(contentsOf: file, encoding: .utf8)) == whole
            }
            follower.send(SIGTERM)
            let ending = await follower.end()
            #expect(ending.status == 0, "\(what): \(ending.error)")
            kept = whole
        }
    }
}
