import CPostgres
import Glibc

/// Wakes one thread out of `poll`: an `eventfd`.
final class WakeSignal: Sendable {
    let descriptor: Int32

    init() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        if descriptor < 0 { fatalError("No file descriptor is left to start with.") }
    }

    deinit {
        close(descriptor)
    }

    func raise() {
        var one: UInt64 = 1
        _ = unsafe write(descriptor, &one, 8)
    }

    func lower() {
        var count: UInt64 = 0
        _ = unsafe read(descriptor, &count, 8)
    }

    /// Sleeps until the signal is raised, the socket has one of `events`, or the time is over.
    /// Returns the events of the socket.
    func wait(socket: Int32 = -1, events: Int32 = 0, until deadline: ContinuousClock.Instant? = nil) -> Int32 {
        var descriptors = (
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket, events: Int16(truncatingIfNeeded: events), revents: 0)
        )
        let timeout = deadline.map { Self.milliseconds(until: $0) } ?? -1
        let ready = unsafe withUnsafeMutablePointer(to: &descriptors) { both in
            unsafe both.withMemoryRebound(to: pollfd.self, capacity: 2) { unsafe poll($0, 2, timeout) }
        }
        guard ready > 0 else { return 0 }
        if descriptors.0.revents != 0 { lower() }
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
