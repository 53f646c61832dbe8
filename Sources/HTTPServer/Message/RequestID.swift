import Glibc
import Primitives

/// The id of one request, in its response and its log lines.
enum RequestID {
    static let maximumLength = 128

    /// The client's own id, if it is safe to repeat in a header and a log line: 1 to 128 of `A-Za-z0-9._-`.
    static func accepted(_ text: String) -> String? {
        let bytes = text.utf8
        guard 1...maximumLength ~= bytes.count, bytes.allSatisfy({ $0.isURLUnreserved && $0 != UInt8(ascii: "~") })
        else {
            return nil
        }
        return text
    }

    /// A UUIDv7 (RFC 9562 §5.7), so that ids sort by time in a log search; its 12 bits behind the milliseconds are the
    /// fraction of the millisecond (§6.2, method 3).
    static func fresh() -> String {
        var generator = SystemRandomNumberGenerator()
        return fresh(random: generator.next())
    }

    /// - Parameter random: random bits, two of which are not used.
    static func fresh(random: UInt64) -> String {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return UUIDv7(
            milliseconds: UInt64(clamping: now.tv_sec) &* 1000 &+ UInt64(clamping: now.tv_nsec / 1_000_000),
            randomA: UInt64(clamping: now.tv_nsec % 1_000_000) * 4096 / 1_000_000, randomB: random
        ).text
    }
}
