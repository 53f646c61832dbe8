import Foundation
import TestSupport
import Testing

/// A field of `/proc/PID/status` in KiB: `VmRSS` is the resident set of the process, `VmHWM` its peak.
func memory(of service: Countersign, _ field: String) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(service.processID)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("\(field):") })
    return try #require(line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) })
}

/// The names of its threads.
func threads(of service: Countersign) throws -> [String] {
    let tasks = "/proc/\(service.processID)/task"
    return try FileManager.default.contentsOfDirectory(atPath: tasks).compactMap { id in
        // One may have ended since.
        try? String(contentsOfFile: "\(tasks)/\(id)/comm", encoding: .utf8).trimmingCharacters(in: .newlines)
    }
}
