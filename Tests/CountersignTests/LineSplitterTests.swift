import Testing

@testable import countersign

@Suite struct LineSplitterTests {
    private func lines(_ chunks: [String], maximumBytes: Int = 8) -> [String] {
        var splitter = LineSplitter(maximumBytes: maximumBytes)
        var lines = chunks.flatMap { splitter.append(Array($0.utf8)) }
        lines += splitter.finish()
        return lines.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(
        arguments: [
            (["a\nb\n"], ["a", "b"]), (["a\nb"], ["a", "b"]), (["a", "b", "\n", "c"], ["ab", "c"]),
            (["\n\n"], ["", ""]), (["a\r\n"], ["a\r"]), ([], []), ([""], []), (["a\n", "\n"], ["a", ""]),
            (["a", "\nb"], ["a", "b"]),
        ] as [([String], [String])])
    func `chunks may end anywhere`(chunks: [String], expected: [String]) { #expect(lines(chunks) == expected) }

    @Test func `of a line that is too long only the beginning is kept`() {
        #expect(lines(["123456789\nb\n"]) == ["12345678", "b"])
        #expect(lines(["12345", "6789", "0123", "\n"]) == ["12345678"])
        #expect(lines(["12345678\n"]) == ["12345678"])
    }
}
