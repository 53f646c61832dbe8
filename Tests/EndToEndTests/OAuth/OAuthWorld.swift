import Foundation
import JSON
import OpenSSL
import Postgres
import Primitives
import TestSupport
import Testing

/// A world whose service is an OAuth server too; apps sign in there as in ``WebWorld``.
enum OAuthWorld {
    static let project = "acme-linking-42"
    static let redirectURI = "https://oauth-redirect.googleusercontent.com/r/" + project
    static let flipURI = "https://oauth-redirect.googleusercontent.com/a/com.google.OPA"
    /// What Google addresses its assertions to.
    static let audience = "google-linking.apps.googleusercontent.com"
    static let otherURI = "https://other.example.com/linked"

    static let settings: Countersign.Settings = [
        "oauth.enabled": "true", "oauth.scopes": "profile,email,devices.read",
        "oauth.scopeTextsPath": scopeTextsPath, "appFlip.appleAppIds": "ABCDE12345.com.acme.app",
        "appFlip.androidApps": "com.acme.app=" + Array(repeating: "1F", count: 32).joined(separator: ":"),
    ]

    private static let scopeTextsPath: String = {
        let text = "devices.read:\n  en: See the devices of your home\n  de: Die Geräte in Ihrem Zuhause sehen\n"
        return (try? ScratchDirectory.ofRun.write("scopes.yaml", text, mode: 0o644)) ?? "/unwritten"
    }()

    static func run(_ settings: Countersign.Settings = [:], _ body: (World) async throws -> Void) async throws {
        try await WebWorld.run(Self.settings.merging(settings) { _, asked in asked }, body)
    }
}

extension Trait where Self == FixtureTrait<World> {
    static func oauthWorld(_ settings: Countersign.Settings) -> Self {
        sharedFixture { try await OAuthWorld.run(settings, $0) }
    }

    static var oauthWorld: Self { oauthWorld([:]) }
}

/// A client as `countersign oauth-client create` makes it.
struct LinkingClient: Sendable {
    let id: String
    var secret: String
    let redirectURI: String
    let challenge: (verifier: String, challenge: String)?

    /// The parameters of its request, in which a test changes some: `nil` leaves one out.
    func url(_ changes: [String: String?] = [:], repeating repeated: [(String, String)] = []) -> String {
        var parameters: [(name: String, value: String)] = [
            ("client_id", id), ("redirect_uri", redirectURI), ("state", "AB+cd/EF=="), ("response_type", "code"),
        ]
        if let challenge {
            parameters.append(("code_challenge", challenge.challenge))
            parameters.append(("code_challenge_method", "S256"))
        }
        parameters = parameters.with(changes) + repeated.map { (name: $0.0, value: $0.1) }
        return "\(WebWorld.publicURL)/oauth/authorize?\(FormEncoding.query(parameters))"
    }

    /// What the person's own app sends for a code.
    var flip: TokenMint.Members {
        ["client_id": .string(id), "redirect_uri": .string(OAuthWorld.flipURI), "platform": "ios", "consent": true]
    }
}

extension Browser.Page {
    func consentForm(_ location: SourceLocation = #_sourceLocation) throws -> HTML.Form {
        try #require(
            html.forms.first { $0.buttons.contains { $0.name == "consent" } }, "\(answer.body)",
            sourceLocation: location)
    }
}

/// The tokens of an answer.
struct LinkedTokens: Sendable {
    let access: String
    let refresh: String

    init(_ answer: Answer, _ location: SourceLocation = #_sourceLocation) throws {
        try #require(answer.status == 200, "\(answer.text)", sourceLocation: location)
        access = try answer.text("access_token", location)
        refresh = try answer.text("refresh_token", location)
    }
}

extension World {
    /// - Parameter options: of the command, besides the name.
    func linkingClient(
        _ options: [String] = [
            "--google-project", OAuthWorld.project, "--app-flip", "--assertion-audience", OAuthWorld.audience,
        ],
        redirectURI: String = OAuthWorld.redirectURI, withPKCE: Bool = false
    ) async throws -> LinkingClient {
        let ending = try await Countersign.run(
            ["oauth-client", "create", "--name", "Google"] + options, ["postgres.url": scratch.url])
        #expect(ending.status == 0, "\(ending.error)")
        let line = try ending.json
        let verifier = Base64URL.encode(try SecureRandom.bytes(32))
        return LinkingClient(
            id: try #require(line["clientId"]?.string), secret: try #require(line["clientSecret"]?.string),
            redirectURI: redirectURI,
            challenge: withPKCE ? (verifier, Base64URL.encode(SHA256.hash(Array(verifier.utf8)))) : nil)
    }

    /// A browser whose person is signed in on our pages, with an account of their own.
    func signedInBrowser(_ person: String, reaching others: [String: UInt16] = [:]) async throws -> Browser {
        try await newPerson(person, email: "\(person)@gmail.com")
        let question = try Question(try await signIn(person, with: .google))
        #expect(try await service.create(question.ticket).status == 201)
        let browser = browser(reaching: others)
        try await signIn(person, with: .google, in: browser).expecting(200)
        return browser
    }

