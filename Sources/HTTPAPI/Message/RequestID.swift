import Glibc

/// The id under which one request is answered and logged.
enum RequestID {
    static let maximumLength = 128

    /// The client's own id when it is one that may be repeated in a header and a log line: 1 to 128 of `A-Za-z0-9._-`.
    static func accepted(_ text: String) -> String? {
        let bytes = text.utf8
        guard 1...maximumLength ~= bytes.count, bytes.allSatisfy(isPlain) else { return nil }
        return text
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// A UUIDv7 (RFC 9562 §5.7), so that ids sort by time in a log search; its 12 bits behind the milliseconds are the
    /// fraction of the millisecond (§6.2, method 3).
    static func fresh() -> String {
        var generator = SystemRandomNumberGenerator()
        return fresh(random: generator.next())
    }

    /// - Parameter random: of which two bits are not used.
    static func fresh(random: UInt64) -> String {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return text(
            milliseconds: UInt64(clamping: now.tv_sec) &* 1000 &+ UInt64(clamping: now.tv_nsec / 1_000_000),
            random: (UInt64(clamping: now.tv_nsec % 1_000_000) * 4096 / 1_000_000, random))
    }

    static func text(milliseconds: UInt64, random: (UInt64, UInt64)) -> String {
        let high = milliseconds << 16 | 0x7000 | random.0 & 0x0FFF
        let low = 0x8000_0000_0000_0000 | random.1 & 0x3FFF_FFFF_FFFF_FFFF
        return String(unsafeUninitializedCapacity: 36) { text in
            var position = 0
            for digit in 0..<32 {
                if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                    text[position] = UInt8(ascii: "-")
                    position += 1
                }
                let word = digit < 16 ? high : low
                let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (digit % 16))) & 0xF
                text[position] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
                position += 1
            }
            return position
        }
    }
}
