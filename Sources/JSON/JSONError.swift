/// Why bytes were refused as a JSON document.
package struct JSONError: Error, Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// The grammar of RFC 8259 is broken here; a byte order mark and a second value count too.
        case syntax
        /// The document ends before its value does.
        case truncated
        /// Not UTF-8: an overlong form, a surrogate, more than U+10FFFF, an unexpected or missing continuation byte.
        case encoding
        /// `\uD800` to `\uDFFF` without its other half.
        case loneSurrogate
        /// U+0000 to U+001F in a string, bare or, where the limits say so, escaped.
        case controlCharacter
        /// Two members of one object have one name once their escapes are undone.
        case duplicateName
        /// Larger, deeper or longer than the limits allow.
        case limit
    }

    package let kind: Kind
    /// Where it was detected, in bytes from the start.
    package let offset: Int

    package init(kind: Kind, offset: Int) {
        self.kind = kind
        self.offset = offset
    }
}

extension JSONError: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { "The JSON document was refused." }

    package var debugDescription: String { "JSONError.\(kind) at byte \(offset)" }
}
