import Primitives

package enum Import {}
package typealias ImportID = Identifier<Import>

/// The name of an import: 1 to 64 lower-case letters, digits, dots, hyphens and underscores, a letter or a digit first.
package struct ImportName: ExactString {
    package let text: String

    package init?(_ text: String) {
        let isFit = text.utf8.allSatisfy {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0.isASCIIDigit || ".-_".utf8.contains($0)
        }
        guard isFit, (1...64).contains(text.utf8.count), text.utf8.first?.isASCIIAlphanumeric == true else {
            return nil
        }
        self.text = text
    }
}

/// The id that a person has in the system from which they came: opaque, 1 to 255 bytes, compared by bytes.
package struct ExternalID: ExactString {
    package let text: String

    /// `nil` when empty, longer than 255 bytes, or holding a control character (C0 or C1).
    package init?(_ text: String) {
        guard (1...255).contains(text.utf8.count),
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return nil }
        self.text = text
    }
}
