/// An instant as PostgreSQL's `timestamptz` keeps it: whole microseconds, here counted from 1970.
package struct PostgresTimestamp: Sendable, Hashable, Comparable {
    package let unixMicroseconds: Int64

    /// PostgreSQL counts from 2000-01-01 00:00:00 UTC.
    private static let epoch: Int64 = 946_684_800_000_000

    package init(unixMicroseconds: Int64) { self.unixMicroseconds = unixMicroseconds }

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
