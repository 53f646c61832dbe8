import Accounts
import Testing

@testable import WebPages

@Suite struct TypedTimeTests {
    @Test(
        arguments: [
            ("2026-11-29T19:50:39Z", "2026-11-29T19:50:39Z"), ("2026-11-29 19:50:39", "2026-11-29T19:50:39Z"),
            ("2026-11-29 19:50", "2026-11-29T19:50:00Z"), ("2026-11-29", "2026-11-29T00:00:00Z"),
            ("", nil), ("yesterday", nil), ("2026-11-31", nil), ("29.11.2026", nil), ("2026-11-29 25:00", nil),
            ("2026-11-29  19:50", nil), ("2026-11-29T19:50:39+01:00", nil), ("2026-11-29 19:50:3é", nil),
        ] as [(String, String?)])
    func `a time is read as RFC 3339 has it, and as the console shows it`(_ row: (text: String, time: String?)) {
        #expect(Timestamp(typed: row.text)?.rfc3339 == row.time)
    }
}
