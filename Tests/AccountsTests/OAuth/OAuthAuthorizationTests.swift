import Accounts
import Foundation
import TestSupport
import Testing

private let requests = Result { try DataFile("requests.tsv").rows }

/// What is decided on a client's request, in the order of the specification: the first failure wins.
@Suite struct OAuthAuthorizationTests {
    private static let uri = "https://home.example.com/linked"
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    private static let configured = OAuthScopes([.profile, .email] + ["devices.read"].compactMap(OAuthScope.init))

    private static func client(
        scopes: OAuthScopes? = nil, requiresPKCE: Bool = false, status: OAuthClient.Status = .active
    ) throws -> OAuthClient {
        let addresses = [uri, "https://oauth-redirect.googleusercontent.com/a/com.google.OPA"]
        return OAuthClient(
            id: try #require(OAuthClientID("csc_home")), name: "Home",
            redirectURIs: try addresses.map { try #require(OAuthRedirectURI(registering: $0)) }, scopes: scopes,
            requiresPKCE: requiresPKCE, status: status, createdAt: Timestamp(seconds: 1_800_000_000))
    }

    private static func query(_ changes: [String: [String]] = [:]) -> OAuthQuery {
        let values = ["client_id": ["csc_home"], "redirect_uri": [uri], "state": ["s"], "response_type": ["code"]]
            .merging(changes) { _, change in change }
        let repeated = values.values.contains { $0.count > 1 }
        return OAuthQuery(isMalformed: repeated) { values[$0] ?? [] }
    }

    private static func outcome(_ query: OAuthQuery, _ client: OAuthClient?) -> String {
        switch OAuthAuthorization.decide(query, client: client, configured: configured) {
        case .accept(let request): "accept \(request.scopes)"
        case .redirect(let error, let uri, let state): uri == Self.uri ? "\(error.rawValue) \(state ?? "-")" : uri
        case .refuse: "refuse"
        }
    }

    @Test(arguments: try requests.get()) func `each request has one outcome`(row: [String]) throws {
        let changes = try JSONDecoder().decode([String: [String]].self, from: Data(row[1].utf8))
        #expect(Self.outcome(Self.query(changes), try Self.client()) == row[0])
    }

    private static let host = "home.example.com"
    private static let nearURIs: [String] = [
        uri + "/", uri + "?x=y", uri + "#f", uri + "%20", uri + "\u{0}", uri + "/../x", uri + "/..%2F..%2Fx",
        uri + "..;/", String(uri.dropLast()), "//" + uri.dropFirst(8), "https:///evil.example",
        uri.replacing(host, with: host.uppercased()), uri.replacing(host, with: host + ":443"),
        uri.replacing(host, with: "kim@" + host), uri.replacing(host, with: host + ".evil.example"),
        uri.replacing(host, with: "localhost@evil.example"), uri.replacing("https", with: "http"),
        uri.replacing("/linked", with: "//linked"), uri.replacing("/linked", with: "/a/../linked"),
        uri.replacing("/linked", with: "/\tevil/linked"), uri.replacing("/linked", with: "/\\/linked"),
        uri.replacing("linked", with: "%6Cinked"), uri.replacing(".", with: "x"),
    ]

    @Test(arguments: nearURIs)
    func `an address that is not byte for byte a registered one leads nowhere`(near: String) throws {
        #expect(Self.outcome(Self.query(["redirect_uri": [near]]), try Self.client()) == "refuse")
    }

    @Test(arguments: [
        ("http://127.0.0.1:8080/linked", true), ("http://127.0.0.1:4711/linked", true),
        ("http://127.0.0.1/linked", true),
        ("http://127.0.0.1:4711/other", false), ("http://127.0.0.1:4711/linked?x=y", false),
        ("http://127.0.0.1:0/linked", false), ("http://127.0.0.1:4711@evil.example/linked", false),
        ("http://[::1]:4711/linked", false), ("http://localhost:4711/linked", false),
        ("https://127.0.0.1:4711/linked", false),
    ])
    func `of a loopback address the port is the request's`(requested: String, isRegistered: Bool) throws {
        var client = try Self.client()
        client.redirectURIs.append(try #require(OAuthRedirectURI(registering: "http://127.0.0.1:8080/linked")))
        let decision = OAuthAuthorization.decide(
            Self.query(["redirect_uri": [requested]]), client: client, configured: Self.configured)
        var accepted: String?
        if case .accept(let request) = decision { accepted = request.redirectURI }
        #expect(accepted == (isRegistered ? requested : nil))
        // Where the client hears of a fault, too.
        let faulty = Self.query(["redirect_uri": [requested], "response_type": ["token"]])
        #expect(Self.outcome(faulty, client) == (isRegistered ? requested : "refuse"))
    }

    @Test func `the pages have the languages of ui_locales, then Google's`() {
        #expect(OAuthAuthorization.languages(Self.query()) == [])
        #expect(OAuthAuthorization.languages(Self.query(["user_locale": ["de-DE"]])) == ["de-de"])
        let both = Self.query(["user_locale": ["de-DE"], "ui_locales": ["fr-CA fr"]])
        #expect(OAuthAuthorization.languages(both) == ["fr-ca", "fr", "de-de"])
        #expect(Self.outcome(Self.query(["ui_locales": ["fr", "de"]]), try? Self.client()) == "invalid_request s")
    }

    @Test func `a client that is unknown or disabled is refused, whatever it asks for`() throws {
        #expect(Self.outcome(Self.query(), nil) == "refuse")
        #expect(Self.outcome(Self.query(), try Self.client(status: .disabled)) == "refuse")
    }

    @Test func `a client gets what it may have of what is configured`() throws {
        let client = try Self.client(scopes: OAuthScopes([.email, try #require(OAuthScope("gone"))]))
        #expect(Self.outcome(Self.query(), client) == "accept email")
        #expect(Self.outcome(Self.query(["scope": ["gone"]]), client) == "invalid_scope s")
        #expect(Self.outcome(Self.query(["scope": ["profile"]]), client) == "invalid_scope s")
    }

    @Test func `a state has 2048 bytes at most`() throws {
        let state = String(repeating: "ä", count: 1_024)
        #expect(Self.outcome(Self.query(["state": [state]]), try Self.client()) == "accept profile email devices.read")
        #expect(Self.outcome(Self.query(["state": [state + "s"]]), try Self.client()) == "invalid_request \(state)s")
    }

    @Test func `a client that must use PKCE is refused without it`() throws {
        let client = try Self.client(requiresPKCE: true)
        #expect(Self.outcome(Self.query(), client) == "invalid_request s")
        let guarded = ["code_challenge": [Self.challenge], "code_challenge_method": ["S256"]]
        #expect(Self.outcome(Self.query(guarded), client) == "accept profile email devices.read")
    }

    @Test(arguments: [
        (String(repeating: "a", count: 43), true), (String(repeating: "~", count: 128), true),
        (String(repeating: "a", count: 42), false), (String(repeating: "a", count: 129), false),
        (String(repeating: "a", count: 42) + "+", false), (String(repeating: "ä", count: 43), false),
    ])
    func `a verifier has 43 to 128 unreserved characters`(text: String, isVerifier: Bool) {
        #expect(CodeChallenge.isVerifier(text) == isVerifier)
    }

    @Test(arguments: [
        ("https://a.example/x", "https://a.example/x?code=c&state=A%2BB%26%23+%25"),
        ("https://a.example/x?y=z", "https://a.example/x?y=z&code=c&state=A%2BB%26%23+%25"),
    ])
    func `the answer is appended, each value encoded`(uri: String, expected: String) {
        let answer = OAuthReturn.uri(code: "c", to: uri, state: "A+B&# %", issuer: nil)
        #expect(answer.replacing("%20", with: "+") == expected)
        let named = OAuthReturn.uri(error: .accessDenied, to: uri, state: nil, issuer: "https://auth.example")
        #expect(named.hasSuffix("error=access_denied&iss=https%3A%2F%2Fauth.example"))
    }
}
