import JSON
import Postgres
import TestSupport
import Testing

/// Userinfo, introspection, revocation, discovery.
@Suite(.limitedConcurrency, .oauthWorld, .timeLimit(.minutes(30))) struct OAuthInspectionTests: WorldSuite {
    @Test func `userinfo shows what was granted, in the words of RFC 6750`() async throws {
        let (client, browser, tokens) = try await world.linked("shown")
        let info = try await world.userinfo(tokens.access)
        #expect(info.json?["email"]?.string == "shown@gmail.com")
        #expect(info.json?["email_verified"]?.bool == true)
        #expect(info.json?["sub"]?.string?.utf8.count == 36)
        try await service.post("/oauth/userinfo", body: [], bearer: tokens.access).expecting(200)

        let none = try await world.userinfo(nil).expecting(401)
        #expect(none.header("WWW-Authenticate") == #"Bearer realm="countersign""#)
        for token in ["at_unknown", tokens.refresh, "\u{7E}"] {
            let refused = try await world.userinfo(token).expecting(401)
            #expect(refused.header("WWW-Authenticate") == #"Bearer realm="countersign", error="invalid_token""#)
        }
        let devices = try await world.linked(client, browser, ["scope": "devices.read"])
        let narrow = try await world.userinfo(devices.access).expecting(403)
        #expect(narrow.header("WWW-Authenticate")?.contains(#"error="insufficient_scope""#) == true)
        try await world.expireCodesAndTokens(of: client)
        #expect(try await world.userinfo(tokens.access).status == 401)
    }

    @Test func `userinfo takes a token in one header field, and refuses one that comes another way or two ways`()
        async throws
    {
        let tokens = try await world.linked(
            try await world.linkingClient(), try await world.signedInBrowser("two-ways"))
        let token = tokens.access
        let form = "application/x-www-form-urlencoded"
        func ask(
            _ method: String, query: String = "", body: String? = nil, type: String = form, _ fields: String...
        ) async throws -> RawAnswer {
            try await service.ask(
                method, "/oauth/userinfo" + query, body: body, type: type,
                headers: fields.map { "Authorization: \($0)\r\n" }.joined())
        }
        for scheme in ["Bearer", "bearer", "BEARER"] {
            #expect(try await ask("GET", "\(scheme) \(token)").status == 200)
            #expect(try await ask("POST", "\(scheme) \(token)").status == 200)
        }
        #expect(try await ask("GET", query: "?x=1", "Bearer \(token)").status == 200)
        #expect(try await ask("POST", body: "x=1", "Bearer \(token)").status == 200)

        let malformed = [
            try await ask("GET", "Bearer a,b"), try await ask("GET", "Bearer"), try await ask("GET", "Bearer a b"),
            try await ask("GET", "Basic eDp5", "Bearer \(token)"),
            try await ask("GET", "Bearer \(token)", "Bearer \(token)"),
            try await ask("GET", query: "?access_token=\(token)", "Bearer \(token)"),
            try await ask("GET", query: "?access_token=x", "Bearer \(token)"),
            try await ask("GET", query: "?access_token=", "Bearer \(token)"),
            try await ask("GET", query: "?%61ccess_token=x", "Bearer \(token)"),
            try await ask("GET", query: "?access_token=%zz", "Bearer \(token)"),
            try await ask("POST", query: "?access_token=\(token)", "Bearer \(token)"),
            try await ask("POST", body: "access_token=\(token)", "Bearer \(token)"),
            try await ask("POST", body: "x=1&access_token=\(token)", type: form + ";charset=UTF-8", "Bearer \(token)"),
            try await ask("POST", body: "access_token=%zz", "Bearer \(token)"),
        ]
        for (index, answer) in malformed.enumerated() {
            #expect(answer.status == 400, "\(index) \(answer.text)")
            #expect(answer["WWW-Authenticate"] == #"Bearer realm="countersign", error="invalid_request""#, "\(index)")
            #expect(!answer.body.contains("@"))
        }
        // Nowhere else is a token one, nor in another scheme: its bearer has none.
        let elsewhere = [
            try await ask("GET"), try await ask("GET", query: "?access_token=\(token)"),
            try await ask("POST", body: "access_token=\(token)"), try await ask("GET", "Basic eDp5"),
            try await ask("POST", "Basic \(token)"), try await ask("GET", token),
            try await ask("GET", query: "?access_token=\(token)", "Basic eDp5"),
        ]
        for answer in elsewhere {
            #expect(answer.status == 401)
            #expect(answer["WWW-Authenticate"] == #"Bearer realm="countersign""#)
        }
    }

    @Test func `tokens of one kind open nothing of the other`() async throws {
        let (client, _, tokens) = try await world.linked("mixed")
        for token in [tokens.access, tokens.refresh] {
            #expect(try await service.get("/v1/account", bearer: token).status == 401)
            try await service.refresh(token).expecting(401)
        }
        let session = try SignedInDevice(try await world.signIn("mixed", with: .google))
        #expect(try await world.userinfo(session.bearer).status == 401)
        #expect(try await world.introspected(session.bearer, client).text == #"{"active":false}"#)
    }

    @Test func `a client sees its own tokens, and one that may sees all`() async throws {
        let client = try await world.linkingClient()
        let other = try await world.linkingClient(["--redirect-uri", OAuthWorld.otherURI])
        let api = try await world.linkingClient(["--introspect"])
        let tokens = try await world.linked(client, try await world.signedInBrowser("seen"))
        for viewer in [client, api] {
            let answer = try await world.introspected(tokens.access, viewer)
            #expect(answer.json?["active"]?.bool == true)
            #expect(answer.json?["client_id"]?.string == client.id)
            #expect(answer.json?["scope"]?.string == "profile email devices.read")
            #expect(answer.json?["token_type"]?.string == "Bearer")
            #expect(answer.json?["iss"]?.string == WebWorld.publicURL)
            #expect(try await world.introspected(tokens.refresh, viewer).json?["active"]?.bool == true)
        }
        for (token, viewer) in [(tokens.access, other), ("at_unknown", client), ("", client)] {
            let answer = try await world.introspected(token, viewer)
            if token.isEmpty {
                #expect(answer.json?["error"]?.string == "invalid_request")
            } else {
                #expect(answer.text == #"{"active":false}"#)
            }
        }
        #expect(try await world.oauth("/oauth/introspect", nil, [("token", tokens.access)]).status == 401)
        try await world.expireCodesAndTokens(of: client)
        #expect(try await world.introspected(tokens.access, client).text == #"{"active":false}"#)
    }

    @Test func `a disabled client gets through nowhere, and its tokens open nothing until it is enabled`() async throws
    {
        let client = try await world.linkingClient()
        let api = try await world.linkingClient(["--introspect"])
        let browser = try await world.signedInBrowser("switched-off")
        let tokens = try await world.linked(client, browser)
        let code = try await world.oauthCode(client, browser)
        func set(_ act: String) async throws {
            let answer = try await service.administer(
                "POST", "/admin/v1/oauth-clients/\(client.id)/\(act)", bearer: try await world.adminKey("manage"))
            #expect(answer.status == 204, "\(answer.text)")
        }
        try await set("disable")
        try await eventually("the end of the client") {
            try await world.introspected(tokens.access, client).status == 401
        }
        for refused in [
            try await world.refreshed(tokens.refresh, client), try await world.redeem(code, client),
            try await world.oauth("/oauth/revoke", client, [("token", tokens.refresh)], basic: true),
        ] {
            #expect(refused.status == 401)
            #expect(refused.json?["error"]?.string == "invalid_client")
        }
        #expect(try await world.userinfo(tokens.access).status == 401)
        for token in [tokens.access, tokens.refresh] {
            #expect(try await world.introspected(token, api).text == #"{"active":false}"#)
        }
        try await set("enable")
        try await eventually("the client") { try await world.introspected(tokens.access, client).status == 200 }
        #expect(try await world.isAlive(tokens, client))
    }

    @Test func `a token that is given back is dead, with all that belongs to it`() async throws {
        let client = try await world.linkingClient()
        let other = try await world.linkingClient(["--redirect-uri", OAuthWorld.otherURI])
        let tokens = try await world.linked(client, try await world.signedInBrowser("giver"))
        let second = try await world.refreshed(tokens.refresh, client).text("access_token")
        // Another client's: it stays.
        let foreign = try await world.oauth("/oauth/revoke", other, [("token", tokens.refresh)])
        #expect(foreign.status == 200 && foreign.body.isEmpty)
        #expect(try await world.recorded("type = 'foreign_token_presented'") == 1)
        #expect(try await world.isAlive(tokens, client))
        // The hint is wrong, and only a hint.
        let one = try await world.oauth(
            "/oauth/revoke", client, [("token", second), ("token_type_hint", "refresh_token")], basic: true)
        #expect(one.status == 200)
        #expect(try await world.userinfo(second).status == 401)
        #expect(try await world.isAlive(tokens, client))
        for _ in 1...2 {
            let all = try await world.oauth("/oauth/revoke", client, [("token", tokens.refresh)])
            #expect(all.status == 200 && all.body.isEmpty)
            #expect(try await !world.isAlive(tokens, client))
        }
        #expect(try await world.grants(of: client) == 0)
        #expect(try await world.mail(about: "no longer linked", to: "giver@gmail.com").text?.contains("Google") == true)
        for (fields, status) in [([], 400), ([("token", "x")], 200)] as [([(String, String)], Int)] {
            #expect(try await world.oauth("/oauth/revoke", client, fields).status == status)
        }
        #expect(try await world.oauth("/oauth/revoke", nil, [("token", "x")]).status == 401)
    }

    /// A client of Google's gets no `iss`, so that the announcement would not hold for all.
    @Test(.oauthWorld)
    func `without a client of Google's all answers are announced to name who answers`() async throws {
        for path in ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"] {
            let answer = try await service.get(path)
            #expect(answer.json?["authorization_response_iss_parameter_supported"]?.bool == true, "\(path)")
        }
    }

    @Test(
        .oauthWorld([
            "google.clientIds": Countersign.unset, "google.serverClientId": Countersign.unset,
            "google.serverClientSecret": Countersign.unset,
        ]))
    func `without Google no assertions are announced, and none are taken`() async throws {
        let client = try await world.linkingClient()
        for path in ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"] {
            let grants = try await service.get(path).json?["grant_types_supported"]?.elements
            #expect(grants?.compactMap(\.string) == ["authorization_code", "refresh_token"], "\(path)")
        }
        let asked = try await world.oauth(
            "/oauth/token", client,
            [("grant_type", Self.assertionGrant), ("intent", "check"), ("assertion", "a.b.c")])
        #expect(asked.status == 400)
        #expect(asked.json?["error"]?.string == "unauthorized_client")
    }

    private static let assertionGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    @Test func `what is announced is what is there, whatever the Host`() async throws {
        _ = try await world.linkingClient()
        let answer = try await service.ask(
            "GET", "/.well-known/oauth-authorization-server", headers: "X-Forwarded-Host: evil.example\r\n")
        let document = try JSONValue(parsing: Array(answer.body.utf8))
        #expect(document["issuer"]?.string == WebWorld.publicURL)
        #expect(document["token_endpoint"]?.string == WebWorld.publicURL + "/oauth/token")
        let openid = try await service.get("/.well-known/openid-configuration")
        #expect(openid.json?["authorization_endpoint"]?.string == WebWorld.publicURL + "/oauth/authorize")
        let grants = openid.json?["grant_types_supported"]?.elements
        #expect(grants?.compactMap(\.string) == ["authorization_code", "refresh_token", Self.assertionGrant])
        #expect(openid.json?["jwks_uri"]?.string == WebWorld.publicURL + "/.well-known/jwks.json")
        for each in [document, try #require(openid.json)] {
            #expect(each["authorization_response_iss_parameter_supported"]?.bool == false)
            #expect(each["response_modes_supported"]?.elements?.compactMap(\.string) == ["query"])
            for endpoint in ["token", "revocation", "introspection"] {
                let methods = each["\(endpoint)_endpoint_auth_methods_supported"]?.elements
                #expect(methods?.compactMap(\.string) == ["client_secret_basic", "client_secret_post"], "\(endpoint)")
            }
        }
    }

    /// Nothing is said of a token, and so nothing has an `error`.
    @Test func `what is refused before it is read is answered by an empty object, and by no problem`() async throws {
        let methods = [
            "/oauth/token": "POST", "/oauth/revoke": "POST", "/oauth/introspect": "POST",
            "/oauth/userinfo": "GET, HEAD, POST", "/.well-known/oauth-authorization-server": "GET, HEAD",
        ]
        for (path, allowed) in methods {
            let other = try await service.ask("PUT", path)
            #expect(other.status == 405, "\(path)")
            #expect(other["Allow"] == allowed, "\(path)")
            #expect(other["Content-Type"] == "application/json;charset=UTF-8", "\(path)")
            #expect(other.body == "{}", "\(path)")
            guard allowed.hasSuffix("POST") else { continue }
            let large = try await service.post(
                path, body: Array(repeating: 0x61, count: 70_000), type: "application/x-www-form-urlencoded")
            #expect(large.status == 413, "\(path)")
            #expect(large.header("Content-Type") == "application/json;charset=UTF-8", "\(path)")
            #expect(large.text == "{}", "\(path)")
        }
    }

    @Test func `association files come plainly, without a cookie or a redirect`() async throws {
        for (path, text) in [
            ("/.well-known/apple-app-site-association", "ABCDE12345.com.acme.app"),
            ("/.well-known/assetlinks.json", "com.acme.app"),
        ] {
            let answer = try await service.get(path).expecting(200)
            #expect(answer.header("Content-Type") == "application/json")
            #expect(answer.header("Set-Cookie") == nil)
            #expect(answer.text.contains(text))
        }
        let page = try await world.browser().open(
            WebWorld.publicURL + "/app-flip?redirect_uri=https%3A%2F%2Fevil.example&state=x", following: false)
        #expect(page.status == 200)
        #expect(page.answer["Location"] == nil)
        #expect(!page.answer.body.contains("evil.example"))
        #expect(page.html.forms.isEmpty && page.html.refresh == nil)
    }

    @Test(.webWorld) func `without the switch there is no OAuth server`() async throws {
        for path in [
            "/oauth/authorize", "/oauth/userinfo", "/.well-known/oauth-authorization-server", "/app-flip",
            "/.well-known/apple-app-site-association", "/.well-known/assetlinks.json", "/v1/account/linked-clients",
        ] {
            let answer = try await service.get(path)
            #expect(answer.status == 404, "\(path)")
        }
        try await service.post("/oauth/token", [:]).expecting(404)
    }
}
