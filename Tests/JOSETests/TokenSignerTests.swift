import JOSE
import JSON
import OpenSSL
import Primitives
import TestSupport
import Testing

@Suite struct TokenSignerTests {
    private static let claims = [UInt8](#"{"iss":"https://a.example","sub":"01982f"}"#.utf8)

    @Test func `what we sign verifies under the set that we publish`() throws {
        let mint = try TokenMint.shared
        let keys = try KeySet(parsing: mint.keySetDocument)
        #expect(keys.rejected == [])
        let access = try TokenSigner(key: mint.p256, keyID: TokenMint.p256KeyID, type: "at+jwt").sign(Self.claims)
        let token = try UnverifiedToken([UInt8](access.utf8), allowedTypes: ["at+jwt"], requiresType: true)
        #expect(try token.verified(by: keys).claims["sub"]?.string == "01982f")
        #expect(rejection(of: access, by: keys) == .headerRejected, "no provider's token has this type")
        let rs256 = try TokenSigner(key: mint.rsa, keyID: TokenMint.rsaKeyID).sign(Self.claims)
        #expect(rejection(of: rs256, by: keys) == nil)
    }

    @Test func `the header holds the algorithm, the key id and the type if there is one`() throws {
        let mint = try TokenMint.shared
        let header = { (token: String) throws in
            let text = String(decoding: part(0, of: [UInt8](token.utf8)), as: UTF8.self)
            return String(decoding: try #require(Base64URL.decode(text)), as: UTF8.self)
        }
        let typed = try TokenSigner(key: mint.p256, keyID: "A\"B", type: "at+jwt").sign(Self.claims)
        #expect(try header(typed) == #"{"alg":"ES256","kid":"A\"B","typ":"at+jwt"}"#)
        let plain = try TokenSigner(key: mint.p256, keyID: "ABC123DEFG").sign(Self.claims)
        #expect(try header(plain) == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
        let rsa = try TokenSigner(key: mint.rsa, keyID: "one", type: "JWT").sign(Self.claims)
        #expect(try header(rsa) == #"{"alg":"RS256","kid":"one","typ":"JWT"}"#)
        #expect(part(1, of: [UInt8](rsa.utf8)) == [UInt8](Base64URL.encode(Self.claims).utf8))
    }

    @Test func `a published key has exactly its public members`() throws {
        let mint = try TokenMint.shared
        let keys = try #require(try JSONValue(parsing: mint.keySetDocument)["keys"]?.elements)
        #expect(
            keys.map { $0.members?.map(\.name) } == [
                ["e", "kty", "n", "kid", "use", "alg"], ["crv", "kty", "x", "y", "kid", "use", "alg"],
            ])
        #expect(keys.map { $0["alg"]?.string } == ["RS256", "ES256"])
        #expect(keys.map { $0["use"]?.string } == ["sig", "sig"])
        #expect(keys.first?["e"]?.string == "AQAB")
        #expect(keys.last?["x"]?.string.flatMap(Base64URL.decode) == mint.p256.x)
        #expect(keys.last?["y"]?.string.flatMap(Base64URL.decode) == mint.p256.y)
    }

    @Test func `a key without a name is called by its thumbprint`() throws {
        let mint = try TokenMint.shared
        let first = PublicJWK(mint.p256).keyID
        #expect(Base64URL.decode(first)?.count == 32)
        #expect(first == PublicJWK(mint.p256).keyID)
        #expect(first != PublicJWK(try TokenMint.otherSigner.p256).keyID)
    }

    @Test func `an empty set of ours is a document all the same`() {
        #expect(PublicJWK.document([]) == [UInt8](#"{"keys":[]}"#.utf8))
    }
}
