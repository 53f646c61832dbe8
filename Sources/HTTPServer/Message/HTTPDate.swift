import Glibc
import Primitives
import Synchronization

/// The value of the `Date` header (RFC 9110 §6.6.1): an IMF-fixdate, formatted once a second.
final class HTTPDate: Sendable {
    private let cache = Mutex<(second: Int, text: String)>((-1, ""))

    /// The text of the current second.
    func text() -> String {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let second = now.tv_sec
        return cache.withLock { cache in
            if cache.second != second { cache = (second, CivilTime(secondsSince1970: Int64(second)).imfFixdate) }
            return cache.text
        }
    }
}
