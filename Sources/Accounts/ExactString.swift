/// Text that compares by its UTF-8 bytes.
///
/// Swift's `String ==` holds two canonically equivalent spellings equal; PostgreSQL and the providers do not.
/// Identifiers are compared as the database compares them.
package protocol ExactString: Hashable, Sendable, CustomStringConvertible {
    var text: String { get }
}

extension ExactString {
    package static func == (left: Self, right: Self) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
        hasher.combine(0xFF as UInt8)
    }

    package var description: String { text }
}
