/// A time on the wall clock, in microseconds since 1970-01-01T00:00:00Z (leap seconds ignored), the resolution that
/// PostgreSQL keeps.
package struct Timestamp: Hashable, Comparable, Sendable {
    package let microseconds: Int64

    package init(microseconds: Int64) { self.microseconds = microseconds }

    /// Saturates rather than traps: the argument may come from a token.
    package init(seconds: Int64) {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        self.microseconds = overflow ? (seconds < 0 ? .min : .max) : product
    }

    /// Whole seconds, rounded down.
    package var seconds: Int64 {
        let quotient = microseconds / 1_000_000
        return microseconds % 1_000_000 < 0 ? quotient - 1 : quotient
    }

    /// Whole milliseconds, rounded down.
    package var milliseconds: Int64 {
        let quotient = microseconds / 1000
        return microseconds % 1000 < 0 ? quotient - 1 : quotient
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microseconds < right.microseconds
    }

    /// The time `seconds` later (earlier when negative); saturates.
    package func advanced(bySeconds seconds: Int64) -> Timestamp {
        let (sum, overflow) = microseconds.addingReportingOverflow(Timestamp(seconds: seconds).microseconds)
        return Timestamp(microseconds: overflow ? (seconds < 0 ? .min : .max) : sum)
    }
}

/// The clock that decides expiry. One is injected into everything that needs the time, so that tests don't wait for it.
package protocol WallClock: Sendable {
    func now() -> Timestamp
}
