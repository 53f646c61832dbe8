import Foundation
import JSON
import Postgres
import Primitives
import TestSupport
import Testing

/// Google asks by an assertion: check, get, create.
@Suite(.limitedConcurrency, .oauthWorld, .timeLimit(.minutes(30))) struct StreamlinedLinkingTests: WorldSuite {
    private func assertion(
        _ person: String, audience: String = OAuthWorld.audience, _ changes: Sandbox.TokenChanges = .init()
    ) async throws -> String {
        return try await world.sandbox.authorizeGoogle(person, clientID: audience, nonce: nil, token: changes).idToken
    }

    private func ask(
        _ intent: String?, _ client: LinkingClient, _ assertion: String?, scope: String? = nil
    ) async throws -> Answer {
        var fields = [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("consent_code", "ignored")]
        if let intent { fields.append(("intent", intent)) }
        if let assertion { fields.append(("assertion", assertion)) }
        if let scope { fields.append(("scope", scope)) }
        return try await world.oauth("/oauth/token", client, fields)
    }

    private func expect(
        _ client: LinkingClient, _ assertion: String, check: Bool, get: Bool, create: Bool,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let checked = try await ask("check", client, assertion)
        #expect(checked.status == (check ? 200 : 404), sourceLocation: location)
        #expect(checked.text == #"{"account_found":"\#(check)"}"#, sourceLocation: location)
        for (intent, succeeds) in [("get", get), ("create", create)] {
            let answer = try await ask(intent, client, assertion)
            #expect(answer.status == (succeeds ? 200 : 401), "\(intent) \(answer.text)", sourceLocation: location)
            if !succeeds { #expect(answer.json?["error"]?.string == "linking_error", sourceLocation: location) }
        }
    }

    @Test func `a person whose Google account is linked is found, and gets tokens`() async throws {
        let client = try await world.linkingClient()
        _ = try await world.signedInBrowser("known")
        let token = try await assertion("known")
        try await expect(client, token, check: true, get: true, create: false)
        let answer = try await ask("get", client, token, scope: "email")
        let tokens = try LinkedTokens(answer)
        #expect(try await world.userinfo(tokens.access).json?["email"]?.string == "known@gmail.com")
        #expect(try await world.refreshed(tokens.refresh, client).json?["scope"]?.string == "email")
        #expect(try await ask("get", client, token, scope: "admin").json?["error"]?.string == "invalid_scope")
        #expect(try await world.mail(about: "linked", to: "known@gmail.com").text?.contains("Google") == true)
    }

    @Test func `a person whom nobody knows gets an account, once`() async throws {
        let client = try await world.linkingClient()
        try await world.newPerson("fresh", email: "fresh@gmail.com")
        let token = try await assertion("fresh")
        #expect(try await ask("check", client, token).status == 404)
        let refused = try await ask("get", client, token)
        #expect(refused.text == #"{"error":"linking_error","login_hint":"fresh@gmail.com"}"#)
        #expect(refused.header("WWW-Authenticate") == #"Basic realm="countersign""#)
        let answers = try await concurrently(0..<8) { _ in try await ask("create", client, token) }
        #expect(answers.filter { $0.status == 200 }.count == 1)
        #expect(answers.filter { $0.json?["error"]?.string == "linking_error" }.count == 7)
        #expect(try await world.countAccounts(with: "fresh@gmail.com") == 1)
        let account: SQL = "SELECT account_id FROM accounts WHERE email = 'fresh@gmail.com'"
        #expect(try await world.count("SELECT count(*) FROM sessions WHERE account_id IN (\(account))") == 0)
        #expect(try await world.recorded("type = 'account_created' AND account_id IN (\(account))") == 1)
        let births = try await scratch.texts(
            """
            SELECT e.members
            FROM (
                SELECT account_id, type, members FROM account_events
                UNION ALL
                SELECT account_id, type, members FROM unstamped_events
            ) e
            WHERE e.type = 'account.created' AND e.account_id IN (\(account))
            """)
        #expect(births == [#"{"by":"streamlined"}"#])
        let tokens = try LinkedTokens(try #require(answers.first { $0.status == 200 }))
        #expect(try await world.isAlive(tokens, client))
        // The same account signs in by Google.
        #expect(try await world.signIn("fresh", with: .google).status == 200)
    }

    @Test(.oauthWorld)
    func `an account whose tokens can't be stored is not made, so that the next try makes it`() async throws {
        let client = try await world.linkingClient()
        try await world.newPerson("unlucky", email: "unlucky@gmail.com")
        let token = try await assertion("unlucky")
        try await scratch.execute("ALTER TABLE oauth_refresh_tokens ADD CONSTRAINT refuses_all CHECK (false) NOT VALID")
        #expect(try await ask("create", client, token).status >= 500)
        #expect(try await world.countAccounts(with: "unlucky@gmail.com") == 0)
        try await scratch.execute("ALTER TABLE oauth_refresh_tokens DROP CONSTRAINT refuses_all")
        let tokens = try LinkedTokens(try await ask("create", client, token))
        #expect(try await world.isAlive(tokens, client))
    }

    /// Under `prompt` an address leads nowhere; under `automatic` where Google runs the mailbox, and it was proven here.
    @Test(arguments: ["prompt", "automatic"])
    func `an address leads to its account only where the policy says so`(policy: String) async throws {
        try await OAuthWorld.run(["linking.verifiedEmail": policy]) { world in
            try await world.asCurrent {
                let client = try await world.linkingClient()
                // Proven here, by a code; without a Google account.
                for email in ["proven@gmail.com", "proven@own.example", "claimed@gmail.com"] {
                    let device = try SignedInDevice(try await world.register(email), status: 201)
                    if email.hasPrefix("proven") { try await world.verify(email, bearer: device.bearer) }
                }
                for (person, email) in [
                    ("by-gmail", "proven@gmail.com"), ("by-domain", "proven@own.example"),
                    ("by-claim", "claimed@gmail.com"),
                ] { try await world.newPerson(person, email: email) }
                let leads = policy == "automatic"
                try await expect(client, try await assertion("by-gmail"), check: leads, get: leads, create: false)
                try await expect(client, try await assertion("by-domain"), check: false, get: false, create: false)
                try await expect(client, try await assertion("by-claim"), check: false, get: false, create: false)
                let linked = try await world.count("SELECT count(*) FROM identities WHERE provider = 'google'")
                #expect(linked == (leads ? 1 : 0))
                if leads { #expect(try !world.mailbox("proven@gmail.com").isEmpty) }
            }
        }
    }

    @Test(.oauthWorld(["linking.verifiedEmail": "automatic"]))
    func `an assertion from before its identity was unlinked is not found, as it links nothing`() async throws {
        let client = try await world.linkingClient()
        let device = try SignedInDevice(try await world.register("leaver@gmail.com"), status: 201)
        try await world.verify("leaver@gmail.com", bearer: device.bearer)
        try await world.newPerson("leaver", email: "leaver@gmail.com")
        try await ask("get", client, try await assertion("leaver")).expecting(200)
        let items = try await service.get("/v1/account/identities", bearer: device.bearer).json?["items"]
        let id = try #require(items?.elements?.first?["identityId"]?.string)
        #expect(try await service.delete("/v1/account/identities/\(id)", bearer: device.bearer).status == 202)

        let minuteAgo = Int64(Date.now.timeIntervalSince1970) - 60
        let before = try await assertion("leaver", .init(claims: #"{"iat":\#(minuteAgo)}"#))
        try await expect(client, before, check: false, get: false, create: false)
        try await expect(client, try await assertion("leaver"), check: true, get: true, create: false)
    }

    /// - Parameter isKnown: whether the successor has an account here, with another address.
    @Test(arguments: [false, true])
    func `an assertion of a successor at Google makes the holder of the address stated`(isKnown: Bool) async throws {
        let client = try await world.linkingClient()
        let (before, after) = ("before-\(isKnown)", "after-\(isKnown)")
        let email = "desk-\(isKnown)@work.example"
        try await world.openGoogleAccount(before, email: email, workspace: "work.example")
        let holder = try await world.newAccount(before, with: .google)
        #expect(try await world.account(on: holder).emailProof == "proven")
        try await world.openGoogleAccount(after, email: "\(after)@example.com")
        if isKnown { _ = try await world.newAccount(after, with: .google) }

        let claims = #"{"email":"\#(email)","email_verified":true,"hd":"work.example"}"#
        let token = try await assertion(after, .init(claims: claims))
        try await expect(client, token, check: isKnown, get: isKnown, create: false)
        #expect(try await world.account(on: holder).emailProof == "stated")
        let recorded = try await world.recorded(
            """
            type = 'email_stated' AND reason = 'other_subject'
                AND account_id = \(holder.account.id)::uuid
            """)
        #expect(recorded == 1)
    }

    /// Asks for tokens, while their identity is changed.
    private func expectNoTokens(_ client: LinkingClient, _ token: String, meanwhile change: SQL) async throws {
        try await scratch.withPool { database in
            let asking = try await database.transaction { transaction in
                _ = try await transaction.execute("SELECT FROM accounts FOR UPDATE")
                let asking = Task { try await retryWhenLate { try await ask("get", client, token) } }
                try await eventually("a link that waits") { try await transaction.isWaitedFor() }
                _ = try await transaction.execute("UPDATE identities SET \(change)")
                return asking
            }
            let answer = try await asking.value
            #expect(answer.status == 401)
            #expect(answer.json?["error"]?.string == "linking_error", "\(answer.text)")
        }
        #expect(try await world.count("SELECT count(*) FROM oauth_chains") == 0)
    }

    @Test(.oauthWorld)
    func `an account that is signed out everywhere while its tokens are made gets none`() async throws {
        let client = try await world.linkingClient()
        _ = try await world.signedInBrowser("stolen")
        let secondsAgo = Int64(Date.now.timeIntervalSince1970) - 5
        let token = try await assertion("stolen", .init(claims: #"{"iat":\#(secondsAgo)}"#))
        #expect(try await ask("check", client, token).status == 200)
        try await expectNoTokens(client, token, meanwhile: "not_before = now()")
    }

    @Test(.oauthWorld)
    func `an identity that is blocked while its tokens are made gets none, and is not found from then on`() async throws
    {
        let client = try await world.linkingClient()
        _ = try await world.signedInBrowser("blocked")
        let token = try await assertion("blocked")
        #expect(try await ask("check", client, token).status == 200)
        try await expectNoTokens(client, token, meanwhile: "blocked_at = now()")
        try await expect(client, try await assertion("blocked"), check: false, get: false, create: false)
    }

    @Test func `an account that is disabled is not found, and stays as it is`() async throws {
        let client = try await world.linkingClient()
        _ = try await world.signedInBrowser("banned")
        try await scratch.execute("UPDATE accounts SET status = 'disabled' WHERE email = 'banned@gmail.com'")
        try await expect(client, try await assertion("banned"), check: false, get: false, create: false)
    }

    @Test(.oauthWorld(["google.hostedDomains": "lamp.example"]))
    func `a person of a domain that may not sign in is not found, and goes on in the browser`() async throws {
        let client = try await world.linkingClient()
        let email = "mover@lamp.example"
        try await world.openGoogleAccount("mover", email: email, workspace: "lamp.example")
        _ = try await world.newAccount("mover", with: .google)
        try await expect(client, try await assertion("mover"), check: true, get: true, create: false)
        try await world.openGoogleAccount("newcomer", email: "newcomer@gmail.com")
        let chains: SQL = "SELECT count(*) FROM oauth_chains"
        let linked = try await world.count(chains)
        for (person, address, changes) in [
            ("mover", email, .init(withoutClaims: ["hd"])),
            ("mover", email, .init(claims: #"{"hd":"other.example"}"#)),
            ("newcomer", "newcomer@gmail.com", .init()),
            ("newcomer", "newcomer@gmail.com", .init(claims: #"{"hd":"other.example"}"#)),
        ] as [(String, String, Sandbox.TokenChanges)] {
            let token = try await assertion(person, changes)
            try await expect(client, token, check: false, get: false, create: false)
            for intent in ["get", "create"] {
                let answer = try await ask(intent, client, token)
                #expect(answer.text == #"{"error":"linking_error","login_hint":"\#(address)"}"#)
            }
        }
        #expect(try await world.count(chains) == linked)
        #expect(try await world.countAccounts(with: "newcomer@gmail.com") == 0)
        // What is no assertion of Google's is none whatever its domain.
        let forged = try await assertion("mover", .init(withoutClaims: ["hd"], signature: .forged))
        for intent in ["check", "get", "create"] {
            #expect(try await ask(intent, client, forged).text == #"{"error":"invalid_grant"}"#)
        }
    }

    @Test func `an unverified address makes no account, nor does a client that may not`() async throws {
        let client = try await world.linkingClient()
        let strict = try await world.linkingClient(
            ["--google-project", "p", "--assertion-audience", OAuthWorld.audience, "--no-streamlined-create"])
        try await world.newPerson("plain", email: "plain@gmail.com")
        let token = try await assertion("plain")
        #expect(try await ask("create", strict, token).json?["error"]?.string == "linking_error")
        let unverified = try await assertion("plain", .init(claims: #"{"email_verified":false}"#))
        #expect(try await ask("create", client, unverified).json?["error"]?.string == "linking_error")
        #expect(try await world.countAccounts(with: "plain@gmail.com") == 0)
    }

    @Test(.oauthWorld(["oauth.scopes": "profile"]))
    func `a client that may have none of the server's scopes links nobody`() async throws {
        let client = try await world.linkingClient(
            ["--google-project", "p", "--assertion-audience", OAuthWorld.audience, "--scope", "email"])
        _ = try await world.signedInBrowser("scopeless")
        try await world.newPerson("newcomer", email: "newcomer@gmail.com")
        for (intent, person) in [("check", "scopeless"), ("get", "scopeless"), ("create", "newcomer")] {
            let answer = try await ask(intent, client, try await assertion(person))
            #expect(answer.status == 400, "\(intent)")
            #expect(answer.text == #"{"error":"invalid_scope"}"#, "\(intent)")
        }
        #expect(try await world.grants(of: client) == 0)
        #expect(try await world.countAccounts(with: "newcomer@gmail.com") == 0)
    }

    @Test func `an assertion that Google did not make for this client is refused`() async throws {
        let client = try await world.linkingClient()
        _ = try await world.signedInBrowser("forged")
        let good = try await assertion("forged")
        let parts = good.split(separator: ".").map(String.init)
        var bad = [
            "", "x", parts[0] + "." + parts[1] + ".", good + "A",
            try await assertion("forged", audience: Countersign.googleClient),
            try await assertion("forged", audience: client.id),
        ]
        for claims in [
            #"{"iss":"https://evil.example"}"#, #"{"exp":1700000000,"iat":1699999000}"#, #"{"iat":4000000000}"#,
            #"{"sub":""}"#, #"{"sub":"é"}"#,
            #"{"events":{"https://schemas.openid.net/secevent/risc/event-type/sessions-revoked":{}}}"#,
        ] { bad.append(try await assertion("forged", .init(claims: claims))) }
        // Other kinds of tokens, in the place of one.
        let event = try await world.sandbox.sendGoogleEvent(
            "sessions-revoked", about: .person("forged"), clientID: OAuthWorld.audience)
        bad.append(event.token)
        bad.append(try await world.register("forged@example.com").text("session.accessToken"))
        let header = try #require(Base64URL.decode(parts[0]))
        let keyID = try #require(try JSONValue(parsing: header)["kid"]?.string)
        let apple = try await world.sandbox.authorizeApple(
            "forged", clientID: OAuthWorld.audience,
            token: .init(claims: #"{"iss":"https://accounts.google.com"}"#, header: #"{"kid":"\#(keyID)"}"#))
        bad.append(apple.identityToken)
        bad.append(try await assertion("forged", .init(algorithm: "none")))
        bad.append(try await assertion("forged", .init(header: #"{"alg":"none"}"#)))
        bad.append(try await assertion("forged", .init(signature: .forged)))
        bad.append(try await assertion("forged", .init(algorithm: "HS256")))
        for token in bad.dropFirst() {
            for intent in ["check", "get", "create"] {
                let answer = try await ask(intent, client, token)
                #expect(answer.status == 400, "\(token)")
                #expect(answer.text == #"{"error":"invalid_grant"}"#)
            }
        }
        #expect(try await world.grants(of: client) == 0)
        for (intent, token) in [("check", nil), (nil, good), ("steal", good)] as [(String?, String?)] {
            #expect(try await ask(intent, client, token).json?["error"]?.string == "invalid_request")
        }
        // The first asks for the keys once more. While that may not be done again, nothing is known of the other.
        let unknown = try await assertion("forged", .init(header: #"{"kid":"unknown"}"#))
        let answers = [try await ask("get", client, unknown), try await ask("get", client, unknown)]
        #expect(answers.last?.status == 503 && answers.last?.header("Retry-After") != nil)
        #expect(answers.last?.json?["error"] == nil)
        #expect(try await ask("check", client, good).status == 200)
        let other = try await world.linkingClient(["--redirect-uri", OAuthWorld.otherURI])
        #expect(try await ask("check", other, good).json?["error"]?.string == "unauthorized_client")
    }
}