    /// The page on which a person decides.
    func consentPage(
        _ client: LinkingClient, _ browser: Browser, _ changes: [String: String?] = [:],
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> Browser.Page {
        try await browser.open(client.url(changes)).expecting(200, sourceLocation: location)
    }

    /// What came to the client's redirect URI.
    func decision(
        _ word: String, on page: Browser.Page, _ browser: Browser, _ location: SourceLocation = #_sourceLocation
    ) async throws -> AppAnswer {
        let answer = try await browser.submit(try page.consentForm(location), on: page, button: word)
        #expect(answer.blocked == nil, sourceLocation: location)
        return try AppAnswer(answer, location)
    }

    func oauthCode(
        _ client: LinkingClient, _ browser: Browser, _ changes: [String: String?] = [:],
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let page = try await consentPage(client, browser, changes, location)
        return try await decision("allow", on: page, browser, location).code(location)
    }

    /// - Parameter basic: whether the client authenticates by the header field.
    func oauth(
        _ path: String, _ client: LinkingClient?, _ fields: [(String, String)], basic: Bool = false
    ) async throws -> Answer {
        var form = fields.map { (name: $0.0, value: $0.1) }
        var headers: [(String, String)] = []
        if let client, basic {
            let pair = "\(FormEncoding.encode(client.id)):\(FormEncoding.encode(client.secret))"
            headers = [("Authorization", "Basic " + Data(pair.utf8).base64EncodedString())]
        } else if let client {
            form += [("client_id", client.id), ("client_secret", client.secret)]
        }
        return try await service.post(
            path, body: Array(FormEncoding.encode(form).utf8), type: "application/x-www-form-urlencoded",
            headers: headers)
    }

    func redeem(
        _ code: String, _ client: LinkingClient, _ changes: [String: String?] = [:], basic: Bool = false
    ) async throws -> Answer {
        var fields = ["grant_type": "authorization_code", "code": code, "redirect_uri": client.redirectURI]
        if let verifier = client.challenge?.verifier { fields["code_verifier"] = verifier }
        for (name, value) in changes { fields[name] = value }
        return try await oauth("/oauth/token", client, fields.map { ($0.key, $0.value) }, basic: basic)
    }

    func refreshed(_ token: String, _ client: LinkingClient, scope: String? = nil) async throws -> Answer {
        let scopes = scope.map { [("scope", $0)] } ?? []
        return try await oauth(
            "/oauth/token", client, [("grant_type", "refresh_token"), ("refresh_token", token)] + scopes)
    }

    func userinfo(_ token: String?) async throws -> Answer { try await service.get("/oauth/userinfo", bearer: token) }

    func introspected(_ token: String, _ client: LinkingClient) async throws -> Answer {
        try await oauth("/oauth/introspect", client, [("token", token)])
    }

    /// The whole way: a person who is signed in links the client.
    func linked(
        _ client: LinkingClient, _ browser: Browser, _ changes: [String: String?] = [:],
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> LinkedTokens {
        try LinkedTokens(try await redeem(try await oauthCode(client, browser, changes, location), client), location)
    }

    /// A new client, and a browser whose person is signed in on our pages.
    func clientAndBrowser(_ person: String) async throws -> (client: LinkingClient, browser: Browser) {
        (try await linkingClient(), try await signedInBrowser(person))
    }

    /// The same, and the page on which the person decides about the client.
    func asked(
        _ person: String, _ location: SourceLocation = #_sourceLocation
    ) async throws -> (client: LinkingClient, browser: Browser, page: Browser.Page) {
        let (client, browser) = try await clientAndBrowser(person)
        return (client, browser, try await consentPage(client, browser, [:], location))
    }

    /// The same, and the tokens of the client, which the person has linked.
    func linked(
        _ person: String, _ location: SourceLocation = #_sourceLocation
    ) async throws -> (client: LinkingClient, browser: Browser, tokens: LinkedTokens) {
        let (client, browser) = try await clientAndBrowser(person)
        return (client, browser, try await linked(client, browser, [:], location))
    }

    func grants(of client: LinkingClient) async throws -> Int64 {
        try await count("SELECT count(*) FROM oauth_grants WHERE client_id = \(client.id)")
    }

    func codes(of client: LinkingClient) async throws -> Int64 {
        try await count("SELECT count(*) FROM oauth_codes WHERE chain_id IN (\(Self.chains(of: client)))")
    }

    /// Lets the codes and access tokens of a client expire.
    func expireCodesAndTokens(of client: LinkingClient) async throws {
        let chains = Self.chains(of: client)
        try await scratch.execute(
            "UPDATE oauth_codes SET expires_at = now() - interval '1 second' WHERE chain_id IN (\(chains))")
        try await scratch.execute(
            "UPDATE oauth_access_tokens SET expires_at = now() - interval '1 second' WHERE chain_id IN (\(chains))")
    }

    private static func chains(of client: LinkingClient) -> SQL {
        "SELECT chain_id FROM oauth_chains JOIN oauth_grants USING (grant_id) WHERE client_id = \(client.id)"
    }

    func isAlive(_ tokens: LinkedTokens, _ client: LinkingClient) async throws -> Bool {
        let access = try await userinfo(tokens.access).status
        let refresh = try await refreshed(tokens.refresh, client)
        #expect((access == 200) == (refresh.status == 200))
        if refresh.status != 200 { #expect(refresh.text == #"{"error":"invalid_grant"}"#) }
        return access == 200
    }
}
