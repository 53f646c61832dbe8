/// The records of a CSV file without a header. A field that begins with a quotation mark goes on to the next lone one, across
/// lines; two in a row stand for one.
struct CSVReader {
    private let input: any ByteInput
    private var chunk: [UInt8]
    private var position = 0

    /// - Parameter begun: the beginning of the input, which has been read already.
    init(_ input: any ByteInput, begun: [UInt8]) {
        self.input = input
        chunk = begun
    }

    /// - Returns: `nil` behind the last record; a record that is `nil` is too long, not UTF-8, or ends within quotes.
    mutating func next() throws -> [String]?? {
        while let record = try nextRecord() {
            if let record, record == [[]] { continue }
            guard let record else { return .some(nil) }
            var fields: [String] = []
            for field in record {
                guard let text = String(validating: field, as: UTF8.self) else { return .some(nil) }
                fields.append(text)
            }
            return .some(fields)
        }
        return nil
    }

    private mutating func nextRecord() throws -> [[UInt8]]?? {
        var fields: [[UInt8]] = [[]]
        var bytes = 0
        var isQuoted = false
        var isAfterQuote = false
        guard var byte = try nextByte() else { return nil }
        while true {
            bytes += 1
            if bytes > maximumRowBytes, !fields.isEmpty { fields = [] }
            let last = fields.count - 1
            if isQuoted {
                if byte == UInt8(ascii: "\"") {
                    (isQuoted, isAfterQuote) = (false, true)
                } else if last >= 0 {
                    fields[last].append(byte)
                }
            } else if byte == UInt8(ascii: "\""), isAfterQuote {
                if last >= 0 { fields[last].append(byte) }
                (isQuoted, isAfterQuote) = (true, false)
            } else {
                isAfterQuote = false
                switch byte {
                case 0x0A: return .some(fields.isEmpty ? nil : fields)
                case 0x0D: break
                case UInt8(ascii: ","): if last >= 0 { fields.append([]) }
                case UInt8(ascii: "\"") where last >= 0 && fields[last].isEmpty: isQuoted = true
                default: if last >= 0 { fields[last].append(byte) }
                }
            }
            guard let next = try nextByte() else { return .some(fields.isEmpty || isQuoted ? nil : fields) }
            byte = next
        }
    }

    private mutating func nextByte() throws -> UInt8? {
        while position == chunk.count {
            guard let more = try input.read() else { return nil }
            (chunk, position) = (more, 0)
        }
        defer { position += 1 }
        return chunk[position]
    }
}
