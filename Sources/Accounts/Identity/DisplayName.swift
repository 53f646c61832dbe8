import Foundation

/// A name to show: user input, cleaned and never more than 100 characters, in the normal form NFC.
package struct DisplayName: ExactString {
    package let text: String

    package static let maximumCharacters = 100

    /// Drops controls and the characters that reorder or hide text (bidirectional overrides and isolates, zero-width
    /// marks), trims spaces, cuts at 100 characters; `nil` when nothing visible is left.
    package init?(_ input: String) {
        if DisplayName.isPlain(input.utf8) {
            text = input
            return
        }
        var cut = String(DisplayName.visible(input).prefix(DisplayName.maximumCharacters))
        if cut.last == " " { cut.removeLast() }
        // One character may be a base with any number of combining marks: bound the bytes too.
        let maximumBytes = DisplayName.maximumCharacters * 16
        guard cut.utf8.count <= maximumBytes else { return nil }
        let name = cut.precomposedStringWithCanonicalMapping
        guard name.utf8.count <= maximumBytes, name.unicodeScalars.contains(where: DisplayName.isVisible) else {
            return nil
        }
        self.text = name
    }

    /// Whether a text is a name as it stands, as most are: short, of printable ASCII, and without a space that is not alone
    /// between two characters.
    private static func isPlain(_ input: String.UTF8View) -> Bool {
        guard 1...maximumCharacters ~= input.count else { return false }
        var last: UInt8 = 0x20
        for byte in input {
            guard 0x20...0x7E ~= byte, byte != 0x20 || last != 0x20 else { return false }
            last = byte
        }
        return last != 0x20
    }

    /// Whether a name loses some of its characters by its length, or all of them by that of their bytes.
    package static func cuts(_ input: String) -> Bool {
        guard input.utf8.count > maximumCharacters else { return false }
        let text = visible(input)
        return !text.dropFirst(maximumCharacters).isEmpty
            || DisplayName(input) == nil && text.unicodeScalars.contains(where: isVisible)
    }

    /// Whether a text is one line, of which something is seen, and nothing in it is hidden, or hides or reorders the rest.
    /// Joiners and selectors of variants belong into some names.
    package static func isLegible(_ text: String) -> Bool {
        let scalars = text.unicodeScalars
        return scalars.contains(where: isVisible)
            && scalars.allSatisfy { scalar in
                let isPart =
                    switch scalar.value {
                    case 0x200C, 0x200D: true
                    // The ends of lines that are not in ASCII.
                    case 0x85, 0x2028, 0x2029: false
                    default: scalar.properties.isVariationSelector || !scalar.properties.isDefaultIgnorableCodePoint
                    }
                return isPart && !isHidden(scalar)
            }
    }

    private static func visible(_ input: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in input.unicodeScalars where !DisplayName.isHidden(scalar) {
            if !scalar.properties.isWhitespace {
                scalars.append(scalar)
            } else if let last = scalars.last, last != " " {
                scalars.append(" ")
            }
        }
        if scalars.last == " " { scalars.removeLast() }
        return String(scalars)
    }

    /// Joins the two parts that Apple's SDK hands over once, at first consent.
    package init?(givenName: String?, familyName: String?) {
        self.init([givenName, familyName].compactMap { $0 }.joined(separator: " "))
    }

    /// Whether a name that has it can be seen. Fillers, joiners and selectors of variants belong into some names, and are none
    /// by themselves.
    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        // The blank pattern of Braille is a symbol to Unicode.
        scalar != "\u{2800}" && !scalar.properties.isWhitespace && !scalar.properties.isDefaultIgnorableCodePoint
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x08, 0x0E...0x1F, 0x7F...0x84, 0x86...0x9F: true
        case 0x061C, 0x200B, 0x200E, 0x200F, 0x202A...0x202E, 0x2060, 0x2066...0x2069, 0xFEFF: true
        // Between these are the selectors of variants that ideographs have in names.
        case 0xFFF9...0xFFFB, 0xE0000...0xE00FF, 0xE01F0...0xE0FFF: true
        default: false
        }
    }
}
