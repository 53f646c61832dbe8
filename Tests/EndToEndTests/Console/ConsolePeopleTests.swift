import Foundation
import JSON
import Postgres
import TestSupport
import Testing

/// Finding people at the console, what their page shows, and what can be done to them there.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct ConsolePeopleTests: WorldSuite {
    /// The ids of the accounts that a search lists.
    private static func found(_ query: String, _ visit: ConsoleVisit) async throws -> [String] {
        let page = try await visit.open("/console/accounts?q=\(FormEncoding.encode(query))").expecting(200)
        return page.html.links.map(\.target).filter { $0.hasPrefix("/console/accounts/") }
            .map { String($0.dropFirst("/console/accounts/".count)) }
    }

    @Test func `the search finds a person by whatever support is given`() async throws {
        try await world.newPerson("console-found", email: "console+found@example.com")
        let created = try await world.create(of: try await world.signIn("console-found", with: .google))
        let id = try created.accountID()
        let bearer = try created.bearer()
        try await service.send("PATCH", "/v1/account", ["displayName": "Ann Console"], bearer: bearer).expecting(200)
        let subject = try await scratch.texts("SELECT subject FROM identities WHERE account_id = \(id)::uuid")[0]
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        let session = try created.sessionID()
        let texts = [
            "console+found@example.com", "CONSOLE+found@EXAMPLE.com", id, try created.identityID(),
            id.uppercased(), session, session.uppercased(), "google:\(subject)", "google: \(subject)", "ann console",
            "console+fou",
        ]
        for text in texts { #expect(try await Self.found(text, visit) == [id], "\(text)") }
        try await scratch.execute(
            "UPDATE identities SET email = 'console-relay@example.com' WHERE account_id = \(id)::uuid")
        #expect(try await Self.found("Console-Relay@example.com", visit) == [id])
        for text in [
            "apple:\(subject)", "google:", "01a1fc41-9b43-7a01-afff-a0f49219c796", "nobody@example.com", "%",
            "' OR ''='",
        ] { #expect(try await Self.found(text, visit) == [], "\(text)") }
        // Of the form as a browser sends it, plus signs are spaces.
        let page = try await visit.open("/console/accounts")
        let search = try page.form("/console/accounts")
        #expect(search.method == "GET" && search.attributes["role"] == "search")
        let answer = try await visit.browser.submit(search, on: page, typed: ["q": "Ann Console"])
        #expect(answer.url.hasSuffix("q=Ann+Console") || answer.url.hasSuffix("q=Ann%20Console"))
        #expect(answer.html.text.contains("console+found@example.com"))
    }

    @Test func `a name is found however it is written, at the console, by the API and by the command`() async throws {
        let created = try await world.newAccount("console-written")
        let (id, bearer) = (try created.accountID(), try created.bearer())
        try await service.send("PATCH", "/v1/account", ["displayName": "Zoe\u{308}  Wri\u{AD}tten"], bearer: bearer)
            .expecting(200)
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        let key = try await world.adminKey("read")
        for text in ["Zoe\u{308}  Wri\u{AD}tten", "Zo\u{EB}\u{3000}Wri\u{AD}tten\u{200B}", "ZO\u{EB} WRI\u{AD}TTEN"] {
            #expect(try await Self.found(text, visit) == [id], "\(text)")
            let list = try await service.administer(
                "GET", "/admin/v1/accounts?name=\(FormEncoding.encode(text))", bearer: key)
            #expect(list.json?["items"]?.elements?.compactMap { $0["accountId"]?.string } == [id], "\(text)")
            #expect(try await world.run(["account", "find", text]).output.contains(id), "\(text)")
        }
    }

    @Test func `a long list goes on at Next, each account once`() async throws {
        try await scratch.execute(
            """
            INSERT INTO accounts (account_id, email, status, created_at)
            SELECT gen_random_uuid(), 'listed' || lpad(n::text, 3, '0') || '@example.com', 'active', now()
            FROM generate_series(1, 120) AS n
            """)
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        var page = try await visit.open("/console/accounts?q=listed")
        var seen: [String] = []
        while true {
            let ids = page.html.links.map(\.target).filter { $0.hasPrefix("/console/accounts/") }
            #expect(ids.count <= 50)
            seen += ids
            guard let next = page.html.elements("a").first(where: { $0.attributes["rel"] == "next" }) else { break }
            page = try await visit.browser.click(try #require(next.attributes["href"]), on: page)
        }
        #expect(seen.count == 120 && Set(seen).count == 120)
    }

    @Test func `an account's page shows the whole of it, and acts on it with the key's name in the trail`() async throws
    {
        let created = try await world.newAccount("console-whole")
        let id = try created.accountID()
        let identity = try created.identityID()
        let session = try created.sessionID()
        let name = "acting"
        let visit = try await ConsoleVisit.signedIn(to: world, name: name)
        let page = try await visit.account(id)
        for text in [id, identity, session, "console-whole@example.com", "Account created", "stated by a provider"] {
            #expect(page.html.text.contains(text), "\(text)")
        }
        // None that mails: this service can't.
        #expect(
            page.buttons == [
                "Sign out", "Disable", "Sign out everywhere", "Change name", "Export", "Delete", "Revoke",
                "End session",
            ])

        // Each asks first, names the account, and can be left.
        for label in ["Disable", "Sign out everywhere", "Delete"] {
            let question = try await visit.ask(label, on: page)
            #expect(question.html.title.hasPrefix(label))
            #expect(question.html.text.contains(id) && question.html.text.contains("console-whole@example.com"))
            #expect(question.buttons == ["Sign out", label, "Cancel"])
            #expect(question.html.elements("label").map(\.content) == ["Reason"])
            let cancel = try #require(question.html.forms.first { $0.buttons.first?.label == "Cancel" })
            #expect(cancel.action == "/console/accounts/\(id)")
        }
        // Without its reason nothing happens.
        let refused = try await visit.act("Disable", on: page, typed: ["reason": ""])
        #expect(refused.status == 400 && refused.notice?.hasPrefix("Say why") == true)
        #expect(try await visit.account(id).buttons.contains("Disable"))

        let disabled = try await visit.act("Disable", on: page, typed: ["reason": "case 1 <b>"])
        #expect(disabled.notice == "The account is disabled.")
        #expect(disabled.html.elements("dd").contains { $0.content.contains("case 1 &lt;b&gt;") })
        #expect(disabled.html.text.contains("case 1 <b>") && !disabled.answer.body.contains("<b>"))
        #expect(try await world.audited("account_disabled", by: name, reason: "case 1 <b>") == 1)
        let token = try await world.appleToken("console-whole")
        #expect(try await service.signInWithApple(token).status == 403)

        let enabled = try await visit.act("Enable", on: disabled, typed: ["reason": "case 2"])
        #expect(enabled.notice == "The account is enabled.")
        #expect(try await world.audited("account_enabled", by: name, reason: "case 2") == 1)
        let again = try await world.signIn("console-whole", with: .apple).expecting(200)

        let signedOut = try await visit.act("Sign out everywhere", on: enabled, typed: ["reason": "case 3"])
        #expect(signedOut.html.text.contains("Nobody is signed in."))
        #expect(try await service.get("/v1/account", bearer: try again.bearer()).status == 401)

        let export = try await visit.act("Export", on: signedOut)
        #expect(export.answer["Content-Disposition"] == "attachment; filename=\"account-\(id).json\"")
        #expect(export.answer.json?["account"] != nil && export.answer.body.contains(id), "\(export.answer.body)")
        #expect(try await world.audited("account_exported", by: name) == 1)

        // The last way in stays; at its own address the reason that was typed too.
        #expect(signedOut.html.text.contains("The last way to sign in can't be unlinked."))
        #expect(!signedOut.buttons.contains("Unlink"))
        let path = "/console/identities/\(identity)/unlink"
        let asked = try await visit.open(path)
        let unlink = try #require(asked.html.forms.first { $0.method == "POST" && $0.path == path })
        let kept = try await visit.browser.submit(unlink, on: asked, typed: ["reason": "case 4"])
        #expect(kept.status == 409 && kept.notice?.contains("last way") == true)
        #expect(kept.answer.body.contains("case 4"))
        #expect(kept.html.text.contains(identity))

        let unfounded = try await visit.act("Revoke", on: signedOut, typed: ["reason": "", "keep": "true"])
        #expect(unfounded.status == 400 && unfounded.answer.body.contains(#"value="true" checked>"#))
        let revoked = try await visit.act("Revoke", on: signedOut, typed: ["reason": "case 5", "keep": "true"])
        #expect(revoked.notice == "The revocation is requested.")
        #expect(try await world.audited("revocation_requested", by: name, reason: "case 5") == 1)
        #expect(try await visit.open("/console/revocations").html.text.contains(identity))

        let deleted = try await visit.act("Delete", on: revoked).expecting(404)
        #expect(deleted.html.text.contains("Account deleted") && deleted.html.text.contains(name))
        #expect(!deleted.html.text.contains("console-whole@example.com"))
        #expect(try await Self.found("console-whole@example.com", visit) == [])
        for text in [id, identity.uppercased()] { #expect(try await Set(Self.found(text, visit)) == [id], "\(text)") }
    }

    @Test func `an identity beside another way in has its button, and who may not unlink reads nothing of it`()
        async throws
    {
        let id = try await world.newAccount("console-ways").accountID()
        let reader = try await ConsoleVisit.signedIn(to: world, "read")
        #expect(try await !reader.account(id).html.text.contains("be unlinked"))
        let other = try await world.register("console-donor@example.com").accountID()
        try await scratch.execute(
            """
            UPDATE accounts SET password_hash = (SELECT password_hash FROM accounts WHERE account_id = \(other)::uuid)
            WHERE account_id = \(id)::uuid
            """)
        let visit = try await ConsoleVisit.signedIn(to: world)
        let done = try await visit.act("Unlink", on: try await visit.account(id), typed: ["reason": "case 7"])
        #expect(done.notice == "The identity is unlinked.")
    }

    @Test func `an address that finds no account leads to other ways to search`() async throws {
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        for (query, isHinted) in [("no.such@example.com", true), ("No Such Person", false), ("no.such@", false)] {
            let page = try await visit.open("/console/accounts?q=\(FormEncoding.encode(query))")
            #expect(page.html.text.contains("There is no such account."), "\(query)")
            for hint in ["try its beginning", "the relay address"] {
                #expect(page.html.text.contains(hint) == isHinted, "\(query)")
            }
        }
    }

    @Test func `an account without a way in is enabled with an address alone`() async throws {
        let id = "01900000-0000-7000-8000-00000000c501"
        try await scratch.execute(
            """
            INSERT INTO accounts (account_id, status, disabled_reason, created_at)
            VALUES (\(id)::uuid, 'disabled', 'all revoked', now())
            """)
        try await scratch.execute(
            """
            INSERT INTO accounts (account_id, email, email_proof, created_at)
            VALUES ('01900000-0000-7000-8000-00000000c511', 'console-taken@example.com', 'stated', now())
            """)
        let visit = try await ConsoleVisit.signedIn(to: world)
        let page = try await visit.account(id)
        let missing = try await visit.act("Enable", on: page, typed: ["reason": "back", "email": ""])
        #expect(missing.status == 400 && missing.notice?.contains("address") == true)
        let taken = try await visit.act(
            "Enable", on: page, typed: ["reason": "back", "email": "console-taken@example.com"])
        #expect(taken.notice == "Another account has this address.")
        #expect(taken.html.forms.contains { $0.input("email")?.value == "console-taken@example.com" })
        let done = try await visit.act(
            "Enable", on: page, typed: ["reason": "back", "email": "console-back@example.com"])
        #expect(done.notice == "The account is enabled.")
        #expect(done.html.text.contains("console-back@example.com"))
    }

    @Test func `an account whose address is its way in is enabled without another`() async throws {
        let id = "01900000-0000-7000-8000-00000000c502"
        try await scratch.execute(
            """
            INSERT INTO accounts (account_id, email, email_verified, email_proof, email_proof_source, status,
                disabled_reason, created_at)
            VALUES (\(id)::uuid, 'console-mailed@example.com', true, 'proven', 'mailed_code', 'disabled', 'administrator',
                now())
            """)
        let visit = try await ConsoleVisit.signedIn(to: world)
        let page = try await visit.account(id)
        #expect(try await visit.ask("Enable", on: page).html.elements("label").map(\.content) == ["Reason"])
        #expect(try await visit.act("Enable", on: page, typed: ["reason": "back"]).notice == "The account is enabled.")
    }

    @Test func `a reason that is too long comes back with its form`() async throws {
        let id = try await world.newAccount("console-long").accountID()
        let visit = try await ConsoleVisit.signedIn(to: world)
        let reason = String(repeating: "あ", count: 342)
        let refused = try await visit.act("Disable", on: try await visit.account(id), typed: ["reason": reason])
        #expect(refused.status == 400 && refused.notice?.contains("too long") == true)
        #expect(refused.answer.body.contains(reason))
    }

    @Test func `what a form has done is said in its session alone`() async throws {
        let id = try await world.newAccount("console-said").accountID()
        let visit = try await ConsoleVisit.signedIn(to: world)
        let done = try await visit.act("Disable", on: try await visit.account(id), typed: ["reason": "x"])
        #expect(done.notice == "The account is disabled.")
        let other = try await ConsoleVisit.signedIn(to: world)
        let path = String(done.url.dropFirst(visit.origin.count))
        #expect(try await other.open(path).notice == nil)
        for forged in [
            "account-disable", "account-enable", "account-delete.x",
            path.replacing("done=account-disable", with: "done=account-enable"),
        ] {
            let target = forged.hasPrefix("/") ? forged : "/console/accounts/\(id)?done=\(forged)"
            #expect(try await visit.open(target).notice == nil, "\(forged)")
        }
    }

    @Test func `what is not blocked or given up any more is said to be so, and recorded by nobody`() async throws {
        let created = try await world.newAccount("console-nothing")
        let visit = try await ConsoleVisit.signedIn(to: world, name: "idle")
        for (act, sentence) in [
            ("identities/\(try created.identityID())/unblock", "The identity is not blocked."),
            ("accounts/\(try created.accountID())/enable", "The account is active already."),
            ("accounts/\(try created.accountID())/rename", "The account has this name already."),
        ] {
            let question = try await visit.open("/console/\(act)")
            let answer = try await visit.browser.submit("/console/\(act)", on: question, typed: ["reason": "idle"])
            #expect(answer.status == 409 && answer.notice == sentence, "\(answer.answer.body)")
        }
        #expect(try await world.recorded("actor_name = 'idle' AND reason = 'idle'") == 0)
    }

    @Test func `long lists of revocations, of the outbox and of sessions go on`() async throws {
        let id = try await world.newAccount("console-lists").accountID()
        // Older than those of the other tests.
        try await scratch.execute(
            """
            INSERT INTO outbox (message_id, kind, status, provider, realm, subject, attempts, last_error, next_attempt_at,
                created_at, finished_at)
            SELECT ('01000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'revocation', 'failed', 'google', 'main',
                'listed-' || n, 3, 'x', now(), now(), now()
            FROM generate_series(1, 70) AS n
            """,
            """
            INSERT INTO sessions (session_id, account_id, rotated_at, auth_time, amr, created_at, last_used_at, expires_at)
            SELECT gen_random_uuid(), \(id)::uuid, now(), now(), ARRAY['pwd'], now(), now(), now() + interval '1 hour'
            FROM generate_series(1, 70) AS n
            """)
        let visit = try await ConsoleVisit.signedIn(to: world)
        for (path, fragment) in [
            ("/console/revocations", "status=failed"), ("/console/revocations", "outbox=failed"),
            ("/console/accounts/\(id)", "sessions="),
        ] {
            let page = try await visit.open(path)
            let next = try #require(
                page.html.elements("a").first {
                    $0.attributes["rel"] == "next" && $0.attributes["href"]?.contains(fragment) == true
                }?.attributes["href"], "\(fragment)")
            #expect(try await visit.browser.click(next, on: page).status == 200)
        }
    }

    @Test func `what people call themselves is text, wherever it is shown`() async throws {
        let probe = #""'><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}"#
        let created = try await world.newAccount("console-probe")
        let id = try created.accountID()
        let identity = try created.identityID()
        try await scratch.execute(
            "UPDATE accounts SET display_name = \(probe) WHERE account_id = \(id)::uuid",
            "UPDATE sessions SET device_name = \(String(probe.prefix(60))), device_platform = \(String(probe.prefix(30))) WHERE account_id = \(id)::uuid",
            """
            INSERT INTO audit_events (event_id, type, actor, actor_name, account_id, reason, created_at)
            VALUES (gen_random_uuid(), \(probe), 'administrator', \(probe), \(id)::uuid, \(probe), now())
            """,
            """
            INSERT INTO outbox (message_id, kind, status, provider, realm, subject, identity_id, attempts, last_error,
                next_attempt_at, created_at, finished_at)
            SELECT gen_random_uuid(), 'revocation', 'failed', 'google', 'main', \(probe), \(identity)::uuid, 3, \(probe),
                now(), now(), now()
            """)
        let visit = try await ConsoleVisit.signedIn(to: world, name: #"<i>"'&"#)
        let paths = [
            "/console/", "/console/accounts?q=\(FormEncoding.encode(probe))", "/console/accounts/\(id)",
            "/console/accounts/\(id)/disable", "/console/identities/\(identity)/revoke", "/console/revocations",
            "/console/audit?account=\(id)", "/console/audit?since=2026-01-01", "/console/admin-keys", "/console/system",
        ]
        for path in paths {
            let page = try await visit.open(path)
            #expect(page.status == 200, "\(path) \(page.answer.body)")
            let body = page.answer.body
            #expect(!body.contains("<script") && !body.contains("<img") && !body.contains("<i>"), "\(path)")
            #expect(!body.contains("alert(2)&gt;49"), "\(path): a template in a text")
        }
        #expect(try await visit.account(id).html.text.contains(probe))
        #expect(try await visit.open(paths[1]).html.forms.first?.input("q")?.value == nil)
    }

    @Test(arguments: [
        "/console/accounts?cursor=x", "/console/audit?type=none",
        "/console/audit?since=yesterday", "/console/audit?account=x", "/console/audit?cursor=AAAA",
        "/console/revocations?cursor=%27", "/console/provider-events?cursor=1",
    ])
    func `a query that is none is refused on a page`(path: String) async throws {
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        #expect(try await visit.open(path).expecting(400).answer["Content-Type"] == "text/html; charset=utf-8")
    }

    @Test(arguments: ["%00", "%FF", "a%09b"] + [1_025, 8_000].map { String(repeating: "a", count: $0) })
    func `what can't be searched for gets a page with the search box`(query: String) async throws {
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        let page = try await visit.open("/console/accounts?q=" + query).expecting(400)
        #expect(page.notice != nil)
        #expect(try page.form("/console/accounts").input("q") != nil)
    }

    @Test func `white space around what is searched for does not count`() async throws {
        let id = try await world.newAccount("console-spaced").accountID()
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        for text in [" console-spaced@example.com ", "\tconsole-spaced@example.com\t", "\u{A0}\(id)\u{A0}"] {
            #expect(try await Self.found(text, visit) == [id], "\(text)")
        }
    }

    @Test func `an address below the console that is none is a page for a browser`() async throws {
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        for path in ["/console/nowhere", "/console/accounts/x/nowhere/y"] {
            let page = try await visit.open(path)
            #expect(page.status == 404, "\(path)")
            #expect(page.answer["Content-Type"] == "text/html; charset=utf-8", "\(path)")
            #expect(page.html.links.contains { $0.target == "/console/" }, "\(path)")
            #expect(try await ConsoleVisit(world).open(path).isSignIn, "\(path)")
            let other = try await service.exchange(
                service.privatePort, "GET", path, authorization: nil, host: "127.0.0.1:\(service.privatePort)")
            #expect(other.status == 404 && other.code == "not_found", "\(path) \(other.text)")
        }
    }

    @Test(arguments: [
        "/console/accounts/x", "/console/accounts/x/disable", "/console/identities/x/revoke",
        "/console/identities/01a1fc41-9b43-7a01-afff-a0f49219c796/unlink",
        "/console/revocations/01a1fc41-9b43-7a01-afff-a0f49219c796/retry", "/console/provider-events/x/replay",
        "/console/admin-keys/01a1fc41-9b43-7a01-afff-a0f49219c796/revoke",
    ])
    func `what doesn't exist is not found`(path: String) async throws {
        let visit = try await ConsoleVisit.signedIn(to: world)
        #expect(try await visit.open(path).status == 404)
    }

    @Test(.world(["log.level": "trace"]))
    func `neither the search nor the key nor the cookie is in the log`() async throws {
        let key = try await world.adminKey("read,manage")
        let visit = ConsoleVisit(world)
        _ = try await visit.signIn(with: key)
        _ = try await visit.open("/console/accounts?q=secret.person%40example.com")
        let cookie = try #require(visit.browser.cookies(of: visit.origin).first?.value)
        try await eventually("the lines of the requests") { service.log.contains("/console/accounts") }
        for secret in [key, cookie, "secret.person"] { #expect(!service.log.contains(secret)) }
    }
}
