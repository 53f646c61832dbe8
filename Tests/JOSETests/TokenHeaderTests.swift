import JOSE
import JSON
import OpenSSL
import Primitives
import TestSupport
import Testing

@Suite struct TokenHeaderTests {
    private static let claims: TokenMint.Members = ["sub": "subject"]

    private static func rejectionOf(_ name: String, _ value: TokenMint.Literal?) throws -> TokenRejection? {
        let mint = try TokenMint.shared
        return rejection(of: try mint.token(claims, header: mint.header(.rs256).with(name, value)), by: mint.keySet)
    }

    private static func rejectionOf(header: [UInt8]) throws -> TokenRejection? {
        let mint = try TokenMint.shared
        return rejection(of: try mint.token(header: header, payload: claims.bytes), by: mint.keySet)
    }

    @Test(arguments: [
        ("crit", "[]"), ("crit", "[\"exp\"]"), ("crit", "[\"b64\"]"), ("crit", "null"), ("crit", "\"exp\""),
        ("zip", "\"DEF\""),
        ("zip", "null"), ("enc", "\"A128GCM\""), ("b64", "true"), ("b64", "false"),
    ])
    func `an extension is refused in any form`(name: String, value: String) throws {
        #expect(try Self.rejectionOf(name, .raw(value)) == .headerRejected)
    }

    @Test func `an unencoded payload is refused with the extension that announces it`() throws {
        let mint = try TokenMint.shared
        var header = mint.header(.rs256)
        header.append("b64", false)
        header.append("crit", ["b64"])
        #expect(rejection(of: try mint.token(Self.claims, header: header), by: mint.keySet) == .headerRejected)
    }

    @Test(arguments: ["JWT", "jwt", "Jwt", "application/jwt", "APPLICATION/JWT"])
    func `the type of a JWT is accepted in any case and with its prefix`(type: String) throws {
        #expect(try Self.rejectionOf("typ", .string(type)) == nil)
    }

    @Test(arguments: [
        "\"at+jwt\"", "\"secevent+jwt\"", "\"logout+jwt\"", "\"JOSE\"", "\"\"", "\"JWT \"", "\"application/\"",
        "\"application/application/jwt\"", "\"text/jwt\"", "\"\u{212A}WT\"", "1", "null", "[\"JWT\"]",
    ])
    func `any other type is refused`(type: String) throws {
        #expect(try Self.rejectionOf("typ", .raw(type)) == .headerRejected)
    }

