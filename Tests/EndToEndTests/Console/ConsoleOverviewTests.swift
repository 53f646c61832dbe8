import Postgres
import TestSupport
import Testing

/// What the console says of the service and its work: figures, times, what waits and what was given up.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct ConsoleOverviewTests: WorldSuite {
    @Test func `when an identity was used is shown to the hour, and a key to the minute`() async throws {
        let id = try await world.newAccount("console-used").accountID()
        try await scratch.execute(
            "UPDATE identities SET last_sign_in_at = '2024-11-20T23:19:14Z' WHERE account_id = \(id)::uuid")
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        let text = try await visit.account(id).html.text
        #expect(text.contains("used 2024-11-20 23:19–00:19"), "\(text)")
        #expect(!text.contains("23:19:14"))
        // Not so far ago it was not later than now.
        try await scratch.execute(
            "UPDATE identities SET last_sign_in_at = now() - interval '9 minutes' WHERE account_id = \(id)::uuid")
        func minute() async throws -> String {
            try await scratch.texts("SELECT to_char(now() AT TIME ZONE 'UTC', 'HH24:MI')")[0]
        }
        let before = try await minute()
        let recent = try await visit.account(id).html.text
        let range = try #require(recent.firstMatch(of: /used [0-9-]+ [0-9:]+–([0-9:]+)/), "\(recent)")
        #expect(try await [before, minute()].contains(String(range.1)), "\(range.0)")
        _ = try await world.adminKey("read", name: "noted")
        try await scratch.execute("UPDATE admin_keys SET last_used_at = '2024-11-20T23:19:14Z' WHERE name = 'noted'")
        let keys = try await ConsoleVisit.signedIn(to: world).open("/console/admin-keys").html.text
        #expect(keys.contains("2024-11-20 23:19–23:20"), "\(keys)")
    }

    @Test func `each revocation that isn't done can be tried again`() async throws {
        let ids = (1...3).map { "01000000-0000-7000-8000-0000000abc0\($0)" }
        for (id, status) in zip(ids, ["pending", "failed", "done"]) {
            try await scratch.execute(
                """
                INSERT INTO outbox (message_id, kind, status, provider, realm, subject, attempts, last_error,
                    next_attempt_at, created_at, finished_at)
                VALUES (\(id)::uuid, 'revocation', \(status), 'google', 'main', 'tried-again', 3, 'x',
                    now() + interval '1 hour', now(), CASE WHEN \(status) <> 'pending' THEN now() END)
                """)
        }
        let visit = try await ConsoleVisit.signedIn(to: world)
        for (id, isOffered) in zip(ids, [true, true, false]) {
            var path: String? =
                "/console/revocations?status=\(isOffered ? (id == ids[0] ? "pending" : "failed") : "done")"
            var found: Bool?
            while let next = path, found == nil {
                let page = try await visit.open(next)
                if page.html.text.contains(id) {
                    found = page.html.forms.contains { $0.path == "/console/revocations/\(id)/retry" }
                }
                path = page.html.elements("a").first { $0.attributes["rel"] == "next" }?.attributes["href"]
            }
            #expect(found == isOffered, "\(id)")
        }
    }

    @Test(.world) func `what was given up in the last day is reason to look`() async throws {
        let visit = try await ConsoleVisit.signedIn(to: world)
        for kind in ["revocation", "mail"] {
            func set(hoursAgo: Int32) async throws -> String {
                try await scratch.execute(
                    "DELETE FROM outbox",
                    """
                    INSERT INTO outbox (message_id, kind, status, provider, realm, subject, template, language,
                        attempts, last_error, next_attempt_at, created_at, finished_at, expires_at)
                    SELECT gen_random_uuid(), \(kind), 'failed',
                        CASE WHEN \(kind) = 'revocation' THEN 'google' END,
                        CASE WHEN \(kind) = 'revocation' THEN 'main' END,
                        CASE WHEN \(kind) = 'revocation' THEN 'given-up' END,
                        CASE WHEN \(kind) = 'mail' THEN 'emailCode' END, CASE WHEN \(kind) = 'mail' THEN 'en' END,
                        9, 'x', now(), now() - interval '3 days', now() - make_interval(hours => \(hoursAgo)),
                        CASE WHEN \(kind) = 'mail' THEN now() + interval '1 day' END
                    """)
                return try await visit.open("/console/").html.text
            }
            let recent = try await set(hoursAgo: 23)
            #expect(recent.contains("the last was given up 23 h"), "\(kind): \(recent)")
            #expect(!recent.contains("The service is well"), "\(kind)")
            let old = try await set(hoursAgo: 25)
            #expect(!old.contains("the last was given up"), "\(kind): \(old)")
        }
    }

    @Test(.world) func `a mail that waits for three minutes is reason to look`() async throws {
        let visit = try await ConsoleVisit.signedIn(to: world)
        for (minutes, state) in [(2, "well"), (4, "look")] as [(Int32, String)] {
            try await scratch.execute(
                "DELETE FROM outbox",
                """
                INSERT INTO outbox (message_id, kind, status, template, language, attempts, next_attempt_at, created_at,
                    expires_at)
                VALUES (gen_random_uuid(), 'mail', 'pending', 'emailCode', 'en', 1, now() + interval '1 hour',
                    now() - make_interval(mins => \(minutes)), now() + interval '1 day')
                """)
            let page = try await visit.open("/console/").html
            let row = page.elements("tr").first { $0.content.contains("the oldest waits \(minutes) min") }
            #expect(row?.content.contains(">\(state)<") == true, "\(page.text)")
        }
    }

    @Test func `a webhook's event that was given up in the last day is reason to look`() async throws {
        let receiver = try LoopbackServer { _ in [.respond(204)] }
        try await WebhookEndpointFile.serve(receiver.url + "/hook") { world, _ in
            let visit = try await ConsoleVisit.signedIn(to: world)
            _ = try await KnownEndpoint.of(world, "manage")
            func text(hoursAgo: Int32) async throws -> String {
                try await world.scratch.execute(
                    "DELETE FROM webhook_failures",
                    """
                    INSERT INTO webhook_failures (endpoint, event_id, position, type, account_id, sequence, members,
                        happened_at, attempts, last_error, given_up_at)
                    SELECT 'crm', gen_random_uuid(), n, 'account.created', gen_random_uuid(), 1, '{}',
                        now() - interval '5 days', 10, 'status_500', now() - n * make_interval(hours => \(hoursAgo))
                    FROM generate_series(1, 2) n
                    """)
                return try await visit.open("/console/").html.text
            }
            let recent = try await text(hoursAgo: 23)
            #expect(recent.contains("an event for crm was given up 23 h"), "\(recent)")
            #expect(!recent.contains("The service is well"))
            let old = try await text(hoursAgo: 25)
            #expect(old.contains("none is more than 15 min behind"), "\(old)")
        }
    }

    @Test(.world) func `a signing key that the process can't open is reason to look`() async throws {
        let visit = try await ConsoleVisit.signedIn(to: world)
        func isUsable() async throws -> Bool { try await service.metric("countersign_signing_key_usable") == 1 }
        let words = "no sign-in succeeds"
        #expect(try await isUsable())
        #expect(try await !visit.open("/console/").html.text.contains(words))
        try await scratch.execute(
            """
            INSERT INTO signing_keys (key_id, sealed_private_key, created_at, signs_from)
            VALUES ('foreign', '\\x00', now(), now())
            """)
        try await eventually("the key's turn") { try await !isUsable() }
        let text = try await visit.open("/console/").html.text
        #expect(text.contains(words), "\(text)")
        #expect(!text.contains("The service is well"))
        try await scratch.execute("DELETE FROM signing_keys WHERE key_id = 'foreign'")
        try await eventually("the key before it") { try await isUsable() }
    }

    @Test func `an endpoint that is stopped or far behind is reason to look`() async throws {
        let receiver = try LoopbackServer { _ in [.respond(204)] }
        try await WebhookEndpointFile.serve(receiver.url + "/hook") { world, _ in
            let visit = try await ConsoleVisit.signedIn(to: world)
            func isSaid(_ words: String) async throws -> Bool {
                try await visit.open("/console/").html.text.contains(words)
            }
            #expect(try await isSaid("none is more than 15 min behind"))
            try await eventually("the endpoint is known") {
                try await world.count("SELECT count(*) FROM webhook_endpoints WHERE name = 'crm'") == 1
            }
            try await world.scratch.execute("UPDATE webhook_endpoints SET status = 'stopped', reason = 'x'")
            #expect(try await isSaid("crm is stopped"))
            #expect(try await !isSaid("The service is well"))

            // Under another's lease, so that nothing is delivered before this process has seen the pause.
            try await world.scratch.execute(
                """
                UPDATE webhook_endpoints
                SET status = 'paused', reason = NULL, leased_by = gen_random_uuid(),
                    leased_until = now() + interval '1 hour'
                """)
            _ = try await world.newAccount("console-behind")
            try await eventually("the events are in the feed") {
                try await world.count("SELECT count(*) FROM account_events") > 0
            }
            try await world.scratch.execute(
                "UPDATE account_events SET happened_at = happened_at - interval '20 minutes'")
            #expect(try await isSaid("crm is paused and 20 min"))
        }
    }

    @Test func `the overview's figures lead to their rows`() async throws {
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        _ = try await world.signIn("nobody@example.com", password: World.password)
        _ = try await world.newAccount("console-figures")
        let page = try await visit.open("/console/")
        let targets = page.html.links.map(\.target)
        for type in ["signed_in", "guess_rejected"] {
            let target = try #require(
                targets.first { $0.hasPrefix("/console/audit?type=\(type)&since=") }, "\(type) in \(targets)")
            #expect(try await visit.open(target).status == 200)
        }
        let hour = try #require(targets.first { $0.hasPrefix("/console/audit?since=") })
        #expect(try await visit.open(hour).html.text.contains("Signed in"))
        let keyless = try await ConsoleVisit.signedIn(to: world, "manage")
        #expect(try await !keyless.open("/console/").html.links.contains { $0.target.hasPrefix("/console/audit") })
    }

    @Test(.world) func `a reason of which the trail has no rows stands without a link`() async throws {
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        #expect(try await service.signInWithApple("a.b.c").status == 401)
        let code: TokenMint.Members = ["authorizationCode": "c0ffee", "redirectUri": "https://elsewhere.example.com"]
        #expect(try await service.signIn(.apple, code).status == 400)
        let id = try await world.newAccount("console-disabled").accountID()
        try await scratch.execute("UPDATE accounts SET status = 'disabled' WHERE account_id = \(id)::uuid")
        try await world.signIn("console-disabled", with: .apple).expecting(403)

        let page = try await visit.open("/console/").html
        #expect(page.text.contains("1 as invalid_request"), "\(page.text)")
        #expect(!page.links.contains { $0.label.contains("invalid_request") })
        #expect(page.links.contains { $0.label == "2 as credential_rejected" }, "\(page.text)")
        for reason in ["malformed", "account_disabled"] {
            let link = try #require(page.links.first { $0.label == reason }, "\(reason) in \(page.text)")
            #expect(link.target.hasPrefix("/console/audit?type=credential_rejected&since="))
            try await eventually("\(reason) is in the trail") {
                try await visit.open(link.target).html.elements("td").contains { $0.content.contains(reason) }
            }
        }
    }

    @Test(.webWorld) func `what is refused on the pages counts at once, and a sign-in there once`() async throws {
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        let email = "console-pages@example.com"
        #expect(try await world.register(email).status == 201)
        try await world.newPerson("console-pages", email: email)
        let (attempt, browser, chooser) = try await world.begin()
        let (address, addressForm) = try await world.screen("/web/email-code", from: chooser, browser)
        let sent = try await browser.submit(addressForm, on: address, typed: ["email": email])
        let entry = try #require(sent.html.forms.first { $0.input("code") != nil }, "\(sent.answer.body)")
        let code = try await world.code(1, mailedTo: email)
        try await browser.submit(entry, on: sent, typed: ["email": email, "code": World.wrong(code)]).expecting(401)
        let (page, form) = try await world.screen("/web/password", from: chooser, browser)
        let wrong = try await browser.submit(
            form, on: page, typed: ["email": email, "password": "wrong horse battery"])
        #expect(wrong.status == 401)
        let altered = #""effect":"altered","times":1,"exchange":{"token":{"claims":{"nonce":"x"}}}"#
        try await world.sandbox.control("faults", #"{"path":"/google/o/oauth2/v2/auth",\#(altered)}"#)
        #expect(try await world.answer(to: try AppAttempt(), "console-pages", with: .google)["error"] == "server_error")

        let back = try AppAnswer(
            try await browser.submit(form, on: page, typed: ["email": email, "password": World.password]))
        func expectCounted(accepted: Int) async throws {
            let links = try await visit.open("/console/").html.links
            let figure = try #require(
                links.first { $0.target.hasPrefix("/console/audit?type=signed_in&") }, "\(links)"
            ).label
            #expect(figure.hasPrefix("\(accepted), "), "\(figure)")
            #expect(links.contains { $0.label == "2 as guess_rejected" }, "\(links)")
            #expect(links.contains { $0.label == "1 as credential_rejected" }, "\(links)")
        }
        try await expectCounted(accepted: 0)
        #expect(try await world.exchange(try back.code(), attempt).status == 200)
        try await expectCounted(accepted: 1)
        for provider in ["password", "email_code"] {
            let refused = try await service.metric(
                "countersign_sign_ins_total", #"provider="\#(provider)""#, #"reason="invalid_credentials""#)
            #expect(refused == 1, "\(provider)")
        }
    }

    @Test func `sign-ins a minute are reckoned from the start of a young process`() async throws {
        let start = ContinuousClock.now
        try await World.run { world in
            let visit = try await ConsoleVisit.signedIn(to: world, "read")
            _ = try await world.newAccount("console-rate")
            let links = try await visit.open("/console/").html.links
            let figure = try #require(links.first { $0.target.hasPrefix("/console/audit?type=signed_in&") }).label
            // On a slow machine it may be more than one.
            let minutes = max(1, Int(start.duration(to: .now).components.seconds / 60))
            let figures = (1...minutes).map { "1, \(Double(10 / $0) / 10) a minute" }
            #expect(figures.contains(figure), "\(figure)")
        }
    }
}
