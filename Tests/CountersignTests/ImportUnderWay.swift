import Foundation
import Postgres
import TestSupport
import Testing

/// A run under way, whose source is a database or what is written to it.
struct ImportUnderWay {
    let process = Process()
    private let input = Pipe()
    private let texts: Task<(report: Data, notices: Data), Never>

    init(_ scratch: ScratchDatabase, _ words: [String] = ["ndjson", "-"]) throws {
        process.executableURL = try CountersignProcess.executable
        process.arguments = ["import"] + words
        process.environment = try ImportCommandTests.environment(scratch)
        let (output, errors) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput, process.standardError) = (input, output, errors)
        // A run that has ended reads no more, which is no fault of the test.
        signal(SIGPIPE, SIG_IGN)
        try process.start()
        // Both at once, and all the time: a full pipe would block the process.
        texts = Task {
            async let report = FinishedProcess.onThread { try? output.fileHandleForReading.readToEnd() }
            async let notices = FinishedProcess.onThread { try? errors.fileHandleForReading.readToEnd() }
            return await (report ?? Data(), notices ?? Data())
        }
    }

    func write(_ rows: some Sequence<String>) throws {
        try input.fileHandleForWriting.write(contentsOf: Data(rows.joined().utf8))
    }

    /// Waits, while the run goes on, until this is so.
    func wait(until condition: () async throws -> Bool) async throws {
        while try await !condition() {
            try #require(process.isRunning)
            try await pollingPause()
        }
    }

    /// Waits until the run waits for what this session holds.
    func awaitBlocked(by session: some PostgresSession) async throws {
        try await wait { try await session.isWaitedFor() }
    }

    static func isTrue(_ condition: SQL, _ session: some PostgresSession) async throws -> Bool {
        let found = try await session.query("SELECT \(condition)", as: Bool.self)
        return found == [true]
    }

    /// The report and the notices, once it has ended.
    func end() async throws -> (report: [ImportCommandTests.Line], notices: String) {
        let (report, notices) = await texts.value
        await FinishedProcess.onThread { [process] in process.waitUntilExit() }
        return (
            try ImportCommandTests.lines(String(decoding: report, as: UTF8.self)),
            String(decoding: notices, as: UTF8.self)
        )
    }
}
