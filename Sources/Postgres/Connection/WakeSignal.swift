import CPostgres
import Glibc
import Synchronization

/// A signal that wakes one thread out of `poll`, by an `eventfd` that is written only when the thread sleeps.
///
/// A raise is never lost: between two waits it makes the next one return at once.
final class WakeSignal: Sendable {
    private enum State {
        static let awake = 0
        static let asleep = 1
        static let raised = 2
    }

    private let descriptor: Int32
    private let state = Atomic(State.awake)

    init() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        if descriptor < 0 { fatalError("no file descriptor left for an eventfd") }
    }

    deinit {
        close(descriptor)
    }

    func raise() {
        guard state.exchange(State.raised, ordering: .acquiringAndReleasing) == State.asleep else { return }
        var one: UInt64 = 1
        _ = unsafe write(descriptor, &one, 8)
    }

    /// Sleeps until the signal is raised, the socket has one of `events`, or the deadline has passed. Returns the
    /// events of the socket.
    func wait(socket: Int32 = -1, events: Int32 = 0, until deadline: ContinuousClock.Instant? = nil) -> Int32 {
        let (isAsleep, _) = state.compareExchange(
            expected: State.awake, desired: State.asleep, ordering: .acquiringAndReleasing)
        var descriptors = (
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket, events: Int16(truncatingIfNeeded: events), revents: 0)
        )
        // A signal that was raised before only polls the socket.
        let timeout = isAsleep ? deadline.map { Self.milliseconds(until: $0) } ?? -1 : 0
        let ready = unsafe withUnsafeMutablePointer(to: &descriptors) { both in
            unsafe both.withMemoryRebound(to: pollfd.self, capacity: 2) { unsafe poll($0, 2, timeout) }
        }
        state.store(State.awake, ordering: .sequentiallyConsistent)
        guard ready > 0 else { return 0 }
        if descriptors.0.revents != 0 {
            var count: UInt64 = 0
            _ = unsafe read(descriptor, &count, 8)
        }
        return Int32(descriptors.1.revents)
    }

    /// Rounded up, so that a wait never ends before its deadline and then spins.
    private static func milliseconds(until deadline: ContinuousClock.Instant) -> Int32 {
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { return 0 }
        let (seconds, attoseconds) = left.components
        return Int32(clamping: min(seconds, 86_400) * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
    }
}
