import Accounts
import Testing

@Suite struct AppRedirectURITests {
    @Test(arguments: [
        ("https://lamp.example.com/cb", AppRedirectURI.Kind.https),
        ("https://lamp.example.com:8443/cb?from=web", .https),
        ("https://localhost/cb", .https),
        ("https://lamp.example.com", .https),
        ("http://127.0.0.1/cb", .loopback),
        ("http://127.0.0.1:4711/cb", .loopback),
        ("http://[::1]/cb", .loopback),
        ("com.example.lamp:/cb", .privateScheme("com.example.lamp")),
        ("com.example.lamp://cb/path", .privateScheme("com.example.lamp")),
    ]) func `what a code may be handed to is registered`(text: String, kind: AppRedirectURI.Kind) {
        #expect(AppRedirectURI(registering: text)?.kind == kind)
    }

    @Test(arguments: [
        "", "/cb", "lamp.example.com/cb", "https:", "https:/lamp.example.com", "https://", "https:///cb",
        "http://lamp.example.com/cb", "http://localhost/cb", "http://localhost:4711/cb", "http://127.0.0.2/cb",
        "http://127.0.0.1.example.com/cb", "http://[::2]/cb", "http://[::1/cb", "https://[::1]/cb",
        "https://10.0.0.1/cb",
        // Without a dot a scheme is nobody's; and nothing that a browser runs.
        "lamp:/cb", "javascript:alert(1)", "javascript://a.example/%0aalert(1)", "data:text/html,x",
        "intent://cb#Intent;scheme=com.example.lamp;end", "com.example.lamp:cb", "Com.example.lamp:/cb",
        "HTTPS://lamp.example.com/cb", "https://Lamp.example.com/cb",
        "https://kim@lamp.example.com/cb", "https://kim:pw@lamp.example.com/cb", "http://kim@127.0.0.1/cb",
        "com.example.lamp://kim@cb", "https://lamp.example.com/cb#", "https://lamp.example.com/cb#a",
        "https://*.example.com/cb", "https://lamp.example.com/*", "https://lamp.example.com/a/../b",
        "https://lamp.example.com/%2E%2e/b", "https://lamp.example.com\\cb", "https://lamp.example.com/a b",
        "https://lamp.example.com/\u{7F}", "https://lamp.example.com/\r\nLocation:", "https://läm.example.com/cb",
        "https://lamp.example.com:/cb", "https://lamp.example.com:0/cb", "https://lamp.example.com:99999/cb",
        "https://lamp.example.com:44a/cb", "https://-lamp.example.com/cb", "https://lamp..example.com/cb",
        "https://lamp.example.com./cb", "https://lamp.example.com/cb?code=1", "https://lamp.example.com/cb?a=1&state",
        "https://lamp.example.com/cb?iss=x", "https://lamp.example.com/cb?error=x",
        "https://lamp.example.com/cb?c%6Fde=1",
        "https://lamp.example.com/" + String(repeating: "a", count: 1_024),
    ]) func `nothing else is`(text: String) {
        #expect(AppRedirectURI(registering: text) == nil)
    }

    @Test(arguments: [
        ("https://lamp.example.com/cb", "https://lamp.example.com/cb", true),
        ("https://lamp.example.com/cb", "https://lamp.example.com/cb/", false),
        ("https://lamp.example.com/cb", "https://lamp.example.com/CB", false),
        ("https://lamp.example.com/cb", "https://lamp.example.com/cb?a=1", false),
        ("https://lamp.example.com/cb", "https://lamp.example.com:443/cb", false),
        ("https://lamp.example.com/cb", "https://lamp.example.com.evil.example/cb", false),
        ("https://lamp.example.com/cb", "http://lamp.example.com/cb", false),
        ("https://lamp.example.com/%63b", "https://lamp.example.com/cb", false),
        ("http://127.0.0.1/cb", "http://127.0.0.1:4711/cb", true),
        ("http://127.0.0.1:4711/cb", "http://127.0.0.1:4712/cb", true),
        ("http://127.0.0.1:4711/cb", "http://127.0.0.1/cb", true),
        ("http://127.0.0.1/cb", "http://127.0.0.1:4711/other", false),
        ("http://127.0.0.1/cb", "http://127.0.0.1:4711/cb?a=1", false),
        ("http://127.0.0.1/cb", "http://127.0.0.1:4711@evil.example/cb", false),
        ("http://127.0.0.1/cb", "http://[::1]:4711/cb", false),
        ("http://127.0.0.1/cb", "https://127.0.0.1:4711/cb", false),
        ("http://[::1]/cb", "http://[::1]:4711/cb", true),
        ("com.example.lamp:/cb", "com.example.lamp:/cb", true),
        ("com.example.lamp:/cb", "com.example.lamp://cb", false),
        ("com.example.lamp:/cb", "com.example.lamp2:/cb", false),
    ]) func `a request's URI is compared by its bytes, a loopback one's port aside`(
        registered: String, requested: String, matches: Bool
    ) throws {
        let uri = try #require(AppRedirectURI(registering: registered))
        #expect(uri.matches(requested) == matches)
    }

    @Test(arguments: [
        ("https://lamp.example.com/cb?a=1", "https://lamp.example.com/cb?a=1", "https://lamp.example.com"),
        ("https://lamp.example.com:8443/cb", "https://lamp.example.com:8443/cb", "https://lamp.example.com:8443"),
        ("http://127.0.0.1/cb", "http://127.0.0.1:4711/cb", "http://127.0.0.1:4711"),
        ("http://[::1]/cb", "http://[::1]:4711/cb", "http:"),
        ("com.example.lamp:/cb", "com.example.lamp:/cb", "com.example.lamp:"),
    ]) func `a form may end at the target`(registered: String, requested: String, source: String) throws {
        let uri = try #require(AppRedirectURI(registering: registered))
        #expect(uri.formActionSource(for: requested) == source)
    }
}
