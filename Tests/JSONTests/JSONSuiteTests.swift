import JSON
import TestSupport
import Testing

/// The documents of nst/JSONTestSuite: what RFC 8259 requires and what it leaves open.
@Suite struct JSONSuiteTests {
    /// Limits that no document of the suite exceeds by depth or length.
    private static let wide = JSONLimits(maximumDepth: 1_000, maximumStringBytes: 65_536, maximumNumberBytes: 65_536)

    private static func accepts(_ document: [UInt8]) -> Bool {
        (try? JSONValue(parsing: document, limits: wide)) != nil
    }

    private static func cases(_ prefix: String) throws -> [(name: String, document: [UInt8])] {
        try Vectors.jsonTestSuite.filter { $0.key.hasPrefix(prefix) }
            .map { (String($0.key.dropFirst("test_parsing/".count)), $0.value) }
            .sorted { $0.0 < $1.0 }
    }

    @Test func `every document that must parse does, but for duplicate names`() throws {
        let cases = try Self.cases("test_parsing/y_")
        #expect(cases.count == 95)
        let refused = cases.filter { !Self.accepts($0.document) }.map(\.name)
        #expect(refused == ["y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"])
    }

    @Test func `no document that must not parse does`() throws {
        let cases = try Self.cases("test_parsing/n_")
        #expect(cases.count == 188)
        #expect(cases.filter { Self.accepts($0.document) }.map(\.name) == [])
    }

    @Test func `of the documents that may parse, huge numbers and deep nesting do and bad text does not`() throws {
        let cases = try Self.cases("test_parsing/i_")
        #expect(cases.count == 35)
        #expect(
            cases.filter { Self.accepts($0.document) }.map(\.name) == [
                "i_number_double_huge_neg_exp.json",
                "i_number_huge_exp.json",
                "i_number_neg_int_huge_exp.json",
                "i_number_pos_double_huge_exp.json",
                "i_number_real_neg_overflow.json",
                "i_number_real_pos_overflow.json",
                "i_number_real_underflow.json",
                "i_number_too_big_neg_int.json",
                "i_number_too_big_pos_int.json",
                "i_number_very_big_negative_int.json",
                "i_structure_500_nested_arrays.json",
            ])
    }

    @Test(arguments: [
        ("number_-9223372036854775808", Int64.min), ("number_-9223372036854775809", nil), ("number_1.0", 1),
        ("number_1.000000000000000005", nil), ("number_1000000000000000", 1_000_000_000_000_000),
        ("number_10000000000000000999", nil), ("number_1e-999", nil), ("number_1e6", 1_000_000),
        ("number_9223372036854775807", Int64.max), ("number_9223372036854775808", nil),
    ])
    func `a number is an integer when it is exactly one`(name: String, integer: Int64?) throws {
        let document = try #require(Vectors.jsonTestSuite["test_transform/\(name).json"])
        let number = try #require(JSONValue(parsing: document).elements?.first)
        #expect(number.kind == .number)
        #expect(number.integer == integer)
    }

    @Test(arguments: [
        "object_same_key_different_values", "object_same_key_same_value", "object_same_key_unclear_values",
    ])
    func `one name twice is refused whatever the values`(name: String) throws {
        let document = try #require(Vectors.jsonTestSuite["test_transform/\(name).json"])
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: document) }
        #expect(error?.kind == .duplicateName)
    }

    @Test(arguments: ["object_key_nfc_nfd", "object_key_nfd_nfc"])
    func `two names that Swift's strings call equal are two names`(name: String) throws {
        let document = try #require(Vectors.jsonTestSuite["test_transform/\(name).json"])
        let object = try JSONValue(parsing: document)
        #expect(object["\u{E9}"]?.isString(equalTo: "NFC") == true)
        #expect(object["e\u{301}"]?.isString(equalTo: "NFD") == true)
        #expect(object["e\u{301}"]?.isString(equalTo: "NFC") == false)
    }

    @Test(arguments: [
        ("string_1_escaped_invalid_codepoint", JSONError.Kind.loneSurrogate),
        ("string_2_escaped_invalid_codepoints", .loneSurrogate),
        ("string_3_escaped_invalid_codepoints", .loneSurrogate),
        ("string_1_invalid_codepoint", .encoding),
        ("string_2_invalid_codepoints", .encoding),
        ("string_3_invalid_codepoints", .encoding),
    ])
    func `half a surrogate pair is refused, escaped or encoded`(name: String, kind: JSONError.Kind) throws {
        let document = try #require(Vectors.jsonTestSuite["test_transform/\(name).json"])
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: document) }
        #expect(error?.kind == kind)
    }

    @Test func `an escaped NUL stays one character of the string and is refused in a request body`() throws {
        let document = try #require(Vectors.jsonTestSuite["test_transform/string_with_escaped_NULL.json"])
        #expect(try JSONValue(parsing: document).elements?.first?.stringBytes == [0x41, 0, 0x42])
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: document, limits: .requestBody) }
        #expect(error?.kind == .controlCharacter)
    }
}
