/// Base64url without padding (RFC 4648 §5 as RFC 7515 §2 uses it), read strictly.
///
/// One byte string has exactly one spelling: padding, the `+` and `/` of the other alphabet, white space, a length that
/// no byte string has, and bits set in the unused part of the last character are all refused. With a lax decoder one
/// signature has many texts, and whoever remembers tokens by their text takes each of them for a new one.
package enum Base64URL {
    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        append(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// `nil` when the text is not the base64url of anything.
    package static func decode(_ text: RawSpan) -> [UInt8]? {
        let count = text.byteCount
        // One character over a multiple of four carries six bits: not a byte.
        guard count % 4 != 1 else { return nil }
        let tail = count % 4
        var rejected: UInt8 = 0
        let bytes = [UInt8](capacity: count / 4 * 3 + max(0, tail - 1)) { output in
            let values = sextets.span
            var position = 0
            while position < count - tail {
                let quad = text.unsafeLoadUnaligned(fromByteOffset: position, as: UInt32.self).littleEndian
                let first = values[Int(quad & 0xFF)]
                let second = values[Int(quad >> 8 & 0xFF)]
                let third = values[Int(quad >> 16 & 0xFF)]
                let fourth = values[Int(quad >> 24)]
                // Looked at once, after the loop: a stray character must not cost a branch per character.
                rejected |= first | second | third | fourth
                output.append(first << 2 | second >> 4)
                output.append(second << 4 | third >> 2)
                output.append(third << 6 | fourth)
                position += 4
            }
            guard tail > 0 else { return }
            let first = values[Int(text.unsafeLoad(fromByteOffset: position, as: UInt8.self))]
            let second = values[Int(text.unsafeLoad(fromByteOffset: position + 1, as: UInt8.self))]
            rejected |= first | second
            output.append(first << 2 | second >> 4)
            guard tail > 2 else {
                rejected |= spare(second & 0b1111)
                return
            }
            let third = values[Int(text.unsafeLoad(fromByteOffset: position + 2, as: UInt8.self))]
            rejected |= third | spare(third & 0b11)
            output.append(second << 4 | third >> 2)
        }
        return rejected & outside == 0 ? bytes : nil
    }

    package static func decode(_ text: String) -> [UInt8]? {
        decode(text.utf8Span.span.bytes)
    }

    /// Appends the text of `bytes`, as UTF-8.
    static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
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
    private static func spare(_ bits: UInt8) -> UInt8 {
        bits == 0 ? 0 : outside
    }

    private static let alphabet = [UInt8]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static let sextets: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, character) in alphabet.enumerated() {
            values[Int(character)] = UInt8(value)
        }
        return values
    }()
}
