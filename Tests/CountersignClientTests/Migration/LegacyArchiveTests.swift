import Foundation
import Testing

@testable import CountersignClient

struct LegacyArchiveTests {
    private static func session(_ name: String) throws -> LegacySession {
        try LegacySession(gtmAppAuthArchive: try LegacyFixture.archive(name))
    }

    @Test func `an archive in the form of GTMAppAuth's is read whole`() throws {
        let session = try Self.session("session")
        #expect(session.clientID == LegacyFixture.google)
        #expect(session.clientSecret == nil)
        #expect(session.serviceProvider == nil)
        #expect(session.configuration == .google)
        let idToken = try #require(session.tokens.idToken)
        #expect(unverifiedClaims(of: idToken)?["azp"] == .string(LegacyFixture.google))
        #expect(
            session.tokens
                == OAuthTokens(
                    accessToken: "ya29.made-up-access", refreshToken: "1//made-up-refresh", idToken: idToken,
                    scope: "openid email", expiresAt: LegacyFixture.expiresAt,
                    userID: "10769150350006150715113082367", userEmail: "ana@example.net", userEmailIsVerified: true))
    }

    @Test func `a wanted refresh is a date in the past`() throws {
        let session = try Self.session("needs-refresh")
        #expect(session.tokens.expiresAt == LegacyFixture.past)
        #expect(session.tokens.accessToken == "ya29.made-up-access")
    }

    @Test func `a refused session keeps its refresh token and labels alone`() throws {
        let tokens = try Self.session("refused").tokens
        #expect(
            tokens
                == OAuthTokens(
                    refreshToken: "1//made-up-refresh", scope: "openid email", expiresAt: LegacyFixture.past,
                    userID: "10769150350006150715113082367", userEmail: "ana@example.net", userEmailIsVerified: true))
    }

    @Test func `without labels and ID token there are none`() throws {
        let tokens = try Self.session("no-labels").tokens
        #expect(tokens.idToken == nil && tokens.userID == nil && tokens.userEmail == nil)
        #expect(!tokens.userEmailIsVerified)
    }

    @Test func `an ID token that can't be read leaves the stored labels`() throws {
        let tokens = try Self.session("no-id-token").tokens
        #expect(tokens.idToken == "not a JWT")
        #expect(tokens.userEmail == "ana@example.net" && tokens.userEmailIsVerified)
    }

    @Test func `an authorization response alone is a session, with secret, issuer and provider`() throws {
        let session = try Self.session("discovered")
        #expect(session.clientID == "web client" && session.clientSecret == "s:cr+t made up")
        #expect(session.serviceProvider == "Example")
        #expect(
            session.configuration
                == OAuthConfiguration(
                    authorizationEndpoint: OAuthFixture.url("https://idp.example/authorize"),
                    tokenEndpoint: OAuthFixture.url("https://idp.example/token"),
                    issuer: OAuthFixture.url("https://idp.example")))
        #expect(session.tokens.accessToken == "at-made-up-implicit")
        #expect(session.tokens.refreshToken == nil)
        #expect(session.tokens.scope == "email")
        #expect(session.tokens.expiresAt == LegacyFixture.expiresAt)
    }

    @Test(arguments: [
        "no-configuration", "wrong-types", "another-class", "text-in-text", "endless-text", "endless-url",
    ])
    func `an archive of something else is refused`(name: String) throws {
        #expect(throws: SessionError.self) { try Self.session(name) }
        #expect { try Self.session(name) } throws: { LegacyFixture.isStorage($0) }
    }

    @Test(arguments: ["", "garbage", "bplist00", #"{"v":1}"#, "<plist><dict/></plist>"])
    func `what is no archive is refused`(text: String) {
        #expect { try LegacySession(gtmAppAuthArchive: Data(text.utf8)) } throws: { LegacyFixture.isStorage($0) }
    }

    @Test func `a cut archive is refused`() throws {
        let archive = try LegacyFixture.archive("session")
        for length in stride(from: 0, to: archive.count, by: 7) {
            #expect { try LegacySession(gtmAppAuthArchive: archive.prefix(length)) } throws: {
                LegacyFixture.isStorage($0)
            }
        }
    }

    @Test func `an archive with a wrong byte is read or refused`() throws {
        let archive = try LegacyFixture.archive("session")
        var refused = 0
        for position in archive.indices {
            for value in [0x00, 0x80, 0xFF] as [UInt8] {
                var damaged = archive
                damaged[position] = value
                do { _ = try LegacySession(gtmAppAuthArchive: damaged) } catch {
                    #expect(LegacyFixture.isStorage(error))
                    refused += 1
                }
            }
        }
        #expect(refused > archive.count)
    }

    @Test func `an archive turns into the text of GTMOAuth2`() throws {
        #expect(
            try Self.session("session").gtmOAuth2Persistence() == """
                access_token=ya29.made-up-access&refresh_token=1%2F%2Fmade-up-refresh&scope=openid%20email\
                &userEmail=ana%40example.net&userEmailIsVerified=true&userID=10769150350006150715113082367
                """)
    }
}
