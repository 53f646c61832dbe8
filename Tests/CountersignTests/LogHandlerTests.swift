import Accounts
import Foundation
import HTTPAPI
import HTTPServer
import Logging
import Primitives
import Testing

@testable import countersign

@Suite struct LogHandlerTests {
    @Test func `a log that can't be written ends nothing`() async {
        await #expect(processExitsWith: .success) {
            let full = open("/dev/full", O_WRONLY)
            #expect(dup2(full, STDERR_FILENO) == STDERR_FILENO)
            Logger(label: "test", factory: { _ in ServiceLogHandler(level: Reloadable(.info)) }).info(
                "nobody reads this")
        }
    }

    /// A pipe takes 4,096 bytes at once.
    @Test func `long lines of many threads do not mix`() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let output = LogOutput(limit: .seconds(300))
            let logger = Logger(
                label: "test", factory: { _ in ServiceLogHandler(level: Reloadable(.info), output: output) })
            let long = String(repeating: "x", count: 50_000)
            DispatchQueue.concurrentPerform(iterations: 200) { number in
                logger.info("long", metadata: ["number": "\(number)", "text": "\(number % 2 == 0 ? long : "short")"])
            }
        }
        let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
        let numbers = lines.compactMap { line in
            (try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])?["number"]
        }
        #expect(Set(numbers).count == 200)
    }

    /// Standard error may be shared with a program that has made it non-blocking.
    @Test func `a log that takes no more is waited for, and a line that is cut off is counted and spoils no other`()
        async
    {
        await #expect(processExitsWith: .success) {
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            #expect(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0)
            #expect(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO)
            close(ends[1])
            let output = LogOutput(limit: .seconds(5), pause: .zero)
            let logger = Logger(
                label: "test", factory: { _ in ServiceLogHandler(level: Reloadable(.info), output: output) })
            // More than a pipe holds.
            let long = String(repeating: "x", count: 300_000)
            logger.info("cut off", metadata: ["text": "\(long)"])
            logger.info("lost")
            let reader = Task.detached { [end = ends[0]] in
                try FileHandle(fileDescriptor: end).readToEnd().map { String(decoding: $0, as: UTF8.self) } ?? ""
            }
            var log = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
            while poll(&log, 1, 10) == 0 { await Task.yield() }
            logger.info("waited for", metadata: ["text": "\(long)"])
            logger.info("after it")
            close(STDERR_FILENO)
            let lines = try await reader.value.split(separator: "\n")
            #expect(lines.count == 4)
            for (line, message) in zip(lines.dropFirst(), ["log lines lost", "waited for", "after it"]) {
                let members = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String]
                #expect(members?["message"] == message)
                #expect(members?["lines"] == (message == "log lines lost" ? "2" : nil))
            }
        }
    }

    @Test func `a log line is one JSON object, whatever is logged`() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let logger = Logger(label: "test", factory: { _ in ServiceLogHandler(level: Reloadable(.info)) })
            logger.info("one\r\nline", metadata: ["key": "a\n{\"message\":\"forged\"}"])
            logger.debug("below the level")
        }
        let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
        let line = try #require(lines.first { $0.contains("line") })
        let members = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
        #expect(members["message"] == "one\r\nline")
        #expect(members["key"] == "a\n{\"message\":\"forged\"}")
        #expect(members["level"] == "info")
        #expect(members["time"]?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
        #expect(!lines.contains { $0.contains("below") })
    }

    @Test func `a line of text is one line, whatever is logged`() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let logger = Logger(
                label: "test", factory: { _ in ServiceLogHandler(level: Reloadable(.info), format: .text) })
            logger.warning(
                "plain words",
                metadata: [
                    "route": "/v1/things/{id}", "b": "two words", "c": "x\n2026 info forged=1", "d": "", "a": "a=b",
                ])
            logger.info("one\r\nline")
        }
        let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
        let line = try #require(lines.first { $0.contains("plain words") })
        let rest = #"plain words a="a=b" b="two words" c="x\n2026 info forged=1" d="" route=/v1/things/{id}"#
        #expect(line.dropFirst("2026-11-21T12:00:00.000Z ".count) == "warning " + rest)
        #expect(lines.contains { $0.hasSuffix(#" info "one\r\nline""#) })
        #expect(!lines.contains { $0.hasPrefix("2026 info") })
    }

    @Test func `what is personal is written where that is allowed, and else left out`() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let long = String(repeating: "x", count: 400)
            for format in LogFormat.allCases {
                for reveals in [false, true] {
                    let handler = ServiceLogHandler(
                        level: Reloadable(.info), format: format, revealsPersonalData: reveals)
                    Logger(label: "test", factory: { _ in handler }).info(
                        "\(format) \(reveals)",
                        metadata: [
                            "email": .stringConvertible(PersonalText("bird@example.com")),
                            "typed": .stringConvertible(PersonalText(long)), "reason": "kept",
                        ])
                }
            }
        }
        let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
        for format in LogFormat.allCases {
            let hidden = try #require(lines.first { $0.contains("\(format) false") })
            #expect(!hidden.contains("bird") && !hidden.contains("email") && hidden.contains("kept"))
            let shown = try #require(lines.first { $0.contains("\(format) true") })
            #expect(shown.contains("bird@example.com") && shown.contains("kept"))
            #expect(shown.count { $0 == "x" } < 260)
        }
    }
}
