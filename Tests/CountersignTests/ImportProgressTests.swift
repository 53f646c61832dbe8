import Foundation
import Postgres
import TestSupport
import Testing

/// How fast a run of `countersign import` goes, and what it shows of it.
@Suite struct ImportProgressTests {
    @Test(.timeLimit(.minutes(2)))
    func `a run gives way while others commit, in small batches, and goes on fast when they cease`() async throws {
        try await ScratchDatabase.withMigrated { scratch in
            let run = try ImportUnderWay(scratch)
            async let fed: Void = CountersignProcess.onThread {
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
                try await database.withConnection { connection in
                    // One transaction, so that looking is none of the others' that the run reacts to.
                    try await connection.execute("BEGIN")
                    func awaitBatch(of size: Int) async throws {
                        while try await Self.lastBatch(connection) != size {
                            try #require(run.process.isRunning)
                            try await pollingPause()
                        }
                    }
                    try await awaitBatch(of: 500)
                    let others = Task {
                        while !Task.isCancelled { try await database.execute("SELECT 1") }
                    }
                    try await awaitBatch(of: 50)
                    others.cancel()
                    try await awaitBatch(of: 500)
                }
            }
            run.process.interrupt()
            let (report, _) = try await run.end()
            #expect(run.process.terminationStatus == 1 && report.count > 1_050)
            await fed
        }
    }

    /// The rows of a batch have the time of its call.
    private static func lastBatch(_ session: some PostgresSession) async throws -> Int? {
        try await session.query(
            "SELECT count(*) FROM imported_rows GROUP BY created_at ORDER BY created_at DESC LIMIT 1"
        ) { row throws(PostgresError) in try row.decode(Int.self) }.first
    }

    @Test func `a batch is bounded by what its rows hold, too`() async throws {
        try await ScratchDatabase.withMigrated { scratch in
            let skipped = (0..<64).map { #"{"provider":"\#(String(repeating: "x", count: 60))\#($0)","subject":"1"}"# }
                .joined(separator: ",")
            let rows = (0..<500).map {
                #"{"externalId":"u\#($0)","email":"u\#($0)@example.com","identities":[\#(skipped)]}"# + "\n"
            }
            let run = try await ImportCommandTests.run(["ndjson", "-"], scratch, input: rows.joined())
            #expect(run.code == 0, "\(run.errors)")
            let batches = try await ImportCommandTests.rows(
                "SELECT count(*)::text FROM imported_rows GROUP BY created_at ORDER BY created_at", scratch)
            #expect(batches.compactMap { Int($0) }.reduce(0, +) == 500)
            #expect(batches.allSatisfy { Int($0).map { $0 < 300 } == true }, "\(batches)")
        }
    }

    /// The two sides of a terminal.
    private static func terminal() throws -> (ours: FileHandle, theirs: FileHandle) {
        let ours = posix_openpt(O_RDWR | O_NOCTTY)
        try #require(ours >= 0 && grantpt(ours) == 0 && unlockpt(ours) == 0)
        let theirs = open(String(cString: try #require(ptsname(ours))), O_RDWR | O_NOCTTY)
        try #require(theirs >= 0)
        return (
            FileHandle(fileDescriptor: ours, closeOnDealloc: true),
            FileHandle(fileDescriptor: theirs, closeOnDealloc: true)
        )
    }

    @Test(.timeLimit(.minutes(2))) func `on a terminal a line says how far a run is, and none does in a pipe`()
        async throws
    {
        try await ScratchDatabase.withMigrated { scratch in
            let file = FileManager.default.temporaryDirectory.appending(path: "rows-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: file) }
            let rows = (0..<200_000).map { #"{"externalId":"u\#($0)","email":"u\#($0)@example.com"}"# + "\n" }
            try Data(rows.joined().utf8).write(to: file)
            let (ours, theirs) = try Self.terminal()
            let process = Process()
            process.executableURL = CountersignProcess.executable
            process.arguments = ["import", "ndjson", file.path]
            process.environment = try ImportCommandTests.environment(scratch)
            let report = Pipe()
            (process.standardInput, process.standardOutput, process.standardError) = (
                FileHandle.nullDevice, report, theirs
            )
            try process.run()
            async let reported = CountersignProcess.onThread { try? report.fileHandleForReading.readToEnd() }
            let shown = await CountersignProcess.onThread {
                var shown = ""
                while !shown.contains(" s left") {
                    let data = ours.availableData
                    guard !data.isEmpty else { break }
                    shown += String(decoding: data, as: UTF8.self)
                }
                return shown
            }
            process.interrupt()
            await CountersignProcess.onThread { process.waitUntilExit() }
            let words = try #require(shown.split(separator: "\r").last)
            #expect(words.contains(" rows, ") && words.contains(" a second: created "), "\(words)")
            let lines = try ImportCommandTests.lines(String(decoding: await reported ?? Data(), as: UTF8.self))
            #expect(process.terminationStatus == 1 && (1..<200_000).contains(lines.count))

            let piped = try await ImportCommandTests.run(["ndjson", "-"], scratch, input: rows.prefix(5_000).joined())
            #expect(
                piped.code == 0 && !piped.errors.contains("\r") && !piped.errors.contains("left"), "\(piped.errors)")
        }
    }
}
