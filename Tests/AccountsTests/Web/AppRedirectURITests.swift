import Accounts
import TestSupport
import Testing

private let refused = Result { try DataFile("refused-uris.tsv").rows.map { $0[0] } }
private let compared = Result { try DataFile("compared-uris.tsv").rows }

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

    @Test(
        arguments: try refused.get() + [
            "", "https://lamp.example.com/\u{7F}", "https://lamp.example.com/\r\nLocation:",
            "https://lamp.example.com/" + String(repeating: "a", count: 1_024),
        ])
    func `nothing else is`(text: String) { #expect(AppRedirectURI(registering: text) == nil) }

    @Test(arguments: try compared.get())
    func `a request's URI is compared by its bytes, a loopback one's port aside`(row: [String]) throws {
        let uri = try #require(AppRedirectURI(registering: row[0]))
        #expect("\(uri.matches(row[1]))" == row[2])
    }

    @Test(arguments: [
        ("https://lamp.example.com/cb?a=1", "https:"), ("https://lamp.example.com:8443/cb", "https:"),
        ("http://127.0.0.1/cb", "http:"), ("http://[::1]:4711/cb", "http:"),
        ("com.example.lamp:/cb", "com.example.lamp:"),
    ]) func `a form may end at the target, or where that leads on to`(registered: String, source: String) throws {
        #expect(try #require(AppRedirectURI(registering: registered)).formActionSource == source)
    }
}
