import Primitives

/// A lexer that splits SQL text into tokens as the server does (PostgreSQL manual, §4.1 Lexical Structure), no finer
/// than needed to see where a statement ends: words, quoted parts, and single symbols. Comments and white space are
/// skipped.
struct SQLLexer {
    private let bytes: [UInt8]
    private var index = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// The range of the next token; an unclosed quote reaches to the end of the text.
    mutating func next() -> Range<Int>? {
        skipBlanks()
        guard let byte = byteAt(index) else { return nil }
        let start = index
        switch byte {
        case UInt8(ascii: "'"), UInt8(ascii: "\""):
            skipQuoted(byte, escapes: false)
        case UInt8(ascii: "$"):
            skipDollarQuoted()
        case _ where isIdentifier(byte):
            while let byte = byteAt(index), isIdentifier(byte) || byte == UInt8(ascii: "$") { index += 1 }
            // E'…' is the one string in which a backslash escapes; a standard string may end in one.
            if byteAt(index) == UInt8(ascii: "'"), index - start == 1, byte | 0x20 == UInt8(ascii: "e") {
                skipQuoted(UInt8(ascii: "'"), escapes: true)
            }
        default:
            index += 1
        }
        return start..<index
    }

    private mutating func skipBlanks() {
        while let byte = byteAt(index) {
            switch byte {
            case 0x09...0x0D, 0x20:
                index += 1
            case UInt8(ascii: "-") where byteAt(index + 1) == byte:
                while let byte = byteAt(index), byte != 0x0A { index += 1 }
            case UInt8(ascii: "/") where byteAt(index + 1) == UInt8(ascii: "*"):
                skipBlockComment()
            default:
                return
            }
        }
    }

    /// Block comments nest in PostgreSQL.
    private mutating func skipBlockComment() {
        var depth = 0
        repeat {
            switch (bytes[index], byteAt(index + 1)) {
            case (UInt8(ascii: "/"), UInt8(ascii: "*")):
                depth += 1
                index += 2
            case (UInt8(ascii: "*"), UInt8(ascii: "/")):
                depth -= 1
                index += 2
            default:
                index += 1
            }
        } while depth > 0 && index < bytes.count
    }

    /// A doubled quote reads as two quoted parts side by side, which ends at the same place.
    private mutating func skipQuoted(_ quote: UInt8, escapes: Bool) {
        index += 1
        while let byte = byteAt(index) {
            index = min(index + (escapes && byte == UInt8(ascii: "\\") ? 2 : 1), bytes.count)
            if byte == quote { return }
        }
    }

    /// `$tag$ … $tag$`, or else the dollar of a parameter such as `$1`.
    private mutating func skipDollarQuoted() {
        var close = index + 1
        if let first = byteAt(close), first.isASCIIDigit {
            index += 1
            return
        }
        while let byte = byteAt(close), isIdentifier(byte) { close += 1 }
        guard byteAt(close) == UInt8(ascii: "$") else {
            index += 1
            return
        }
        let delimiter = bytes[index...close]
        index = close + 1
        while index < bytes.count {
            if bytes[index...].starts(with: delimiter) {
                index += delimiter.count
                return
            }
            index += 1
        }
    }

    private func byteAt(_ position: Int) -> UInt8? { position < bytes.count ? bytes[position] : nil }

    private func isIdentifier(_ byte: UInt8) -> Bool {
        byte >= 0x80 || byte.isASCIIAlphanumeric || byte == UInt8(ascii: "_")
    }
}
