import Primitives
import TestSupport
import Testing

@Suite struct Base64Tests {
    @Test(arguments: [
        ("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmE=", "fooba"),
        ("Zm9vYmFy", "foobar"),
    ])
    func `the vectors of RFC 4648 hold`(text: String, plain: String) {
        #expect(Base64.decode(text) == [UInt8](plain.utf8))
    }

    @Test func `the last two characters of the alphabet are a plus and a slash`() {
        #expect(Base64.decode("A+z/4ME=") == [3, 236, 255, 224, 193])
    }

    @Test(arguments: [
        "YR==", "YS==", "YWJ=", "YQ", "YQ=", "YWI", "Y===", "====", "=", "YQ==YQ==", "Y=Q=", "YWJj=", "YWJj====",
        "-_-_", "A-z_4ME=", "YW Jj", " YWJj", "YWJj\n", "YWJj\r\n", "YWJjYW.J", "YWé=",
    ])
    func `a lax spelling is refused, with bits set that no byte has too`(text: String) {
        #expect(Base64.decode(text) == nil)
    }
}
