/// A date and a time of day in UTC, in the proleptic Gregorian calendar, to the second.
package struct CivilTime: Hashable, Sendable {
    package let year: Int64
    /// 1 to 12.
    package let month: Int
    /// 1 to 31.
    package let day: Int
    package let hour: Int
    package let minute: Int
    package let second: Int
    /// 0 for Sunday.
    package let weekday: Int

    package static let monthNames = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    package static let weekdayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    /// - Parameter seconds: since 1970-01-01T00:00:00Z, leap seconds ignored.
    package init(secondsSince1970 seconds: Int64) {
        let days = seconds / 86_400 - (seconds % 86_400 < 0 ? 1 : 0)
        let time = Int((seconds % 86_400 + 86_400) % 86_400)
        // By eras of 400 years that begin on a 1 March, so that the leap day is the last of its year.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * marchMonth + 2) / 5 + 1)
        month = Int(marchMonth < 10 ? marchMonth + 3 : marchMonth - 9)
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60)
        // 1970 began on a Thursday.
        weekday = Int((days % 7 + 11) % 7)
    }

    /// Seconds since 1970 of a date and a time of day; `nil` when the calendar has no such day or the day no such time.
    package static func secondsSince1970(
        year: Int64, month: Int, day: Int, hour: Int, minute: Int, second: Int
    ) -> Int64? {
        guard (0...9999).contains(year), (1...12).contains(month), (1...31).contains(day), (0..<24).contains(hour),
            (0..<60).contains(minute), (0..<60).contains(second)
        else { return nil }
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = Int64((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1)
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        let seconds = days * 86_400 + Int64(hour * 3600 + minute * 60 + second)
        let read = CivilTime(secondsSince1970: seconds)
        // The 31st of a short month comes back as another date.
        return (read.year, read.month, read.day) == (year, month, day) ? seconds : nil
    }

    /// RFC 3339 with `Z`: `2026-01-01T00:00:00Z`.
    package var rfc3339: String { rfc3339(milliseconds: nil) }

    /// The same with a fraction of three digits, of 0 to 999: `2026-01-01T00:00:00.000Z`.
    package func rfc3339(milliseconds: Int?) -> String {
        Self.text { text in
            appendYear(to: &text)
            text.append(UInt8(ascii: "-"))
            Self.append(month, to: &text)
            text.append(UInt8(ascii: "-"))
            Self.append(day, to: &text)
            text.append(UInt8(ascii: "T"))
            appendTime(to: &text)
            if let milliseconds {
                text.append(UInt8(ascii: "."))
                text.append(UInt8(ascii: "0") + UInt8(milliseconds / 100))
                Self.append(milliseconds % 100, to: &text)
            }
            text.append(UInt8(ascii: "Z"))
        }
    }

    /// The IMF-fixdate of RFC 9110 §5.6.7: `Thu, 01 Jan 2026 00:00:00 GMT`.
    package var imfFixdate: String { "\(internetMessageDate) GMT" }

    /// RFC 5322 §3.3: `Thu, 01 Jan 2026 00:00:00 +0000`.
    package var rfc5322: String { "\(internetMessageDate) +0000" }

    private var internetMessageDate: String {
        Self.text { text in
            text += Self.weekdayNames[weekday].utf8
            text += ", ".utf8
            Self.append(day, to: &text)
            text.append(UInt8(ascii: " "))
            text += Self.monthNames[month - 1].utf8
            text.append(UInt8(ascii: " "))
            appendYear(to: &text)
            text.append(UInt8(ascii: " "))
            appendTime(to: &text)
        }
    }

    /// Every answer and every line of the log has such texts: digits are written one by one, because the number
    /// formatting of the standard library is many times slower.
    private static func text(_ write: (inout [UInt8]) -> Void) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32)
        write(&bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func appendTime(to text: inout [UInt8]) {
        Self.append(hour, to: &text)
        text.append(UInt8(ascii: ":"))
        Self.append(minute, to: &text)
        text.append(UInt8(ascii: ":"))
        Self.append(second, to: &text)
    }

    private func appendYear(to text: inout [UInt8]) {
        guard (0...9999).contains(year) else {
            text += String(year).utf8
            return
        }
        Self.append(Int(year) / 100, to: &text)
        Self.append(Int(year) % 100, to: &text)
    }

    /// - Parameter number: 0 to 99.
    private static func append(_ number: Int, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / 10))
        text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
    }
}
