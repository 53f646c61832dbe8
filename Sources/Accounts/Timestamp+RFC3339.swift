extension Timestamp {
    /// RFC 3339 in UTC with `Z` and whole seconds: `2026-01-01T00:00:00Z`, the form of every time on the wire.
    package var rfc3339: String {
        let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let time = seconds - days * 86_400
        let (year, month, day) = Timestamp.civilDate(daysSince1970: days)
        var text = ""
        text.reserveCapacity(20)
        Timestamp.append(year, width: 4, to: &text)
        text.append("-")
        Timestamp.append(month, width: 2, to: &text)
        text.append("-")
        Timestamp.append(day, width: 2, to: &text)
        text.append("T")
        Timestamp.append(time / 3600, width: 2, to: &text)
        text.append(":")
        Timestamp.append(time / 60 % 60, width: 2, to: &text)
        text.append(":")
        Timestamp.append(time % 60, width: 2, to: &text)
        text.append("Z")
        return text
    }

    /// Reads `YYYY-MM-DDThh:mm:ssZ`, the one form this service writes; anything else is `nil`.
    package init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 20, bytes[4] == 0x2D, bytes[7] == 0x2D, bytes[10] == 0x54, bytes[13] == 0x3A,
            bytes[16] == 0x3A, bytes[19] == 0x5A,
            let year = Timestamp.number(bytes[0..<4]), let month = Timestamp.number(bytes[5..<7]),
            let day = Timestamp.number(bytes[8..<10]), let hour = Timestamp.number(bytes[11..<13]),
            let minute = Timestamp.number(bytes[14..<16]), let second = Timestamp.number(bytes[17..<19]),
            (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second < 60
        else { return nil }
        let days = Timestamp.daysSince1970(year: year, month: month, day: day)
        // The 31st of a short month comes back as another date.
        guard Timestamp.civilDate(daysSince1970: days) == (year, month, day) else { return nil }
        self.init(seconds: days * 86_400 + hour * 3600 + minute * 60 + second)
    }

    private static func append(_ number: Int64, width: Int, to text: inout String) {
        let digits = String(number)
        for _ in 0..<max(0, width - digits.utf8.count) { text.append("0") }
        text.append(digits)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        var value: Int64 = 0
        for digit in digits {
            guard digit >= 0x30, digit <= 0x39 else { return nil }
            value = value * 10 + Int64(digit - 0x30)
        }
        return value
    }

    /// The proleptic Gregorian date of a day count, by eras of 400 years that begin on a 1 March, so that the leap day
    /// is the last of its year.
    private static func civilDate(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