    @Test func `the types are those that the caller names`() throws {
        let mint = try TokenMint.shared
        let event = try mint.token(Self.claims, header: mint.header(.rs256).with("typ", "secevent+jwt"))
        let access = try mint.token(Self.claims, header: mint.header(.rs256).with("typ", "application/at+JWT"))
        let plain = try mint.token(Self.claims)
        #expect(rejection(of: event, by: mint.keySet, allowedTypes: ["JWT", "secevent+jwt"]) == nil)
        #expect(rejection(of: access, by: mint.keySet, allowedTypes: ["at+jwt"]) == nil)
        #expect(rejection(of: access, by: mint.keySet, allowedTypes: ["JWT", "secevent+jwt"]) == .headerRejected)
        #expect(rejection(of: plain, by: mint.keySet, allowedTypes: ["at+jwt"]) == nil, "absent is no other type")
        #expect(throws: TokenRejection.headerRejected) {
            try UnverifiedToken(plain, allowedTypes: ["at+jwt"], requiresType: true)
        }
        #expect(try UnverifiedToken(access, allowedTypes: ["at+jwt"], requiresType: true).algorithm == .rs256)
    }

    @Test(arguments: ["\"JWT\"", "\"jwt\"", "\"application/JWT\"", "1", "null"])
    func `a token within a token is refused`(contentType: String) throws {
        #expect(try Self.rejectionOf("cty", .raw(contentType)) == .headerRejected)
    }

    @Test func `another content type and unknown members are ignored`() throws {
        #expect(try Self.rejectionOf("cty", "json") == nil)
        #expect(try Self.rejectionOf("acme", .raw("{\"a\":[1,2,{}]}")) == nil)
    }

    @Test(arguments: [
        "1", "null", "true", "[]", "{}", "[\"rsa-1\"]", "\"\"", "\"rsa\\u00001\"", "\"\\u0000\"", "\"rsa-1\\n\"",
        "\"\\u001f\"", "\"\\u007f\"",
    ])
    func `a key id that is no plain string is refused`(keyID: String) throws {
        #expect(try Self.rejectionOf("kid", .raw(keyID)) == .headerRejected)
    }

    @Test func `a key id has 1 to 256 bytes`() throws {
        #expect(try Self.rejectionOf("kid", nil) == .headerRejected)
        #expect(try Self.rejectionOf("kid", .string(String(repeating: "k", count: 256))) == .keyUnknown)
        #expect(try Self.rejectionOf("kid", .string(String(repeating: "k", count: 257))) == .headerRejected)
        #expect(try Self.rejectionOf("kid", .string(String(repeating: "é", count: 129))) == .headerRejected)
    }

    @Test(arguments: [
        "RSA-1", "rsa-1 ", "rsa-", "rsa-11", "../../etc/passwd", "' OR 1=1 --", "$(id)", "http://127.0.0.1/key", "p256",
        "rsa\u{2010}1",
    ])
    func `a key id is matched byte for byte and used for nothing else`(keyID: String) throws {
        #expect(try Self.rejectionOf("kid", .string(keyID)) == .keyUnknown)
    }

    @Test func `two key ids that Swift's strings call equal are two`() throws {
        let mint = try TokenMint.shared
        let keys = KeySet(keys: [("caf\u{E9}", mint.rsa.publicKey)])
        let header = mint.header(.rs256)
        let composed = try mint.token(Self.claims, header: header.with("kid", "caf\u{E9}"))
        let decomposed = try mint.token(Self.claims, header: header.with("kid", "cafe\u{301}"))
        #expect(rejection(of: composed, by: keys) == nil)
        #expect(rejection(of: decomposed, by: keys) == .keyUnknown)
    }

    @Test func `a token may do without a key id where the caller has the key`() throws {
        let mint = try TokenMint.shared
        let token = try mint.token(Self.claims, header: ["alg": "RS256"])
        let unverified = try UnverifiedToken(token, requiresKeyID: false)
        #expect(unverified.keyID.isEmpty)
        #expect(try unverified.verified(by: mint.rsa.publicKey).claims["sub"]?.string == "subject")
        #expect(throws: TokenRejection.keyUnknown) { try unverified.verified(by: mint.keySet) }
        #expect(throws: TokenRejection.signatureMismatch) {
            try unverified.verified(by: try TokenMint.otherSigner.rsa.publicKey)
        }
    }

    @Test func `a key that the token brings along is never used`() throws {
        let mint = try TokenMint.shared
        let otherSigner = try TokenMint.otherSigner
        let jwk = JSONWriter.text(PublicJWK(otherSigner.rsa, keyID: TokenMint.rsaKeyID).write)
        let offers: [(String, TokenMint.Literal)] = [
            ("jwk", .raw(jwk)),
            ("jku", "http://127.0.0.1:9/keys"),
            ("x5u", "http://127.0.0.1:9/certificate"),
            ("x5c", [.string(Base64URL.encode(try otherSigner.rsa.publicKey.der))]),
            ("x5t", "dGh1bWJwcmludA"),
            ("x5t#S256", "dGh1bWJwcmludA"),
        ]
        for (name, value) in offers {
            let header = mint.header(.rs256).with(name, value)
            #expect(
                rejection(of: try otherSigner.token(Self.claims, header: header), by: mint.keySet) == .signatureMismatch
            )
            #expect(
                rejection(of: try otherSigner.token(Self.claims, header: header.with("kid", nil)), by: mint.keySet)
                    == .headerRejected)
            #expect(
                rejection(of: try mint.token(Self.claims, header: header), by: mint.keySet) == nil,
                "ignored where the right key signed")
        }
    }

    @Test(arguments: [
        #"{"alg":"RS256","alg":"RS256","kid":"rsa-1"}"#, #"{"alg":"none","alg":"RS256","kid":"rsa-1"}"#,
        #"{"alg":"RS256","\u0061lg":"none","kid":"rsa-1"}"#, #"{"alg":"RS256","kid":"rsa-1","\u006bid":"p256-1"}"#,
        #"{"alg":"RS256","kid":"rsa-1","x":{"y":1,"\u0079":1}}"#, #"["RS256"]"#, #""RS256""#, "null", "1", "",
        #"{"alg":"RS256","kid":"rsa-1"}X"#, #"{"alg":"RS256","kid":"rsa-1"}{}"#, #"{"alg":"RS256","kid":"rsa-1""#,
        "\u{FEFF}{\"alg\":\"RS256\",\"kid\":\"rsa-1\"}", #"{"alg":"RS256","kid":"rsa-1","x":"\ud800"}"#,
        #"{"alg":"RS256","kid":"rsa-1","x":"\udc00\ud800"}"#, #"{"alg":"RS256","kid":"rsa-1",}"#,
        #"{'alg':'RS256','kid':'rsa-1'}"#, "{\"alg\":\"RS256\",\"kid\":\"rsa-1\"}\0",
        #"{"alg":"RS256","kid":"rsa-1","x":[[[[[[[[1]]]]]]]]}"#,
    ])
    func `a header that is not one JSON object is malformed`(header: String) throws {
        #expect(try Self.rejectionOf(header: [UInt8](header.utf8)) == .malformed)
    }

    @Test func `a header that is not UTF-8 is malformed`() throws {
        let header = [UInt8](#"{"alg":"RS256","kid":"rsa-1"}"#.utf8)
        #expect(try Self.rejectionOf(header: header) == nil)
        #expect(try Self.rejectionOf(header: header.flatMap { [$0, 0] }) == .malformed)
        #expect(try Self.rejectionOf(header: [0xFE, 0xFF] + header.flatMap { [0, $0] }) == .malformed)
        #expect(try Self.rejectionOf(header: header.dropLast(2) + [0xFF, 0x22, 0x7D]) == .malformed)
    }
}
