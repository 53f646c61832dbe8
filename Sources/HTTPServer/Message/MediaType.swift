/// A media type as `Content-Type` names it (RFC 9110 §8.3.1).
enum MediaType {
    static let json = "application/json"
    static let form = "application/x-www-form-urlencoded"

    /// Whether a `Content-Type` is this type. The only parameter that is accepted is `charset=utf-8`, as every other
    /// would ask us to read the bytes in another way than we do.
    static func matches(_ contentType: String, _ expected: String) -> Bool {
        if contentType == expected { return true }
        let parts = contentType.lowercased().split(separator: ";", omittingEmptySubsequences: false).map(trimmed)
        guard parts.first == expected[...] else { return false }
        return parts.dropFirst().allSatisfy { $0 == "charset=utf-8" || $0 == "charset=\"utf-8\"" }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while let first = text.utf8.first, isSpace(first) { text = text.dropFirst() }
        while let last = text.utf8.last, isSpace(last) { text = text.dropLast() }
        return text
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
