import Foundation
import TestSupport
import Testing

/// A figure of `/proc/PID/status` in KiB: `VmRSS` is what the process has resident, `VmHWM` the most that it ever had.
func memory(of service: Countersign, _ figure: String) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(service.processID)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("\(figure):") })
    return try #require(line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) })
}
