import Foundation
import Primitives

/// The encoding of text in a message, whose lines are ASCII and short.
enum MIMEText {
    /// The length limit of a line with an encoded word in it (RFC 2047 §2), and of a line of an encoded body (RFC 2045 §6.7,
    /// §6.8).
    private static let lineLimit = 76
    private static let wordPrefix = "=?UTF-8?B?"
    private static let wordSuffix = "?="

    // MARK: Header fields

    /// `name: text` with its CR LF. Whatever is in the text, it stays this one field: controls become spaces, and what
    /// isn't plain and short becomes encoded words.
    static func field(_ name: String, _ text: String) -> String {
        let text = withoutControls(text)
        let isPlain =
            isPrintableASCII(text) && !text.contains("=?") && name.utf8.count + 2 + text.utf8.count <= lineLimit
        return "\(name): \(isPlain ? text : encodedWords(text, after: name.utf8.count + 2))\r\n"
    }

    /// `name: "display name" <address>` with its CR LF.
    static func field(_ name: String, displayName: String, address: String) -> String {
        let displayName = withoutControls(displayName)
        let quoted = "\"\(displayName.escaping("\"\\", with: "\\"))\""
        let isPlain =
            isPrintableASCII(displayName) && !displayName.contains("=?")
            && name.utf8.count + 2 + quoted.utf8.count <= lineLimit
        let phrase = isPlain ? quoted : encodedWords(displayName, after: name.utf8.count + 2)
        return "\(name): \(phrase)\r\n <\(address)>\r\n"
    }

    /// The text with a space for each control. By scalars: to Swift CR LF is one character, and neither of the two (UAX #29,
    /// rule GB3).
    private static func withoutControls(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            scalars.append(scalar.properties.generalCategory == .control ? " " : scalar)
        }
        return String(scalars).trimmingCharacters(in: .whitespaces)
    }

    private static func isPrintableASCII(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7E).contains($0) } }

    /// The text as encoded words: each word holds whole scalars (RFC 2047 §5) and each line one word.
    ///
    /// - Parameter column: how much of the first line is taken.
    private static func encodedWords(_ text: String, after column: Int) -> String {
        func capacity(after column: Int) -> Int {
            (lineLimit - column - wordPrefix.utf8.count - wordSuffix.utf8.count) / 4 * 3
        }
        var words: [[UInt8]] = [[]]
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            // A continuation line begins with a space.
            let limit = capacity(after: words.count == 1 ? column : 1)
            if words[words.count - 1].count + bytes.count > limit { words.append([]) }
            words[words.count - 1] += bytes
        }
        return words.map { wordPrefix + Data($0).base64EncodedString() + wordSuffix }.joined(separator: "\r\n ")
    }

    // MARK: Bodies

    /// A part of a message: its fields and its text, in lines that end in CR LF.
    static func part(_ type: String, _ text: String) -> String {
        // Quoted-printable can be read as it is, but takes three characters for what is not ASCII.
        let isMostlyASCII = text.utf8.count { $0 >= 0x80 } * 6 < text.utf8.count
        let (encoding, body) = isMostlyASCII ? ("quoted-printable", quotedPrintable(text)) : ("base64", base64(text))
        return """
            Content-Type: \(type); charset=utf-8\r
            Content-Transfer-Encoding: \(encoding)\r
            \r
            \(body)\r\n
            """
    }

    private static func base64(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
        return Data(lines.utf8).base64EncodedString(options: [
            .lineLength76Characters, .endLineWithCarriageReturn, .endLineWithLineFeed,
        ])
    }

    /// The quoted-printable form of a text (RFC 2045 §6.7). `=_` does not occur in it.
    private static func quotedPrintable(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var output: [UInt8] = []
        for (index, line) in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .enumerated()
        {
            if index > 0 { output += [0x0D, 0x0A] }
            var column = 0
            for position in line.indices {
                let byte = line[position]
                // A space at the end of a line may be lost in transit.
                let isLast = line.index(after: position) == line.endIndex
                let isLiteral =
                    (0x21...0x7E).contains(byte) && byte != 0x3D || (byte == 0x20 || byte == 0x09) && !isLast
                let width = isLiteral ? 1 : 3
                if column + width > lineLimit - 1 {
                    output += [0x3D, 0x0D, 0x0A]
                    column = 0
                }
                output += isLiteral ? [byte] : [0x3D, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
                column += width
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}
