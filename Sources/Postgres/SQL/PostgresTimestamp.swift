/// An instant as PostgreSQL's `timestamptz` keeps it: whole microseconds, here counted from 1970.
package struct PostgresTimestamp: Sendable, Hashable, Comparable {
    package let unixMicroseconds: Int64

    /// PostgreSQL counts from 2000-01-01 00:00:00 UTC.
    private static let epoch: Int64 = 946_684_800_000_000

    /// Later than every instant: `'infinity'`.
    package static let infinity = PostgresTimestamp(unixMicroseconds: .max)

    package init(unixMicroseconds: Int64) {
        self.unixMicroseconds = unixMicroseconds
    }

    /// Instants out of 64 bits of microseconds (292,000 years) become infinite.
    package init(unixSeconds: Int64) {
        let (microseconds, overflows) = unixSeconds.multipliedReportingOverflow(by: 1_000_000)
        unixMicroseconds = overflows ? (unixSeconds < 0 ? .min : .max) : microseconds
    }

    /// The last whole second not after the instant.
    package var unixSeconds: Int64 {
        let (quotient, remainder) = unixMicroseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return remainder < 0 ? quotient - 1 : quotient
    }

    init(wireValue: Int64) {
        let (sum, overflows) = wireValue.addingReportingOverflow(Self.epoch)
        unixMicroseconds = wireValue == .min ? .min : overflows ? .max : sum
    }

    var wireValue: Int64 {
        guard unixMicroseconds != .max else { return .max }
        let (difference, overflows) = unixMicroseconds.subtractingReportingOverflow(Self.epoch)
        return overflows ? .min : difference
    }

    package static func < (left: PostgresTimestamp, right: PostgresTimestamp) -> Bool {
        left.unixMicroseconds < right.unixMicroseconds
    }
}
