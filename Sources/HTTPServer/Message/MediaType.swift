/// A media type as `Content-Type` names it (RFC 9110 §8.3.1).
enum MediaType {
    static let json = "application/json"
    static let form = "application/x-www-form-urlencoded"

    /// Whether a `Content-Type` is this type. The only parameter that is accepted is `charset=utf-8`, as every other
    /// would ask us to read the bytes in another way than we do; an empty one is none (RFC 9110 §5.6.6).
    static func matches(_ contentType: String, _ expected: String) -> Bool {
        if contentType == expected { return true }
        let parts = contentType.lowercased().split(separator: ";", omittingEmptySubsequences: false)
            .map { Substring($0.utf8.trimmed) }
        guard parts.first == expected[...] else { return false }
        return parts.dropFirst().allSatisfy { ["", "charset=utf-8", "charset=\"utf-8\""].contains($0) }
    }
}

extension Substring.UTF8View {
    /// Without the optional white space around it (RFC 9110 §5.6.3).
    var trimmed: Substring.UTF8View {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        var text = drop(while: isSpace)
        while let last = text.last, isSpace(last) { text = text.dropLast() }
        return text
    }
}
