/// The text between the quotation marks of a JSON string (RFC 8259 §7).
enum JSONText {
    enum EscapeError: Error {
        case syntax
        case truncated
        case loneSurrogate
    }

    /// Reads the escape whose backslash is at `position`, and moves to the byte after it.
    static func scalar(in bytes: Span<UInt8>, at position: inout Int) throws(EscapeError) -> UInt32 {
        guard position + 1 < bytes.count else { throw .truncated }
        let letter = bytes[position + 1]
        position += 2
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return UInt32(letter)
        case UInt8(ascii: "b"): return 0x08
        case UInt8(ascii: "f"): return 0x0C
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "u"): break
        default: throw .syntax
        }
        let unit = try codeUnit(in: bytes, at: &position)
        switch unit {
        case 0xD800...0xDBFF: break
        case 0xDC00...0xDFFF: throw .loneSurrogate
        default: return unit
        }
        guard position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { throw .loneSurrogate }
        position += 2
        let low = try codeUnit(in: bytes, at: &position)
        guard 0xDC00...0xDFFF ~= low else { throw .loneSurrogate }
        return 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
    }

    private static func codeUnit(in bytes: Span<UInt8>, at position: inout Int) throws(EscapeError) -> UInt32 {
        guard position + 4 <= bytes.count else { throw .truncated }
        var unit: UInt32 = 0
        for offset in 0..<4 {
            let digit = bytes[position + offset]
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit << 4 | UInt32(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "A")...UInt8(ascii: "F"): unit = unit << 4 | UInt32(digit - UInt8(ascii: "A") + 10)
            case UInt8(ascii: "a")...UInt8(ascii: "f"): unit = unit << 4 | UInt32(digit - UInt8(ascii: "a") + 10)
            default: throw .syntax
            }
        }
        position += 4
        return unit
    }

    /// The number of bytes of a scalar in UTF-8.
    static func utf8Count(_ scalar: UInt32) -> Int {
        switch scalar {
        case 0..<0x80: 1
        case 0x80..<0x800: 2
        case 0x800..<0x10000: 3
        default: 4
        }
    }

    /// The value of a text that the reader has accepted.
    static func unescaped(_ text: Span<UInt8>) -> [UInt8] {
        var value: [UInt8] = []
        value.reserveCapacity(text.count)
        var position = 0
        while position < text.count {
            let start = position
            if text[start] == UInt8(ascii: "\\"), let scalar = try? scalar(in: text, at: &position) {
                append(scalar, to: &value)
            } else {
                value.append(text[start])
                position = start + 1
            }
        }
        return value
    }

    private static func append(_ scalar: UInt32, to value: inout [UInt8]) {
        func continuation(_ shift: UInt32) -> UInt8 { UInt8(0x80 | scalar >> shift & 0x3F) }
        switch utf8Count(scalar) {
        case 1:
            value.append(UInt8(truncatingIfNeeded: scalar))
        case 2:
            value.append(UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6))
            value.append(continuation(0))
        case 3:
            value.append(UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12))
            value.append(continuation(6))
            value.append(continuation(0))
        default:
            value.append(UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18))
            value.append(continuation(12))
            value.append(continuation(6))
            value.append(continuation(0))
        }
    }

    static func equal(_ first: Span<UInt8>, _ second: Span<UInt8>) -> Bool {
        guard first.count == second.count else { return false }
        for index in first.indices where first[index] != second[index] { return false }
        return true
    }

    /// A 32-bit hash by which names are distinguished before their bytes are compared.
    ///
    /// Seeded once per process: a sender that could choose names with one fingerprint would make each of 128 members
    /// cost a comparison of bytes with every other.
    static func fingerprint(_ name: Span<UInt8>) -> UInt32 {
        let bytes = name.bytes
        var hash = seed
        var position = 0
        while position + 8 <= bytes.byteCount {
            hash = mixed(hash ^ bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self))
            position += 8
        }
        // At most seven bytes are left, so the count has the eighth for itself.
        var rest = UInt64(truncatingIfNeeded: bytes.byteCount)
        if bytes.byteCount & 4 != 0 {
            rest = rest << 32 | UInt64(bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt32.self))
            position += 4
        }
        if bytes.byteCount & 2 != 0 {
            rest = rest << 16 | UInt64(bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt16.self))
            position += 2
        }
        if bytes.byteCount & 1 != 0 {
            rest = rest << 8 | UInt64(bytes.unsafeLoad(fromByteOffset: position, as: UInt8.self))
        }
        return UInt32(truncatingIfNeeded: mixed(hash ^ rest) >> 32)
    }

    /// Both halves of a 128-bit product, folded.
    private static func mixed(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return product.high ^ product.low
    }

    private static let seed = UInt64.random(in: .min ... .max)
}
