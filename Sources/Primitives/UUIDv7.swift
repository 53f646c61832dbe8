/// A version 7 UUID (RFC 9562 §5.7) as its two halves, big-endian: milliseconds since 1970, then random bits.
package struct UUIDv7: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    /// - Parameters:
    ///   - milliseconds: since 1970; 48 bits of them count.
    ///   - randomA: `rand_a`, of which 12 bits count.
    ///   - randomB: `rand_b`, of which 62 bits count.
    package init(milliseconds: UInt64, randomA: UInt64, randomB: UInt64) {
        high = milliseconds << 16 | 0x7000 | randomA & 0x0FFF
        low = 0x8000_0000_0000_0000 | randomB & 0x3FFF_FFFF_FFFF_FFFF
    }

    package var text: String { Self.text(high: high, low: low) }

    /// The halves of a UUID of any version as lower-case digits in groups of 8, 4, 4, 4 and 12 (RFC 9562 §4).
    package static func text(high: UInt64, low: UInt64) -> String {
        unsafe String(unsafeUninitializedCapacity: 36) { text in
            var position = 0
            for digit in 0..<32 {
                if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                    unsafe text[position] = UInt8(ascii: "-")
                    position += 1
                }
                let half = digit < 16 ? high : low
                unsafe text[position] = Hexadecimal.digit(
                    UInt8(truncatingIfNeeded: half >> UInt64(60 - 4 * (digit % 16))) & 0xF)
                position += 1
            }
            return position
        }
    }

    /// The 16 octets, in network order.
    package var octets: [UInt8] {
        [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) } }
    }
}
