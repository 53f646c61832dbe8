import Foundation
import Postgres
import TestSupport
import Testing

/// How fast a run of `countersign import` goes, and what it shows of it.
@Suite(.fixture(ScratchDatabase.self)) struct ImportProgressTests {
    var scratch: ScratchDatabase { .current }

    @Test(.timeLimit(.minutes(2)))
    func `a run gives way while people sign in, in small batches, and goes on fast when they cease`() async throws {
        let run = try ImportUnderWay(scratch)
        async let fed: Void = FinishedProcess.onThread {
            var next = 0
            while run.process.isRunning {
                let rows = (next..<next + 100).map {
                    #"{"externalId":"u\#($0)","email":"u\#($0)@example.com"}"# + "\n"
                }
                try? run.write(rows)
                next += 100
            }
        }
        // Also where an expectation fails: what feeds it ends with it.
        defer { run.process.terminate() }
        try await scratch.withPool(.test(poolSize: 2)) { database in
            let last: SQL = "SELECT count(*) FROM imported_rows GROUP BY created_at ORDER BY created_at DESC LIMIT 1"
            func awaitBatch(of size: Int) async throws {
                while try await database.query(last, as: Int.self).first != size {
                    try #require(run.process.isRunning)
                    try await pollingPause()
                }
            }
            // The looks are hundreds of transactions a second, as many as a service makes that waits, or more.
            try await awaitBatch(of: 500)
            let people = Task {
                while !Task.isCancelled {
                    try await database.execute(
                        """
                        INSERT INTO audit_events (event_id, type, actor, created_at)
                        VALUES (gen_random_uuid(), 'signed_in', 'person', now())
                        """)
                }
            }
            try await awaitBatch(of: 50)
            people.cancel()
            try await awaitBatch(of: 500)
        }
        run.process.interrupt()
        let (report, _) = try await run.end()
        #expect(run.process.terminationStatus == 1 && report.count > 1_050)
        await fed
    }

    /// The rows of a batch have the time of its call.
    @Test func `a batch is bounded by what its rows hold, too`() async throws {
        let skipped = (0..<64).map { #"{"provider":"\#(String(repeating: "x", count: 60))\#($0)","subject":"1"}"# }
            .joined(separator: ",")
        let rows = (0..<500).map {
            #"{"externalId":"u\#($0)","email":"u\#($0)@example.com","identities":[\#(skipped)]}"# + "\n"
        }
        try await ImportCommandTests.run(["ndjson", "-"], scratch, input: rows.joined()).ended()
        let batches = try await scratch.texts(
            "SELECT count(*)::text FROM imported_rows GROUP BY created_at ORDER BY created_at")
        #expect(batches.compactMap { Int($0) }.reduce(0, +) == 500)
        #expect(batches.allSatisfy { Int($0).map { $0 < 300 } == true }, "\(batches)")
    }

    @Test func `on a terminal a line says how far a run is, and none does in a pipe`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "rows-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        // They take longer than the second after which a line is shown: a run begins slowly.
        let rows = (0..<20_000).map { #"{"externalId":"u\#($0)","email":"u\#($0)@example.com"}"# + "\n" }
        try Data(rows.joined().utf8).write(to: file)
        let words = try [CountersignProcess.executable.path, "import", "ndjson", file.path, "--report", "/dev/null"]
        let shown = try await FinishedProcess.run(
            URL(filePath: "/usr/bin/script"),
            ["--quiet", "--return", "--command", words.joined(separator: " "), "/dev/null"],
            environment: ImportCommandTests.environment(scratch).merging(["PATH": "/usr/bin:/bin"]) { $1 },
            input: Data())
        #expect(shown.code == 0, "\(shown.output)")
        let lines = shown.output.split { $0.isNewline || $0 == "\r" }.filter { $0.contains(" s left") }
        #expect(!lines.isEmpty, "\(shown.output)")
        #expect(lines.allSatisfy { $0.contains(" rows, ") && $0.contains(" a second: created ") }, "\(lines)")

        let piped = try await ImportCommandTests.run(["ndjson", "-", "--id", "other"], scratch, input: rows.joined())
        #expect(piped.code == 1 && !piped.errors.contains("\r"), "\(piped.errors)")
    }
}
