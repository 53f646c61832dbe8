import OpenSSL
import Postgres
import Primitives
import TestSupport
import Testing

/// Who gets into the console, for how long, and what a form of another site can do.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct ConsoleSessionTests: WorldSuite {
    private static let pages = [
        "/console/", "/console/accounts", "/console/accounts/01a1fc41-9b43-7a01-afff-a0f49219c796",
        "/console/revocations", "/console/provider-events", "/console/audit", "/console/admin-keys", "/console/system",
    ]

    @Test func `a page without a session asks for the key, and leads on after it`() async throws {
        for path in Self.pages {
            let visit = ConsoleVisit(world)
            let page = try await visit.open(path)
            #expect(page.status == 200 && page.isSignIn, "\(path)")
            #expect(page.html.elements("label").map(\.content) == ["Admin key"])
            #expect(page.buttons == ["Sign in"])
        }
        let visit = ConsoleVisit(world)
        let target = "/console/accounts?q=a%2Bb%40example.com"
        let page = try await visit.signIn(with: try await world.adminKey("read"), at: target)
        #expect(page.url == visit.origin + target)
        #expect(page.html.title.hasPrefix("Accounts"))
        #expect(try await world.audited("console_opened") > 0)
    }

    @Test func `the address of the listener alone leads to the console`() async throws {
        let visit = ConsoleVisit(world)
        for path in ["/", "/console"] {
            let answer = try await visit.browser.open(visit.origin + path, following: false)
            #expect(answer.status == 303 && answer.answer["Location"] == "/console/", "\(path)")
        }
        #expect(try await visit.open("/", headers: [("Host", "evil.example")]).status == 403)
        for path in ["/nowhere", "//", "/index.html"] {
            #expect(try await service.privateGet(path).status == 404, "\(path)")
        }
    }

    @Test func `a key for the feed alone is refused in place, and leaves no cookie`() async throws {
        let visit = ConsoleVisit(world)
        let page = try await visit.signIn(with: try await world.adminKey("feed"))
        #expect(page.status == 401 && page.isSignIn)
        #expect(page.notice == "This key is for the feed, and opens nothing here.")
        #expect(page.answer.values("Set-Cookie").isEmpty)
        #expect(try await visit.open("/console/").isSignIn)
        // One that has another scope too is a key of the console.
        _ = try await ConsoleVisit.signedIn(to: world, "feed,revoke", name: "feed and more")

        // A session of such a key opens nothing, whatever has made it.
        let narrowed = try await ConsoleVisit.signedIn(to: world, "read", name: "narrowed")
        try await scratch.execute("UPDATE admin_keys SET scopes = ARRAY['feed'] WHERE name = 'narrowed'")
        for path in Self.pages { #expect(try await narrowed.open(path).isSignIn, "\(path)") }
    }

    @Test func `a sign-in leads on to a page with a long address too`() async throws {
        let target = "/console/accounts?q=" + String(repeating: "%C3%A9", count: 330)
        let page = try await ConsoleVisit(world).signIn(with: try await world.adminKey("read"), at: target)
        #expect(page.status == 200)
        #expect(page.url == service.privateURL + target)
    }

    @Test(arguments: [
        "", "csa_", "csa_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "' OR 1=1 --", "revoked", "csa_\tpasted",
        String(repeating: "pasted ", count: 200),
    ])
    func `a wrong key is refused in place, and leaves no cookie`(key: String) async throws {
        let key = key == "revoked" ? try await world.revokedAdminKey() : key
        let visit = ConsoleVisit(world)
        let page = try await visit.signIn(with: key)
        #expect(page.status == 401 && page.answer["WWW-Authenticate"] == "Bearer")
        #expect(page.isSignIn)
        #expect(page.answer.body.contains("role=\"alert\""))
        #expect(page.answer.values("Set-Cookie").isEmpty)
        #expect(visit.browser.cookies(of: visit.origin).isEmpty)
        if !key.isEmpty { #expect(!page.answer.text.contains(key)) }
    }

    @Test func `white space around a pasted key does not count`() async throws {
        let key = try await world.adminKey("read")
        let page = try await ConsoleVisit(world).signIn(with: " \(key)\n")
        #expect(page.status == 200 && page.html.title.hasPrefix("Overview"), "\(page.answer.text)")
    }

    @Test(arguments: [
        ("https://evil.example/", 303), ("//evil.example/console/", 303), ("/\\evil.example", 303),
        ("/admin/v1/accounts", 303), ("/console/\r\nX: y", 400),
    ])
    func `a sign-in leads to a page of the console alone`(destination: String, status: Int) async throws {
        let visit = ConsoleVisit(world)
        let page = try await visit.open("/console/")
        let key = try await world.adminKey("read")
        let answer = try await visit.browser.send(
            [("to", destination), ("key", key)], to: "/console/sign-in", on: page, following: false)
        #expect(answer.status == status)
        #expect(answer.answer["Location"] == (status == 303 ? "/console/" : nil))
    }

    /// Who has the service's role writes rows, and lacks the key ring.
    @Test
    func `a row that was not made by a sign-in opens nothing, nor does one that was given another key`() async throws {
        let bytes = try SecureRandom.bytes(32)
        let visit = try await ConsoleVisit.signedIn(to: world, "read", name: "reader of rows")
        try await scratch.execute(
            """
            INSERT INTO console_sessions (session_hash, key_id)
            SELECT \(SHA256.hash(bytes)), key_id FROM admin_keys WHERE name = 'reader of rows'
            """)
        let page = try await visit.open("/console/accounts")
        #expect(page.status == 200 && !page.isSignIn)
        let own = try #require(visit.browser.cookies(of: visit.origin).first?.value)
        for forged in [Base64URL.encode(bytes), own.dropLast(43) + Base64URL.encode(bytes)] {
            let answer = try await ConsoleVisit(world).open(
                "/console/accounts", headers: [("Cookie", "csn_console=\(forged)")])
            #expect(answer.isSignIn)
        }
        // By itself the cookie is good for what it was made for.
        #expect(
            try await !ConsoleVisit(world).open("/console/accounts", headers: [("Cookie", "csn_console=\(own)")])
                .isSignIn)
        _ = try await world.adminKey("read,manage", name: "manager of rows")
        try await scratch.execute(
            """
            UPDATE console_sessions
            SET key_id = (SELECT key_id FROM admin_keys WHERE name = 'manager of rows')
            WHERE key_id = (SELECT key_id FROM admin_keys WHERE name = 'reader of rows')
            """)
        #expect(try await visit.open("/console/admin-keys").isSignIn)
    }

    @Test func `the cookie is out of reach of scripts, other sites and the rest of the listener`() async throws {
        let visit = try await ConsoleVisit.signedIn(to: world)
        let cookie = try #require(visit.browser.cookies(of: visit.origin).first)
        #expect(cookie.attributes["httponly"] == "")
        #expect(cookie.attributes["samesite"] == "Strict")
        #expect(cookie.attributes["path"] == "/console")
        #expect(cookie.attributes["max-age"] == nil && cookie.attributes["domain"] == nil)
    }

    @Test func `every answer has the header fields that keep others out`() async throws {
        let visit = try await ConsoleVisit.signedIn(to: world)
        for path in Self.pages + ["/console/none", "/console/accounts?cursor=x"] {
            let answer = try await visit.open(path).answer
            guard path != "/console/none" else {
                #expect(answer.status == 404)
                continue
            }
            #expect(
                answer["Content-Security-Policy"]
                    == """
                    default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                    frame-ancestors 'none'
                    """, "\(path)")
            #expect(answer["X-Frame-Options"] == "DENY")
            #expect(answer["Referrer-Policy"] == "no-referrer")
            #expect(answer["Cache-Control"] == "no-store")
            #expect(answer["X-Content-Type-Options"] == "nosniff")
            #expect(!answer.body.contains("<script") && !answer.body.contains(" style="))
        }
        let style = try #require(try await visit.open("/console/").html.assets.first)
        let sheet = try await visit.open(style).answer
        #expect(sheet.status == 200)
        #expect(sheet["Content-Type"] == "text/css; charset=utf-8")
    }

    @Test func `a session ends when it is not used for 30 minutes, and after 8 hours`() async throws {
        for (column, minutes) in [("last_used_at", 30), ("created_at", 8 * 60)] as [(String, Int32)] {
            let name = "at \(column)"
            let visit = try await ConsoleVisit.signedIn(to: world, name: name)
            let own: SQL = "key_id = (SELECT key_id FROM admin_keys WHERE name = \(name))"
            try await visit.age(own, column, minutes: minutes - 5)
            #expect(try await !visit.open("/console/accounts").isSignIn, "\(column)")
            try await visit.age(own, column, minutes: minutes + 1)
            #expect(try await visit.open("/console/accounts").isSignIn, "\(column)")
        }
    }

    @Test func `an act after the end of the session is not done, says so and gives the reason back`() async throws {
        let id = try await world.newAccount("console-late").accountID()
        let visit = try await ConsoleVisit.signedIn(to: world, name: "late")
        let path = "/console/accounts/\(id)/disable"
        let question = try await visit.open(path)
        try await visit.age("key_id = (SELECT key_id FROM admin_keys WHERE name = 'late')", "last_used_at", minutes: 31)
        let late = try await visit.browser.submit(path, on: question, typed: ["reason": "case 21 <b>"]).expecting(401)
        #expect(late.isSignIn && late.notice == "Your session had ended: nothing was done.")
        #expect(late.html.text.contains("case 21 <b>"))
        #expect(try await world.recorded("account_id = \(id)::uuid AND type = 'account_disabled'") == 0)
        let key = try await world.adminKey("read,manage", name: "later")
        let again = try await visit.browser.submit("/console/sign-in", on: late, typed: ["key": key])
        #expect(again.url == visit.origin + path && again.html.title.hasPrefix("Disable"), "\(again.url)")
    }

    @Test func `a page that loads itself again does not keep the session alive`() async throws {
        let visit = try await ConsoleVisit.signedIn(to: world, name: "follower")
        let own: SQL = "key_id = (SELECT key_id FROM admin_keys WHERE name = 'follower')"
        func idle() async throws -> Int64 {
            try await world.count(
                "SELECT extract(epoch FROM now() - last_used_at)::bigint FROM console_sessions WHERE \(own)")
        }
        try await visit.age(own, "last_used_at", minutes: 10)
        let following = try await visit.open("/console/?follow=1", headers: [("Sec-Fetch-User", "")])
        // The person's own click counts.
        #expect(following.html.refresh == "/console/?follow=1")
        _ = try await visit.open("/console/")
        #expect(try await idle() < 300)
        #expect(try await visit.open("/console/").html.refresh == nil)
        try await visit.age(own, "last_used_at", minutes: 10)
        let cookie = try #require(visit.browser.cookies(of: visit.origin).first)
        let answer = try await service.exchange(
            service.privatePort, "GET", "/console/?follow=1", authorization: nil,
            host: "127.0.0.1", headers: "Cookie: \(cookie.name)=\(cookie.value)\r\n")
        #expect(answer.status == 200)
        #expect(try await idle() >= 600)
    }

    @Test func `a page that is loaded again after a minute does not say again what was done`() async throws {
        let id = try await world.newAccount("console-reloaded").accountID()
        let visit = try await ConsoleVisit.signedIn(to: world)
        let secret = try #require(visit.browser.cookies(of: visit.origin).first?.value)
        let path = "/console/accounts/\(id)"
        let now = try await world.count("SELECT extract(epoch FROM now())::bigint")
        for (age, isSaid) in [(0, true), (30, true), (90, false), (-90, false), (14_400, false)] as [(Int64, Bool)] {
            // As the service makes it.
            let word = "account-disable.\(now - age)"
            let code = try HMACSHA256.authenticationCode(
                for: Array("web|done \(word)|\(path)".utf8), key: Array(secret.utf8))
            let page = try await visit.open("\(path)?done=\(word).\(Base64URL.encode(code.bytes))").expecting(200)
            #expect(page.notice == (isSaid ? "The account is disabled." : nil), "\(age) s later")
        }
    }

    @Test func `signing out ends the session, also for a browser that keeps the cookie`() async throws {
        let visit = try await ConsoleVisit.signedIn(to: world)
        let kept = visit.browser.cookies(of: visit.origin)
        let page = try await visit.open("/console/accounts")
        #expect(try await visit.browser.submit("/console/sign-out", on: page).isSignIn)
        #expect(visit.browser.cookies(of: visit.origin).isEmpty)
        visit.browser.set(kept, of: visit.origin)
        #expect(try await visit.open("/console/accounts").isSignIn)
    }

    @Test func `a revoked key ends its sessions at once, in every process`() async throws {
        let visit = try await ConsoleVisit.signedIn(to: world, name: "leaving")
        let cookies = visit.browser.cookies(of: visit.origin)
        let settings = try World.settings(scratch, world.sandbox)
        try await Countersign.serve(settings) { other in
            let otherVisit = ConsoleVisit(World(service: other, sandbox: world.sandbox, scratch: scratch))
            otherVisit.browser.set(cookies, of: otherVisit.origin)
            #expect(try await !otherVisit.open("/console/accounts").isSignIn)
            try await world.revokeAdminKey(named: "leaving")
            #expect(try await visit.open("/console/accounts").isSignIn)
            #expect(try await otherVisit.open("/console/accounts").isSignIn)
        }
    }

    @Test func `what a key may not do is not shown, and refused`() async throws {
        let created = try await world.newAccount("console-scopes")
        let id = try created.accountID()
        let reader = try await ConsoleVisit.signedIn(to: world, "read", name: "reader")
        #expect(try await reader.account(id).buttons == ["Sign out"])
        #expect(try await reader.open("/console/").html.links.map(\.label).contains("Admin keys") == false)
        #expect(try await reader.open("/console/admin-keys").status == 403)
        #expect(try await reader.open("/console/accounts/\(id)/disable").status == 403)

        let identityPath = "/console/identities/\(try created.identityID())/revoke"
        let revoker = try await ConsoleVisit.signedIn(to: world, "revoke", name: "revoker")
        for path in Self.pages.dropFirst() { #expect(try await revoker.open(path).status == 403, "\(path)") }
        #expect(try await revoker.open(identityPath).status == 403)
        #expect(try await !revoker.open("/console/").html.text.contains("Last failures"))
        #expect(try await revoker.open("/console/").html.links.map(\.label).contains("Accounts") == false)

        // The form of another administrator, sent by this one.
        let manager = try await ConsoleVisit.signedIn(to: world, "read,manage", name: "manager")
        let question = try await manager.ask("Disable", on: try await manager.account(id))
        let form = try question.form("/console/accounts/\(id)/disable")
        try await reader.browser.submit(form, on: question, typed: ["reason": "x"]).expecting(403)
        #expect(try await world.audited("account_disabled", by: "reader") == 0)
        let identity = try created.identityID()
        #expect(try await manager.open("/console/identities/\(identity)/revoke").status == 403)
    }

    @Test func `a form of another site, of no session or of another page does nothing`() async throws {
        let id = try await world.newAccount("console-csrf").accountID()
        let visit = try await ConsoleVisit.signedIn(to: world, name: "target")
        let path = "/console/accounts/\(id)/disable"
        let question = try await visit.open(path)
        let token = try #require(try question.form(path).input("csrf")?.value)
        let otherToken = try #require(try await visit.open("/console/").form("/console/sign-out").input("csrf")?.value)
        for csrf in [nil, "", "x", otherToken, token.dropLast() + "A", token + "A"] as [String?] where csrf != token {
            let fields = [("reason", "x")] + (csrf.map { [("csrf", $0)] } ?? [])
            #expect(try await visit.browser.send(fields, to: path, on: question).status == 403, "\(csrf ?? "none")")
        }
        for site in ["cross-site", "same-site", "none"] {
            let answer = try await visit.browser.send(
                [("csrf", token), ("reason", "x")], to: path, on: question, headers: [("Sec-Fetch-Site", site)])
            #expect(answer.status == 403, "\(site)")
        }
        let other = ConsoleVisit(world)
        let answer = try await other.browser.send([("csrf", token), ("reason", "x")], to: path, on: question)
        #expect(answer.status == 401 && answer.isSignIn && answer.answer["WWW-Authenticate"] == "Bearer")
        #expect(try await visit.open(path).status == 200)
        #expect(try await world.audited("account_disabled", by: "target") == 0)
        // The same form as its own page sends it.
        let done = try await visit.act("Disable", on: try await visit.account(id), typed: ["reason": "asked for"])
        #expect(done.status == 200 && done.notice == "The account is disabled.")
    }

    @Test func `another name than the console's own is refused, which a page of another site would send`() async throws
    {
        let visit = try await ConsoleVisit.signedIn(to: world)
        let port = service.privatePort
        for host in [
            "evil.example", "evil.example:\(port)", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1",
        ] {
            for path in ["/console", "/console/", "/console/accounts"] {
                let page = try await visit.open(path, headers: [("Host", host)])
                #expect(page.status == 403, "\(host) \(path)")
                #expect(!page.isSignIn)
            }
            let api = try await visit.open("/health/live", headers: [("Host", host)])
            #expect(api.status == 200, "health has no such rule")
        }
        for host in ["127.0.0.1:\(port)", "localhost:\(port)", "LOCALHOST", "[::1]:\(port)"] {
            #expect(try await visit.open("/console/", headers: [("Host", host)]).status == 200, "\(host)")
        }
    }

    @Test(.world(["admin.publicHost": "support.example.com"]))
    func `the public host is the console's too, and its cookie stays with https`() async throws {
        let visit = ConsoleVisit(world)
        let page = try await visit.open("/console/", headers: [("Host", "support.example.com")]).expecting(200)
        #expect(page.answer["Strict-Transport-Security"] == "max-age=31536000")
        let key = try await world.adminKey("read")
        for (proto, isSecure) in [("https", true), ("http", false)] {
            let answer = try await visit.browser.send(
                [("key", key)], to: "/console/sign-in", on: page, following: false,
                headers: [("Host", "support.example.com"), ("X-Forwarded-Proto", proto)])
            #expect(answer.status == 303)
            let cookie = try #require(answer.answer.values("Set-Cookie").first)
            #expect(cookie.hasSuffix("; Secure") == isSecure, "\(cookie)")
        }
        #expect(try await visit.open("/console/", headers: [("Host", "other.example.com")]).status == 403)
    }

    @Test func `the public listener has no console`() async throws {
        for path in ["/console", "/console/", "/console/accounts", "/console/sign-in"] {
            #expect(try await service.get(path).status == 404)
        }
        let visit = try await ConsoleVisit.signedIn(to: world)
        #expect(try await visit.open("/console/oauth-clients").status == 404)
        #expect(try await !visit.open("/console/").html.links.map(\.label).contains("OAuth clients"))
    }
}
