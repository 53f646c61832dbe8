import JSON
import TestSupport
import Testing

/// A client that may have less than when something of it began.
@Suite(.limitedConcurrency, .oauthWorld, .timeLimit(.minutes(30))) struct OAuthNarrowingTests: WorldSuite {
    private static let profileOnly = #"{"scopes":["profile"]}"#
    private static let withPKCE = #"{"requirePkce":true}"#

    private func change(_ client: LinkingClient, _ body: String) async throws {
        let answer = try await service.administer(
            "PATCH", "/admin/v1/oauth-clients/\(client.id)", bearer: try await world.adminKey("read,manage"),
            body: body)
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// Changes a client, and waits until a request of it is refused for that.
    private func narrow(
        _ client: LinkingClient, _ body: String, refusing request: [String: String?] = ["scope": "email"],
        as error: String = "invalid_scope"
    ) async throws {
        try await change(client, body)
        try await eventually("the change of a client") {
            let page = try await world.browser().open(client.url(request))
            return page.handedOver?.contains("error=\(error)") == true
        }
    }

    @Test func `a code becomes no more than its client may still have`() async throws {
        let client = try await world.linkingClient()
        let all = try await world.oauthCode(client, try await world.signedInBrowser("code-narrowed"))
        let email = try await world.oauthCode(
            client, try await world.signedInBrowser("code-for-email"), ["scope": "email"])
        try await narrow(client, Self.profileOnly)

        let answer = try await world.redeem(all, client)
        #expect(answer.json?["scope"]?.string == "profile", "\(answer.text)")
        #expect(try await world.userinfo(try LinkedTokens(answer).access).expecting(200).json?["email"] == nil)
        #expect(try await world.redeem(email, client).expecting(400).text == #"{"error":"invalid_grant"}"#)
    }

    @Test func `a code without a challenge is worth nothing to a client that must use PKCE since`() async throws {
        let client = try await world.linkingClient()
        let code = try await world.oauthCode(client, try await world.signedInBrowser("code-unchallenged"))
        try await narrow(client, Self.withPKCE, refusing: [:], as: "invalid_request")
        #expect(try await world.redeem(code, client).text == #"{"error":"invalid_grant"}"#)
    }

    @Test func `a token shows no more than its client may still have, and all again once it may`() async throws {
        let client = try await world.linkingClient()
        let api = try await world.linkingClient(["--introspect"])
        let browser = try await world.signedInBrowser("token-narrowed")
        let all = try await world.linked(client, browser)
        let email = try await world.linked(client, browser, ["scope": "email"])
        try await change(client, Self.profileOnly)

        let info = try await world.userinfo(all.access).expecting(200)
        #expect(info.json?["sub"] != nil && info.json?["email"] == nil)
        let refused = try await world.userinfo(email.access).expecting(403)
        #expect(refused.header("WWW-Authenticate")?.contains(#"error="insufficient_scope""#) == true)
        for viewer in [client, api] {
            for (token, scope) in [
                (all.access, "profile"), (all.refresh, "profile"), (email.access, ""), (email.refresh, ""),
            ] {
                let shown = try await world.introspected(token, viewer)
                #expect(shown.json?["active"]?.bool == true)
                #expect(shown.json?["scope"]?.string == scope)
            }
        }

        try await change(client, #"{"scopes":[]}"#)
        #expect(try await world.userinfo(email.access).json?["email"]?.string == "token-narrowed@gmail.com")
        #expect(try await world.introspected(all.access, api).json?["scope"]?.string == "profile email devices.read")
    }

    @Test(arguments: [[], ["--rotate-refresh"]])
    func `a refresh gives no more than the client may still have, and ends nothing`(options: [String]) async throws {
        let client = try await world.linkingClient(["--google-project", OAuthWorld.project] + options)
        let browser = try await world.signedInBrowser("refresh-narrowed-\(options.count)")
        let all = try await world.linked(client, browser)
        let email = try await world.linked(client, browser, ["scope": "email"])
        try await narrow(client, Self.profileOnly)

        let answer = try await world.refreshed(all.refresh, client)
        #expect(answer.json?["scope"]?.string == "profile", "\(answer.text)")
        #expect(try await world.userinfo(try answer.text("access_token")).expecting(200).json?["email"] == nil)
        for refused in [
            try await world.refreshed(all.refresh, client, scope: "profile email"),
            try await world.refreshed(email.refresh, client),
        ] {
            #expect(refused.status == 400)
            #expect(refused.text == #"{"error":"invalid_scope"}"#)
        }

        try await change(client, #"{"scopes":[]}"#)
        try await eventually("the change of a client") {
            try await world.refreshed(email.refresh, client).json?["scope"]?.string == "email"
        }
    }
}
