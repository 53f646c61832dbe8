import Foundation
import Testing

@testable import CountersignClient

struct GTMOAuth2TextTests {
    @Test func `a text of GTMAppAuth is read and written as it was`() throws {
        let session = try LegacyFixture.session(LegacyFixture.text)
        #expect(session.clientID == "old-client" && session.clientSecret == "old-secret")
        #expect(session.serviceProvider == "Google")
        #expect(
            session.configuration
                == OAuthConfiguration(
                    authorizationEndpoint: LegacyFixture.tokenURL, tokenEndpoint: LegacyFixture.tokenURL))
        #expect(
            session.tokens
                == OAuthTokens(
                    accessToken: "at_made_up", refreshToken: "1//rt_made_up", scope: "profile email",
                    expiresAt: LegacyFixture.past, userID: "10769", userEmail: "ana@example.net",
                    userEmailIsVerified: true))
        #expect(session.gtmOAuth2Persistence() == LegacyFixture.text)
    }

    @Test(arguments: [("1", true), ("0", false)])
    func `a text of GTMOAuth2 has other names for the address`(value: String, isVerified: Bool) throws {
        let session = try LegacyFixture.session(
            "email=ana%40example.net&isVerified=\(value)&refresh_token=rt&scope=a&serviceProvider=Google&userID=1")
        #expect(session.tokens.userEmail == "ana@example.net")
        #expect(session.tokens.userEmailIsVerified == isVerified)
        #expect(session.tokens.accessToken == nil && session.tokens.refreshToken == "rt")
        #expect(
            session.gtmOAuth2Persistence() == """
                refresh_token=rt&scope=a&serviceProvider=Google&userEmail=ana%40example.net\
                &userEmailIsVerified=\(value)&userID=1
                """)
    }

    @Test func `GTMAppAuth's names go before GTMOAuth2's`() throws {
        let tokens = try LegacyFixture.session(
            "refresh_token=rt&email=old&userEmail=new&isVerified=1&userEmailIsVerified=n"
        ).tokens
        #expect(tokens.userEmail == "new" && !tokens.userEmailIsVerified)
    }

    @Test(arguments: [
        ("refresh_token=a=b==", "a=b=="), ("refresh_token=a&refresh_token=b", "b"), ("refresh_token=100%", "100%"),
        ("refresh_token=a%2", "a%2"), ("refresh_token=a%ZZb", "a%ZZb"), ("refresh_token=%FF", "%FF"),
        ("refresh_token=a+b", "a+b"), ("refresh_token=a%2Bb", "a+b"), ("%72efresh_token=a", "a"),
        ("&&refresh_token=a&", "a"), ("word&refresh_token=a", "a"), ("refresh_token=[#]", "[#]"),
    ])
    func `reading takes what older writers wrote`(text: String, token: String) throws {
        #expect(try LegacyFixture.session(text).tokens.refreshToken == token)
    }

    @Test(arguments: ["", "garbage", "refresh_token", "refresh_token=", "scope=a&userID=1", "refresh_token=&scope=a"])
    func `a text without a token is refused`(text: String) {
        #expect { try LegacyFixture.session(text) } throws: { LegacyFixture.isStorage($0) }
    }

    @Test(arguments: ["", "two words", "com.example:/cb?x=ä"])
    func `a redirect URI that is no URL is refused`(uri: String) {
        #expect { try LegacyFixture.session(LegacyFixture.text, redirectURI: uri) } throws: {
            LegacyFixture.isStorage($0)
        }
    }

    @Test func `writing leaves unreserved characters bare and nothing else`() throws {
        let all = String(String.UnicodeScalarView((0x20...0x7E).compactMap(Unicode.Scalar.init))) + "é"
        let encoded = FormText.encode(all)
        let session = try LegacyFixture.session("refresh_token=\(encoded)")
        #expect(session.tokens.refreshToken == all)
        #expect(session.gtmOAuth2Persistence() == "refresh_token=\(encoded)")
        let bare = Set(encoded.replacingOccurrences(of: "%[0-9A-F]{2}", with: "", options: .regularExpression))
        #expect(bare == Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"))
    }

    @Test func `no session that is read shows a secret`() throws {
        let session = try LegacyFixture.session("refresh_token=a-refresh-token-that-is-long&userID=1")
        #expect(!printed(session).contains("a-refre"))
        #expect(!printed(session).contains("old-sec"))
        let source = GTMOAuth2Source.google(
            store: InMemorySessionStore(), clientID: "c", clientSecret: "a-client-secret-that-is-long")
        let migrator = SessionMigrator(sources: [source], destination: InMemorySessionStore())
        #expect(!printed(source).contains("a-clien"))
        #expect(!printed(migrator).contains("a-clien"))
    }
}
