import Accounts
import Primitives

extension RateLimit {
    /// Parses `10/15min`, `10/15 min`, `30/h`, `5/90s`; `0` is no limit.
    init?(_ text: String) {
        if text == "0" {
            self = .none
            return
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Self.number(parts[0], maximumDigits: 9) else { return nil }
        let digits = parts[1].prefix { $0.isASCII && $0.isWholeNumber }
        guard let length = digits.isEmpty ? 1 : Self.number(digits, maximumDigits: 6) else { return nil }
        let unit: Int
        switch parts[1].dropFirst(digits.count).trimmingPrefix(" ") {
        case "s": unit = 1
        case "min": unit = 60
        case "h": unit = 3600
        case "d": unit = 86_400
        default: return nil
        }
        self = .limit(count: count, seconds: length * unit)
    }

    /// A number above 0, without a sign and without zeros before it.
    private static func number(_ text: Substring, maximumDigits: Int) -> Int? {
        guard text.utf8.count <= maximumDigits, text.utf8.allSatisfy(\.isASCIIDigit),
            text.utf8.first != 0x30
        else { return nil }
        return Int(text)
    }
}
