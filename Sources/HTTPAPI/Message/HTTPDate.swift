import Glibc
import Synchronization

/// The value of the `Date` header (RFC 9110 §6.6.1), formatted once a second.
final class HTTPDate: Sendable {
    private let cache = Mutex<(second: Int, text: String)>((-1, ""))

    /// The text for now.
    func text() -> String {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let second = now.tv_sec
        return cache.withLock { cache in
            if cache.second != second { cache = (second, Self.format(second)) }
            return cache.text
        }
    }

    /// The IMF-fixdate of RFC 9110 §5.6.7 for a moment in seconds since 1970.
    static func format(_ second: Int) -> String {
        var second = second
        var time = tm()
        gmtime_r(&second, &time)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        func twoDigits(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return "\(days[Int(time.tm_wday) % 7]), \(twoDigits(time.tm_mday)) \(months[Int(time.tm_mon) % 12]) "
            + "\(1900 + Int(time.tm_year)) "
            + "\(twoDigits(time.tm_hour)):\(twoDigits(time.tm_min)):\(twoDigits(time.tm_sec)) GMT"
    }
}
