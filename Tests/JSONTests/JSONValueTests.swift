import JSON
import Testing

@Suite struct JSONValueTests {
    private static func value(_ text: String) throws -> JSONValue { try JSONValue(parsing: [UInt8](text.utf8)) }

    @Test func `a document is read as what it says`() throws {
        let value = try Self.value(
            #" { "iss" : "https://a.example", "aud":["a","b"], "n":-12.5e1 ,"yes":true,"no":false,"nil":null,"o":{} } "#
        )
        #expect(value.kind == .object)
        #expect(value["iss"]?.string == "https://a.example")
        #expect(value["aud"]?.elements?.map(\.string) == ["a", "b"])
        #expect(value["n"]?.integer == -125)
        #expect(value["yes"]?.bool == true)
        #expect(value["no"]?.bool == false)
        #expect(value["nil"]?.isNull == true)
        #expect(value["o"]?.members?.isEmpty == true)
        #expect(value["missing"] == nil)
        #expect(value["is"] == nil)
        #expect(value["isss"] == nil)
        #expect(value.members?.map(\.name) == ["iss", "aud", "n", "yes", "no", "nil", "o"])
        #expect(value.members?.map(\.value.kind) == [.string, .array, .number, .bool, .bool, .null, .object])
    }

    @Test func `no type turns into another`() throws {
        let value = try Self.value(#"["1",1,true,"true",null,[],{}]"#)
        let elements = try #require(value.elements)
        #expect(elements.map { $0.string != nil } == [true, false, false, true, false, false, false])
        #expect(elements.map { $0.integer != nil } == [false, true, false, false, false, false, false])
        #expect(elements.map { $0.bool != nil } == [false, false, true, false, false, false, false])
        #expect(elements.map(\.isNull) == [false, false, false, false, true, false, false])
        #expect(elements.map { $0.elements != nil } == [false, false, false, false, false, true, false])
        #expect(elements.map { $0.members != nil } == [false, false, false, false, false, false, true])
        #expect(elements.allSatisfy { $0["a"] == nil })
    }

    @Test func `a member is found behind nested values`() throws {
        let value = try Self.value(#"{"a":{"z":1,"b":[{"z":2}]},"b":[[],[1,[2]]],"z":3}"#)
        #expect(value["z"]?.integer == 3)
        #expect(value["a"]?["z"]?.integer == 1)
        #expect(value["a"]?["b"]?.elements?.first?["z"]?.integer == 2)
        #expect(value["b"]?.elements?.count == 2)
        #expect(value["b"]?.elements?.last?.elements?.last?.elements?.first?.integer == 2)
    }

    @Test func `escapes are undone in names and strings`() throws {
        let value = try Self.value(#"{"\u0061lg":"\"\\\/\b\f\n\r\t\u00e9\u20AC\ud834\udD1E","b\u0000":"x"}"#)
        #expect(value["alg"]?.string == "\"\\/\u{8}\u{C}\n\r\té€\u{1D11E}")
        #expect(value["alg"]?.isString(equalTo: "\"\\/\u{8}\u{C}\n\r\té€\u{1D11E}") == true)
        #expect(value["alg"]?.isString(equalTo: "\"\\/") == false)
        #expect(value["b\0"]?.stringBytes == [UInt8(ascii: "x")])
        #expect(value["b"] == nil)
        #expect(value.members?.map(\.name) == ["alg", "b\0"])
    }

    @Test func `strings compare by their bytes and not as Swift compares them`() throws {
        let value = try Self.value("[\"caf\u{E9}\",\"cafe\u{301}\",\"\u{212A}\"]")
        let elements = try #require(value.elements)
        #expect(elements.map { $0.isString(equalTo: "caf\u{E9}") } == [true, false, false])
        #expect(elements.map { $0.isString(equalTo: "cafe\u{301}") } == [false, true, false])
        #expect(elements[2].isString(equalTo: "K") == false)
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("0.0", 0), ("0e999999999999999999", 0), ("1", 1), ("-1", -1), ("1e3", 1_000),
            ("1E+3", 1_000), ("1000e-3", 1), ("1.5e1", 15), ("1.0", 1), ("1.50", nil), ("15e-1", nil), ("1e-400", nil),
            ("1e400", nil), ("1e19", nil), ("9e18", 9_000_000_000_000_000_000), ("-9223372036854775808", .min),
            ("-9223372036854775809", nil), ("9223372036854775807", .max), ("9223372036854775808", nil),
            ("922337203685477580.7e1", .max), ("999999999999999999", 999_999_999_999_999_999),
            ("9007199254740993", 9_007_199_254_740_993), ("12345678901234567890123456789012", nil),
            ("1e99999999999999999999", nil),
        ] as [(String, Int64?)])
    func `an integer is exact or none`(text: String, integer: Int64?) throws {
        #expect(try Self.value(text).integer == integer)
    }

    @Test func `a number is the same however it is written`() throws {
        let spellings = try ["120", "120.0", "1.2e2", "12E1", "0.12e+3", "12000e-2", "120.00"].map {
            try Self.value($0).number
        }
        for number in spellings { #expect(number == spellings.first) }
        #expect(try Self.value("120").number == Self.value("120").number)
        #expect(try Self.value("-120").number != Self.value("120").number)
        #expect(try Self.value("120.1").number != Self.value("120").number)
        let number = try #require(try Self.value("-0.00120").number)
        #expect(number.isNegative && number.significand == 12 && number.exponent == -4)
    }
}
