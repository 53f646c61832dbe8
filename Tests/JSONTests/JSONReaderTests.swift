import JSON
import Testing

@Suite struct JSONReaderTests {
    private static func refusal(_ text: String, _ limits: JSONLimits = .standard) -> JSONError? {
        refusal([UInt8](text.utf8), limits)
    }

    private static func refusal(_ bytes: [UInt8], _ limits: JSONLimits = .standard) -> JSONError? {
        do throws(JSONError) {
            _ = try JSONValue(parsing: bytes, limits: limits)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        ("", JSONError.Kind.truncated, 0), ("{", .truncated, 1), ("{\"a\"", .truncated, 4), ("{\"a\":", .truncated, 5),
        ("[1,", .truncated, 3), ("\"abc", .truncated, 4), ("tru", .truncated, 0), ("-", .truncated, 1),
        ("1e", .truncated, 2), ("\"\\", .truncated, 1), ("\"\\u00", .truncated, 1),
        ("{}{}", .syntax, 2), ("{\"a\":1}X", .syntax, 7), ("\u{FEFF}{}", .syntax, 0), ("{\"a\":1,}", .syntax, 7),
        ("[1 2]", .syntax, 3), ("[1}", .syntax, 2), ("{\"a\" 1}", .syntax, 5), ("{1:1}", .syntax, 1),
        ("01", .syntax, 1), ("+1", .syntax, 0), (".5", .syntax, 0), ("1.", .truncated, 2), ("1.e3", .syntax, 2),
        ("NaN", .syntax, 0), ("Infinity", .syntax, 0), ("trux", .syntax, 0), ("'a'", .syntax, 0),
        ("\"\\x\"", .syntax, 1), ("\"\\u12g4\"", .syntax, 1), ("\"\n\"", .controlCharacter, 1),
        ("\"\\ud800\"", .loneSurrogate, 1), ("\"\\udc00\"", .loneSurrogate, 1),
        ("\"\\ud800\\u0041\"", .loneSurrogate, 1),
        ("{\"a\":1,\"a\":2}", .duplicateName, 10), ("[{\"b\":{\"a\":1,\"\\u0061\":2}}]", .duplicateName, 21),
        ("{\"\\u0061\":1,\"a\":2}", .duplicateName, 15), ("{\"\":1,\"\":2}", .duplicateName, 8),
    ])
    func `a fault is named with its place`(text: String, kind: JSONError.Kind, offset: Int) {
        #expect(Self.refusal(text) == JSONError(kind: kind, offset: offset))
    }

    @Test func `UTF-16 is refused, with and without its mark`() {
        #expect(Self.refusal([0xFF, 0xFE, 0x7B, 0, 0x7D, 0])?.kind == .syntax)
        #expect(Self.refusal([0x7B, 0, 0x7D, 0])?.kind == .syntax)
        #expect(Self.refusal([0, 0x7B, 0, 0x7D])?.kind == .syntax)
    }

    /// The edges of the table in RFC 3629 §4, and one step over each.
    @Test(
        arguments: [
            ([0xC2, 0x80], true), ([0xDF, 0xBF], true), ([0xE0, 0xA0, 0x80], true), ([0xED, 0x9F, 0xBF], true),
            ([0xEE, 0x80, 0x80], true), ([0xEF, 0xBF, 0xBF], true), ([0xF0, 0x90, 0x80, 0x80], true),
            ([0xF4, 0x8F, 0xBF, 0xBF], true), ([0x80], false), ([0xBF], false), ([0xC0, 0x80], false),
            ([0xC1, 0xBF], false),
            ([0xC2], false), ([0xC2, 0x7F], false), ([0xC2, 0xC0], false), ([0xE0, 0x9F, 0xBF], false),
            ([0xE1, 0x80], false), ([0xE1, 0x80, 0x7F], false), ([0xED, 0xA0, 0x80], false),
            ([0xED, 0xBF, 0xBF], false),
            ([0xF0, 0x8F, 0xBF, 0xBF], false), ([0xF1, 0x80, 0x80], false), ([0xF1, 0x80, 0x80, 0x7F], false),
            ([0xF4, 0x90, 0x80, 0x80], false), ([0xF5, 0x80, 0x80, 0x80], false), ([0xFE], false), ([0xFF], false),
            ([0xF8, 0x88, 0x80, 0x80, 0x80], false),
        ] as [([UInt8], Bool)])
    func `only well-formed UTF-8 is read`(sequence: [UInt8], isValid: Bool) {
        let quotation = [UInt8(ascii: "\"")]
        // Before and behind the eight bytes that are looked at together, and at the very end of the document.
        for padding in ["", "abc", "abcdefgh", "abcdefghijkl"] {
            let text = [UInt8](padding.utf8)
            let error = Self.refusal(quotation + text + sequence + text + quotation)
            #expect(error?.kind == (isValid ? nil : .encoding))
            #expect(Self.refusal(quotation + text + sequence) != nil)
        }
    }

