/// Names and values as `application/x-www-form-urlencoded`, in bodies and in queries.
enum FormText {
    /// All but the unreserved characters of RFC 3986 as `%XX`: read alike by readers that take `+` for a space and by
    /// those that don't.
    static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            if isAlphanumeric(byte) || "-._~".utf8.contains(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return encoded
    }

    /// `name=value` joined by `&`, in the given order.
    static func encode(_ pairs: [(name: String, value: String)]) -> String {
        pairs.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
    }

    /// The text that `%XX` stand for; nil when one is malformed or the bytes are not UTF-8. A `+` stays.
    static func decode(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes)
    }

    /// The pairs of a raw query or body in their order, each split at its first `=`, without one the value empty; nil
    /// when any part of it can't be decoded. Repeated names stay repeated; empty parts are left out.
    static func pairs(_ text: String) -> [(name: String, value: String)]? {
        var pairs: [(name: String, value: String)] = []
        for part in text.split(separator: "&") {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decode(sides[0]), let value = decode(sides.count > 1 ? sides[1] : "") else { return nil }
            pairs.append((name, value))
        }
        return pairs
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) }
    }
}

extension String {
    /// An issuer without a slash at its end, with which some write it.
    var withoutSlash: String { hasSuffix("/") ? String(dropLast()) : self }

    /// The text of UTF-8 bytes; nil when they are none. (`String(validating:as:)` begins with iOS 18.)
    init?(validating bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.elementsEqual(bytes) else { return nil }
        self = text
    }
}
