import Foundation
import JSON
import OpenSSL
import Postgres
import Primitives
import TestSupport
import Testing

/// Codes and refresh tokens at the token endpoint.
@Suite(.limitedConcurrency, .oauthWorld, .timeLimit(.minutes(30))) struct OAuthTokenTests: WorldSuite {
    @Test(arguments: [true, false])
    func `a code becomes tokens, as Google's validation tool wants them`(basic: Bool) async throws {
        let (client, browser) = try await world.clientAndBrowser("validated-\(basic)")
        let answer = try await world.redeem(try await world.oauthCode(client, browser), client, basic: basic)
        let tokens = try LinkedTokens(answer)
        #expect(answer.json?["token_type"]?.string == "Bearer")
        #expect(answer.json?["expires_in"]?.integer == 3_600)
        #expect(answer.header("Cache-Control") == "no-store")
        #expect(answer.header("Pragma") == "no-cache")
        #expect(answer.header("Content-Type") == "application/json;charset=UTF-8")
        // Opaque: no JWT.
        #expect(tokens.access.hasPrefix("at_") && !tokens.access.contains("."))
        #expect(tokens.refresh.hasPrefix("rt_"))

        let refreshed = try await world.refreshed(tokens.refresh, client).expecting(200)
        #expect(refreshed.json?["refresh_token"] == nil)
        let second = try refreshed.text("access_token")
        #expect(second != tokens.access)
        for token in [tokens.access, second] { #expect(try await world.userinfo(token).status == 200) }

        let repeated = try await world.oauth(
            "/oauth/token", client,
            [("grant_type", "refresh_token"), ("refresh_token", tokens.refresh), ("x", "1"), ("x", "1")])
        #expect(repeated.status == 400 && repeated.json?["error"]?.string == "invalid_request")
        for (body, type, description) in [
            ("token=%ff", "application/x-www-form-urlencoded", "the form is empty or not valid"),
            (#"{"token":"t"}"#, "application/json", "no form came"),
        ] {
            let answer = try await service.post("/oauth/token", body: Array(body.utf8), type: type).expecting(400)
            #expect(answer.json?["error"]?.string == "invalid_request")
            #expect(answer.json?["error_description"]?.string == description)
        }
        let bad = try await world.refreshed("rt_unknown", client).expecting(400)
        #expect(bad.text == #"{"error":"invalid_grant"}"#)
        #expect(bad.header("Cache-Control") == "no-store")
    }

    @Test func `of fifty redemptions at once one succeeds, and what it got is dead`() async throws {
        let client = try await world.linkingClient()
        let code = try await world.oauthCode(client, try await world.signedInBrowser("racer"))
        let answers = try await concurrently(0..<50) { _ in
            try await retryWhenLate { try await world.redeem(code, client) }
        }
        let won = answers.filter { $0.status == 200 }
        #expect(won.count == 1)
        #expect(answers.filter { $0.text == #"{"error":"invalid_grant"}"# }.count == 49)
        let tokens = try LinkedTokens(try #require(won.first))
        #expect(try await !world.isAlive(tokens, client))
        #expect(try await world.grants(of: client) == 0)
        #expect(try await world.recorded("type = 'oauth_code_reused'") >= 1)
    }

    @Test(
        arguments: [
            ["redirect_uri": nil], ["redirect_uri": OAuthWorld.otherURI], ["redirect_uri": OAuthWorld.flipURI],
            ["redirect_uri": OAuthWorld.redirectURI + "/"], ["code_verifier": nil], ["code_verifier": ""],
            ["code_verifier": String(repeating: "a", count: 43)], ["code_verifier": "short"],
        ] as [[String: String?]])
    func `a code with another address or verifier is refused, and spent`(changes: [String: String?]) async throws {
        let client = try await world.linkingClient(withPKCE: true)
        let code = try await world.oauthCode(
            client, try await world.signedInBrowser("wrong-\(UUID().uuidString.prefix(8).lowercased())"))
        #expect(try await world.redeem(code, client, changes).expecting(400).text == #"{"error":"invalid_grant"}"#)
        #expect(try await world.redeem(code, client).text == #"{"error":"invalid_grant"}"#)
    }

    @Test func `a verifier without a challenge is refused`() async throws {
        let client = try await world.linkingClient()
        let code = try await world.oauthCode(client, try await world.signedInBrowser("downgraded"))
        let answer = try await world.redeem(code, client, ["code_verifier": String(repeating: "v", count: 43)])
        #expect(answer.text == #"{"error":"invalid_grant"}"#)
    }

    @Test func `another client's code is refused, and stays good for its own`() async throws {
        let client = try await world.linkingClient()
        let other = try await world.linkingClient(
            ["--redirect-uri", OAuthWorld.otherURI], redirectURI: OAuthWorld.otherURI)
        let code = try await world.oauthCode(client, try await world.signedInBrowser("robbed"))
        for uri in [client.redirectURI, other.redirectURI] {
            #expect(try await world.redeem(code, other, ["redirect_uri": uri]).text == #"{"error":"invalid_grant"}"#)
        }
        let tokens = try LinkedTokens(try await world.redeem(code, client))
        #expect(try await world.refreshed(tokens.refresh, other).text == #"{"error":"invalid_grant"}"#)
        #expect(try await world.isAlive(tokens, client))
    }

    @Test func `a code that is over is refused`() async throws {
        let client = try await world.linkingClient()
        let code = try await world.oauthCode(client, try await world.signedInBrowser("late"))
        try await world.expireCodesAndTokens(of: client)
        #expect(try await world.redeem(code, client).text == #"{"error":"invalid_grant"}"#)
    }

    @Test func `a client proves itself in one of two ways`() async throws {
        let client = try await world.linkingClient()
        var wrong = client
        wrong.secret = "cs_" + String(repeating: "A", count: 43)
        let fields = [("grant_type", "refresh_token"), ("refresh_token", "x")]
        for path in ["/oauth/token", "/oauth/revoke", "/oauth/introspect"] {
            for refused in [
                try await world.oauth(path, wrong, fields, basic: true),
                try await world.oauth(path, wrong, fields, basic: false), try await world.oauth(path, nil, fields),
            ] {
                #expect(refused.expecting(401).text == #"{"error":"invalid_client"}"#, "\(path)")
                #expect(refused.header("WWW-Authenticate") == #"Basic realm="countersign""#, "\(path)")
                #expect(refused.header("Cache-Control") == "no-store")
            }
        }
        let both = try await world.oauth(
            "/oauth/token", client, fields + [("client_id", client.id), ("client_secret", client.secret)], basic: true)
        #expect(both.status == 400)
        #expect(both.json?["error"]?.string == "invalid_request")
        let query = try await service.post(
            "/oauth/token?client_id=\(client.id)&client_secret=\(client.secret)",
            body: Array("grant_type=refresh_token".utf8),
            type: "application/x-www-form-urlencoded")
        #expect(query.status == 401)
    }

    @Test func `credentials in base64 have one spelling`() async throws {
        let client = try await world.linkingClient()
        func ask(_ credentials: String) async throws -> Answer {
            try await service.post(
                "/oauth/token", body: Array("grant_type=refresh_token&refresh_token=x".utf8),
                type: "application/x-www-form-urlencoded", headers: [("Authorization", "Basic \(credentials)")])
        }
        // Of the last character before the padding four bits are spare.
        let right = Data("\(client.id):\(client.secret)".utf8).base64EncodedString()
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        let bare = try #require(right.hasSuffix("==") ? String(right.dropLast(2)) : nil)
        let last = try #require(bare.last.flatMap(alphabet.firstIndex))
        #expect(try await ask(right).json?["error"]?.string == "invalid_grant")
        for lax in [bare.dropLast() + "\(alphabet[last + 1])==", bare, bare + "=", right + "=", bare + " =="] {
            let answer = try await ask(lax)
            #expect(answer.status == 401, "\(lax.suffix(4))")
            #expect(answer.text == #"{"error":"invalid_client"}"#)
        }
    }

    @Test(.oauthWorld(["limits.guessPerNetwork": "3/15min"]))
    func `guesses of a secret are limited by network, and the right one always passes`() async throws {
        let client = try await world.linkingClient()
        let tokens = try await world.asCurrent {
            try await world.linked(client, try await world.signedInBrowser("guessed"))
        }
        var wrong = client
        wrong.secret = "cs_" + String(repeating: "B", count: 43)
        for _ in 1...3 { #expect(try await world.refreshed(tokens.refresh, wrong).status == 401) }
        let limited = try await world.refreshed(tokens.refresh, wrong).expecting(429)
        #expect(limited.retryAfter != nil)
        #expect(limited.json?["error"] == nil)
        #expect(try await world.refreshed(tokens.refresh, client).status == 200)
    }

    @Test func `requests that are no requests are refused in the words of the RFC`() async throws {
        let client = try await world.linkingClient()
        let cases: [([(String, String)], String)] = [
            ([], "invalid_request"), ([("grant_type", "")], "invalid_request"),
            ([("grant_type", "password")], "unsupported_grant_type"),
            ([("grant_type", "implicit")], "unsupported_grant_type"),
            ([("grant_type", "authorization_code")], "invalid_request"),
            ([("grant_type", "refresh_token")], "invalid_request"),
            ([("grant_type", "refresh_token"), ("refresh_token", "a"), ("refresh_token", "b")], "invalid_request"),
            ([("grant_type", "refresh_token"), ("refresh_token", "a"), ("scope", "\"")], "invalid_scope"),
        ]
        for (fields, error) in cases {
            let answer = try await world.oauth("/oauth/token", client, fields)
            #expect(answer.status == 400, "\(fields)")
            #expect(answer.json?["error"]?.string == error, "\(fields)")
            #expect(answer.json?["code"] == nil)
            let line = try await service.logged(try #require(answer.header("X-Request-Id")))
            #expect(line["code"]?.string == "invalid_request")
        }
        // A parameter without a value is none, however often it comes.
        let empty = [("grant_type", "refresh_token"), ("refresh_token", ""), ("refresh_token", "a")]
        let unknown = try await world.oauth("/oauth/token", client, empty + [("scope", ""), ("scope", "")])
        #expect(unknown.text == #"{"error":"invalid_grant"}"#)
        let json = try await service.post("/oauth/token", ["grant_type": "refresh_token"]).expecting(400)
        #expect(json.json?["error"]?.string == "invalid_request")
        #expect(try await service.get("/oauth/token").expecting(405).header("Allow") == "POST")
    }

    @Test func `a refresh narrows, and never widens`() async throws {
        let (client, browser) = try await world.clientAndBrowser("narrow")
        let tokens = try await world.linked(client, browser, ["scope": "profile email"])
        let narrow = try await world.refreshed(tokens.refresh, client, scope: "profile")
        #expect(narrow.json?["scope"]?.string == "profile")
        #expect(try await world.userinfo(try narrow.text("access_token")).json?["email"] == nil)
        let wide = try await world.refreshed(tokens.refresh, client, scope: "profile devices.read")
        #expect(wide.text == #"{"error":"invalid_scope"}"#)
        #expect(try await world.refreshed(tokens.refresh, client).json?["scope"]?.string == "profile email")
    }

    @Test func `a rotating client keeps the old token until it has used the new one`() async throws {
        let client = try await rotatingClient()
        let tokens = try await world.linked(client, try await world.signedInBrowser("rotating"))
        let lost = try await world.refreshed(tokens.refresh, client)
        // The answer was lost: the same token gets the same one again, and an access token of its own.
        let second = try await world.refreshed(tokens.refresh, client)
        let token = try second.text("refresh_token")
        #expect(token == (try lost.text("refresh_token")))
        #expect(try second.text("access_token") != (try lost.text("access_token")))
        let third = try await world.refreshed(token, client).expecting(200)
        for (token, isActive) in [(tokens.refresh, false), (token, true), (try third.text("refresh_token"), true)] {
            #expect(try await world.introspected(token, client).json?["active"]?.bool == isActive)
        }
        // Two steps old: somebody else has it.
        #expect(try await world.refreshed(tokens.refresh, client).text == #"{"error":"invalid_grant"}"#)
        for dead in [token, try third.text("refresh_token")] {
            #expect(try await world.refreshed(dead, client).text == #"{"error":"invalid_grant"}"#)
        }
        #expect(try await world.recorded("type = 'oauth_token_reused' AND reason = \(client.id)") == 1)
    }

    private func rotatingClient() async throws -> LinkingClient {
        try await world.linkingClient(
            ["--redirect-uri", OAuthWorld.otherURI, "--rotate-refresh"], redirectURI: OAuthWorld.otherURI)
    }

    @Test func `a token that somebody else had replaced ends the link when its holder uses it`() async throws {
        let client = try await rotatingClient()
        let tokens = try await world.linked(client, try await world.signedInBrowser("robbed-while-rotating"))
        let own = try await world.refreshed(tokens.refresh, client).text("refresh_token")
        // More than a minute later, by a thief who has the token before.
        try await scratch.execute(
            """
            UPDATE oauth_refresh_tokens
            SET created_at = created_at - interval '61 seconds'
            WHERE chain_id IN (
                SELECT chain_id FROM oauth_chains JOIN oauth_grants USING (grant_id) WHERE client_id = \(client.id))
            """)
        let stolen = try await world.refreshed(tokens.refresh, client).text("refresh_token")
        #expect(stolen != own)
        #expect(try await world.refreshed(own, client).text == #"{"error":"invalid_grant"}"#)
        #expect(try await world.refreshed(stolen, client).text == #"{"error":"invalid_grant"}"#)
        #expect(try await world.grants(of: client) == 0)
        #expect(try await world.recorded("type = 'oauth_token_reused' AND reason = \(client.id)") == 1)
    }

    @Test func `a rotating client that refreshes twice at once may keep either answer`() async throws {
        let client = try await rotatingClient()
        let tokens = try await world.linked(client, try await world.signedInBrowser("twice-at-once"))
        func twice(_ token: String) async throws -> [Answer] {
            async let first = world.refreshed(token, client)
            async let second = world.refreshed(token, client)
            return [try await first, try await second]
        }
        var token = tokens.refresh
        for _ in 0..<3 {
            let answers = try await twice(token)
            #expect(answers.map(\.status) == [200, 200])
            let successors = try answers.map { try $0.text("refresh_token") }
            #expect(Set(successors).count == 1)
            for answer in answers { #expect(try await world.userinfo(try answer.text("access_token")).status == 200) }
            #expect(successors[0] != token)
            token = successors[0]
        }
        #expect(try await world.grants(of: client) == 1)
    }

    @Test func `tokens, codes and secrets stand nowhere in the database, and not in the log`() async throws {
        let (client, browser) = try await world.clientAndBrowser("secretive")
        let page = try await world.consentPage(client, browser, ["state": "s3cret-state"])
        let code = try #require(try await world.decision("allow", on: page, browser)["code"])
        let tokens = try LinkedTokens(try await world.redeem(code, client))
        _ = try await world.refreshed(tokens.refresh, client)
        let rows = try await world.rows().joined(separator: "\n")
        for secret in [client.secret, code, tokens.access, tokens.refresh] {
            #expect(!rows.contains(secret))
            #expect(!service.log.contains(secret))
        }
        #expect(!service.log.contains("s3cret-state"))
        let fingerprint = Hexadecimal.encode(SHA512.hash(SHA512.hash(Array(tokens.refresh.utf8))))
        #expect(
            try await world.count(
                "SELECT count(*) FROM oauth_refresh_tokens WHERE encode(fingerprint, 'hex') = \(fingerprint)") == 1)
    }
}
