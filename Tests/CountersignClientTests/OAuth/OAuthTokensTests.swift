import Foundation
import Testing

@testable import CountersignClient

struct OAuthTokensTests {
    private static func labels(
        _ idToken: String?, email: String? = nil, isVerified: Bool = false, userID: String? = nil
    ) async throws -> OAuthTokens {
        let server = try ScriptedServer { _ in .drop }
        let session = server.oauthSession(
            OAuthTokens(idToken: idToken, userID: userID, userEmail: email, userEmailIsVerified: isVerified))
        return await session.tokens
    }

    @Test func `the ID token's labels go before the given ones`() async throws {
        let idToken = OAuthFixture.idToken(OAuthFixture.claims + #","email":"new@x.example","email_verified":true"#)
        let tokens = try await Self.labels(idToken, email: "old@x.example", userID: "old")
        #expect(tokens.userID == "s-1")
        #expect(tokens.userEmail == "new@x.example")
        #expect(tokens.userEmailIsVerified)
    }

    @Test(arguments: [
        ("true", true), ("false", false), (#""true""#, true), (#""false""#, false), (#""1""#, true), ("1", false),
        ("null", false),
    ])
    func `email_verified is a boolean or a text`(value: String, isVerified: Bool) async throws {
        let idToken = OAuthFixture.idToken(OAuthFixture.claims + #","email":"a@x.example","email_verified":\#(value)"#)
        #expect(
            try await Self.labels(idToken, email: "b@x.example", isVerified: true).userEmailIsVerified == isVerified)
    }

    @Test func `an ID token without an address leaves the given one`() async throws {
        let tokens = try await Self.labels(
            OAuthFixture.idToken(OAuthFixture.claims), email: "a@x.example", isVerified: true)
        #expect(tokens.userID == "s-1")
        #expect(tokens.userEmail == "a@x.example" && tokens.userEmailIsVerified)
    }

    @Test(arguments: [
        "", "not a JWT", "a.b.c", "a.e30.c", OAuthFixture.idToken(#""sub":"s-1""#),
        OAuthFixture.idToken(OAuthFixture.claims.replacingOccurrences(of: #""s-1""#, with: "7")),
        OAuthFixture.idToken(OAuthFixture.claims) + ".d",
    ])
    func `an ID token that can't be read leaves the given labels`(idToken: String) async throws {
        let tokens = try await Self.labels(idToken, email: "a@x.example", isVerified: true, userID: "given")
        #expect(tokens.userID == "given" && tokens.userEmail == "a@x.example" && tokens.userEmailIsVerified)
        #expect(tokens.idToken == idToken)
    }

    @Test(arguments: [
        ("true", true), ("t", true), ("TRUE", true), ("y", true), ("Yes", true), ("1", true), ("9", true),
        (" +01", true), ("-1", true), ("false", false), ("no", false), ("0", false), ("00", false), ("", false),
        ("on", false),
    ])
    func `old texts are true as they were`(text: String, isTrue: Bool) {
        #expect(CountersignClient.isTrue(text) == isTrue)
    }

    @Test func `tokens outlive their coding, dates in whole seconds`() throws {
        let tokens = OAuthTokens(
            accessToken: "a", refreshToken: "r", idToken: "i", scope: "s",
            expiresAt: TestClock.start.addingTimeInterval(0.9), userID: "u", userEmail: "e", userEmailIsVerified: true)
        let data = try JSONEncoder().encode(tokens)
        #expect(JSONValue.object(in: data)?["expiresAt"] == .number(TestClock.start.timeIntervalSince1970))
        var whole = tokens
        whole.expiresAt = TestClock.start
        #expect(try JSONDecoder().decode(OAuthTokens.self, from: data) == whole)
        #expect(try JSONDecoder().decode(OAuthTokens.self, from: Data("{}".utf8)) == OAuthTokens())
        let later = Data(#"{"accessToken":"a","later":{"x":1}}"#.utf8)
        #expect(try JSONDecoder().decode(OAuthTokens.self, from: later) == OAuthTokens(accessToken: "a"))
    }

    @Test func `nothing of a session shows a secret`() async throws {
        let server = try ScriptedServer { _ in .drop }
        let secret = "s3cr3t-of-the-client-abcdefghijkl"
        let idToken = OAuthFixture.idToken(OAuthFixture.claims)
        let tokens = OAuthTokens(
            accessToken: "ya29.a0-access-abcdefghijklmnopq", refreshToken: "1//0g-refresh-abcdefghijklmnopq",
            idToken: idToken, userID: "s-1")
        let session = server.oauthSession(tokens, secret: secret)
        try await session.save()
        for text in [printed(tokens), printed(session), printed(["session": session])] {
            for secret in ["ya29.a0", "1//0g-r", idToken, secret] { #expect(!text.contains(secret.prefix(7))) }
        }
        #expect(printed(tokens).contains("ya29.a…"))
    }
}
