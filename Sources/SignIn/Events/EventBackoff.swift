import Accounts
import Synchronization

/// The events that could not be processed, and when this process tries each again. They stay pending and hold up no
/// others.
///
/// In memory only: after a restart, which may have removed the fault, all are tried again.
package final class EventBackoff: Sendable {
    private struct Delay {
        var seconds: Int64
        var since: Timestamp
        var until: Timestamp { since.advanced(bySeconds: seconds) }

        /// A clock that was set back ends the wait.
        func isOver(at now: Timestamp) -> Bool { now < since || until <= now }
    }

    private static let longestDelay: Int64 = 300

    private let delays = Mutex<[ProviderEventID: Delay]>([:])

    package init() {}

    /// The events whose delay has not passed.
    func ids(at now: Timestamp) -> [ProviderEventID] {
        delays.withLock { delays in
            // An event that is long overdue would have been retried: another process has processed it.
            delays = delays.filter { $0.value.until.advanced(bySeconds: EventBackoff.longestDelay) > now }
            return delays.compactMap { $0.value.isOver(at: now) ? nil : $0.key }
        }
    }

    /// Delays an event by a second, and by twice as long each time after that.
    func postpone(_ id: ProviderEventID, at now: Timestamp) {
        delays.withLock { delays in
            let seconds = min(delays[id].map { $0.seconds * 2 } ?? 1, EventBackoff.longestDelay)
            delays[id] = Delay(seconds: seconds, since: now)
        }
    }

    func forget(_ id: ProviderEventID) { _ = delays.withLock { $0.removeValue(forKey: id) } }
}
