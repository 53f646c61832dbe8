import Accounts
import Foundation
import Testing

@Suite struct TimestampTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"), (1_767_225_600, "2026-01-01T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] as [(Int64, String)]) func `a time is written and read in one form`(seconds: Int64, text: String)
    {
        #expect(Timestamp(seconds: seconds).rfc3339 == text)
        #expect(Timestamp(rfc3339: text) == Timestamp(seconds: seconds))
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000000Z"), (951_782_400_000_045, "2000-02-29T00:00:00.000045Z"),
            (1_767_225_600_999_999, "2026-01-01T00:00:00.999999Z"), (-1, "1969-12-31T23:59:59.999999Z"),
            // The infinities of PostgreSQL.
            (.min, "-290308-12-21T19:59:05.224192Z"), (.max, "294247-01-10T04:00:54.775807Z"),
        ] as [(Int64, String)]) func `a time that has to be exact has its microseconds`(
            microseconds: Int64, text: String
        )
    {
        #expect(Timestamp(microseconds: microseconds).rfc3339Exact == text)
    }

    @Test(arguments: [
        "", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00.5Z",
        "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01t00:00:00Z",
        "2026-01-01T00:60:00Z", "2025-02-29T00:00:00Z", "２026-01-01T00:00:0Z",
    ]) func `no other form of a time is read`(text: String) { #expect(Timestamp(rfc3339: text) == nil) }

    @Test func `time arithmetic saturates`() {
        #expect(Timestamp(seconds: .max).microseconds == .max)
        #expect(Timestamp(seconds: .min).microseconds == .min)
        #expect(Timestamp(microseconds: .max).advanced(bySeconds: 1).microseconds == .max)
        #expect(Timestamp(microseconds: -1).seconds == -1)
    }
}

@Suite struct IdentifierTests {
    @Test func `an id is a UUID of version 7 that grows with time`() throws {
        let random: [UInt8] = [0xFF, 1, 0xFF, 3, 4, 5, 6, 7, 8, 9]
        let early = AccountID(now: Timestamp(seconds: 1_767_225_600), random: random)
        let late = AccountID(now: Timestamp(seconds: 1_767_225_601), random: [UInt8](repeating: 0, count: 10))
        #expect(early.description == "019b76da-a800-7f01-bf03-040506070809")
        #expect(early.description < late.description)
        #expect(AccountID(early.description) == early)
    }

    @Test func `a fresh id is another one each time, with the time in front`() {
        let now = Timestamp(seconds: 1_767_225_600)
        let ids = Set((1...1000).map { _ in GrantID(now: now) })
        #expect(ids.count == 1000)
        for id in ids {
            let text = id.description
            #expect(text.hasPrefix("019b76da-a800-7"))
            // The variant of RFC 9562 §4.1.
            #expect("89ab".contains(text[text.index(text.startIndex, offsetBy: 19)]))
            #expect(GrantID(text) == id)
        }
        // All of the random octets are used.
        for offset in 26..<36 {
            let digits = Set(
                ids.map { id in id.description[id.description.index(id.description.startIndex, offsetBy: offset)] })
            #expect(digits.count == 16)
        }
    }

    @Test(arguments: [
        "", "019B76DA-A800-7F01-BF03-040506070809", "{019b76da-a800-7f01-bf03-040506070809}",
        "019b76daa8007f01bf03040506070809", "019b76da-a800-7f01-bf03-04050607080", "' OR 1=1 --",
    ]) func `an id has one spelling`(text: String) { #expect(AccountID(text) == nil) }
}

@Suite struct SubjectTests {
    @Test(arguments: ["", "a\u{0}b", "a\nb", "\u{7F}", String(repeating: "s", count: 256)])
    func `a subject is 1 to 255 bytes without controls`(text: String) { #expect(ProviderSubject(text) == nil) }
}

@Suite struct DisplayNameTests {
    @Test(arguments: [
        ("Kim Example", "Kim Example"),
        ("  Kim \t\r\n Example ", "Kim Example"),
        ("Kim\u{202E}elpmaxE", "KimelpmaxE"),
        ("Kim\u{0}\u{1B}[31m", "Kim[31m"),
        ("\u{FEFF}Kim\u{200B}", "Kim"),
        ("Zoë 🇫🇷", "Zoë 🇫🇷"), ("Zoe\u{308}", "Zo\u{EB}"),
        // Joiners and selectors are a part of the text around them.
        ("نیک\u{200C}پور 👩\u{200D}🔧 ❤\u{FE0F}", "نیک\u{200C}پور 👩\u{200D}🔧 ❤\u{FE0F}"),
        ("\u{E0001}葛\u{E0100}城 辻\u{E01EF}\u{E01F0}", "葛\u{E0100}城 辻\u{E01EF}"),
    ]) func `a name loses what hides or reorders text`(input: String, expected: String) throws {
        let name = try #require(DisplayName(input)?.text)
        #expect(Array(name.utf8) == Array(expected.utf8))
        // As it is read from its row.
        #expect(DisplayName(name)?.text.utf8.elementsEqual(name.utf8) == true)
    }

    @Test func `a name is cut at 100 characters`() {
        #expect(DisplayName(String(repeating: "é", count: 150))?.text.count == 100)
        #expect(DisplayName(String(repeating: "e", count: 150))?.text == String(repeating: "e", count: 100))
    }

    @Test(arguments: [
        "\u{3164}", "\u{200D}", "\u{200C}", "\u{FE0F}", "\u{AD}", "\u{34F}", "\u{2800}", "\u{115F}", "\u{1160}",
        "\u{180E}", "\u{2063}", "\u{FFA0}", "\u{3000}", "\u{E0100}", "\u{202E}\u{0}", "",
    ]) func `a name of nothing visible is no name`(text: String) {
        for name in [text, " \(text) ", "\(text) \(text)", text + "\u{2800}\u{200D}"] {
            #expect(DisplayName(name) == nil)
        }
        #expect(DisplayName("\(text)Kim\(text)") != nil)
        #expect(DisplayName(givenName: nil, familyName: " ") == nil)
    }

    @Test func `a name of endless combining marks is no name`() {
        #expect(DisplayName("a" + String(repeating: "\u{301}", count: 5000)) == nil)
    }

    @Test func `the two parts of a name are joined`() {
        #expect(DisplayName(givenName: "Kim", familyName: "Example")?.text == "Kim Example")
        #expect(DisplayName(givenName: nil, familyName: "Example")?.text == "Example")
    }
}
