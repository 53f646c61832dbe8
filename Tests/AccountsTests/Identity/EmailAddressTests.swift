import Accounts
import Testing

@Suite struct EmailAddressTests {
    @Test(arguments: [
        ("Kim@Example.COM", "kim@example.com"),
        ("kim+lamp@mail.example.com", "kim+lamp@mail.example.com"),
        ("kim@BÜCHER.example", "kim@xn--bcher-kva.example"),
        ("kim@xn--bcher-kva.example", "kim@xn--bcher-kva.example"),
        ("kim@ｅｘａｍｐｌｅ.com", "kim@example.com"),
        ("kim@localhost", "kim@localhost"),
        // A local part outside ASCII is kept byte for byte, its case too.
        ("Kïm@example.com", "Kïm@example.com"),
    ]) func `an address is normalised once`(input: String, expected: String) {
        #expect(EmailAddress(input)?.text == expected)
    }

    @Test(arguments: [
        "", "@", "kim", "kim@", "@example.com", "a@b@example.com", "kim @example.com", "kim@exa mple.com",
        "kim@example..com", "kim@.example.com", "kim@example.com.", "kim@-example.com", "kim@exam_ple.com",
        "kim@example.com\r\nBcc: x@y.example", "kim\u{0}@example.com", "kim\u{202E}@example.com",
        "\"kim\"@example.com", "Kim <kim@example.com>", "kim@[127.0.0.1]", "kim\u{200B}@example.com",
        "kim\u{A0}@example.com", "kim\u{FE0F}@example.com", "kim\u{34F}@example.com", "\u{3164}kim@example.com",
        "kim@exam\u{FE0F}ple.com", "kim@" + String(repeating: "a", count: 64) + ".com",
    ]) func `what is not of the form local@domain is no address`(input: String) { #expect(EmailAddress(input) == nil) }

    @Test func `an address of a row may hold what isn't shown, and is normalised alike`() {
        for text in ["kim\u{FE0F}@example.com", "\u{3164}@example.com", "kim@example.com", "Kïm@example.com"] {
            #expect(EmailAddress.existing(text)?.text == text)
        }
        for text in ["kim", "kim\u{200B}@example.com", "kim\u{A0}@example.com"] {
            #expect(EmailAddress.existing(text) == nil)
        }
    }

    @Test func `254 bytes are an address and 255 are not`() {
        let labels = String(repeating: String(repeating: "d", count: 49) + ".", count: 4) + "example"
        let local = String(repeating: "l", count: 254 - 1 - labels.utf8.count)
        #expect(EmailAddress(local + "@" + labels)?.text.utf8.count == 254)
        #expect(EmailAddress(local + "l@" + labels) == nil)
    }

    /// The pairs that Unicode case folding joins: following them handed accounts to other people (CVE-2019-19844).
    @Test(arguments: [
        ("mike@example.com", "m\u{131}ke@example.com"),
        ("kim@example.com", "\u{212A}im@example.com"),
        ("sim@example.com", "\u{17F}im@example.com"),
        ("strasse@example.com", "straße@example.com"),
        ("info@example.com", "İnfo@example.com"),
        ("kim@example.com", "ｋｉｍ@example.com"),
        ("caf\u{E9}@example.com", "cafe\u{301}@example.com"),
    ]) func `addresses that only Unicode folding joins stay apart`(victim: String, lookalike: String) throws {
        let victim = try #require(EmailAddress(victim))
        #expect(EmailAddress(lookalike) != victim)
    }

    @Test func `a masked address shows one character and the domain`() {
        #expect(EmailAddress("kim@example.com")?.masked == "k***@example.com")
    }
}
