import Primitives

/// The fields of an `application/x-www-form-urlencoded` text in their order, duplicates included.
struct FormFields: Sendable {
    let fields: [(name: String, value: String)]
    /// Whether no name and no value has a character that a form must encode: the rest are letters, digits, `-`, `.`,
    /// `_`, `~` and `*`.
    let isFullyEncoded: Bool

    /// nil for a broken percent-encoding or octets that are not UTF-8.
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
            pair.split(separator: UInt8(ascii: "="), maxSplits: 1).allSatisfy { $0.allSatisfy(Self.isFormCharacter) }
        }
    }

    /// The first name that is there a second time.
    var repeated: String? {
        var seen: Set<String> = []
        return fields.first { !seen.insert($0.name).inserted }?.name
    }

    private static func isFormCharacter(_ octet: UInt8) -> Bool { octet.isURLUnreserved || "*+%".utf8.contains(octet) }

    /// Decodes a single value, such as one half of Basic credentials (RFC 6749 §2.3.1).
    static func decode(_ text: some StringProtocol) -> String? { decode(Array(text.utf8)[...]) }

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
