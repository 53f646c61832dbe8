import Foundation

/// Points in time as the server writes them and as they are stored.
enum Timestamp {
    /// `2026-11-21T04:08:40Z` (RFC 3339 in UTC, whole seconds); nil for any other text.
    static func parse(_ text: String) -> Date? {
        let bytes = Array(text.utf8)
        guard bytes.count == 20, zip(bytes, "0000-00-00T00:00:00Z".utf8).allSatisfy(matches) else { return nil }
        func number(_ range: Range<Int>) -> Int { bytes[range].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } }
        let (year, month, day) = (number(0..<4), number(5..<7), number(8..<10))
        let (hour, minute, second) = (number(11..<13), number(14..<16), number(17..<19))
        guard (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second <= 60 else { return nil }
        // Days since 1970-01-01 in the Gregorian calendar, years counted from March (so that a leap day is the last).
        let (years, months) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
        let leapDays = years / 4 - years / 100 + years / 400
        let days = years * 365 + leapDays + (153 * months + 2) / 5 + day - 1 - 719_468
        return Date(timeIntervalSince1970: Double(((days * 24 + hour) * 60 + minute) * 60 + second))
    }

    /// Whole seconds since 1970, those begun not counted.
    static func seconds(_ date: Date) -> Int { Int(exactly: date.timeIntervalSince1970.rounded(.down)) ?? 0 }

    static func date(_ seconds: Int) -> Date { Date(timeIntervalSince1970: Double(seconds)) }

    private static func matches(_ byte: UInt8, _ pattern: UInt8) -> Bool {
        pattern == UInt8(ascii: "0") ? (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) : byte == pattern
    }
}
