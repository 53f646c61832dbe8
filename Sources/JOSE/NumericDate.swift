package import JSON

/// A NumericDate (RFC 7519 §2): seconds since 1970-01-01T00:00:00Z, leap seconds ignored, possibly with a fraction.
package struct NumericDate: Comparable, Sendable {
    /// Exact to 10^-18 s; digits beyond are dropped, so that an expiry is never later than it was written.
    package let sinceEpoch: Duration

    /// The last second of the year 9999. What is later, or before 1970, is no date of a token.
    private static let latest: Int64 = 253_402_300_799

    /// - Returns: `nil` outside 1970 to 9999.
    package init?(_ number: JSONNumber) {
        guard !number.isNegative else { return nil }
        let power = number.exponent + 18
        var attoseconds: UInt128
        if power >= 0 {
            guard let raised = JSONNumber.raised(number.significand, by: power) else { return nil }
            attoseconds = raised
        } else {
            attoseconds = number.significand
            for _ in 0..<min(-power, 39) { attoseconds /= 10 }
        }
        guard let exact = Int128(exactly: attoseconds) else { return nil }
        sinceEpoch = Duration(attoseconds: exact)
        guard sinceEpoch <= .seconds(Self.latest) else { return nil }
    }

    /// - Returns: `nil` outside 1970 to 9999.
    package init?(seconds: Int64) {
        guard 0...Self.latest ~= seconds else { return nil }
        sinceEpoch = .seconds(seconds)
    }

    /// Whole seconds, the fraction dropped.
    package var seconds: Int64 { sinceEpoch.components.seconds }

    package static func < (first: NumericDate, second: NumericDate) -> Bool {
        first.sinceEpoch < second.sinceEpoch
    }
}

extension JSONValue {
    /// The value of a number that is a date of a token.
    package var date: NumericDate? {
        if let seconds = digits { return NumericDate(seconds: seconds) }
        return number.flatMap(NumericDate.init)
    }
}
