import Primitives
import Testing

@Suite struct PercentEncodingTests {
    @Test func `the unreserved characters of RFC 3986 stay, and nothing else does`() {
        let unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
        #expect(PercentEncoding.encode(unreserved) == unreserved)
        for value in 0...127 as ClosedRange<UInt8> {
            let character = Character(Unicode.Scalar(value))
            guard !unreserved.contains(character) else { continue }
            let digits = String(value, radix: 16, uppercase: true)
            #expect(PercentEncoding.encode(String(character)) == "%" + (value < 16 ? "0" : "") + digits)
        }
    }

    @Test(arguments: [("", ""), ("a b", "a%20b"), ("é", "%C3%A9"), ("🔑", "%F0%9F%94%91"), ("a&b=c+d", "a%26b%3Dc%2Bd")])
    func `other text is encoded as UTF-8`(text: String, encoded: String) {
        #expect(PercentEncoding.encode(text) == encoded)
    }
}
