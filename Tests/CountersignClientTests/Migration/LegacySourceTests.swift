import Foundation
import Testing

@testable import CountersignClient

struct LegacySourceTests {
    private static let suffix = "-email-https://www.googleapis.com/auth/plus.me"

    @Test func `an empty item is nothing`() throws {
        for store in [InMemorySessionStore(), InMemorySessionStore(Data())] {
            #expect(try GTMAppAuthSource(store: store).load() == nil)
            #expect(try GTMOAuth2Source.google(store: store, clientID: "c").load() == nil)
        }
    }

    @Test func `GTMAppAuth's item has its archive`() throws {
        let store = InMemorySessionStore(try LegacyFixture.archive("session"))
        let source = GTMAppAuthSource(store: store)
        #expect(source.name == "GTMAppAuth")
        #expect(try source.load()?.clientID == LegacyFixture.google)
        #expect(store.load() != nil)
        try source.remove()
        #expect(store.load() == nil)
    }

    @Test func `the source for Google knows the URLs`() throws {
        let store = InMemorySessionStore(Data(LegacyFixture.text.utf8))
        let source = GTMOAuth2Source.google(store: store, clientID: "old", clientSecret: "s")
        let session = try #require(try source.load())
        #expect(source.name == "GTMOAuth2")
        #expect(session.configuration.tokenEndpoint == OAuthConfiguration.google.tokenEndpoint)
        #expect(session.configuration.authorizationEndpoint == OAuthConfiguration.google.tokenEndpoint)
        #expect(session.clientID == "old" && session.clientSecret == "s")
        #expect(session.tokens.refreshToken == "1//rt_made_up")
    }

    @Test(arguments: ["scope=a&serviceProvider=Google", "userID=1&refresh_token=", "email=a&isVerified=0"])
    func `a text that a sign-out has left is nothing`(text: String) throws {
        let source = GTMOAuth2Source.google(store: InMemorySessionStore(Data(text.utf8)), clientID: "c")
        #expect(try source.load() == nil)
    }

    @Test(arguments: [Data("garbage".utf8), Data([0xFF, 0xFE]), Data("bplist00".utf8)])
    func `garbage is an error and stays`(data: Data) throws {
        let store = InMemorySessionStore(data)
        for source in [
            GTMAppAuthSource(store: store), GTMOAuth2Source.google(store: store, clientID: "c"),
        ] as [any LegacySource] {
            #expect { try source.load() } throws: { LegacyFixture.isStorage($0) }
        }
        #expect(store.load() == data)
    }

    /// The keychain of Google Sign-In by account and service.
    private struct Items {
        let stores: [String: InMemorySessionStore]

        init(_ fingerprint: String, session: String?) {
            stores = [
                "GooglePlus fingerprint": InMemorySessionStore(Data(fingerprint.utf8)),
                "GooglePlus \(fingerprint)~~atrp": InMemorySessionStore(Data("hd=example.com&audience=a".utf8)),
                "OAuth \(fingerprint)": InMemorySessionStore(session.map { Data($0.utf8) }),
            ]
        }

        var source: GoogleSignInSource {
            GoogleSignInSource(bundleID: "com.example.app") { [stores] account, service in
                stores["\(account) \(service)"] ?? InMemorySessionStore()
            }
        }

        var left: Int { stores.values.filter { $0.load() != nil }.count }
    }

    @Test(arguments: [
        ("7f3a-b2.apps.googleusercontent.com", suffix), ("7f3a.apps.googleusercontent.com", "-email"),
        ("7f3a.apps.googleusercontent.com", "-https://www.goo"), ("7f3a.apps.googleusercontent.com", "-"),
        ("7f3a.apps.googleusercontent.com", ""), ("another-client", "-profile-x"), ("another-client", "-email"),
    ])
    func `the fingerprint of Google Sign-In names the client`(clientID: String, end: String) throws {
        let items = Items("com.example.app-\(clientID)\(end)", session: LegacyFixture.text)
        let session = try #require(try items.source.load())
        #expect(session.clientID == clientID)
        #expect(session.clientSecret == nil)
        #expect(session.configuration.tokenEndpoint.absoluteString == "https://oauth2.googleapis.com/token")
        #expect(session.tokens.refreshToken == "1//rt_made_up")
        #expect(session.tokens.userEmail == "ana@example.net")
    }

    @Test func `the items of Google Sign-In are removed together`() throws {
        let items = Items("com.example.app-7f3a.apps.googleusercontent.com\(Self.suffix)", session: LegacyFixture.text)
        #expect(items.left == 3)
        try items.source.remove()
        #expect(items.left == 0)
        #expect(try items.source.load() == nil)
        try items.source.remove()
    }

    @Test func `Google Sign-In without a session, or without anything, is nothing`() throws {
        let items = Items("com.example.app-7f3a.apps.googleusercontent.com-email", session: nil)
        #expect(try items.source.load() == nil)
        let fresh = GoogleSignInSource(bundleID: "com.example.app") { _, _ in InMemorySessionStore() }
        #expect(try fresh.load() == nil)
        try fresh.remove()
    }

    @Test(arguments: [
        "com.example.other-7f3a.apps.googleusercontent.com-email", "com.example.app-7f3a.apps.googleuserc",
        "com.example.app-.apps.googleusercontent.com-email-x", "com.example.app", "garbage",
    ])
    func `a fingerprint without the app's client is an error and stays`(fingerprint: String) throws {
        let items = Items(fingerprint, session: LegacyFixture.text)
        #expect { try items.source.load() } throws: { LegacyFixture.isStorage($0) }
        #expect(items.left == 3)
    }
}
