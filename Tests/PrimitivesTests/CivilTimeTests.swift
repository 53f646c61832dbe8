import Primitives
import Testing

@Suite struct CivilTimeTests {
    @Test(arguments: [
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (4_294_967_295, "Sun, 07 Feb 2106 06:28:15 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (-2_208_988_800, "Mon, 01 Jan 1900 00:00:00 GMT"),
    ])
    func `a time is an IMF-fixdate`(seconds: Int64, text: String) {
        #expect(CivilTime(secondsSince1970: seconds).imfFixdate == text)
    }

    @Test func `a time is a date of RFC 5322 and of RFC 3339`() {
        let time = CivilTime(secondsSince1970: 1_767_225_600)
        #expect(time.rfc5322 == "Thu, 01 Jan 2026 00:00:00 +0000")
        #expect(time.rfc3339 == "2026-01-01T00:00:00Z")
        for (milliseconds, fraction) in [(0, "000"), (7, "007"), (50, "050"), (999, "999")] {
            #expect(time.rfc3339(milliseconds: milliseconds) == "2026-01-01T00:00:00.\(fraction)Z")
        }
    }

    @Test func `every day of five centuries comes back as it was, a weekday after the one before`() {
        var weekday = CivilTime(secondsSince1970: -6_106_060_800 - 86_400).weekday
        for day in stride(from: -6_106_060_800 as Int64, to: 9_672_000_000, by: 86_400) {
            let time = CivilTime(secondsSince1970: day + 86_399)
            #expect(time.weekday == (weekday + 1) % 7)
            weekday = time.weekday
            let read = CivilTime.secondsSince1970(
                year: time.year, month: time.month, day: time.day, hour: time.hour, minute: time.minute,
                second: time.second)
            guard read == day + 86_399 else {
                Issue.record("\(time) was read as \(String(describing: read))")
                return
            }
        }
    }

    @Test(arguments: [(2025, 2, 29), (1900, 2, 29), (2026, 4, 31), (2026, 13, 1), (2026, 0, 1), (2026, 1, 0)])
    func `a day that no calendar has is refused`(year: Int64, month: Int, day: Int) {
        #expect(CivilTime.secondsSince1970(year: year, month: month, day: day, hour: 0, minute: 0, second: 0) == nil)
    }

    @Test(arguments: [(24, 0, 0), (0, 60, 0), (0, 0, 60)])
    func `a time that no day has is refused`(hour: Int, minute: Int, second: Int) {
        #expect(
            CivilTime.secondsSince1970(year: 2026, month: 1, day: 1, hour: hour, minute: minute, second: second) == nil)
    }

    @Test(arguments: [Int64.min, .max]) func `a time far out stops nothing`(seconds: Int64) {
        #expect(!CivilTime(secondsSince1970: seconds).rfc3339.isEmpty)
    }
}
