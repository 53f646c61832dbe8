import Accounts
import Testing

/// Which addresses a client may register, and which of them are Google's.
@Suite struct OAuthRedirectURITests {
    @Test(arguments: [
        "https://home.example.com/linked", "https://home.example.com/linked?home=1", "https://home.example.com:8443/",
        "http://127.0.0.1/linked", "http://[::1]:8080/linked",
    ])
    func `https and loopback can be registered`(text: String) {
        #expect(OAuthRedirectURI(registering: text)?.text == text)
    }

    @Test(arguments: [
        "", "home.example.com", "http://home.example.com/linked", "com.example.home:/linked", "javascript:alert(1)",
        "https://home.example.com/linked#f", "https://kim@home.example.com/linked", "https://*.example.com/linked",
        "https://home.example.com/linked?code=1", "https://home.example.com/linked?state=1",
        "https://home.example.com/linked?error=1", "https://home.example.com/lin ked", "https://home.example.com/\n",
    ])
    func `nothing else can`(text: String) { #expect(OAuthRedirectURI(registering: text) == nil) }

    @Test func `Google has twelve addresses for App Flip, two of them in production`() throws {
        #expect(Set(GoogleLinking.allFlipURIs).count == 12)
        #expect(Set(GoogleLinking.flipURIs).isSubset(of: GoogleLinking.allFlipURIs))
        #expect(
            GoogleLinking.flipURIs == [
                "https://oauth-redirect.googleusercontent.com/a/com.google.OPA",
                "https://oauth-redirect.googleusercontent.com/a/com.google.Chromecast",
            ])
        for text in GoogleLinking.allFlipURIs {
            let uri = try #require(OAuthRedirectURI(registering: text))
            #expect(uri.isForFlip && uri.isGoogles, "\(text)")
        }
        for text in GoogleLinking.redirectURIs(project: "p", includingSandbox: true) {
            let uri = try #require(OAuthRedirectURI(registering: text))
            #expect(!uri.isForFlip && uri.isGoogles, "\(text)")
        }
        for text in [
            "https://oauth-redirect.googleusercontent.com.evil.example/a/com.google.OPA",
            "https://evil.example/a/com.google.OPA",
        ] {
            let uri = try #require(OAuthRedirectURI(registering: text))
            #expect(!uri.isForFlip && !uri.isGoogles, "\(text)")
        }
    }

    @Test(arguments: [
        ("profile", true), ("devices.read", true), (String(repeating: "a", count: 64), true),
        (String(repeating: "a", count: 65), false), ("", false), ("a b", false), ("a\"b", false), ("a\\b", false),
        ("ä", false), ("a\n", false),
    ])
    func `a scope is a token of the RFC`(text: String, isScope: Bool) { #expect((OAuthScope(text) != nil) == isScope) }
}
