/// The exact value of a JSON number: ± `significand` × 10^`exponent`.
///
/// Never a `Double`: 2^53 + 1 would become its neighbour, and `Int(1e300)` stops the process.
package struct JSONNumber: Equatable, Sendable {
    package let isNegative: Bool
    /// Does not end in a decimal zero, so equal numbers have equal parts; zero has exponent 0 and no sign.
    package let significand: UInt128
    package let exponent: Int

    /// - Parameter text: a number that the reader has accepted.
    /// - Returns: `nil` for more significant digits than 128 bits hold (38 always fit) or an exponent beyond ± 10^9.
    init?(_ text: Span<UInt8>) {
        var significand: UInt128 = 0
        var fractionDigits = 0
        // Zeros count only when another digit follows them.
        var zeros = 0
        var isFraction = false
        var position = 0
        let isNegative = !text.isEmpty && text[0] == UInt8(ascii: "-")
        if isNegative { position += 1 }
        scan: while position < text.count {
            let byte = text[position]
            switch byte {
            case UInt8(ascii: "."):
                isFraction = true
            case UInt8(ascii: "0"):
                zeros += 1
                if isFraction { fractionDigits += 1 }
            case UInt8(ascii: "1")...UInt8(ascii: "9"):
                if significand > 0 {
                    guard let raised = Self.raised(significand, by: zeros + 1) else { return nil }
                    significand = raised
                }
                let (sum, overflow) = significand.addingReportingOverflow(UInt128(byte - UInt8(ascii: "0")))
                guard !overflow else { return nil }
                significand = sum
                zeros = 0
                if isFraction { fractionDigits += 1 }
            default:
                break scan
            }
            position += 1
        }
        guard significand > 0 else {
            (self.isNegative, self.significand, self.exponent) = (false, 0, 0)
            return
        }
        guard let scale = Self.exponent(text.extracting(position...)) else { return nil }
        self.isNegative = isNegative
        self.significand = significand
        self.exponent = scale + zeros - fractionDigits
    }

    /// `significand` × 10^`power`, unless that exceeds 128 bits.
    package static func raised(_ significand: UInt128, by power: Int) -> UInt128? {
        guard power <= 38 else { return nil }
        var result = significand
        for _ in 0..<max(0, power) {
            let (product, overflow) = result.multipliedReportingOverflow(by: 10)
            guard !overflow else { return nil }
            result = product
        }
        return result
    }

    /// The value of `e`, a sign and digits; 0 for an empty text.
    private static func exponent(_ text: Span<UInt8>) -> Int? {
        var exponent = 0
        var isNegative = false
        for index in text.indices {
            switch text[index] {
            case UInt8(ascii: "-"):
                isNegative = true
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                exponent = exponent * 10 + Int(text[index] - UInt8(ascii: "0"))
                guard exponent <= 1_000_000_000 else { return nil }
            default:
                continue
            }
        }
        return isNegative ? -exponent : exponent
    }

    /// The value, if it is an integer of 64 bits: 1.0 and 1e3 are, 1.5 and 2^63 are not.
    package var integer: Int64? {
        guard exponent >= 0, let magnitude = Self.raised(significand, by: exponent) else { return nil }
        guard isNegative else { return Int64(exactly: magnitude) }
        return magnitude == UInt128(Int64.min.magnitude) ? .min : Int64(exactly: magnitude).map { -$0 }
    }
}
