/// The two encodings of an ECDSA signature on P-256.
///
/// JOSE writes `r ‖ s`, 32 octets each (RFC 7518 §3.4); OpenSSL wants and gives DER,
/// `SEQUENCE { r INTEGER, s INTEGER }` (RFC 3279 §2.2.3). Written out here because OpenSSL's own way allocates two
/// BIGNUMs, a structure and a buffer for each verification. Neither direction judges the numbers: OpenSSL refuses those
/// out of range.
enum ECDSASignature {
    static let rawByteCount = 64
    /// SEQUENCE header, and twice: INTEGER header, a zero octet that keeps the number positive, 32 octets.
    static let maximumDERByteCount = 2 + 2 * (2 + 1 + 32)

    /// Writes the DER encoding of `raw`, which must have 64 octets, and returns its length.
    static func encode(_ raw: RawSpan, into der: inout MutableSpan<UInt8>) -> Int {
        var end = 2
        for half in 0..<2 {
            var first = half * 32
            let last = first + 31
            while first < last, octet(first, of: raw) == 0 { first += 1 }
            let isPadded = octet(first, of: raw) >= 0x80
            der[end] = 0x02
            der[end + 1] = UInt8(last - first + 1 + (isPadded ? 1 : 0))
            end += 2
            if isPadded {
                der[end] = 0
                end += 1
            }
            for index in first...last {
                der[end] = octet(index, of: raw)
                end += 1
            }
        }
        der[0] = 0x30
        der[1] = UInt8(end - 2)
        return end
    }

    /// Reads the DER encoding; nil unless it is exactly two INTEGERs of at most 256 bits.
    static func decode(_ der: Span<UInt8>) -> [UInt8]? {
        guard der.count >= 2, der[0] == 0x30, Int(der[1]) == der.count - 2 else { return nil }
        var raw = [UInt8](repeating: 0, count: rawByteCount)
        var next = 2
        for half in 0..<2 {
            guard next + 2 <= der.count, der[next] == 0x02 else { return nil }
            var first = next + 2
            let end = first + Int(der[next + 1])
            guard first < end, end <= der.count else { return nil }
            if der[first] == 0 { first += 1 }
            guard end - first <= 32 else { return nil }
            let offset = (half + 1) * 32 - (end - first)
            for index in first..<end { raw[offset + index - first] = der[index] }
            next = end
        }
        return next == der.count ? raw : nil
    }

    private static func octet(_ index: Int, of raw: RawSpan) -> UInt8 {
        unsafe raw.unsafeLoad(fromByteOffset: index, as: UInt8.self)
    }
}
