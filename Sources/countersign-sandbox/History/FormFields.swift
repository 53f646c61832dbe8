import Primitives

/// `application/x-www-form-urlencoded` in the order in which it came, duplicates and all.
struct FormFields: Sendable {
    let fields: [(name: String, value: String)]
    /// Whether no name and no value has a character that a form must encode: the rest are letters, digits, `-`, `.`,
    /// `_`, `~` and `*`.
    let isFullyEncoded: Bool

    /// nil when it is not one: a broken percent sign, or octets that are not UTF-8.
    init?(_ octets: [UInt8]) {
        var fields: [(name: String, value: String)] = []
        for pair in octets.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let first = parts.first, let name = Self.decode(first) else { return nil }
            guard let value = parts.count > 1 ? Self.decode(parts[1]) : "" else { return nil }
            fields.append((name, value))
        }
        self.fields = fields
        isFullyEncoded = octets.split(separator: UInt8(ascii: "&")).allSatisfy { pair in
            pair.split(separator: UInt8(ascii: "="), maxSplits: 1).allSatisfy { $0.allSatisfy(Self.standsInForm) }
        }
    }

    private static func standsInForm(_ octet: UInt8) -> Bool {
        let character = Character(UnicodeScalar(octet))
        return octet < 0x80 && (character.isLetter || character.isNumber || "-._~*+%".contains(character))
    }

    /// One value on its own, as the halves of Basic credentials are encoded (RFC 6749 §2.3.1).
    static func decode(_ text: some StringProtocol) -> String? {
        decode(Array(text.utf8)[...])
    }

    private static func decode(_ octets: ArraySlice<UInt8>) -> String? {
        var decoded: [UInt8] = []
        var rest = octets
        while let octet = rest.popFirst() {
            switch octet {
            case UInt8(ascii: "+"):
                decoded.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(Hexadecimal.value),
                    let low = rest.popFirst().flatMap(Hexadecimal.value)
                else {
                    return nil
                }
                decoded.append(high << 4 | low)
            default:
                decoded.append(octet)
            }
        }
        return String(validating: decoded, as: UTF8.self)
    }
}
