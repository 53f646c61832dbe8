import Foundation
import Synchronization

/// The time of the stand-in: what `iat`, `exp` and the history say. It follows the system's clock until a test sets it.
final class SandboxClock: Sendable {
    /// Seconds since 1970 that a clock may be set to: the years 1970 to 9999, which is all that RFC 3339 can write.
    static let range: ClosedRange<Int64> = 0...253_402_300_799

    private enum Hands {
        /// Ahead of the system's clock (or behind it) by so many seconds.
        case running(offset: Int64)
        case standing(at: Int64)
    }

    private let hands = Mutex(Hands.running(offset: 0))

    var now: Int64 { hands.withLock { Self.reading($0) } }

    /// A clock that stands still does so on the whole second.
    var nowMilliseconds: Int64 {
        hands.withLock { hands in
            switch hands {
            case .running(let offset): Int64(Date().timeIntervalSince1970 * 1000) + offset * 1000
            case .standing(let time): time * 1000
            }
        }
    }

    var isRunning: Bool {
        hands.withLock {
            if case .running = $0 { true } else { false }
        }
    }

    func set(to time: Int64, running: Bool) {
        hands.withLock { $0 = running ? .running(offset: time - Self.system()) : .standing(at: time) }
    }

    /// Moves the clock, backwards too; false when that leads out of `range`.
    func advance(by seconds: Int64) -> Bool {
        hands.withLock { hands in
            let (moved, overflow) = Self.reading(hands).addingReportingOverflow(seconds)
            guard !overflow, Self.range.contains(moved) else { return false }
            hands =
                switch hands {
                case .running: .running(offset: moved - Self.system())
                case .standing: .standing(at: moved)
                }
            return true
        }
    }

    func followSystem() {
        hands.withLock { $0 = .running(offset: 0) }
    }

    private static func reading(_ hands: Hands) -> Int64 {
        switch hands {
        case .running(let offset): system() + offset
        case .standing(let time): time
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
