import Primitives
import Testing

@Suite struct TextTests {
    @Test func `every byte is in the classes of its ASCII character, and no other byte in any`() {
        for byte in UInt8.min ... .max {
            let scalar = Unicode.Scalar(byte)
            let character = Character(scalar)
            let isASCII = byte < 0x80
            #expect(byte.isASCIILetter == (isASCII && character.isLetter))
            #expect(byte.isASCIIDigit == (isASCII && character.isNumber))
            #expect(byte.isASCIIAlphanumeric == (byte.isASCIILetter || byte.isASCIIDigit))
            #expect(byte.isURLUnreserved == (byte.isASCIIAlphanumeric || isASCII && "-._~".contains(character)))
            #expect(byte.isASCIIControl == (byte < 0x20 || byte == 0x7F))
            #expect(byte.asciiLowercased == (isASCII ? character.lowercased().utf8.first : byte))
        }
    }

    @Test func `case is ignored of ASCII letters alone`() {
        #expect("Bearer".utf8.equalsIgnoringASCIICase("bEARER".utf8))
        #expect(!"\u{212A}".utf8.equalsIgnoringASCIICase("k".utf8))
        #expect(!"a@".utf8.equalsIgnoringASCIICase("a`".utf8))
        #expect(!"ab".utf8.equalsIgnoringASCIICase("abc".utf8))
    }

    @Test func `texts are the same by their bytes alone`() {
        for text in ["", "a", "localhost", "https://example.com/a-path-that-is-on-the-heap", "é", "e\u{301}"] {
            #expect(text.hasSameBytes(as: String(decoding: Array(text.utf8), as: UTF8.self)))
            #expect(!text.hasSameBytes(as: text + "a"))
            #expect(!(text + "a").hasSameBytes(as: text + "b"))
        }
        #expect("é" == "e\u{301}")
        #expect(!"é".hasSameBytes(as: "e\u{301}"))
    }

    @Test func `what is escaped is escaped whatever follows it`() {
        for mark in ["", "\u{301}", "\u{200C}", "\u{200D}", "\u{FE0F}", "\r\n"] {
            let escaped = #"a"\#(mark)b\\#(mark)"#.escaping(#""\"#, with: #"\"#)
            #expect(escaped.hasSameBytes(as: #"a\"\#(mark)b\\\#(mark)"#))
        }
        #expect("".escaping("'", with: "'").isEmpty)
    }

    @Test func `bytes come back from their hexadecimal, in either case`() {
        let bytes = Array(UInt8.min ... .max)
        let text = Hexadecimal.encode(bytes)
        #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff"))
        #expect(Hexadecimal.decode(text) == bytes)
        #expect(Hexadecimal.decode(text.uppercased()) == bytes)
    }

    @Test(arguments: ["0", "0g", "g0", " 0", "0x", "００", "000"])
    func `what is not hexadecimal is refused`(text: String) { #expect(Hexadecimal.decode(text) == nil) }

    @Test func `a UUIDv7 has its time, version and variant, whatever the random bits are`() {
        let uuid = UUIDv7(milliseconds: 0x017F_22E2_79B0, randomA: 0xCC3, randomB: 0x18C4_DC0C_0C07_398F)
        #expect(uuid.text == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
        #expect(Hexadecimal.encode(uuid.octets) == uuid.text.replacing("-", with: ""))
        let full = UUIDv7(milliseconds: .max, randomA: .max, randomB: .max)
        #expect(full.text == "ffffffff-ffff-7fff-bfff-ffffffffffff")
    }

    @Test func `a host is this machine's by its name or address, not by what resolves to it`() {
        for host in ["localhost", "LocalHost", "127.0.0.1", "127.255.1.254", "::1"] {
            #expect(host.isLoopbackHost, "\(host)")
        }
        for host in [
            "", "localhost.", "localhost.example", "127.0.0", "127.0.0.1.", "127.0.0.1.5", "127.0.0.1000",
            "127.256.0.1", "127..0.1", "127.0.0.x", "128.0.0.1", "1270.0.0.1", "::2", "[::1]", "１27.0.0.1",
        ] { #expect(!host.isLoopbackHost, "\(host)") }
    }

    @Test func `a text about a person is printed as a placeholder, and revealed up to its limit`() {
        let text = PersonalText(String(repeating: "k", count: 300))
        #expect("\(text)" == "(personal)")
        #expect(text.revealed == String(repeating: "k", count: 254))
    }
}
