import Primitives
import TestSupport
import Testing

@Suite struct Base64URLTests {
    @Test(arguments: [
        ("", ""), ("Zg", "f"), ("Zm8", "fo"), ("Zm9v", "foo"), ("Zm9vYg", "foob"), ("Zm9vYmE", "fooba"),
        ("Zm9vYmFy", "foobar"),
    ])
    func `the vectors of RFC 4648 hold without their padding`(text: String, plain: String) {
        #expect(Base64URL.encode([UInt8](plain.utf8)) == text)
        #expect(Base64URL.decode(text) == [UInt8](plain.utf8))
    }

    @Test func `the example of RFC 7515 appendix C holds`() {
        #expect(Base64URL.encode([3, 236, 255, 224, 193]) == "A-z_4ME")
        #expect(Base64URL.decode("A-z_4ME") == [3, 236, 255, 224, 193])
    }

    @Test func `every byte string of up to 300 bytes comes back`() {
        var random = SplitMix64(seed: 1)
        for count in 0...300 {
            let bytes = random.bytes(count)
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }

    @Test(arguments: [
        "YQ==", "YQ=", "YWI=", "YR", "YWJ", "Y", "YWJjY", "YWJj\n", "\nYWJj", "YW Jj", "YW\tJj", "-_+/", "+_-A", "-_/A",
        "YWJj\r\n", "YWJ\u{0}", "YWJé", "YWJjYW.J", "====", "YWJjYWJj=",
    ])
    func `a lax spelling is refused`(text: String) { #expect(Base64URL.decode(text) == nil) }

    @Test(arguments: 0..<256)
    func `only the alphabet is accepted, at every place in a group`(value: Int) {
        let byte = UInt8(value)
        let alphabet = [UInt8]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let belongs = alphabet.contains(byte)
        for place in 0..<4 {
            var text = [UInt8]("AAAAAAAA".utf8)
            text[place] = byte
            #expect((Base64URL.decode(text.span.bytes) != nil) == belongs)
        }
        // The first of two or three characters has no spare bits.
        #expect((Base64URL.decode([byte, UInt8(ascii: "A")].span.bytes) != nil) == belongs)
        #expect((Base64URL.decode([byte, UInt8(ascii: "A"), UInt8(ascii: "A")].span.bytes) != nil) == belongs)
    }

    @Test func `one byte string has exactly one spelling`() {
        let alphabet = [UInt8]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var spellings: [[UInt8]: [UInt8]] = [:]
        for first in alphabet {
            for second in alphabet {
                let text = [first, second]
                guard let bytes = Base64URL.decode(text.span.bytes) else { continue }
                #expect(spellings.updateValue(text, forKey: bytes) == nil)
            }
        }
        #expect(spellings.count == 256)
    }
}
