/// Hexadecimal, two digits a byte (RFC 4648 §8): written in lower case, read in either.
package enum Hexadecimal {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digit(byte >> 4))
            text.append(digit(byte & 0xF))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// `nil` for an odd number of characters or one that is no digit of either case.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let first = rest.popFirst() {
            guard let second = rest.popFirst(), let high = value(first), let low = value(second) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// The lower-case digit of a value below 16.
    @inlinable package static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    /// The value of a digit of either case; `nil` for any other byte.
    @inlinable package static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
