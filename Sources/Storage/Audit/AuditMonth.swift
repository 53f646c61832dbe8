package import Accounts
import Primitives

/// A month of the calendar in UTC, `2026-12`: what the audit trail is partitioned and taken away by.
package struct AuditMonth: Hashable, Sendable, CustomStringConvertible {
    /// Its first moment.
    package let begin: Timestamp

    package init?(year: Int64, month: Int) {
        guard
            let begin = CivilTime.secondsSince1970(year: year, month: month, day: 1, hour: 0, minute: 0, second: 0)
        else { return nil }
        self.begin = Timestamp(seconds: begin)
    }

    /// - Parameter text: four digits, `-`, and two digits.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 4, parts[1].utf8.count == 2,
            text.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) }),
            let year = Int64(parts[0]), let month = Int(parts[1])
        else { return nil }
        self.init(year: year, month: month)
    }

    package var description: String { String(begin.rfc3339.prefix(7)) }
}
