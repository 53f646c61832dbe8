import Glibc
import Synchronization

/// Standard error, as the log is written to it: one line at a time, since the lines of other threads would mix with a longer
/// one.
///
/// A line that can't be written is lost: a full disk or a closed pipe must not end the service, and a reader that is slow or
/// gone must hold neither its requests nor its end.
final class LogOutput: Sendable {
    static let standardError = LogOutput()

    private struct State {
        /// Whether the last line was cut off.
        var isCutOff = false
        /// How many lines were lost since one was written.
        var lost = 0
        /// Until when no line waits, because one has waited in vain.
        var noneWaitsUntil = ContinuousClock.now
    }

    private let state = Mutex(State())
    private let limit: Duration
    private let pause: Duration
    /// `PIPE_BUF`: what a pipe takes whole once it takes anything.
    private static let atomicSize = 4_096
    /// A terminal takes less than that, and is opened for writes that don't wait.
    private static let descriptor: Int32 = {
        guard isatty(STDERR_FILENO) == 1 else { return STDERR_FILENO }
        let terminal = open("/proc/self/fd/\(STDERR_FILENO)", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        return terminal < 0 ? STDERR_FILENO : terminal
    }()

    /// - Parameters:
    ///   - limit: how long a line waits.
    ///   - pause: for how long none does after one that was lost.
    init(limit: Duration = .seconds(1), pause: Duration = .seconds(60)) {
        self.limit = limit
        self.pause = pause
    }

    /// - Parameter note: the line that says how many were lost before.
    func write(_ line: [UInt8], note: (Int) -> [UInt8]) {
        state.withLock { state in
            if state.lost > 0, put(note(state.lost), &state) { state.lost = 0 }
            if state.lost > 0 || !put(line, &state) { state.lost += 1 }
        }
    }

    /// - Returns: whether it was written whole.
    private func put(_ line: [UInt8], _ state: inout State) -> Bool {
        let bytes = state.isCutOff ? [UInt8(ascii: "\n")] + line : line
        var rest = bytes[...]
        let start = ContinuousClock.now
        let deadline = start < state.noneWaitsUntil ? start : start + limit
        while !rest.isEmpty, Self.isWritable(until: deadline) {
            let count = rest.prefix(Self.atomicSize).withUnsafeBytes {
                Glibc.write(Self.descriptor, $0.baseAddress, $0.count)
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if !(count < 0 && (errno == EINTR || errno == EAGAIN)) {
                break
            }
        }
        if rest.count < bytes.count { state.isCutOff = !rest.isEmpty }
        if !rest.isEmpty { state.noneWaitsUntil = .now + pause }
        return rest.isEmpty
    }

    private static func isWritable(until deadline: ContinuousClock.Instant) -> Bool {
        var log = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while true {
            let wait = max(.zero, ContinuousClock.now.duration(to: deadline))
            let found = poll(&log, 1, Int32(clamping: Int64(wait / .milliseconds(1))))
            if found >= 0 || errno != EINTR { return found > 0 }
        }
    }
}
