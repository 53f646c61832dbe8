import Foundation
import OpenSSL
import Testing

/// A key and a signature that `openssl genpkey` and `openssl dgst -sha256 -sign` made: the form in which Google hands
/// out the keys of service accounts.
@Suite struct `RSA keys of others` {
    private static let pem = """
        -----BEGIN PRIVATE KEY-----
        MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQChVpIWPUWxR1ty
        GCtenVWXXdMasI6GUJUHNEeXWPCCnAIlhA6FQcj2mxA3/iqvWueim2OWH/b9wIp3
        eOE67qmqmomobS2LT+XPnzejIc+ThisVYzMo95tNTMXe6WFCkxWq8WhC3F9jS0mo
        xELaOo8RBgo2hUEO74vjEh3f5reFISc8wUDIisxTd4lUIWeUJ/X3Ky9Yts4a1hd8
        CeRK3sjdWLIyxImqVPmvNSrOAwmImCRp2Gib57Qw5BPeUm7N0hH3jvGsTJOLaR9k
        pkyjx7kRKXX0Ui1WdFo9HdDiTkuirXvORC22F8IAN5Cq2r3jltwvYXJ6q0qh9d4U
        cS7uQR8VAgMBAAECggEAOFA6P271k3I/tew/vw+Vn3bNR4SWysT3r4MM9gPCNyRz
        D1svok2a8pCfMZwSlBBbx4MLWIwhruJ0skzL+MDzEaxNHi+1dOnXYgfF6LfVdz2e
        biGo6sS6PVntuuek3hLuvjLy3FuFI+hUdobCet9zrlJ4YB1U3vy3y/M34D3skpe4
        fg0vVSOBYkl4j7k0mb6Uq25ztBPo2UNB0zYvgoXAswgCq2YUNSrkwIcGvrUoEJdB
        bRQG9eBmLJiH6kLFRKelkdBWux5pMtu6WAjF33drFaBWYiewPLfCkobeoG7kzBZZ
        Y7IQNcxuF4PuKfoPb2DzkNEC9gWlFG8zoJ9UubwZ5QKBgQDcbApv3W+PlJN9CSQk
        wNl/ag1pAclemBLvkzAK8jh1Fh+8P35GXgd5ChfejXVhpVeuyP6p0B2ia9T/tc/3
        YXCeChi7mdGC/U+8zRpbhSdUDCcbhf7l5O5OzhziF4lQ7VbCgAzTmX2sSqduWNTa
        /Ahk9WEtzC2oCvhTIw03IG27+wKBgQC7YSbv3qndL5PDfdsuFq0DbThJDCm8Iqlt
        HG5tYFXNvjHEoxSq6kcDMo1RvSWOqloTei4A+3LpTV8oXFy8Hyl14YKxzw1DgX+m
        CHzNF6D1jdzC/x3yxuyTYbyv0MMbmYQCcJzygS6G4DZwkhoDymvc7JLPINYUFzSa
        YK1EToQULwKBgGwsrbaWouCBFxze9pj+9/666lflY5ED6w8eWg6VLzXvJKX7NxqL
        nPk/BdXX8Ip6XZzO0YQ/ObvzVbYk4SpT7LPy2o5+/75cWNycf9n4cAOkbzDnwt/K
        SVXte2lOCbror5KGy0SxaGa8wIy8FcJevDPn5MhYEvQMZjBO3HZ4eMIvAoGBALaJ
        PugfbjRlm7muSi1Ms8CJznICokl/LrN3Je/xD8U8ybi38XNKhGEOBvMgooynUNZ2
        iIg2a8vwrolf6IruhHIsfCgA/vfLGHHDBOi6Yvey+eMPqboOpPoyFSDk6pxhYWML
        Fyl6RLvpgb8J5MPallcCM0YJw+KQdJMLKN9I6YvLAoGBAKdZ7GBgkiPA0ljW0NE9
        0kzC0RVph8ScMFix2H1USQAKYe50DL/9cT070sEQyFiiDZRZlSifenJb5C1JqnUp
        9s5D1y80X7KrKooNbUvNk/V/YBOt3nWVQ7jnPefMhE87+N7JmgsE8yTzAZaXE03s
        J+lDng+uLEZSrOxi88h/YGMw
        -----END PRIVATE KEY-----

        """

    /// Of the text `message`. RS256 has no randomness: there is one signature.
    private static let signature = """
        679efd75e6b543860eba72c8e194b5fd72a5830c044fa4e6fbee4e366a350390\
        61204aa41042daf3f6cd3f7e37e600a49f800ec7ff19af27b875b0ea7e2f8fd4\
        f4451420e05eafb20cc0aa1ebf35f8038b91578dd3ac4adc42f8223c106eabb0\
        fbe1a1dca269711ec3056640a4625a3740f7787b6e03dffb4d2b73f5709b077e\
        01afa3b12ee1c1fbd2792a5496f63f9cccd9b6716d733e0e787346198496d112\
        90961a65f3b2118d1ed5f07f42f41b694b38e20e2248daca29512d6e0767e2d4\
        87b54501dfc91d2c7dd81ccd32f87f465e9eea6ed7534da728977b05ee662ce6\
        b7b4e5d92d720ded8f3a5086d3520fb8a7f386f7f4b0fa9e3c61b48f744701e2
        """

    @Test func `a PKCS#8 block is read, and signs as its maker does`() throws {
        let key = try RSAPrivateKey(pem: Array(Self.pem.utf8))
        let message = Array("message".utf8)
        let signature = try key.sign(message.span.bytes)
        #expect(signature.hex == Self.signature)
        #expect(key.publicKey.verifies(signature, of: message))
    }

    @Test func `the same key as PKCS#1, or cut, or with something behind it, is refused`() throws {
        let lines = Self.pem.split(separator: "\n").dropFirst().dropLast()
        let der = [UInt8](try #require(Data(base64Encoded: lines.joined())))
        #expect(throws: Never.self) { try RSAPrivateKey(pem: armour(der, "PRIVATE KEY")) }
        // The structure inside begins after 26 octets of version and algorithm.
        for pem in [
            armour(Array(der.dropFirst(26)), "RSA PRIVATE KEY"), armour(Array(der.dropFirst(26)), "PRIVATE KEY"),
            armour(der, "RSA PRIVATE KEY"), armour(Array(der.dropLast()), "PRIVATE KEY"),
            armour(der + [0], "PRIVATE KEY"),
            Array((Self.pem + Self.pem).utf8),
        ] {
            #expect(throws: OpenSSLError.self) { try RSAPrivateKey(pem: pem) }
        }
    }

    @Test func `a block whose halves are of two keys is refused`() throws {
        let lines = Self.pem.split(separator: "\n").dropFirst().dropLast()
        let der = [UInt8](try #require(Data(base64Encoded: lines.joined())))
        let modulus = try RSAPrivateKey(pem: Array(Self.pem.utf8)).modulus
        let start = try #require(der.firstRange(of: modulus)?.lowerBound)
        var other = der
        other.replaceSubrange(start..<start + modulus.count, with: try RSAPrivateKey(bits: 2_048).modulus)
        #expect(throws: OpenSSLError.self) { try RSAPrivateKey(pem: armour(other, "PRIVATE KEY")) }
    }
}
