/// A scan for the end of a JSON string that checks everything before it: escapes, UTF-8, control characters, length.
struct JSONStringScan {
    /// Where the closing quotation mark is.
    private(set) var end: Int
    private(set) var hasEscapes = false

    /// - Parameter start: the byte after the opening quotation mark.
    init(_ bytes: Span<UInt8>, from start: Int, limits: JSONLimits) throws(JSONError) {
        end = start
        // The bytes by which the text of the escapes is longer than their value.
        var surplus = 0
        while true {
            skipPlain(bytes)
            guard end < bytes.count else { throw JSONError(kind: .truncated, offset: end) }
            switch bytes[end] {
            case UInt8(ascii: "\""):
                guard end - start - surplus <= limits.maximumStringBytes else {
                    throw JSONError(kind: .limit, offset: start)
                }
                return
            case UInt8(ascii: "\\"):
                let escape = end
                let scalar = try readEscape(bytes)
                guard scalar >= 0x20 || limits.allowsControlCharacters else {
                    throw JSONError(kind: .controlCharacter, offset: escape)
                }
                hasEscapes = true
                surplus += end - escape - JSONText.utf8Count(scalar)
            case 0x00..<0x20:
                throw JSONError(kind: .controlCharacter, offset: end)
            case 0x80...:
                try readSequence(bytes)
            default:
                end += 1
            }
        }
    }

    /// Skips eight bytes at a time as long as none of them is a quotation mark, a backslash, a control character or not
    /// ASCII, and stops at the first that is.
    @inline(__always)
    private mutating func skipPlain(_ bytes: Span<UInt8>) {
        let raw = bytes.bytes
        while end + 8 <= raw.byteCount {
            let word = raw.unsafeLoadUnaligned(fromByteOffset: end, as: UInt64.self).littleEndian
            // A byte's top bit ends up set if the byte is zero, by a borrow. A borrow can also mark bytes above a zero
            // one, never below it, so the lowest mark is always true.
            let quotation = word ^ 0x2222_2222_2222_2222
            let backslash = word ^ 0x5C5C_5C5C_5C5C_5C5C
            let marks =
                (quotation &- 0x0101_0101_0101_0101) & ~quotation
                | (backslash &- 0x0101_0101_0101_0101) & ~backslash
                | (word &- 0x2020_2020_2020_2020) & ~word
                | word
            let found = marks & 0x8080_8080_8080_8080
            guard found == 0 else {
                end += found.trailingZeroBitCount / 8
                return
            }
            end += 8
        }
    }

    private mutating func readEscape(_ bytes: Span<UInt8>) throws(JSONError) -> UInt32 {
        let start = end
        do throws(JSONText.EscapeError) {
            return try JSONText.scalar(in: bytes, at: &end)
        } catch {
            let kind: JSONError.Kind =
                switch error {
                case .syntax: .syntax
                case .truncated: .truncated
                case .loneSurrogate: .loneSurrogate
                }
            throw JSONError(kind: kind, offset: start)
        }
    }

    /// One sequence of two to four bytes, by the table of RFC 3629 §4: the range of the second byte keeps out overlong
    /// forms, surrogates and everything above U+10FFFF.
    private mutating func readSequence(_ bytes: Span<UInt8>) throws(JSONError) {
        let second: ClosedRange<UInt8>
        let count: Int
        switch bytes[end] {
        case 0xC2...0xDF: (second, count) = (0x80...0xBF, 2)
        case 0xE0: (second, count) = (0xA0...0xBF, 3)
        case 0xED: (second, count) = (0x80...0x9F, 3)
        case 0xE1...0xEF: (second, count) = (0x80...0xBF, 3)
        case 0xF0: (second, count) = (0x90...0xBF, 4)
        case 0xF1...0xF3: (second, count) = (0x80...0xBF, 4)
        case 0xF4: (second, count) = (0x80...0x8F, 4)
        default: throw JSONError(kind: .encoding, offset: end)
        }
        guard end + count <= bytes.count, second ~= bytes[end + 1] else {
            throw JSONError(kind: .encoding, offset: end)
        }
        for offset in 2..<max(2, count) where !(0x80...0xBF ~= bytes[end + offset]) {
            throw JSONError(kind: .encoding, offset: end)
        }
        end += count
    }
}
