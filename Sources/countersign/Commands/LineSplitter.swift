/// A splitter of a byte stream into lines. Each loses its line feed and nothing else. Of a line longer than
/// `maximumBytes` only that many bytes are kept, so that memory stays bounded.
struct LineSplitter {
    let maximumBytes: Int
    private(set) var unfinished: [UInt8]?

    /// The lines that end in this chunk.
    mutating func append(_ chunk: [UInt8]) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var rest = chunk[...]
        while let end = rest.firstIndex(of: 0x0A) {
            keep(rest[..<end])
            lines.append(unfinished ?? [])
            unfinished = nil
            rest = rest[(end + 1)...]
        }
        if !rest.isEmpty { keep(rest) }
        return lines
    }

    /// The last line, when no line feed ended it.
    mutating func finish() -> [[UInt8]] {
        defer { unfinished = nil }
        return unfinished.map { [$0] } ?? []
    }

    private mutating func keep(_ bytes: ArraySlice<UInt8>) {
        unfinished = (unfinished ?? []) + bytes.prefix(maximumBytes - (unfinished?.count ?? 0))
    }
}
