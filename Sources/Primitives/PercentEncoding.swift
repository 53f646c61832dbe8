/// Percent-encoding (RFC 3986 §2.1).
package enum PercentEncoding {
    /// The text as UTF-8, with everything encoded but the unreserved characters of RFC 3986 §2.3. A space becomes `%20`
    /// rather than `+`: form decoders read both, and `%20` also survives those that know percent-encoding alone.
    package static func encode(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            if byte.isURLUnreserved {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
