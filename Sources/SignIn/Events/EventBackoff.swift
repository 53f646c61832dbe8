import Accounts
import Synchronization

/// Events that could not be acted on, and when this process tries again. They stay pending, and in nobody's way.
///
/// In memory alone: a fault that a restart removes is tried anew after it.
package final class EventBackoff: Sendable {
    private struct Delay {
        var seconds: Int64
        var until: Timestamp
    }

    private static let longest: Int64 = 300

    private let delays = Mutex<[ProviderEventID: Delay]>([:])

    package init() {}

    /// Those whose time has not come.
    func ids(at now: Timestamp) -> [ProviderEventID] {
        delays.withLock { delays in
            // One that is long overdue would have come up: another process has acted on it.
            delays = delays.filter { $0.value.until.advanced(bySeconds: EventBackoff.longest) > now }
            return delays.compactMap { $0.value.until > now ? $0.key : nil }
        }
    }

    /// For a second, and twice as long each time after that.
    func postpone(_ id: ProviderEventID, at now: Timestamp) {
        delays.withLock { delays in
            let seconds = min(delays[id].map { $0.seconds * 2 } ?? 1, EventBackoff.longest)
            delays[id] = Delay(seconds: seconds, until: now.advanced(bySeconds: seconds))
        }
    }

    func forget(_ id: ProviderEventID) {
        _ = delays.withLock { $0.removeValue(forKey: id) }
    }
}
