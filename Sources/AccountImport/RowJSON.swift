import Accounts
import JSON
import Primitives

extension JSONLimits {
    /// Of a row: 1 MiB, 8 levels. Applications keep what they like in the parts of it that are not read here.
    static let row = JSONLimits(
        maximumBytes: maximumRowBytes, maximumDepth: 8, maximumMembers: 8_192, maximumStringBytes: maximumRowBytes,
        maximumNumberBytes: 64)
}

extension JSONValue {
    /// A row that is an object.
    init(row: RowBytes) throws(RowFault) {
        guard let row else { throw .overLimit }
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: row, limits: .row)
        } catch {
            throw RowFault(error, in: row)
        }
        guard value.kind == .object else { throw .unreadable }
        self = value
    }

    /// The text of a member that a row can't be without.
    func requiredText(_ name: String) throws(RowFault) -> String {
        guard let member = self[name], !member.isNull else { throw .required(name) }
        guard let text = member.text else { throw .invalid(name) }
        return text
    }

    /// A text, or a whole number that some exporters write in its place.
    var text: String? {
        if let string { return string }
        guard let number, !number.isNegative, number.exponent >= 0 else { return nil }
        return JSONNumber.raised(number.significand, by: number.exponent).map { String($0) }
    }

    /// Whether it is true, or the text of that.
    var isTrue: Bool { bool ?? (string == "true") }

    /// An object, or one in a text.
    var objectOrText: JSONValue? {
        if kind == .object { return self }
        guard let stringBytes, let value = try? JSONValue(parsing: stringBytes, limits: .row) else { return nil }
        return value.kind == .object ? value : nil
    }

    /// A time in milliseconds, as a number or as the text of one.
    var milliseconds: Timestamp? {
        let number = integer ?? string.flatMap { Int64($0) }
        return number.flatMap(Timestamp.init(milliseconds:))
    }

    /// A time in RFC 3339, or in seconds, as a number with a fraction or without.
    var time: Timestamp? {
        // Without an offset it is in UTC.
        if let string { return Timestamp(internet: string) ?? Timestamp(internet: string + "Z") }
        guard let number, !number.isNegative, number.exponent >= -12, number.exponent <= 12 else { return nil }
        var seconds = number.significand
        for _ in 0..<max(0, -number.exponent) { seconds /= 10 }
        guard let whole = JSONNumber.raised(seconds, by: max(0, number.exponent)).flatMap({ Int64(exactly: $0) }) else {
            return nil
        }
        return Timestamp(seconds: whole).ifPlausible
    }
}

extension Timestamp {
    /// Itself between the years 1970 and 9999, which PostgreSQL and RFC 3339 have.
    var ifPlausible: Timestamp? { (0..<253_402_300_800).contains(seconds) ? self : nil }

    /// `nil` for what is implausible.
    init?(milliseconds: Int64) {
        let (micro, overflow) = milliseconds.multipliedReportingOverflow(by: 1_000)
        guard !overflow, let time = Timestamp(microseconds: micro).ifPlausible else { return nil }
        self = time
    }

    /// A time of RFC 3339 in any of its forms: with a fraction, with an offset, with a space in place of the `T`.
    package init?(internet text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 40 else { return nil }
        var whole = Array(bytes[..<19])
        if whole[10] == 0x20 || whole[10] == UInt8(ascii: "t") { whole[10] = UInt8(ascii: "T") }
        guard let time = Timestamp(rfc3339: String(decoding: whole + [UInt8(ascii: "Z")], as: UTF8.self)) else {
            return nil
        }
        var rest = bytes[19...]
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            let digits = rest.prefix(while: \.isASCIIDigit)
            guard !digits.isEmpty else { return nil }
            rest = rest[digits.endIndex...]
        }
        var offset: Int64 = 0
        switch rest.first {
        case UInt8(ascii: "Z"), UInt8(ascii: "z"): guard rest.count == 1 else { return nil }
        case UInt8(ascii: "+"), UInt8(ascii: "-"):
            let sign: Int64 = rest.first == UInt8(ascii: "+") ? 1 : -1
            let digits = rest.dropFirst().filter { $0 != UInt8(ascii: ":") }
            guard digits.count == 4, digits.allSatisfy(\.isASCIIDigit) else { return nil }
            let numbers = digits.map { Int64($0) - 48 }
            offset = sign * ((numbers[0] * 10 + numbers[1]) * 3_600 + (numbers[2] * 10 + numbers[3]) * 60)
        default: return nil
        }
        guard let plausible = time.advanced(bySeconds: -offset).ifPlausible else { return nil }
        self = plausible
    }
}

extension UInt8 {
    var isJSONSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
