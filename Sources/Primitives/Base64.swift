/// Base64 with padding (RFC 4648 §4), read as strictly as ``Base64URL``: one byte string has exactly one spelling.
package enum Base64 {
    /// The bytes of a text; `nil` when it is not valid base64.
    package static func decode(_ text: String) -> [UInt8]? {
        guard text.utf8.count % 4 == 0 else { return nil }
        var unpadded = text.utf8[...]
        while unpadded.last == UInt8(ascii: "="), text.utf8.count - unpadded.count < 2 { unpadded.removeLast() }
        var translated: [UInt8] = []
        translated.reserveCapacity(unpadded.count)
        for byte in unpadded {
            switch byte {
            case UInt8(ascii: "+"): translated.append(UInt8(ascii: "-"))
            case UInt8(ascii: "/"): translated.append(UInt8(ascii: "_"))
            case UInt8(ascii: "-"), UInt8(ascii: "_"): return nil
            default: translated.append(byte)
            }
        }
        return Base64URL.decode(String(decoding: translated, as: UTF8.self))
    }
}
