import Foundation
import Logging
import Testing

@testable import countersign

@Suite struct LogHandlerTests {
    @Test func `a log that can't be written ends nothing`() async {
        await #expect(processExitsWith: .success) {
            let full = open("/dev/full", O_WRONLY)
            #expect(dup2(full, STDERR_FILENO) == STDERR_FILENO)
            Logger(label: "test", factory: { _ in JSONLogHandler(logLevel: .info) }).info("nobody reads this")
        }
    }

    @Test func `a log line is one JSON object, whatever is logged`() async throws {
        let result = try await #require(
            processExitsWith: .success, observing: [\.standardErrorContent]
        ) {
            let logger = Logger(label: "test", factory: { _ in JSONLogHandler(logLevel: .info) })
            logger.info("one\r\nline", metadata: ["key": "a\n{\"message\":\"forged\"}"])
            logger.debug("below the level")
        }
        let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
        let line = try #require(lines.first { $0.contains("line") })
        let members = try #require(
            try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
        #expect(members["message"] == "one\r\nline")
        #expect(members["key"] == "a\n{\"message\":\"forged\"}")
        #expect(members["level"] == "info")
        #expect(members["time"]?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
        #expect(!lines.contains { $0.contains("below") })
    }
}
