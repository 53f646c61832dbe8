import JSON
import Postgres
import TestSupport
import Testing

/// The clients of the OAuth server, by the admin API and the command.
@Suite(.limitedConcurrency, .oauthWorld, .timeLimit(.minutes(30))) struct OAuthClientAdministrationTests: WorldSuite {
    private func administer(
        _ method: String, _ path: String, _ body: String? = nil, scopes: String = "read,manage"
    ) async throws -> RawAnswer {
        return try await service.administer(
            method, "/admin/v1/oauth-clients" + path, bearer: try await world.adminKey(scopes), body: body)
    }

    private func command(_ words: String...) async throws -> JSONValue {
        let ending = try await world.run(["oauth-client"] + words).expecting(0)
        return try ending.json
    }

    @Test func `a client's life leaves its rows in the trail, and its secret nowhere`() async throws {
        let body = #"{"name":"Acme Home","redirectUris":["https://acme.example/linked"],"scopes":["profile"]}"#
        let created = try await administer("POST", "", body).expecting(201)
        let id = try #require(created.json?["clientId"]?.string)
        let secret = try #require(created.json?["clientSecret"]?.string)
        #expect(created.json?["requirePkce"]?.bool == false)
        #expect(created.json?["streamlinedCreate"]?.bool == true)
        #expect(created.json?["scopes"]?.elements?.compactMap(\.string) == ["profile"])

        let shown = try await administer("GET", "/\(id)", scopes: "read")
        #expect(shown.json?["name"]?.string == "Acme Home")
        #expect(shown.json?["clientSecret"] == nil)
        #expect(try await administer("GET", "?limit=100").body.contains(id))
        #expect(try await command("show", id)["status"]?.string == "active")

        let changed = try await administer("PATCH", "/\(id)", #"{"name":"Acme","requirePkce":true}"#)
        #expect(changed.json?["name"]?.string == "Acme")
        #expect(changed.json?["requirePkce"]?.bool == true)
        #expect(changed.json?["redirectUris"]?.elements?.compactMap(\.string) == ["https://acme.example/linked"])
        let rotated = try await administer("POST", "/\(id)/rotate-secret", #"{"keepOldSeconds":60}"#)
        #expect(rotated.json?["clientSecret"]?.string != nil && rotated.json?["clientSecret"]?.string != secret)
        #expect(try await administer("POST", "/\(id)/disable").status == 204)
        #expect(try await administer("GET", "/\(id)").json?["status"]?.string == "disabled")
        #expect(try await administer("POST", "/\(id)/enable").status == 204)

        #expect(try await world.audited("oauth_client_created", reason: id) == 1)
        #expect(
            try await world.recorded(
                """
                type = 'oauth_client_changed' AND starts_with(reason, \(id))
                    AND actor_name = 'kim@support'
                """) == 4)
        #expect(
            try await world.count("SELECT count(*) FROM oauth_clients c WHERE strpos(c::text, \(secret)) > 0") == 0)
    }

    @Test func `what changes nothing of a client is answered as ever, and not recorded`() async throws {
        let body = #"{"name":"Acme Same","redirectUris":["https://acme.example/linked"],"scopes":["profile"]}"#
        let created = try await administer("POST", "", body).expecting(201)
        let id = try #require(created.json?["clientId"]?.string)
        let key = try await world.adminKey("read,manage")
        func call(_ method: String, _ path: String = "", _ body: String? = nil) async throws -> RawAnswer {
            try await service.administer(method, "/admin/v1/oauth-clients/\(id)\(path)", bearer: key, body: body)
        }
        func recorded() async throws -> Int64 {
            try await world.recorded("type = 'oauth_client_changed' AND starts_with(reason, \(id))")
        }
        let shown = try await call("GET").expecting(200)
        for same in ["{}", body] {
            #expect(try await call("PATCH", "", same).expecting(200).body == shown.body)
        }
        try await call("POST", "/enable").expecting(204)
        #expect(try await recorded() == 0)
        for _ in 1...2 { try await call("POST", "/disable").expecting(204) }
        #expect(try await recorded() == 1)
        // The same names to a reader, in other octets.
        let names = ["Caf\u{E9}", "Cafe\u{301}"]
        let changes = [
            #"{"redirectUris":["https://acme.example/other"]}"#, #"{"scopes":[]}"#, #"{"assertionAudiences":["a"]}"#,
            #"{"requirePkce":true}"#, #"{"rotateRefresh":true}"#, #"{"streamlinedCreate":false}"#,
            #"{"introspect":true}"#,
        ]
        for (index, change) in (changes + names.map { #"{"name":"\#($0)"}"# }).enumerated() {
            for _ in 1...2 { try await call("PATCH", "", change).expecting(200) }
            #expect(try await recorded() == Int64(2 + index), "\(change)")
        }
        let stored = try await world.count(
            "SELECT count(*) FROM oauth_clients WHERE client_id = \(id) AND name = \(names[1])")
        #expect(stored == 1)
    }

    @Test func `an administrator reads what is linked in pages, the oldest link first`() async throws {
        let browser = try await world.signedInBrowser("collector")
        var linked: [String] = []
        for _ in 1...3 {
            let client = try await world.linkingClient()
            _ = try await world.linked(client, browser)
            linked.append(client.id)
        }
        let account = try SignedInDevice(try await world.signIn("collector", with: .google)).account.id
        let key = try await world.adminKey("read")
        var pages: [[String]] = []
        var query: String? = "?limit=2"
        while let asked = query {
            let page = try await service.administer(
                "GET", "/admin/v1/accounts/\(account)/linked-clients\(asked)", bearer: key)
            #expect(page.status == 200, "\(page.body)")
            pages.append(page.items.compactMap { $0["clientId"]?.string })
            query = page.json?["nextCursor"]?.string.map { "?limit=2&cursor=\($0)" }
        }
        #expect(pages == [Array(linked.prefix(2)), Array(linked.suffix(1))])
    }

    @Test func `a rotation keeps the secret before alone, and says that one kept earlier is over`() async throws {
        let client = try await world.linkingClient()
        func keptUntil() async throws -> String? {
            let until = try await command("show", client.id)["previousSecretExpiresAt"]?.string
            let answer = try await administer("GET", "/\(client.id)", scopes: "read")
            #expect(answer.json?["previousSecretExpiresAt"]?.string == until)
            return until
        }
        /// - Returns: the secret, and what stands on standard error.
        func rotate(_ words: String...) async throws -> (secret: String, notice: String) {
            let ending = try await world.run(["oauth-client", "rotate-secret", client.id] + words).expecting(0)
            let line = try ending.json
            return (try #require(line["clientSecret"]?.string), ending.error)
        }
        func status(_ secret: String) async throws -> Int {
            var client = client
            client.secret = secret
            return try await world.introspected("x", client).status
        }
        #expect(try await keptUntil() == nil)
        let first = try await rotate("--keep-old", "24h")
        #expect(first.notice.isEmpty)
        let firstEnd = try #require(try await keptUntil())

        let second = try await rotate("--keep-old", "1h")
        let secondEnd = try #require(try await keptUntil())
        #expect(
            second.notice == """
                countersign: the secret that an earlier rotation kept until \(firstEnd) counts no more; the one that it gave \
                counts until \(secondEnd)

                """)
        try await eventually("the end of the first secret") { try await status(client.secret) == 401 }
        #expect(try await status(first.secret) == 200)
        #expect(try await status(second.secret) == 200)
        try await scratch.execute(
            "UPDATE oauth_clients SET previous_secret_expires_at = now() WHERE client_id = \(client.id)")
        try await eventually("the end of the one before") { try await status(first.secret) == 401 }
        #expect(try await status(second.secret) == 200)

        #expect(try await rotate().notice.isEmpty)
        #expect(try await keptUntil() == nil)
        try await eventually("the end of all before") { try await status(second.secret) == 401 }
        #expect(try await status(first.secret) == 401)
    }

    @Test func `the page of an account says of a linked client that it is disabled`() async throws {
        let (client, browser) = try await world.clientAndBrowser("switched-off")
        _ = try await world.linked(client, browser)
        func isSaid() async throws -> Bool {
            let page = try await browser.openAccount()
            #expect(page.html.forms.contains { $0.buttons.contains { $0.name == "client" && $0.value == client.id } })
            return page.html.text.contains("Switched off at the moment")
        }
        #expect(try await isSaid() == false)
        #expect(try await administer("POST", "/\(client.id)/disable").status == 204)
        #expect(try await isSaid())
        #expect(try await administer("POST", "/\(client.id)/enable").status == 204)
        #expect(try await isSaid() == false)
    }

    @Test func `account show has the linked clients that account unlink-client takes`() async throws {
        let client = try await world.linkingClient()
        _ = try await world.linked(client, try await world.signedInBrowser("shown-linked"))
        func run(_ words: String...) async throws -> String {
            let ending = try await world.run(["account"] + words).expecting(0)
            return ending.output
        }
        func lines() async throws -> [Substring] {
            try await run("show", "shown-linked@gmail.com").split(separator: "\n").filter { $0.contains(" client ") }
        }
        func listed() async throws -> [String]? {
            let json = try await run("show", "shown-linked@gmail.com", "--json")
            let clients = try JSONValue(parsing: Array(json.utf8))["linkedClients"]?.elements
            return clients?.compactMap { $0["clientId"]?.string }
        }
        let line = try #require(try await lines().first)
        #expect(line.hasPrefix("\(client.id) client 20") && line.hasSuffix(" Google"), "\(line)")
        #expect(try await listed() == [client.id])
        _ = try await run("unlink-client", "shown-linked@gmail.com", client.id, "--reason", "case 50")
        #expect(try await lines().isEmpty)
        #expect(try await listed() == [])
    }

    @Test func `the scopes of a client are all that it may have, also where it is not restricted`() async throws {
        let all = ["profile", "email", "devices.read"]
        func scopes(_ client: JSONValue?) -> [String]? { client?["scopes"]?.elements?.compactMap(\.string) }
        let created = try await administer(
            "POST", "", #"{"name":"Acme Home","redirectUris":["https://acme.example/linked"]}"#)
        #expect(scopes(created.json) == all)
        let id = try #require(created.json?["clientId"]?.string)
        #expect(scopes(try await administer("GET", "/\(id)").json) == all)
        let listed = try await administer("GET", "?limit=100").json?["items"]?.elements
        #expect(scopes(listed?.first { $0["clientId"]?.string == id }) == all)
        #expect(scopes(try await administer("POST", "/\(id)/rotate-secret", "{}").json) == all)
        // What is no longer configured it may not have; an empty list restricts no more.
        try await scratch.execute("UPDATE oauth_clients SET scopes = '{email,gone}' WHERE client_id = \(id)")
        #expect(scopes(try await administer("GET", "/\(id)").json) == ["email"])
        #expect(scopes(try await administer("PATCH", "/\(id)", #"{"scopes":[]}"#).json) == all)

        func command(_ words: String...) async throws -> [JSONValue] {
            let ending = try await world.run(["oauth-client"] + words, ["oauth.scopes": all.joined(separator: ",")])
            #expect(ending.status == 0, "\(ending.error)")
            return try ending.output.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        }
        #expect(scopes(try await command("show", id).first) == all)
        #expect(scopes(try await command("list").first { $0["clientId"]?.string == id }) == all)
    }

    @Test func `no client is made by the command with a scope that is not configured`() async throws {
        let ending = try await world.run(
            [
                "oauth-client", "create", "--name", "Unscoped", "--redirect-uri", "https://acme.example/linked",
                "--scope", "email", "--scope", "devices.write",
            ], ["oauth.scopes": "profile,email,devices.read"])
        #expect(ending.status == 2 && ending.output.isEmpty)
        #expect(
            ending.error
                == "countersign: --scope devices.write is none of oauth.scopes (profile email devices.read)\n")
        #expect(try await world.count("SELECT count(*) FROM oauth_clients WHERE name = 'Unscoped'") == 0)
    }

    @Test func `a client is given no scope that is not configured, and all by an empty list`() async throws {
        func body(_ scopes: String) -> String {
            #"{"name":"Acme Lights","redirectUris":["https://acme.example/linked"],"scopes":\#(scopes)}"#
        }
        let created = try await administer("POST", "", body("[]")).expecting(201)
        let all = created.json?["scopes"]?.elements?.compactMap(\.string)
        #expect(all == ["profile", "email", "devices.read"])
        let id = try #require(created.json?["clientId"]?.string)
        #expect(
            try await world.count("SELECT count(*) FROM oauth_clients WHERE client_id = \(id) AND scopes IS NULL") == 1)
        for scopes in [#"["email","gone"]"#, #"["Email"]"#, #"[""]"#] {
            for refused in [
                try await administer("POST", "", body(scopes)),
                try await administer("PATCH", "/\(id)", #"{"scopes":\#(scopes)}"#),
            ] {
                #expect(refused.status == 400, "\(scopes)")
                #expect(refused.json?.fieldErrors == ["scopes invalid"], "\(scopes)")
            }
        }
        #expect(try await world.count("SELECT count(*) FROM oauth_clients WHERE name = 'Acme Lights'") == 1)
    }

    @Test func `of two administrators who change a client at once neither undoes the other's change`() async throws {
        let client = try await world.linkingClient()
        let id = client.id
        try await scratch.withPool { database in
            let changing = try await database.transaction { transaction in
                _ = try await transaction.execute("UPDATE oauth_clients SET name = 'First' WHERE client_id = \(id)")
                let changing = Task { try await administer("PATCH", "/\(id)", #"{"requirePkce":true}"#) }
                try await eventually("a change that waits for the other") { try await transaction.isWaitedFor() }
                return changing
            }
            #expect(try await changing.value.status == 200)
        }
        let shown = try await administer("GET", "/\(id)")
        #expect(shown.json?["name"]?.string == "First")
        #expect(shown.json?["requirePkce"]?.bool == true)
    }

    @Test(arguments: [
        #"{"redirectUris":["https://acme.example/linked"]}"#, #"{"name":"","redirectUris":[]}"#,
        #"{"name":"  ","redirectUris":["https://acme.example/linked"]}"#,
        #"{"name":"\u200b","redirectUris":["https://acme.example/linked"]}"#,
        #"{"name":"A\u202eemca","redirectUris":["https://acme.example/linked"]}"#,
        #"{"name":"A","redirectUris":["http://acme.example/linked"]}"#,
        #"{"name":"A","redirectUris":["https://acme.example/linked#f"]}"#,
        #"{"name":"A","redirectUris":["https://acme.example/*?code=1"]}"#,
        #"{"name":"A","redirectUris":["https://kim@acme.example/"]}"#,
        #"{"name":"A","redirectUris":["https://acme.example/"],"scopes":["not configured"]}"#,
        #"{"name":"A","redirectUris":["https://acme.example/"],"secret":"mine"}"#,
    ])
    func `a client that breaks a rule is not made`(body: String) async throws {
        try await administer("POST", "", body).expecting(400)
        #expect(
            try await world.count(
                "SELECT count(*) FROM oauth_clients WHERE name IN ('', '  ', '\u{200B}', 'A', 'A\u{202E}emca')") == 0)
    }

    @Test func `a client from before is listed and changed, whatever its name, and gets no such name again`()
        async throws
    {
        let client = try await world.linkingClient()
        let name = "B\u{202E}emca"
        try await scratch.execute("UPDATE oauth_clients SET name = \(name) WHERE client_id = \(client.id)")
        let changed = try await administer("PATCH", "/\(client.id)", #"{"rotateRefresh":true}"#)
        #expect(changed.status == 200 && changed.json?["name"]?.string == name)
        try await administer("PATCH", "/\(client.id)", #"{"name":"A\u202eemca"}"#).expecting(400)
        let listed = try await administer("GET", "?limit=100").json?["items"]?.elements
        #expect(listed?.first { $0["clientId"]?.string == client.id }?["name"]?.string == name)
    }
}
