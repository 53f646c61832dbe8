import JSON
import Postgres
import TestSupport
import Testing

/// What the owner of an account does on its page: every part of it is changed there, and the account ended.
@Suite(.limitedConcurrency, .webWorld, .timeLimit(.minutes(30))) struct AccountActTests: WorldSuite {
    private static let url = AccountHolder.url

    // MARK: Name, address, password

    @Test func `a name is changed and taken away, and is only ever text`() async throws {
        let (browser, page, bearer) = try await AccountHolder.signedIn("renamer")
        let form = try await browser.press("/web/account/name", on: page)
        for (typed, kept) in [("Kim <b>Maker</b>", "Kim <b>Maker</b>"), ("", nil)] as [(String, String?)] {
            let saved = try await browser.submit("/web/account/name", on: form, typed: ["displayName": typed])
            #expect(saved.status == 200, "\(saved.answer.text)")
            #expect(saved.html.text.contains("Your name is saved."))
            #expect(!saved.html.source.contains("<b>"))
            #expect(try await service.get("/v1/account", bearer: bearer).json?["displayName"]?.string == kept)
        }
        let hidden = try await browser.submit("/web/account/name", on: form, typed: ["displayName": "\u{200B}\u{200B}"])
        #expect(hidden.status == 400)
        #expect(hidden.html.source.contains(#"role="alert""#))
    }

    @Test func `an address is changed by the code that is mailed there`() async throws {
        let (browser, page, bearer) = try await AccountHolder.signedIn("mover")
        let form = try await browser.press("/web/account/email", on: page)
        // Not confirmed yet, so it stands there.
        #expect(try form.form("/web/account/email").input("email")?.value == "mover@example.com")
        let malformed = try await browser.submit("/web/account/email", on: form, typed: ["email": "moved@"])
        #expect(malformed.status == 400)
        #expect(try malformed.form("/web/account/email").input("email")?.value == "moved@")
        let sent = try await browser.submit("/web/account/email", on: form, typed: ["email": "moved@example.com"])
        #expect(sent.status == 200, "\(sent.answer.text)")
        let code = try await world.code(1, mailedTo: "moved@example.com")
        let other = World.wrong(code)
        let wrong = try await browser.submit("/web/account/email", on: sent, typed: ["code": other]).expecting(401)
        let account = try await service.get("/v1/account", bearer: bearer)
        #expect(account.json?["email"]?.string == "mover@example.com")
        // Who clicks twice sees the answer to the second form alone.
        for _ in 1...2 {
            let changed = try await browser.submit("/web/account/email", on: wrong, typed: ["code": code])
            #expect(changed.hops.map(\.answer.status) == [303, 200], "\(changed.answer.text)")
            #expect(changed.html.text.contains("Your email address is confirmed."))
            #expect(changed.html.text.contains("moved@example.com"))
        }
        let moved = try await service.get("/v1/account", bearer: bearer)
        #expect(moved.json?["email"]?.string == "moved@example.com")
        #expect(moved.json?["emailProof"]?.string == "proven")
    }

    @Test func `the page says whether it is proven that the address is the person's`() async throws {
        let (browser, first, _) = try await AccountHolder.signedIn("confirmer")
        func words(_ page: Browser.Page) -> [String] { page.html.elements("span").map(\.content) }
        #expect(words(first).contains("Not confirmed yet"))
        for (proof, said, button) in [
            ("claimed", "Not confirmed yet", "Change or confirm address"),
            ("stated", "Not confirmed yet", "Change or confirm address"), ("proven", "Confirmed", "Change address"),
        ] {
            try await scratch.execute(
                """
                UPDATE accounts SET email_proof = CASE WHEN \(proof) = 'proven' THEN 'proven' ELSE 'stated' END,
                    email_verified = \(proof) <> 'claimed',
                    email_proof_source = CASE WHEN \(proof) = 'proven' THEN 'mailed_code' END
                WHERE email = 'confirmer@example.com'
                """)
            let page = try await browser.openAccount()
            #expect(words(page).filter { $0.lowercased().contains("confirmed") } == [said], "\(proof)")
            #expect(page.html.links.first { $0.target == "/web/account/email" }?.label == button, "\(proof)")
        }
    }

    @Test func `an address that support is about to give is shown masked with its day, and one button stops it`()
        async throws
    {
        let (browser, page, bearer) = try await AccountHolder.signedIn("stayer")
        #expect(!page.html.forms.contains { $0.path == "/web/account/keep-address" })
        let key = try await world.adminKey("manage")
        let id = try await service.get("/v1/account", bearer: bearer).text("accountId")
        let requested = try await service.administer(
            "POST", "/admin/v1/accounts/\(id)/replace-email", bearer: key,
            body: #"{"email":"impostor@new.example","reason":"case 20"}"#)
        #expect(requested.status == 202, "\(requested.body)")
        // To stop it needs no fresh sign-in.
        try await world.age(sessionsOf: "stayer@example.com")
        let warned = try await browser.openAccount()
        #expect(warned.html.text.contains("Support is about to give your account the address i***@new.example , on "))
        #expect(!warned.answer.body.contains("impostor"))
        let form = try warned.form("/web/account/keep-address")
        #expect(form.buttons.map(\.label) == ["Keep my address"])
        #expect(try await browser.send([("csrf", "x")], to: form.action, on: warned).status == 403)
        #expect(try await world.count("SELECT count(*) FROM email_replacements WHERE account_id = \(id)::uuid") == 1)

        let kept = try await browser.submit(form, on: warned)
        #expect(kept.hops.map(\.answer.status) == [303, 200])
        #expect(kept.html.text.contains("Your address stays as it is."))
        #expect(kept.html.text.contains("stayer@example.com"))
        #expect(!kept.html.forms.contains { $0.path == "/web/account/keep-address" })
        #expect(try await world.count("SELECT count(*) FROM email_replacements WHERE account_id = \(id)::uuid") == 0)
        #expect(
            try await world.recorded(
                """
                type = 'email_replacement_cancelled' AND account_id = \(id)::uuid
                    AND session_id IS NOT NULL
                """) == 1)
        // In another tab it is still on the page: nothing is left to stop, and nothing is said to be.
        let twice = try await browser.submit(form, on: warned)
        #expect(twice.status == 200 && !twice.html.source.contains(#"role="status""#), "\(twice.answer.text)")
    }

    @Test func `a password is changed with the one before, and signs out all other devices`() async throws {
        let (browser, page, bearer) = try await AccountHolder.signedIn("locksmith")
        let form = try await browser.press("/web/account/password", on: page)
        let typed = ["currentPassword": World.password, "newPassword": "a better horse battery"]
        func submit(_ changes: [String: String]) async throws -> Browser.Page {
            try await browser.submit("/web/account/password", on: form, typed: typed.merging(changes) { $1 })
        }
        try await submit(["newPassword": "password"]).expecting(400)
        let wrong = try await submit(["currentPassword": "wrong horse battery"]).expecting(401)
        #expect(!wrong.answer.body.contains("horse battery"))
        #expect(try await service.get("/v1/account", bearer: bearer).status == 200)
        // Who clicks twice sees the answer to the second form alone.
        for _ in 1...2 {
            let changed = try await submit([:])
            #expect(changed.hops.map(\.answer.status) == [303, 200], "\(changed.answer.text)")
            #expect(changed.html.text.contains("Your password is saved"))
        }
        try await submit(["newPassword": "yet another horse battery"]).expecting(401)
        #expect(try await service.get("/v1/account", bearer: bearer).status == 401)
        #expect(try await browser.openAccount().hops.count == 1)
        #expect(try await world.signIn("locksmith@example.com", password: "a better horse battery").status == 200)
        #expect(try await world.signIn("locksmith@example.com", password: World.password).status == 401)
    }

    @Test func `who has no password sets the first one, soon after a sign-in`() async throws {
        try await world.newAccount(ofNew: "bare", with: .google)
        let browser = world.browser()
        let page = try await world.signIn("bare", with: .google, in: browser)
        let form = try await browser.press("/web/account/password", on: page)
        #expect(try form.form("/web/account/password").input("currentPassword") == nil)
        try await world.age(sessionsOf: "bare@example.com")
        let typed = ["newPassword": "correct horse battery"]
        let chooser = try await browser.submit("/web/account/password", on: form, typed: typed)
        let back = try await world.signIn("bare", with: .google, on: chooser, browser)
        let again = try back.form("/web/account/password")
        for _ in 1...2 {
            let set = try await browser.submit(again, on: back, typed: typed)
            #expect(set.hops.map(\.answer.status) == [303, 200], "\(set.answer.text)")
        }
        #expect(try await world.signIn("bare@example.com", password: typed["newPassword"] ?? "").status == 200)
    }

    // MARK: Signing in again

    @Test func `the page needs a session, and a change a fresh one, after which what was typed is there`() async throws
    {
        let (browser, page, bearer) = try await AccountHolder.signedIn("calm-lamp")
        let form = try await browser.press("/web/account/email", on: page)
        try await world.age(sessionsOf: "calm-lamp@example.com")
        #expect(try await browser.openAccount().hops.count == 1)
        let chooser = try await browser.submit(
            "/web/account/email", on: form, typed: ["email": "quiet-lamp@example.com"])
        #expect(!chooser.url.contains("quiet-lamp"))
        #expect(chooser.html.text.contains("To change your email address, sign in. It’s been a while"))
        let back = try await browser.enter("calm-lamp@example.com", on: chooser).expecting(200)
        #expect(!back.url.contains("quiet-lamp"))
        #expect(try back.form("/web/account/email").input("email")?.value == "quiet-lamp@example.com")
        #expect(!back.html.text.contains("another account"))
        let account = try await service.get("/v1/account", bearer: bearer)
        #expect(account.json?["email"]?.string == "calm-lamp@example.com")

        // The same where the session is over.
        let rename = try await browser.open(Self.url + "/name")
        try await scratch.execute(
            """
            UPDATE sessions SET ended_at = now(), end_reason = 'signed_out'
            WHERE session_id IN (SELECT session_id FROM web_sessions)
                AND account_id = (SELECT account_id FROM accounts WHERE email = 'calm-lamp@example.com')
            """)
        let name = try await browser.submit("/web/account/name", on: rename, typed: ["displayName": "Pat"])
        let named = try await browser.enter("calm-lamp@example.com", on: name)
        #expect(try named.form("/web/account/name").input("displayName")?.value == "Pat")
    }

    @Test func `after a sign-in to another account the page says so, and asks about that one`() async throws {
        let (browser, page, _) = try await AccountHolder.signedIn("leaving")
        let other = try await AccountHolder.signedIn("staying")
        let question = try await browser.press("/web/account/delete", on: page)
        try await world.age(sessionsOf: "leaving@example.com")
        let chooser = try await browser.submit("/web/account/delete", on: question)
        #expect(try await world.countAccounts(with: "leaving@example.com") == 1)
        let asked = try await browser.enter("staying@example.com", on: chooser).expecting(200)
        #expect(asked.html.text.contains("another account than before"))
        #expect(asked.html.text.contains("s***@example.com"))
        #expect(!asked.html.text.contains("staying@example.com"))
        // The answer to the question about the first one is worth nothing here.
        try await browser.submit("/web/account/delete", on: question).expecting(403)
        for email in ["leaving@example.com", "staying@example.com"] {
            #expect(try await world.countAccounts(with: email) == 1)
        }
        #expect(try await service.get("/v1/account", bearer: other.bearer).status == 200)
    }

    @Test func `a proof of long ago gets a sentence, and no loop`() async throws {
        let (browser, page, _) = try await AccountHolder.signedIn("looper")
        try await world.age(sessionsOf: "looper@example.com")
        let chooser = try await browser.click("/web/account/export", on: page)
        let (screen, form) = try await world.screen("/web/password", from: chooser, browser)
        let signedIn = try await browser.submit(
            form, on: screen, typed: ["email": "looper@example.com", "password": World.password], following: false)
        #expect(signedIn.status == 303)
        try await world.age(sessionsOf: "looper@example.com")
        let refused = try await browser.follow(signedIn).expecting(403)
        #expect(refused.hops.count == 1)
        #expect(refused.html.text.contains("too long ago"))
        let look = try await browser.press("/web/account", on: refused)
        #expect(look.status == 200 && look.html.text.contains("looper@example.com"))
    }

    // MARK: Providers

    @Test func `a second provider is added from the page, and opens the account`() async throws {
        let (browser, page, bearer) = try await AccountHolder.signedIn("adder")
        try await world.newPerson("adding", email: "adding@example.com")
        let form = try page.form("/web/account/link/google")
        let shown = try await browser.submit(form, on: page)
        #expect(shown.blocked == nil)
        #expect(shown.url.hasPrefix(world.sandbox.url), "\(shown.answer.text)")
        let cancelled = try await world.consent("adding", at: shown, browser, cancel: true).expecting(200)
        #expect(cancelled.html.text.contains("You cancelled."))
        #expect(!cancelled.html.source.contains(#"role="alert""#) && !cancelled.html.title.hasPrefix("Error"))
        let none = try await service.get("/v1/account/identities", bearer: bearer)
        #expect(none.json?["items"]?.elements?.count == 0)

        let again = try await browser.submit("/web/account/link/google", on: cancelled)
        let linked = try await world.consent("adding", at: again, browser).expecting(200)
        #expect(linked.html.text.contains("Google is added."))
        #expect(linked.html.text.contains("adding@example.com"))
        #expect(!linked.html.forms.contains { $0.path == "/web/account/link/google" })
        let device = try SignedInDevice(try await world.signInByWeb("adding", with: .google))
        #expect(device.account.email == "adder@example.com")

        // What opens another account is added to none.
        let second = try await AccountHolder.signedIn("taker")
        let theirs = try await second.browser.submit("/web/account/link/google", on: second.page)
        let taken = try await world.consent("adding", at: theirs, second.browser)
        #expect(taken.html.source.contains(#"role="alert""#))
        #expect(taken.html.text.contains("That sign-in already opens an account here."))
        let retried = try await second.browser.submit("/web/account/link/apple", on: taken)
        #expect(retried.blocked == nil && retried.url.hasPrefix(world.sandbox.url), "\(retried.answer.text)")
        let own = try await service.get("/v1/account/identities", bearer: second.bearer)
        #expect(own.json?["items"]?.elements?.count == 0)
        #expect(try await browser.open(Self.url + "/link/unknown").status == 404)
    }

    @Test func `who was signed out at the provider adds nothing`() async throws {
        let (browser, page, bearer) = try await AccountHolder.signedIn("absent")
        try await world.newPerson("absentee")
        let shown = try await browser.submit("/web/account/link/google", on: page)
        try await service.signOut("all", bearer: bearer).expecting(204)
        let back = try await world.consent("absentee", at: shown, browser)
        #expect(back.isChooser, "\(back.answer.body)")
        #expect(try await world.countAccounts(with: "absentee@example.com") == 0)
    }

    // MARK: What was done

    @Test func `what was done is said after a redirect, in its session alone, and is not done again`() async throws {
        let (browser, page, _) = try await AccountHolder.signedIn("doer")
        let form = try await browser.press("/web/account/name", on: page)
        let saved = try await browser.submit("/web/account/name", on: form, typed: ["displayName": "Dora"])
        #expect(saved.hops.map(\.answer.status) == [303, 200])
        #expect(saved.html.text.contains("Your name is saved."))
        let query = try #require(saved.url.split(separator: "?").last)
        #expect(try await browser.open(Self.url + "?" + query).html.text.contains("Your name is saved."))
        let other = try await AccountHolder.signedIn("other-doer")
        for (reader, query) in [
            (other.browser, query), (browser, "done=renamed"), (browser, "done=renamed."), (browser, "done=."),
            (browser, query.replacing("done=renamed", with: "done=password")),
        ] {
            let forged = try await reader.open(Self.url + "?" + query)
            #expect(forged.status == 200 && !forged.html.source.contains(#"role="status""#), "\(query)")
        }
        // Signed out there is no such thing to be seen, and signed in no page that says one is not.
        let signedOut = WebWorld.publicURL + "/web/signed-out"
        #expect(try await browser.open(signedOut).html.text.contains("Dora"))
        let out = try await browser.submit("/web/sign-out", on: saved)
        #expect(out.url == signedOut && out.html.text.contains("You’re signed out"))
        #expect(try await !browser.open(signedOut + "?done=google.x").html.text.contains("unlinked"))
    }

    // MARK: Devices

    @Test
    func `a browser whose person signs in again is one device, and the others' buttons name no other`() async throws {
        let (browser, page, bearer) = try await AccountHolder.signedIn("returner")
        let first = try #require(browser.session)
        try await world.age(sessionsOf: "returner@example.com")
        let chooser = try await browser.press("/web/account/email", on: page)
        let back = try await browser.enter("returner@example.com", on: chooser)
        #expect(back.status == 200 && browser.session?.value != first.value, "\(back.answer.text)")
        let sessions = try await service.get("/v1/sessions", bearer: bearer)
        #expect(sessions.items.count == 2, "\(sessions.text)")
        let names = sessions.items.map { $0["device"]?["name"]?.string }
        #expect(names.contains("Firefox (Linux)"), "\(sessions.text)")
        let account = try await browser.openAccount()
        #expect(account.html.text.contains("Firefox (Linux)"))
        let buttons = account.html.forms.filter { $0.path == "/web/account/devices/end" }.flatMap(\.buttons)
        #expect(buttons.map(\.label) == ["Sign out that device", "Sign out all other devices"])
        // Its earlier cookie opens nothing.
        let other = world.browser()
        other.set([first], of: WebWorld.publicURL)
        #expect(try await other.openAccount().isChooser)
    }

    @Test func `a page of the session before signs the browser out, and for what it can't do leads to the account`()
        async throws
    {
        let (browser, page, bearer) = try await AccountHolder.signedIn("tabber")
        let form = try await browser.press("/web/account/name", on: page)
        // In another tab.
        try await world.age(sessionsOf: "tabber@example.com")
        _ = try await browser.enter("tabber@example.com", on: try await browser.press("/web/account/email", on: page))
        let renamed = try await browser.submit("/web/account/name", on: form, typed: ["displayName": "Tabitha"])
        let led = try await browser.press("/web/account", on: renamed.expecting(403))
        #expect(led.html.text.contains("tabber@example.com") && !led.html.text.contains("Tabitha"))
        let everywhere = try await browser.submit("/web/account/sign-out-everywhere", on: page)
        #expect(everywhere.status == 200 && everywhere.url == Self.url)
        #expect(try await service.get("/v1/account", bearer: bearer).status == 200)

        let session = try #require(browser.session)
        let crossSite = try await browser.submit("/web/sign-out", on: page, headers: [("Sec-Fetch-Site", "cross-site")])
        #expect(crossSite.status == 403 && browser.session == session)
        let out = try await browser.submit("/web/sign-out", on: page).expecting(200)
        #expect(out.html.text.contains("You’re signed out") && browser.session == nil, "\(out.answer.text)")
        browser.set([session], of: WebWorld.publicURL)
        #expect(try await browser.openAccount().isChooser)
        #expect(try await service.get("/v1/account", bearer: bearer).status == 200)
    }

    @Test func `devices are signed out by their buttons, the others together, and everywhere`() async throws {
        let (browser, page, first) = try await AccountHolder.signedIn("keeper")
        let neighbour = try await AccountHolder.signedIn("other-keeper")
        let second = try await world.signIn("keeper@example.com", password: World.password)
        let theirs = try await scratch.texts(
            """
            SELECT session_id::text FROM sessions
            WHERE account_id = (SELECT account_id FROM accounts WHERE email = 'other-keeper@example.com')
            """)
        let form = try page.form("/web/account/devices/end")
        let csrf = try form.csrf()
        // One of nobody's here is as one that has ended: the neighbour's stays, as is seen below.
        let missed = try await browser.send(
            [("csrf", csrf), ("session", try #require(theirs.first))], to: form.action, on: page)
        #expect(missed.status == 200)
        try await browser.send([("csrf", csrf)], to: form.action, on: page).expecting(400)

        let session = try #require(form.buttons.first?.value)
        let ended = try await browser.submit(form, on: page, button: session).expecting(200)
        #expect(!ended.answer.body.contains(session))
        #expect(ended.hops.map(\.answer.status) == [303, 200])
        // In another tab it is still on the page.
        let twice = try await browser.submit(form, on: page, button: session)
        #expect(twice.status == 200 && twice.html.text.contains("The device is signed out."), "\(twice.answer.text)")
        #expect(try await service.get("/v1/account", bearer: first).status == 401)
        let others = try await browser.send([("csrf", csrf), ("others", "1")], to: form.action, on: ended)
        #expect(others.html.text.contains("All other devices are signed out."))
        let bearer = try second.bearer()
        #expect(try await service.get("/v1/account", bearer: bearer).status == 401)

        let again = try await world.signIn("keeper@example.com", password: World.password)
        let cookie = try #require(browser.session)
        try await browser.submit("/web/account/sign-out-everywhere", on: others).expecting(200)
        #expect(browser.session == nil)
        let holder = world.browser()
        holder.set([cookie], of: WebWorld.publicURL)
        #expect(try await holder.openAccount().isChooser)
        #expect(try await service.get("/v1/account", bearer: try again.bearer()).status == 401)
        #expect(try await service.get("/v1/account", bearer: neighbour.bearer).status == 200)
        // The other tab signs out too.
        let late = try await browser.submit("/web/sign-out", on: page)
        #expect(late.status == 200 && late.html.text.contains("You’re signed out"), "\(late.answer.text)")
        // To end the others one has to sign in: nothing is said to be done.
        let more = try await browser.submit("/web/account/sign-out-everywhere", on: page)
        #expect(!more.url.contains("signed-out") && more.url.contains("/web/sign-in"), "\(more.url)")
        // Their addresses are no pages; what says so leads to the account.
        for path in ["/devices/end", "/sign-out-everywhere"] {
            let answer = try await browser.open(Self.url + path).expecting(405)
            #expect(answer.html.elements("a").contains { $0.attributes["href"] == "/web/account" })
        }
    }
}