    @Test func `a byte that means something is seen at every place of a string`() throws {
        for length in 1...40 {
            for place in 0..<length {
                var text = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                text[place] = 0x1F
                let quoted = { [UInt8(ascii: "\"")] + text + [UInt8(ascii: "\"")] }
                #expect(Self.refusal(quoted()) == JSONError(kind: .controlCharacter, offset: place + 1))
                text[place] = UInt8(ascii: "\"")
                #expect(Self.refusal(quoted())?.offset == place + 2)
                text[place] = 0xFF
                #expect(Self.refusal(quoted()) == JSONError(kind: .encoding, offset: place + 1))
                // 0x7F, 0x20 and 0x21 lie next to the bytes that matter, and 0x23 and 0x5B and 0x5D do too.
                for harmless: UInt8 in [0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7F] {
                    text[place] = harmless
                    #expect(try JSONValue(parsing: quoted()).stringBytes == text)
                }
            }
        }
    }

    @Test func `eight levels are read and nine are not`() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let innermost = open == "[" ? "" : "1"
            let nested = { (depth: Int) in
                String(repeating: open, count: depth) + innermost + String(repeating: close, count: depth)
            }
            #expect(Self.refusal(nested(8)) == nil)
            #expect(Self.refusal(nested(9))?.kind == .limit)
        }
        #expect(Self.refusal("[[],[],[[],[]]]", JSONLimits(maximumDepth: 3)) == nil, "siblings add no depth")
    }

    @Test func `a bomb of brackets ends at the limit`() {
        for depth in [513, 10_000, 100_000] {
            let arrays = Self.refusal(String(repeating: "[", count: depth), JSONLimits(maximumBytes: 1_000_000))
            #expect(arrays == JSONError(kind: .limit, offset: 8))
            let objects = String(repeating: "{\"a\":", count: depth)
            #expect(Self.refusal(objects, JSONLimits(maximumBytes: 1_000_000))?.kind == .limit)
        }
        // Where a caller allows any depth, the stack still does not grow with it.
        let open = [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)
        let close = [UInt8](repeating: UInt8(ascii: "]"), count: 1_000_000)
        #expect(Self.refusal(open + close, JSONLimits(maximumBytes: .max, maximumDepth: .max)) == nil)
    }

    @Test func `an object has 128 members at most`() {
        let object = { (count: Int) in "{" + (0..<count).map { "\"m\($0)\":\($0)" }.joined(separator: ",") + "}" }
        #expect(Self.refusal(object(128)) == nil)
        #expect(Self.refusal(object(129))?.kind == .limit)
        #expect(Self.refusal("[\(object(128)),\(object(128))]") == nil, "each object counts for itself")
    }

    @Test func `the last of 128 names is compared with all the others`() {
        for place in [0, 1, 63, 126] {
            var names = (0..<127).map { "member number \($0)" }
            names.append(names[place])
            let object = "{" + names.map { "\"\($0)\":[{}]" }.joined(separator: ",") + "}"
            #expect(Self.refusal(object)?.kind == .duplicateName)
        }
    }

    @Test func `a string has 8 KiB at most, as it reads and not as it is written`() {
        let text = { (count: Int) in "\"" + String(repeating: "a", count: count) + "\"" }
        #expect(Self.refusal(text(8_192)) == nil)
        #expect(Self.refusal(text(8_193))?.kind == .limit)
        #expect(Self.refusal("{\(text(8_193)):1}")?.kind == .limit)
        #expect(Self.refusal("\"" + String(repeating: "\\u0061", count: 8_192) + "\"") == nil)
        #expect(Self.refusal("\"" + String(repeating: "\\u0061", count: 8_193) + "\"")?.kind == .limit)
        #expect(Self.refusal("\"" + String(repeating: "\\ud83d\\ude39", count: 2_048) + "\"") == nil)
        #expect(Self.refusal("\"" + String(repeating: "\\ud83d\\ude39", count: 2_049) + "\"")?.kind == .limit)
    }

    @Test func `a number has 32 characters at most`() {
        #expect(Self.refusal(String(repeating: "1", count: 32)) == nil)
        #expect(Self.refusal(String(repeating: "1", count: 33))?.kind == .limit)
        #expect(Self.refusal("[0." + String(repeating: "1", count: 31) + "]")?.kind == .limit)
    }

    @Test func `a document has 64 KiB at most`() {
        let document = { (count: Int) in "[" + String(repeating: " ", count: count - 2) + "]" }
        #expect(Self.refusal(document(65_536)) == nil)
        #expect(Self.refusal(document(65_537))?.kind == .limit)
    }

    @Test(arguments: 0..<0x20)
    func `no control character enters through a request body`(value: Int) {
        let digits = String(value, radix: 16)
        let escape = "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        for document in ["{\"name\":\"a\(escape)b\"}", "{\"na\(escape)me\":1}", "[\"\(escape)\"]"] {
            #expect(Self.refusal(document, .requestBody)?.kind == .controlCharacter)
            #expect(Self.refusal(document) == nil)
        }
    }

    @Test func `the short escapes of control characters are refused in a request body, the others are not`() {
        for letter in ["b", "f", "n", "r", "t"] {
            #expect(Self.refusal("[\"\\\(letter)\"]", .requestBody)?.kind == .controlCharacter)
        }
        for letter in ["\"", "\\", "/", "u0020", "u007f", "u00e9", "ud83d\\ude39"] {
            #expect(Self.refusal("[\"\\\(letter)\"]", .requestBody) == nil)
        }
    }

    @Test func `an error says nothing of the document`() {
        let error = JSONError(kind: .duplicateName, offset: 7)
        #expect("\(error)" == "The JSON document was refused.")
        #expect(String(reflecting: error) == "JSONError.duplicateName at byte 7")
    }
}
