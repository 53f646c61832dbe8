import Foundation
import Synchronization

/// The stand-in's clock, which `iat`, `exp` and the history are read from. It follows the system's clock until a test
/// sets it.
final class SandboxClock: Sendable {
    /// Seconds since 1970 that a clock may be set to: the years 1970 to 9999, which is all that RFC 3339 can write.
    static let range: ClosedRange<Int64> = 0...253_402_300_799

    private enum Mode {
        /// Running; `offset` is in seconds, negative when behind the system's clock.
        case running(offset: Int64)
        /// Stopped at this second since 1970.
        case frozen(at: Int64)
    }

    private let mode = Mutex(Mode.running(offset: 0))

    /// Seconds since 1970.
    var now: Int64 { mode.withLock { Self.reading($0) } }

    /// Milliseconds since 1970; a stopped clock shows a whole second.
    var nowMilliseconds: Int64 {
        mode.withLock { mode in
            switch mode {
            case .running(let offset): Int64(Date().timeIntervalSince1970 * 1000) + offset * 1000
            case .frozen(let time): time * 1000
            }
        }
    }

    var isRunning: Bool {
        mode.withLock {
            if case .running = $0 { true } else { false }
        }
    }

    func set(to time: Int64, running: Bool) {
        mode.withLock { $0 = running ? .running(offset: time - Self.system()) : .frozen(at: time) }
    }

    /// Moves the clock, also backwards. Returns false and changes nothing if the result is outside of `range`.
    func advance(by seconds: Int64) -> Bool {
        mode.withLock { mode in
            let (moved, overflow) = Self.reading(mode).addingReportingOverflow(seconds)
            guard !overflow, Self.range.contains(moved) else { return false }
            mode =
                switch mode {
                case .running: .running(offset: moved - Self.system())
                case .frozen: .frozen(at: moved)
                }
            return true
        }
    }

    func followSystem() { mode.withLock { $0 = .running(offset: 0) } }

    private static func reading(_ mode: Mode) -> Int64 {
        switch mode {
        case .running(let offset): system() + offset
        case .frozen(let time): time
        }
    }

    private static func system() -> Int64 { Int64(Date().timeIntervalSince1970) }
}

/// RFC 3339 in UTC with whole seconds, the only form that the control interface writes and reads.
enum Timestamp {
    static func text(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601)
    }

    static func seconds(_ text: String) -> Int64? {
        guard let date = try? Date(text, strategy: .iso8601) else { return nil }
        let seconds = Int64(exactly: date.timeIntervalSince1970.rounded(.down))
        return seconds.flatMap { SandboxClock.range.contains($0) ? $0 : nil }
    }
}
