import Foundation
import TestSupport

/// A run under way, whose source is what is written to it.
struct ImportUnderWay {
    let process = Process()
    private let input = Pipe()
    private let texts: Task<(report: Data, notices: Data), Never>

    init(_ scratch: ScratchDatabase) throws {
        process.executableURL = CountersignProcess.executable
        process.arguments = ["import", "ndjson", "-"]
        process.environment = try ImportCommandTests.environment(scratch)
        let (output, errors) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput, process.standardError) = (input, output, errors)
        // A run that has ended reads no more, which is no fault of the test.
        signal(SIGPIPE, SIG_IGN)
        try process.run()
        // Both at once, and all the time: a full pipe would block the process.
        texts = Task {
            async let report = CountersignProcess.onThread { try? output.fileHandleForReading.readToEnd() }
            async let notices = CountersignProcess.onThread { try? errors.fileHandleForReading.readToEnd() }
            return await (report ?? Data(), notices ?? Data())
        }
    }

    func write(_ rows: some Sequence<String>) throws {
        try input.fileHandleForWriting.write(contentsOf: Data(rows.joined().utf8))
    }

    /// The report and the notices, once it has ended.
    func end() async throws -> (report: [ImportCommandTests.Line], notices: String) {
        let (report, notices) = await texts.value
        await CountersignProcess.onThread { [process] in process.waitUntilExit() }
        return (
            try ImportCommandTests.lines(String(decoding: report, as: UTF8.self)),
            String(decoding: notices, as: UTF8.self)
        )
    }
}
