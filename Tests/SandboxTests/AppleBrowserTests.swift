import Curl
import Foundation
import JSON
import OpenSSL
import Primitives
import TestSupport
import Testing

/// Apple's authorization page, by its form.
@Suite(.sharedSandbox) struct AppleBrowserTests {
    private static let callback = "https://auth.example.com/web/callback/apple"

    private var sandbox: Sandbox { .current }
    private let client: AppleClient
    /// A person who has not used the Services ID.
    private let name = UUID().uuidString
    /// The request of a service.
    private let request: AuthorizationRequest

    init() async throws {
        let sandbox = Sandbox.current
        let members = #"{"email":"kim@example.com","givenName":"Kim","familyName":"Lee"}"#
        try await sandbox.addApplePerson(name, members)
        client = try await AppleClient.register(in: sandbox)
        request = try await sandbox.webRequest(.apple, client.id, redirectURI: Self.callback)
    }

    private func user(_ answer: Sandbox.BrowserAnswer) throws -> JSONValue {
        try JSONValue(parsing: Array(try #require(answer["user"]).utf8))
    }

    @Test func `a first consent is posted to the redirect URI with code, ID token and user`() async throws {
        let answer = try await sandbox.authorize(at: request.url, person: name)
        #expect(answer.status == 200)
        #expect(answer.isForm)
        #expect(answer.target == Self.callback)
        #expect(answer.parameters.map(\.name) == ["state", "code", "id_token", "user"])
        #expect(answer["state"] == "s-1")
        let token = try #require(answer["id_token"])
        #expect(rejection(of: token, by: try await sandbox.keySet(.apple)) == nil)
        let claims = try TokenParts(token).claims
        #expect(claims["aud"]?.string == client.id)
        #expect(claims["nonce"]?.string == "n-1")
        #expect(claims["email"]?.string == "kim@example.com")
        #expect(claims["real_user_status"] == nil)
        let half = SHA256.hash(Array(try #require(answer["code"]).utf8)).prefix(16)
        #expect(claims["c_hash"]?.string == Base64URL.encode(Array(half)))
        let user = #"{"name":{"firstName":"Kim","lastName":"Lee"},"email":"kim@example.com"}"#
        #expect(answer["user"] == user)
        #expect(answer.page.contains(#"<button class="main" autofocus>Continue</button>"#))
    }

    @Test func `a later consent has no user`() async throws {
        _ = try await sandbox.authorize(at: request.url, person: name)
        let later = try await sandbox.authorize(at: request.url, person: name)
        #expect(later.parameters.map(\.name) == ["state", "code", "id_token"])
        try await sandbox.withdrawApple(name, clientID: client.id)
        #expect(try await sandbox.authorize(at: request.url, person: name)["user"] != nil)
    }

    @Test func `the code is exchanged with the redirect_uri of the request and by this client`() async throws {
        let answer = try await sandbox.authorize(at: request.url, person: name)
        let code = try #require(answer["code"])
        #expect(try await client.exchange(code).refusal == "400 invalid_request redirect_uri is missing")
        #expect(
            try await client.exchange(code, [("redirect_uri", Self.callback + "/")]).refusal
                == "400 invalid_client redirect_uri is another one")
        let sibling = try await client.sibling(client.id + ".app")
        #expect(
            try await sibling.exchange(code, [("redirect_uri", Self.callback)]).refusal
                == "400 invalid_grant code: foreign")
        let exchanged = try await client.exchange(code, [("redirect_uri", Self.callback)])
        let claims = try TokenParts(try exchanged.text("id_token")).claims
        #expect(claims["aud"]?.string == client.id)
        #expect(claims["nonce"]?.string == "n-1")
        let posted = try TokenParts(try #require(answer["id_token"])).claims
        #expect(claims["sub"]?.string == posted["sub"]?.string)
    }

    @Test func `the person edits the name that the client gets and keeps the own one`() async throws {
        let answer = try await sandbox.authorize(
            at: request.url, person: name, fields: [("givenName", "O\"Neil <b>"), ("familyName", "")])
        let given = try user(answer)["name"]
        #expect(given?["firstName"]?.string == "O\"Neil <b>")
        #expect(given?["lastName"]?.string == "")
        #expect(try await sandbox.control("apple/persons/\(name)")["givenName"]?.string == "Kim")
    }

    @Test func `an address that the person hides is a relay's for the team until the next first consent`() async throws
    {
        func address() async throws -> String? {
            try await sandbox.control("apple/persons/\(name)")["teams"]?[client.team]?["email"]?.string
        }
        let hidden = try await sandbox.authorize(at: request.url, person: name, fields: [("hideEmail", "true")])
        let claims = try TokenParts(try #require(hidden["id_token"])).claims
        let relay = try #require(claims["email"]?.string)
        #expect(relay.hasSuffix("@privaterelay.appleid.com"))
        #expect(claims["is_private_email"]?.bool == true)
        #expect(try user(hidden)["email"]?.string == relay)
        #expect(try await address() == relay)
        _ = try await sandbox.authorize(at: request.url, person: name, fields: [("hideEmail", "false")])
        #expect(try await address() == relay)
        try await sandbox.withdrawApple(name, clientID: client.id)
        let shown = try await sandbox.authorize(at: request.url, person: name, fields: [("hideEmail", "false")])
        #expect(try user(shown)["email"]?.string == "kim@example.com")
        #expect(try await address() == "kim@example.com")
    }

    @Test func `user has what the scopes ask for`() async throws {
        let email = try await sandbox.authorize(at: request.with(("scope", "email")).url, person: name)
        #expect(email["user"] == #"{"email":"kim@example.com"}"#)
        try await sandbox.withdrawApple(name, clientID: client.id)
        let named = try await sandbox.authorize(at: request.with(("scope", "name")).url, person: name)
        #expect(named["user"] == #"{"name":{"firstName":"Kim","lastName":"Lee"}}"#)
        #expect(try TokenParts(try #require(named["id_token"])).claims["email"] == nil)
        try await sandbox.withdrawApple(name, clientID: client.id)
        let none = try await sandbox.authorize(at: request.with(("scope", nil)).url, person: name)
        #expect(none["user"] == nil)
        #expect(none["code"] != nil)
    }

    @Test func `a person who cancels sends the error and the state, and no code`() async throws {
        for person in [nil, name] {
            let answer = try await sandbox.authorize(at: request.url, person: person, action: "cancel")
            #expect(answer.isForm)
            #expect(answer.target == Self.callback)
            #expect(answer.parameters.map(\.name) == ["state", "error"])
            #expect(answer["error"] == "user_cancelled_authorize")
        }
        #expect(try await client.authorization(of: name) == nil)
    }

    @Test func `without a scope the answer comes in the query, and with an ID token in the fragment`() async throws {
        let request = try await sandbox.webRequest(.apple, client.id, redirectURI: Self.callback + "?x=1%202")
        let plain = request.with(("scope", nil), ("response_mode", nil), ("state", nil))
        let code = try await sandbox.authorize(at: plain.with(("response_type", "code")).url, person: name)
        #expect(code.status == 302)
        #expect(!code.isForm)
        #expect(code.target == Self.callback)
        #expect(code.parameters.map(\.name) == ["x", "code"])
        #expect(code["x"] == "1 2")
        let both = try await sandbox.post(
            FetchRequest.form(url: plain.url, fields: [("person", name), ("action", "continue")]))
        let location = try #require(both.headers.first("Location"))
        #expect(location.hasPrefix(Self.callback + "?x=1%202#code="))
        #expect(location.contains("&id_token="))
    }

    @Test func `a state comes back as it was sent, whatever is in it`() async throws {
        let state = #"a+b &"'<c>=%20ü/?#"#
        let form = try await sandbox.authorize(at: request.with(("state", state)).url, person: name)
        #expect(form["state"] == state)
        let query = request.with(
            ("state", state), ("scope", nil), ("response_mode", "query"), ("response_type", "code"))
        #expect(try await sandbox.authorize(at: query.url, person: name)["state"] == state)
    }

    @Test func `the page lists the persons and its form leads to the one with name and address`() async throws {
        try await sandbox.addApplePerson(name, #"{"givenName":"<Kim> & \"Co\""}"#)
        let page = try await sandbox.openPage(at: request.url)
        #expect(page.status == 200)
        #expect(page.target == nil)
        #expect(page.page.contains(#"<button class="person" name="person" value="\#(name)">"#))
        #expect(page.page.contains("&lt;Kim&gt; &amp; &quot;Co&quot;"))
        #expect(!page.page.contains("<Kim>"))
        let address = String(request.url.dropFirst(sandbox.url.count)).replacing("&", with: "&amp;")
        #expect(page.page.contains(#"<form method="post" action="\#(address)">"#))
        #expect(!page.page.contains("<script"))

        let first = try await sandbox.authorize(at: request.url, person: name, action: nil).page
        for field in ["givenName", "familyName", "hideEmail", "action", "person"] {
            #expect(first.contains(#"name="\#(field)""#), "\(field)")
        }
        #expect(first.contains(#"value="&lt;Kim&gt; &amp; &quot;Co&quot;""#))
        _ = try await sandbox.authorize(at: request.url, person: name)
        let later = try await sandbox.authorize(at: request.url, person: name, action: nil).page
        #expect(!later.contains("givenName"))
        #expect(!later.contains("hideEmail"))
        #expect(later.contains(#"value="continue""#))
    }

    @Test(.fixture(Sandbox.self)) func `a script sends the form only when a control asks for it`() async throws {
        func answer() async throws -> EndpointAnswer {
            try await sandbox.post(
                FetchRequest.form(url: request.url, fields: [("person", name), ("action", "continue")]))
        }
        let plain = try await answer()
        #expect(!String(decoding: plain.body, as: UTF8.self).contains("<script"))
        #expect(
            plain.headers.first("Content-Security-Policy")
                == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
        #expect(plain.headers.first("Cache-Control") == "no-store")
        #expect(try await sandbox.control("apple/browser")["autoSubmit"]?.bool == false)
        try await sandbox.control("apple/browser", #"{"autoSubmit":true}"#)
        let scripted = try await answer()
        let page = String(decoding: scripted.body, as: UTF8.self)
        let script = try #require(page.firstMatch(of: /<script>(.*)<\/script>/)?.1)
        let digest = Data(SHA256.hash(Array(script.utf8))).base64EncodedString()
        #expect(scripted.headers.first("Content-Security-Policy")?.hasSuffix("; script-src 'sha256-\(digest)'") == true)
        try await sandbox.control("reset", "{}")
        #expect(try await sandbox.control("apple/browser")["autoSubmit"]?.bool == false)
    }
}
