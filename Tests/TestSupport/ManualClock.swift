package import Accounts
import Synchronization

/// A wall clock that stands still until `set` or `advance` moves it.
package final class ManualClock: WallClock {
    private let time: Mutex<Timestamp>

    package init(at seconds: Int64) { time = Mutex(Timestamp(seconds: seconds)) }

    package func now() -> Timestamp { time.withLock(\.self) }

    package func set(to seconds: Int64) { time.withLock { $0 = Timestamp(seconds: seconds) } }

    package func advance(by seconds: Int64) { time.withLock { $0 = $0.advanced(bySeconds: seconds) } }

    package func advance(byMilliseconds milliseconds: Int64) {
        time.withLock { $0 = Timestamp(microseconds: $0.microseconds + milliseconds * 1_000) }
    }
}
