import JOSE
import JSON
import Testing

@Suite struct NumericDateTests {
    @Test(
        arguments: [
            ("1767225600", 1_767_225_600, 0), ("1767225600.5", 1_767_225_600, 500_000_000_000_000_000),
            ("1.7672256e9", 1_767_225_600, 0), ("17672256.005e2", 1_767_225_600, 500_000_000_000_000_000), ("0", 0, 0),
            ("-0", 0, 0), ("253402300799", 253_402_300_799, 0), ("2.53402300799e11", 253_402_300_799, 0),
            ("0.0000000000000000019", 0, 1), ("1e-30", 0, 0),
            ("1767225600.9999999999999999999", 1_767_225_600, 999_999_999_999_999_999),
        ] as [(String, Int64, Int64)])
    func `a date may have a fraction and is never rounded up`(text: String, seconds: Int64, attoseconds: Int64) throws {
        let date = try #require(try JSONValue(parsing: Array(text.utf8)).date)
        #expect(date.seconds == seconds)
        #expect(date.sinceEpoch.components.attoseconds == attoseconds)
    }

    @Test(arguments: [
        "-1", "-0.5", "253402300800", "253402300799.5", "1e400", "1e300", "9223372036854775808", "-1e400",
        "1e99999999999999999999", "\"1767225600\"", "null", "true", "[1767225600]",
    ])
    func `what is no date between 1970 and 9999 is none`(text: String) throws {
        #expect(try JSONValue(parsing: Array(text.utf8)).date == nil)
    }

    @Test func `nothing but a number is a date`() throws {
        let value = try JSONValue(parsing: Array(#"["1",1,true,"true",null,[],{}]"#.utf8))
        let elements = try #require(value.elements)
        #expect(elements.map { $0.date != nil } == [false, true, false, false, false, false, false])
    }
}
