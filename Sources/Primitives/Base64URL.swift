/// Base64url without padding (RFC 4648 §5 as RFC 7515 §2 uses it), read strictly.
///
/// One byte string has exactly one spelling: padding, the `+` and `/` of the other alphabet, white space, a length that
/// no byte string has, and bits set in the unused part of the last character are all refused. With a lax decoder one
/// signature has many texts, and a store that remembers tokens by their text takes each of them for a new one.
package enum Base64URL {
    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        append(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of a text; `nil` when it is not valid base64url.
    package static func decode(_ text: RawSpan) -> [UInt8]? {
        let tail = text.byteCount % 4
        // One character over a multiple of four carries six bits: not a byte.
        guard tail != 1 else { return nil }
        let whole = text.byteCount - tail
        // Checked once, at the end: a wrong character must not cost a branch per character.
        var rejected: UInt8 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: whole / 4 * 3 + max(0, tail - 1)) { output, count in
            var end = 0
            for position in stride(from: 0, to: whole, by: 4) {
                let quad = unsafe text.unsafeLoadUnaligned(fromByteOffset: position, as: UInt32.self).littleEndian
                let (first, second) = (sextets[Int(quad & 0xFF)], sextets[Int(quad >> 8 & 0xFF)])
                let (third, fourth) = (sextets[Int(quad >> 16 & 0xFF)], sextets[Int(quad >> 24)])
                rejected |= first | second | third | fourth
                unsafe output[end] = first << 2 | second >> 4
                unsafe output[end + 1] = second << 4 | third >> 2
                unsafe output[end + 2] = third << 6 | fourth
                end += 3
            }
            count = end
            guard tail > 0 else { return }
            let first = unsafe sextets[Int(text.unsafeLoad(fromByteOffset: whole, as: UInt8.self))]
            let second = unsafe sextets[Int(text.unsafeLoad(fromByteOffset: whole + 1, as: UInt8.self))]
            unsafe output[end] = first << 2 | second >> 4
            count = end + 1
            guard tail > 2 else {
                rejected |= first | second | spare(second & 0b1111)
                return
            }
            let third = unsafe sextets[Int(text.unsafeLoad(fromByteOffset: whole + 2, as: UInt8.self))]
            unsafe output[end + 1] = second << 4 | third >> 2
            count = end + 2
            rejected |= first | second | third | spare(third & 0b11)
        }
        return rejected & outside == 0 ? bytes : nil
    }

    package static func decode(_ text: String) -> [UInt8]? { unsafe decode(text.utf8Span.span.bytes) }

    /// Appends the text of `bytes`, as UTF-8.
    package static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
        text.reserveCapacity(text.count + (bytes.count * 4 + 2) / 3)
        var position = 0
        while position + 2 < bytes.count {
            let (first, second, third) = (bytes[position], bytes[position + 1], bytes[position + 2])
            text.append(alphabet[Int(first >> 2)])
            text.append(alphabet[Int(first << 4 & 0x3F | second >> 4)])
            text.append(alphabet[Int(second << 2 & 0x3F | third >> 6)])
            text.append(alphabet[Int(third & 0x3F)])
            position += 3
        }
        guard position < bytes.count else { return }
        let first = bytes[position]
        text.append(alphabet[Int(first >> 2)])
        guard position + 1 < bytes.count else {
            text.append(alphabet[Int(first << 4 & 0x3F)])
            return
        }
        let second = bytes[position + 1]
        text.append(alphabet[Int(first << 4 & 0x3F | second >> 4)])
        text.append(alphabet[Int(second << 2 & 0x3F)])
    }

    /// The mark of a character outside the alphabet; a value of the alphabet leaves these bits clear.
    private static let outside: UInt8 = 0b1100_0000

    /// The bits that the last character has left over must be zero.
    private static func spare(_ bits: UInt8) -> UInt8 { bits == 0 ? 0 : outside }

    private static let alphabet = [UInt8]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The value of each character, 255 for those that have none. A literal, so that it is static data and not
    /// initialised at the first use, which every later use would have to check for.
    private static let sextets: [UInt8] = [
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 62, 255, 255,
        52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 255, 255, 255, 255, 255, 255,
        255, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
        15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 255, 255, 255, 255, 63,
        255, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
        41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    ]
}
