import Primitives

extension Timestamp {
    /// RFC 3339 in UTC with `Z` and whole seconds: `2026-01-01T00:00:00Z`, the form of every time on the wire.
    package var rfc3339: String { CivilTime(secondsSince1970: seconds).rfc3339 }

    /// The same with microseconds: `2026-01-01T00:00:00.000000Z`, for what has to be exact.
    package var rfc3339Exact: String {
        let remainder = microseconds % 1_000_000
        let fraction = String(remainder < 0 ? remainder + 1_000_000 : remainder)
        return rfc3339.dropLast() + "." + String(repeating: "0", count: 6 - fraction.utf8.count) + fraction + "Z"
    }

    /// Reads `YYYY-MM-DDThh:mm:ssZ`, the one form this service writes; anything else is `nil`.
    package init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 20, bytes[4] == 0x2D, bytes[7] == 0x2D, bytes[10] == 0x54, bytes[13] == 0x3A,
            bytes[16] == 0x3A, bytes[19] == 0x5A,
            let year = Timestamp.number(bytes[0..<4]), let month = Timestamp.number(bytes[5..<7]),
            let day = Timestamp.number(bytes[8..<10]), let hour = Timestamp.number(bytes[11..<13]),
            let minute = Timestamp.number(bytes[14..<16]), let second = Timestamp.number(bytes[17..<19]),
            let seconds = CivilTime.secondsSince1970(
                year: Int64(year), month: month, day: day, hour: hour, minute: minute, second: second)
        else { return nil }
        self.init(seconds: seconds)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        digits.allSatisfy(\.isASCIIDigit) ? digits.reduce(0) { $0 * 10 + Int($1 - 0x30) } : nil
    }
}
