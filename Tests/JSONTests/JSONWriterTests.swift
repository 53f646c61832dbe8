import JSON
import Testing

@Suite struct JSONWriterTests {
    private static func text(_ write: (inout JSONWriter) throws -> Void) rethrows -> String {
        var writer = JSONWriter()
        try write(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func `commas stand between values and nowhere else`() {
        let text = Self.text { writer in
            writer.object { writer in
                writer.member("a", "x")
                writer.member("b", 1)
                writer.member("c", Int64.min)
                writer.member("d", true)
                writer.member("absent", nil as String?)
                writer.member("present", "y" as String?)
                writer.member("list", ["p", "q"])
                writer.member("none", EmptyCollection<String>())
                writer.array("e") { writer in
                    writer.object { _ in }
                    writer.null()
                    writer.array { _ in }
                    writer.bool(false)
                    writer.string("z")
                    writer.integer(-2)
                }
                writer.object("f") { $0.member("g", "h") }
                writer.objects("i", of: [1, 2]) { $1.member("j", $0) }
                writer.objects("k", of: EmptyCollection<Int>()) { $1.member("j", $0) }
            }
        }
        #expect(
            text == #"{"a":"x","b":1,"c":-9223372036854775808,"d":true,"present":"y","list":["p","q"],"#
                + #""none":[],"e":[{},null,[],false,"z",-2],"f":{"g":"h"},"i":[{"j":1},{"j":2}],"k":[]}"#)
    }

    @Test func `every string that can be is read back as it was`() throws {
        let strings =
            (0..<0x80).map { String(UnicodeScalar(UInt8($0))) } + ["é", "e\u{301}", "\u{1D11E}", "\r\n", "", "\\u0041"]
        for string in strings {
            let text = Self.text { $0.string(string) }
            #expect(!text.utf8.contains { $0 < 0x20 })
            #expect(try JSONValue(parsing: [UInt8](text.utf8)).stringBytes == [UInt8](string.utf8))
            let object = Self.text { writer in
                writer.object { $0.member(string, string) }
            }
            #expect(try JSONValue(parsing: [UInt8](object.utf8))[string]?.isString(equalTo: string) == true)
        }
    }

    @Test func `an object and its text are one document`() throws {
        #expect(JSONWriter.object { $0.member("a", "b") } == Array(#"{"a":"b"}"#.utf8))
        #expect(JSONWriter.text { $0.member("a", "b") } == #"{"a":"b"}"#)
        struct Stop: Error {}
        #expect(throws: Stop.self) { try JSONWriter.object { _ throws(Stop) in throw Stop() } }
    }

    @Test func `a document is written in parts`() async throws {
        var (writer, parts) = (JSONWriter(), [String]())
        func take(_ writer: inout JSONWriter) { parts.append(String(decoding: writer.take(), as: UTF8.self)) }
        try await writer.streamedObject { writer in
            writer.member("a", 1)
            take(&writer)
            writer.name("b")
            try await writer.streamedArray { writer in
                writer.integer(1)
                take(&writer)
                await Task.yield()
                writer.integer(2)
            }
        }
        take(&writer)
        #expect(parts == [#"{"a":1"#, #","b":[1"#, ",2]}"])
    }

    @Test func `escapes are the ones that RFC 8259 requires`() {
        #expect(
            Self.text { $0.string("\"\\/\u{0}\u{8}\n\r\t\u{1F}\u{7F}<é") }
                == "\"\\\"\\\\/\\u0000\\u0008\\n\\r\\t\\u001f\u{7F}<é\"")
    }

    @Test func `every byte is escaped or left wherever it stands in a text`() throws {
        for length in 1...17 {
            for place in 0..<length {
                for byte in UInt8(0)..<0x80 {
                    var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                    bytes[place] = byte
                    let text = String(decoding: bytes, as: UTF8.self)
                    let written = Self.text { $0.string(text) }
                    let isEscaped = byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
                    guard (written.utf8.count > length + 2) == isEscaped,
                        try JSONValue(parsing: [UInt8](written.utf8)).stringBytes == bytes
                    else {
                        Issue.record("byte \(byte) at \(place) of \(length): \(written)")
                        return
                    }
                }
            }
        }
        let beyond = String(repeating: "é\u{80}\u{7F}\u{FF}€\u{10FFFF}", count: 3)
        #expect(Self.text { $0.string(beyond) } == "\"\(beyond)\"")
    }

    @Test func `a value that was read is written on one line and means the same`() throws {
        let source =
            "{\r\n \"a\" : [ 1.50 , {\"\\u0062\" : \"x\\ny \\u00e9\"} , [ ] , { } ] ,\n\t\"c\" : null , \"d\":true }"
        let value = try JSONValue(parsing: [UInt8](source.utf8))
        let whole = #"{"a":[1.50,{"\u0062":"x\ny \u00e9"},[],{}],"c":null,"d":true}"#
        #expect(Self.text { $0.value(value) } == whole)
        let wrapped = try Self.text { writer in
            try writer.object { writer in
                writer.member("before", 1)
                writer.member("inner", try #require(value["a"]))
                writer.member("scalar", try #require(value["d"]))
                writer.member("after", 2)
            }
        }
        #expect(wrapped == #"{"before":1,"inner":[1.50,{"\u0062":"x\ny \u00e9"},[],{}],"scalar":true,"after":2}"#)
    }
}
