/// The limits beyond which a JSON document is refused.
///
/// RFC 8259 §9 lets a reader set limits on size, depth, and the length of strings and numbers.
package struct JSONLimits: Sendable {
    /// Bytes of the whole document.
    package var maximumBytes: Int = 65_536
    /// Levels of nested objects and arrays; a lone `{}` has depth 1.
    package var maximumDepth: Int = 8
    /// Members of one object.
    package var maximumMembers: Int = 128
    /// Bytes of one string or member name once its escapes are undone.
    package var maximumStringBytes: Int = 8_192
    /// Characters of one number.
    package var maximumNumberBytes: Int = 32
    /// Whether a string or a name may contain escaped U+0000 to U+001F. PostgreSQL text cannot contain the first of
    /// them, and others split lines in logs, mails and headers.
    package var allowsControlCharacters: Bool = true

    /// Limits of key sets and of providers' answers; those of tokens but for their strings.
    package static let standard = JSONLimits()

    /// Limits of request bodies: 64 KiB, no control characters. Each field has a length of its own, so a string may
    /// fill the body.
    package static let requestBody = JSONLimits(maximumStringBytes: 65_536, allowsControlCharacters: false)

    package init(
        maximumBytes: Int = 65_536, maximumDepth: Int = 8, maximumMembers: Int = 128, maximumStringBytes: Int = 8_192,
        maximumNumberBytes: Int = 32, allowsControlCharacters: Bool = true
    ) {
        self.maximumBytes = maximumBytes
        self.maximumDepth = maximumDepth
        self.maximumMembers = maximumMembers
        self.maximumStringBytes = maximumStringBytes
        self.maximumNumberBytes = maximumNumberBytes
        self.allowsControlCharacters = allowsControlCharacters
    }
}
