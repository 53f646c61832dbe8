import JSON
import Postgres
import TestSupport
import Testing

/// App Flip: a code for the person's own app.
@Suite(.limitedConcurrency, .oauthWorld, .timeLimit(.minutes(30))) struct OAuthFlipTests: WorldSuite {
    private func device(_ person: String) async throws -> SignedInDevice {
        try await world.newPerson(person, email: "\(person)@gmail.com")
        return try await world.newAccount(person, with: .google)
    }

    private func flip(
        _ client: LinkingClient, _ bearer: String?, _ changes: KeyValuePairs<String, TokenMint.Literal> = [:]
    ) async throws -> Answer {
        let members = client.flip.with(changes.map { ($0.key, $0.value) })
        let answer = try await service.post("/oauth/flip", members, bearer: bearer)
        #expect(answer.header("Content-Type") == "application/json")
        return answer
    }

    @Test func `an app gets a code, and Google's servers redeem it with either address`() async throws {
        let client = try await world.linkingClient()
        let device = try await device("flipper")
        for uri in [OAuthWorld.flipURI, OAuthWorld.redirectURI] {
            let answer = try await flip(client, device.bearer, ["scope": "profile+email"])
            #expect(answer.json?["expires_in"]?.integer == 600)
            let redeemed = try await world.redeem(try answer.text("code"), client, ["redirect_uri": uri])
            #expect(redeemed.json?["scope"]?.string == "profile email")
        }
        // An empty scope is none.
        let whole = try await world.redeem(try await flip(client, device.bearer, ["scope": ""]).text("code"), client)
        #expect(whole.json?["scope"]?.string == "profile email devices.read")
        // A client that must use PKCE need not here.
        let strict = try await world.linkingClient(["--google-project", "p", "--app-flip-all", "--require-pkce"])
        let code = try await flip(strict, device.bearer).text("code")
        #expect(try await world.redeem(code, strict, ["redirect_uri": OAuthWorld.flipURI]).status == 200)
        // The owner is mailed when the link is new, and only then.
        #expect(try await world.subjects(mailedTo: "flipper@gmail.com").filter { $0.contains("linked") }.count == 2)
        #expect(try await service.get("/v1/account/linked-clients", bearer: device.bearer).items.count == 2)
    }

    @Test func `the twelve addresses pass, and what is near them does not`() async throws {
        let client = try await world.linkingClient(["--google-project", "p", "--app-flip-all"])
        let bearer = try await device("twelve").bearer
        let hosts = ["oauth-redirect.googleusercontent.com", "oauth-redirect-sandbox.googleusercontent.com"]
        let apps = ["com.google.OPA", "com.google.Chromecast"].flatMap { [$0, $0 + ".dev", $0 + ".enterprise"] }
        for host in hosts {
            for app in apps {
                #expect(
                    try await flip(client, bearer, ["redirect_uri": .string("https://\(host)/a/\(app)")]).status == 200)
            }
        }
        let near = [
            "https://\(hosts[0])/a/com.google.OPA/", "https://\(hosts[0])/a/com.google.OPA?x", "https://\(hosts[0])/a/",
            "https://\(hosts[0])/a/com.google.opa", "https://\(hosts[0])/r/p", "http://\(hosts[0])/a/com.google.OPA",
            "https://\(hosts[0]).evil.example/a/com.google.OPA", "https://evil.example/a/com.google.OPA",
            "https://\(hosts[0])/a/com.google.OPA.dev.x", "https://\(hosts[0])/b/com.google.OPA",
        ]
        for uri in near {
            let answer = try await flip(client, bearer, ["redirect_uri": .string(uri)])
            #expect(answer.status == 400, "\(uri)")
            #expect(answer.json?["flip_error"]?.string == "invalid_request")
        }
        // Of the twelve each took the place of an earlier one.
        #expect(try await world.codes(of: client) == 3)
    }

    @Test
    func `of codes that nobody redeems three stay good, and one is recorded only when none waits`() async throws {
        let client = try await world.linkingClient()
        let device = try await device("looping")
        func recorded() async throws -> Int64 {
            try await world.recorded("type = 'client_linked' AND reason = \(client.id + " flip")")
        }
        func chains() async throws -> Int64 {
            try await world.count(
                "SELECT count(*) FROM oauth_chains JOIN oauth_grants USING (grant_id) WHERE client_id = \(client.id)")
        }
        var codes: [String] = []
        for _ in 1...5 { codes.append(try await flip(client, device.bearer).text("code")) }
        #expect(try await chains() == 3)
        #expect(try await recorded() == 1)
        for code in codes.dropLast(3) {
            #expect(try await world.redeem(code, client).text == #"{"error":"invalid_grant"}"#)
        }
        var links: [LinkedTokens] = []
        for code in codes.suffix(3) { links.append(try LinkedTokens(try await world.redeem(code, client))) }
        // A link that is made stays beside the next one.
        _ = try await flip(client, device.bearer)
        #expect(try await recorded() == 2)
        #expect(try await chains() == 4)
        try await world.expireCodesAndTokens(of: client)
        _ = try await flip(client, device.bearer)
        #expect(try await recorded() == 3)
        #expect(try await chains() == 4)
        for tokens in links { #expect(try await world.refreshed(tokens.refresh, client).status == 200) }
    }

    @Test func `a client that is linked an eleventh time loses its oldest tokens, and keeps the others`() async throws {
        let client = try await world.linkingClient()
        let device = try await device("relinking")
        var links: [LinkedTokens] = []
        for _ in 1...11 {
            let code = try await flip(client, device.bearer).text("code")
            links.append(try LinkedTokens(try await world.redeem(code, client)))
        }
        #expect(try await !world.isAlive(links[0], client))
        for tokens in links.dropFirst() { #expect(try await world.isAlive(tokens, client)) }
    }

    @Test func `each refusal has its word and its status`() async throws {
        let client = try await world.linkingClient()
        let bearer = try await device("refused").bearer
        func expect(_ answer: Answer, _ status: Int, _ word: String) {
            #expect(answer.status == status, "\(answer.text)")
            #expect(answer.json?["flip_error"]?.string == word, "\(answer.text)")
            #expect(answer.json?["message"]?.string != nil)
            #expect(answer.header("Content-Type") == "application/json")
        }
        expect(try await flip(client, bearer, ["consent": false]), 403, "access_denied")
        expect(try await flip(client, bearer, ["scope": "admin"]), 400, "invalid_request")
        expect(try await flip(client, bearer, ["client_id": "csc_unknown"]), 400, "invalid_request")
        expect(try await flip(client, bearer, ["platform": "web"]), 400, "invalid_request")
        expect(try await flip(client, nil), 401, "cancelled")
        expect(try await flip(client, "at_x"), 401, "cancelled")
        // In this order: body, session, client, URI, scope, consent.
        expect(try await flip(client, nil, ["platform": "web"]), 400, "invalid_request")
        expect(try await flip(client, nil, ["client_id": "csc_unknown"]), 401, "cancelled")
        expect(try await flip(client, bearer, ["consent": false, "scope": "admin"]), 400, "invalid_request")
        // None is news to the service, whose log has each as what it is.
        let anonymous = try await flip(client, nil)
        let line = try await service.logged(try #require(anonymous.header("X-Request-Id")))
        #expect(line["level"]?.string == "info")
        #expect(line["code"]?.string == "invalid_session")
        expect(try await service.get("/oauth/flip"), 405, "invalid_request")
        let form = try await service.post("/oauth/flip", body: Array("a=b".utf8), type: "text/plain", bearer: bearer)
        expect(form, 415, "invalid_request")
        let large = try await service.post("/oauth/flip", body: Array(repeating: 0x20, count: 70_000), bearer: bearer)
        expect(large, 413, "invalid_request")
        #expect(try await world.codes(of: client) == 0)

        _ = try await world.run(["oauth-client", "disable", client.id])
        try await eventually("the disabling of a client") { try await flip(client, bearer).status == 403 }
        expect(try await flip(client, bearer), 403, "unrecoverable")
    }

    @Test func `a disabled account can't be helped, one that has signed out can`() async throws {
        let client = try await world.linkingClient()
        let (out, disabled) = (try await device("signed-out"), try await device("shut"))
        _ = try await service.signOut("current", bearer: out.bearer)
        #expect(try await flip(client, out.bearer).expecting(401).json?["flip_error"]?.string == "cancelled")
        let key = try await world.adminKey("manage")
        let path = "/admin/v1/accounts/\(disabled.account.id)/disable"
        try await service.administer("POST", path, bearer: key, body: #"{"reason":"a test"}"#).expecting(204)
        #expect(try await flip(client, disabled.bearer).expecting(403).json?["flip_error"]?.string == "unrecoverable")
    }

    @Test(.oauthWorld(["appFlip.maxAuthAge": "300"]))
    func `a sign-in of long ago is not enough where that is asked for`() async throws {
        let client = try await world.linkingClient()
        let bearer = try await device("aged").bearer
        #expect(try await flip(client, bearer).status == 200)
        try await scratch.execute("UPDATE sessions SET auth_time = auth_time - interval '6 minutes'")
        #expect(try await flip(client, bearer).expecting(401).json?["flip_error"]?.string == "cancelled")
    }
}
