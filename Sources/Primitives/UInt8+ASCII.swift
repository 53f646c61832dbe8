/// The classes of ASCII characters that grammars are written in (RFC 5234 appendix B.1). No other byte is in any of them:
/// under Unicode's rules the Kelvin sign would be a letter, and fold to `k`.
extension UInt8 {
    @inlinable package var isASCIILetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }

    @inlinable package var isASCIIDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

    @inlinable package var isASCIIAlphanumeric: Bool { isASCIILetter || isASCIIDigit }

    /// `unreserved` of RFC 3986 §2.3.
    @inlinable package var isURLUnreserved: Bool {
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: isASCIIAlphanumeric
        }
    }

    /// A C0 control or DEL, which no identifier, reason or log line may hold.
    @inlinable package var isASCIIControl: Bool { self < 0x20 || self == 0x7F }

    /// A letter in lower case; every other byte as it is.
    @inlinable package var asciiLowercased: UInt8 { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self ? self | 0x20 : self }
}

extension Sequence<UInt8> {
    /// Whether the bytes are the same but for the case of ASCII letters.
    @inlinable package func equalsIgnoringASCIICase(_ other: some Sequence<UInt8>) -> Bool {
        elementsEqual(other) { $0.asciiLowercased == $1.asciiLowercased }
    }
}
