import Foundation
import Testing

@testable import CountersignClient

@Suite struct TextTests {
    /// RFC 4648 §10 and the two characters in which the alphabets differ.
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy"), ("\u{7F}\u{7F}?", "f38_"),
        (">>>", "Pj4-"),
    ]) func `base64url is written without padding and read back`(_ text: String, _ encoded: String) {
        #expect(Base64URL.encode(Data(text.utf8)) == encoded)
        #expect(Base64URL.decode(encoded) == Data(text.utf8))
    }

    @Test(arguments: ["Zg==", "Zm9vY", "f3+/", "Zm 8", "Zm8\n", "ä"])
    func `other alphabets, padding and cut texts are no base64url`(_ text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test func `all but unreserved characters are escaped in forms and queries`() {
        #expect(FormText.encode("AZaz09-._~") == "AZaz09-._~")
        #expect(FormText.encode("a+b/c=d&e f%?#[]:@") == "a%2Bb%2Fc%3Dd%26e%20f%25%3F%23%5B%5D%3A%40")
        #expect(FormText.encode("!$'()*,;\n\0é") == "%21%24%27%28%29%2A%2C%3B%0A%00%C3%A9")
        #expect(FormText.encode([(name: "a b", value: "1+2"), (name: "c", value: "")]) == "a%20b=1%2B2&c=")
    }

    @Test func `pairs are split at the first equals sign, and keep order, repetitions and plus signs`() throws {
        let pairs = try #require(FormText.pairs("a=1=2&b&%61=x+y&&c=%C3%A9"))
        #expect(pairs.map(\.name) == ["a", "b", "a", "c"])
        #expect(pairs.map(\.value) == ["1=2", "", "x+y", "é"])
    }

    @Test(arguments: ["a=%", "a=%4", "a=%zz", "a=%+1", "a=%ff", "%c3=1", "a=%C3%28"])
    func `a query with a malformed escape or no UTF-8 has no pairs`(_ text: String) {
        #expect(FormText.pairs(text) == nil)
    }

    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("2026-11-21T04:08:40Z", 1_795_234_120), ("2000-02-29T23:59:59Z", 951_868_799),
        ("2024-03-01T00:00:00Z", 1_709_251_200), ("2100-03-01T00:00:00Z", 4_107_542_400), ("1969-12-31T23:59:59Z", -1),
        ("9999-12-31T23:59:59Z", 253_402_300_799),
    ]) func `times of the server are read to the second`(_ text: String, _ seconds: Int) throws {
        let date = try #require(Timestamp.parse(text))
        #expect(date.timeIntervalSince1970 == Double(seconds))
        #expect(Timestamp.seconds(date.addingTimeInterval(0.9)) == seconds)
        #expect(Timestamp.date(seconds) == date)
    }

    @Test(arguments: [
        "", "2026-11-21", "2026-11-21T04:08:40", "2026-11-21T04:08:40.1Z", "2026-11-21 04:08:40Z",
        "2026-11-21T04:08:40+00:00", "2026-13-21T04:08:40Z", "2026-00-21T04:08:40Z", "2026-11-32T04:08:40Z",
        "2026-11-21T24:08:40Z", "2026-11-21T04:60:40Z", "２026-11-21T04:08:40Z", "x026-11-21T04:08:40Z", "1795234120",
    ]) func `other spellings of a time are none`(_ text: String) { #expect(Timestamp.parse(text) == nil) }

    @Test func `JSON is read as UTF-8 alone, and numbers never trap`() throws {
        let text = #"{"a":1,"b":1.5,"c":true,"d":null,"e":[1e300,"x"],"f":{"g":"1"}}"#
        let object = try #require(JSONValue.object(in: Data(text.utf8)))
        #expect(object["a"]?.integer == 1 && object["b"]?.integer == nil && object["c"]?.bool == true)
        #expect(object["d"] == .null && object["a"]?.bool == nil && object["c"]?.integer == nil)
        #expect(object["e"]?.array?.first?.integer == nil && object["f"]?.object?["g"]?.string == "1")
        #expect(JSONValue.object(in: try #require(text.data(using: .utf16))) == nil)
        #expect(JSONValue.object(in: Data("\u{FEFF}{}".utf8)) == nil)
        // Within a text it is a character as any other.
        #expect(JSONValue.object(in: Data("{\"a\":\"\u{FEFF}x\"}".utf8))?["a"]?.string == "\u{FEFF}x")
        #expect(JSONValue.object(in: Data("[]".utf8)) == nil)
        #expect(JSONValue.object(in: Data([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D])) == nil)
        #expect(String(decoding: try JSONText.encode(object), as: UTF8.self).contains(#""a":1,"b":1.5"#))
    }

    @Test func `the claims of a token are read without a look at its signature`() {
        #expect(unverifiedClaims(of: Fixture.token("a.b"))?["sub"] == "a.b")
        for token in ["", "a.b", "a.!.c", "a.W10.c", "a.b.c.d"] { #expect(unverifiedClaims(of: token) == nil) }
    }

    @Test func `at most six characters of a long secret show, and none of a short one`() {
        #expect(redacted(nil) == "nil")
        #expect(redacted("123456") == "[redacted]")
        #expect(redacted(String(repeating: "s", count: 24)) == "[redacted]")
        #expect(redacted("abcdefghijklmnopqrstuvwxyz") == "abcdef…[redacted]")
    }
}
