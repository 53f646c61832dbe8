import Primitives

/// Text that compares by its UTF-8 bytes.
///
/// Swift's `String ==` holds two canonically equivalent spellings equal; PostgreSQL and the providers do not.
/// Identifiers are compared as the database compares them.
package protocol ExactString: Hashable, Sendable, CustomStringConvertible {
    var text: String { get }
}

extension ExactString {
    package static func == (left: Self, right: Self) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    package func hash(into hasher: inout Hasher) {
        text.utf8Span.span.withUnsafeBytes { hasher.combine(bytes: $0) }
        hasher.combine(0xFF as UInt8)
    }

    package var description: String { text }
}
