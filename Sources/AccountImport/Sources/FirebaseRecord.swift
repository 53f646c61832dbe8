import Primitives

/// A person in the CSV of `firebase auth:export`: 52 columns without a header, a comma behind each. Files that were saved again
/// by others, which quote as RFC 4180 says, are read too.
///
/// The exporter (firebase-tools, `accountExporter`) quotes a name only where it holds a comma, and leaves quotation marks and
/// line ends in names as they are; of claims it doubles those marks that follow no backslash. What a mark means is so
/// decided by what the columns behind it can be.
struct FirebaseRecord {
    static let columnCount = 52
    let fields: [String]

    /// - Returns: `nil` for what is no whole record.
    init?(_ text: [UInt8]) {
        guard let fields = Self.fields(of: text, isStrict: true) ?? Self.fields(of: text, isStrict: false) else {
            return nil
        }
        self.fields = fields
    }

    /// Whether it is a whole record of an older exporter, which knew four providers and not Apple: its 26 columns, to which
    /// disabled people and claims had come.
    static func isOlder(_ text: [UInt8]) -> Bool {
        (26...28).contains { fields(of: text, isStrict: false, count: $0) != nil }
    }

    private static func fields(of text: [UInt8], isStrict: Bool, count: Int = columnCount) -> [String]? {
        var columns = Columns(text: text, isStrict: isStrict, count: count)
        guard columns.read(from: 0) else { return nil }
        let fields = columns.fields.compactMap { String(validating: $0, as: UTF8.self) }
        return fields.count == count ? fields : nil
    }
}

extension FirebaseRecord {
    /// The names of the person and at each provider, and the claims.
    private static let texts: Set = [5, 9, 13, 17, 21, 27, 30, 34, 38, 42, 46, 50]

    private struct Columns {
        let text: [UInt8]
        /// Whether quotation marks are as RFC 4180 has them.
        let isStrict: Bool
        /// How many columns there have to be.
        let count: Int
        var fields: [[UInt8]] = []
        /// How many fields may yet be tried: a record has 52, and few marks that are in doubt.
        var attempts = 300

        /// Reads the columns that are left, the first of which begins at an offset.
        mutating func read(from start: Int) -> Bool {
            guard fields.count < count else { return start >= text.count }
            guard start <= text.count else { return false }
            if start < text.count, text[start] == UInt8(ascii: "\"") {
                var mark = start + 1
                while attempts > 0, let end = nextEnd(from: mark) {
                    if take(unquoted(start + 1..<end), nextFrom: end + 2) { return true }
                    mark = end + 1
                    if isStrict { break }
                }
                if isStrict { return false }
            }
            let end = text[start...].firstIndex(of: UInt8(ascii: ",")) ?? text.count
            let field = Array(text[start..<end])
            return !(isStrict && field.contains(UInt8(ascii: "\""))) && take(field, nextFrom: end + 1)
        }

        private mutating func take(_ field: [UInt8], nextFrom start: Int) -> Bool {
            attempts -= 1
            guard attempts > 0, isPossible(field, in: fields.count) else { return false }
            fields.append(field)
            if read(from: start) { return true }
            fields.removeLast()
            return false
        }

        /// The next quotation mark that a quoted field can end with.
        private func nextEnd(from start: Int) -> Int? {
            var mark = start
            while mark < text.count {
                let isMark = text[mark] == UInt8(ascii: "\"")
                let next = mark + 1 < text.count ? text[mark + 1] : UInt8(ascii: ",")
                if isMark, next == UInt8(ascii: "\""), isStrict {
                    mark += 2
                } else if isMark, next == UInt8(ascii: ",") {
                    return mark
                } else if isMark, isStrict {
                    return nil
                } else {
                    mark += 1
                }
            }
            return nil
        }

        /// With one mark in the place of two.
        private func unquoted(_ range: Range<Int>) -> [UInt8] {
            var field: [UInt8] = []
            var index = range.lowerBound
            while index < range.upperBound {
                field.append(text[index])
                let isMark = text[index] == UInt8(ascii: "\"")
                let isDouble = isMark && index + 1 < range.upperBound && text[index + 1] == UInt8(ascii: "\"")
                index += isDouble ? 2 : 1
            }
            return field
        }

        private func isPossible(_ field: [UInt8], in column: Int) -> Bool {
            switch column {
            case 2, 26: field.isEmpty || field == Array("true".utf8) || field == Array("false".utf8)
            case 23, 24: field.allSatisfy(\.isASCIIDigit)
            default: texts.contains(column) || !field.contains { $0 == UInt8(ascii: "\"") || $0 == 0x0A }
            }
        }
    }
}

/// The records of a file.
struct FirebaseRecordReader {
    /// The most lines of one record: names may have line ends.
    private static let maximumLines = 8

    private var lines: LineReader
    /// Lines that were read ahead.
    private var ahead: [RowBytes] = []
    /// Whether a record was read, so that the columns are known to be those that there have to be.
    private var hasRecord = false

    /// - Parameter begun: the beginning of the input, which has been read already.
    init(_ input: any ByteInput, begun: [UInt8]) { lines = LineReader(input, begun: begun) }

    /// - Returns: `nil` behind the last record; a line that is none, nor begins one, is `.some(nil)`.
    /// - Throws: ``SourceFault`` when the columns are an older exporter's.
    mutating func next() throws -> FirebaseRecord?? {
        guard let line = try line(0) else { return nil }
        ahead.removeFirst()
        guard let text = line else { return .some(nil) }
        var record = FirebaseRecord(text)
        if record == nil { record = try longerRecord(from: text) }
        if record == nil, !hasRecord, FirebaseRecord.isOlder(text) {
            throw SourceFault(
                """
                The CSV has the columns of an older firebase-tools, which leaves Apple's identities out: export it again \
                by a newer one, as JSON if you can.
                """)
        }
        hasRecord = hasRecord || record != nil
        return .some(record)
    }

    /// The record that a line begins whose names have line ends.
    private mutating func longerRecord(from line: [UInt8]) throws -> FirebaseRecord? {
        var text = line
        for count in 1..<Self.maximumLines {
            guard let line = try self.line(count - 1), let line, text.count + line.count < maximumRowBytes else {
                break
            }
            text += [0x0A] + line
            guard let record = FirebaseRecord(text) else { continue }
            ahead.removeFirst(count)
            return record
        }
        return nil
    }

    /// A line ahead, without the end that the exporter writes on Windows.
    private mutating func line(_ index: Int) throws -> RowBytes? {
        while ahead.count <= index {
            guard var line = try lines.next() else { return nil }
            if line?.last == 0x0D { line?.removeLast() }
            ahead.append(line)
        }
        return .some(ahead[index])
    }
}
