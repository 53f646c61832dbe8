import JSON
import Postgres
import TestSupport
import Testing

/// Our own pages of an account: who signs in there decides there, and has a web session.
@Suite(.limitedConcurrency, .webWorld, .timeLimit(.minutes(30))) struct AccountPageTests: WorldSuite {
    private static let url = AccountHolder.url

    /// An account with an identity of either provider; the device is signed in by Apple.
    private func linkedAccount(_ person: String) async throws -> SignedInDevice {
        let device = try await world.newAccount(ofNew: person, with: .apple)
        let question = try Question(try await world.signIn(person, with: .google))
        return try SignedInDevice(try await world.bind(for: question, on: device))
    }

    @Test func `who is unknown makes an account on the page, and signs out there`() async throws {
        try await world.newPerson("maker")
        let browser = world.browser()
        let question = try await world.signIn("maker", with: .google, in: browser).expecting(200)
        #expect(question.html.text.contains("maker@example.com"))
        #expect(browser.session == nil)
        #expect(try await world.countAccounts(with: "maker@example.com") == 0)

        let account = try await browser.submit("/web/link/create", on: question, typed: ["displayName": "Kim Maker"])
        #expect(account.status == 200, "\(account.answer.text)")
        #expect(account.html.text.contains("maker@example.com"))
        #expect(try await world.countAccounts(with: "maker@example.com") == 1)
        let cookie = try #require(browser.session)
        #expect(cookie.attributes == ["secure": "", "httponly": "", "samesite": "Lax", "path": "/"])

        // The same session is there without a question, and is an ordinary one.
        let again = try await browser.openAccount()
        #expect(again.hops.count == 1)
        try await browser.submit("/web/sign-out", on: again).expecting(200)
        #expect(browser.session == nil)
        browser.set([cookie], of: WebWorld.publicURL)
        let late = try await browser.openAccount()
        #expect(late.isChooser, "\(late.answer.body)")
    }

    @Test func `each sign-in has a new session, and an app's sign-in asks in spite of it`() async throws {
        try await world.newAccount(ofNew: "asked", with: .google)
        let browser = world.browser()
        _ = try await world.signIn("asked", with: .google, in: browser)
        let first = try #require(browser.session)
        for changes in [[:], ["provider": "google"]] as [[String: String?]] {
            let page = try await browser.open(try AppAttempt().url(changes))
            #expect(page.handedOver == nil)
            #expect(page.status == 200)
        }
        let account = try await browser.openAccount()
        _ = try await browser.submit("/web/sign-out", on: account)
        _ = try await world.signIn("asked", with: .google, in: browser)
        #expect(browser.session?.value != first.value)
    }

    @Test
    func `an identity is unlinked by its button, the last way in stays, and nobody else's is touched`() async throws {
        let owner = try await linkedAccount("unlinker")
        let other = try await linkedAccount("neighbour")
        func identity(_ device: SignedInDevice, _ provider: String) async throws -> String {
            let items = try await service.get("/v1/account/identities", bearer: device.bearer).json?["items"]
            let item = try #require(items?.elements?.first { $0["provider"]?.string == provider })
            return try #require(item["identityId"]?.string)
        }
        let apple = try await identity(owner, "apple")
        let theirs = try await identity(other, "apple")
        let browser = world.browser()
        let account = try await world.signIn("unlinker", with: .google, in: browser)
        let form = try account.form("/web/account/unlink")
        #expect(account.answer.body.contains(apple))
        #expect(!account.answer.body.contains(theirs))
        let csrf = try form.csrf()

        try await browser.send([("csrf", csrf), ("identity", theirs)], to: form.action, on: account).expecting(404)
        try await browser.send([("identity", apple)], to: form.action, on: account).expecting(403)
        #expect(try await world.account(on: other).providers.sorted() == ["apple", "google"])

        // Nothing is done before the question is answered, and an answer is good for what was asked alone.
        let asked = try await browser.submit(form, on: account, button: apple).expecting(200)
        #expect(asked.html.text.contains("Unlink Apple ?"))
        #expect(!asked.html.text.contains("this device"))
        let answer = try asked.form("/web/account/unlink")
        let answered = try answer.csrf()
        for (csrf, target) in [(csrf, answer.action), (answered, answer.action.replacing(apple, with: theirs))] {
            try await browser.send([("csrf", csrf), ("identity", apple)], to: target, on: asked).expecting(403)
        }
        #expect(try await world.account(on: owner).providers.sorted() == ["apple", "google"])
        let look = try await browser.open(WebWorld.publicURL + answer.action, following: false)
        #expect(look.html.text.contains("Unlink Apple ?"))
        #expect(try await world.account(on: owner).providers.sorted() == ["apple", "google"])

        let unlinked = try await browser.submit(answer, on: asked).expecting(200)
        #expect(unlinked.html.text.contains("Apple is unlinked."))
        #expect(!unlinked.answer.body.contains(apple))
        let twice = try await browser.submit(answer, on: asked)
        #expect(twice.status == 200 && twice.url == Self.url, "\(twice.answer.text)")
        let google = try await scratch.texts(
            "SELECT identity_id::text FROM identities WHERE account_id = \(owner.account.id)::uuid")
        #expect(google.count == 1)
        let last = try await browser.send(
            [("csrf", csrf), ("identity", try #require(google.first))], to: form.action, on: account)
        #expect(last.status == 409)
        // The page that says so leads to a provider all the same.
        let shown = try await browser.submit("/web/account/link/apple", on: last)
        #expect(shown.blocked == nil)
        #expect(shown.url.hasPrefix(world.sandbox.url), "\(shown.answer.text)")
    }

    @Test func `who unlinks what they are signed in with reads it before and after, and is signed out`() async throws {
        let owner = try await linkedAccount("quitter")
        let browser = world.browser()
        let account = try await world.signIn("quitter", with: .google, in: browser)
        let google = try await scratch.texts(
            "SELECT identity_id::text FROM identities WHERE account_id = \(owner.account.id)::uuid AND provider = 'google'"
        )
        let button = try #require(google.first)
        let form = try #require(account.html.forms.first { $0.buttons.contains { $0.value == button } })
        let asked = try await browser.submit(form, on: account, button: button)
        #expect(asked.html.text.contains("this device will be signed out too"), "\(asked.answer.text)")
        #expect(asked.html.text.contains("quitter@example.com"))
        #expect(browser.session != nil)
        #expect(try await world.account(on: owner).providers.sorted() == ["apple", "google"])

        // Who thinks better of it is where they were.
        let back = try #require(asked.html.links.first { $0.target == "/web/account" })
        #expect(try await browser.click(back.target, on: asked).html.forms.contains { $0.path == "/web/sign-out" })

        let done = try await browser.submit("/web/account/unlink", on: asked).expecting(200)
        #expect(done.html.text.contains("Google is unlinked."))
        #expect(done.html.text.contains("You had signed in here with Google"))
        #expect(browser.session == nil)
        #expect(try await browser.open(done.url).html.text.contains("Google is unlinked."))
        let again = try #require(done.html.links.first { $0.target == "/web/account" })
        #expect(try await browser.click(again.target, on: done).html.forms.contains { $0.path == "/web/start/apple" })
        #expect(try await world.count("SELECT count(*) FROM identities WHERE identity_id = \(button)::uuid") == 0)
    }

    @Test func `who signed in too long ago unlinks nothing, and an idle session is none`() async throws {
        let owner = try await linkedAccount("stale")
        let browser = world.browser()
        let account = try await world.signIn("stale", with: .google, in: browser)
        let form = try account.form("/web/account/unlink")
        let asked = try await browser.submit(form, on: account)
        try await world.age(sessionsOf: owner.account.id)
        for (form, page) in [(form, account), (try asked.form("/web/account/unlink"), asked)] {
            #expect(try await browser.submit(form, on: page).isChooser)
        }
        #expect(try await world.account(on: owner).providers.count == 2)

        // A look needs no more than the session; who signs in again is back at the question.
        #expect(try await browser.openAccount().hops.count == 1)
        let chooser = try await browser.submit(form, on: account)
        let again = try await world.signIn("stale", with: .google, on: chooser, browser)
        #expect(again.html.text.contains("Unlink "))
        #expect(again.html.forms.contains { $0.path == "/web/account/unlink" })
        #expect(try await world.account(on: owner).providers.count == 2)
        let lives = try await world.count(
            """
            SELECT floor(extract(epoch FROM s.expires_at - now()))::bigint
            FROM sessions s JOIN web_sessions USING (session_id)
            WHERE s.account_id = \(owner.account.id)::uuid AND s.ended_at IS NULL ORDER BY s.created_at DESC LIMIT 1
            """)
        #expect((1...600).contains(lives))
        try await scratch.execute(
            """
            UPDATE sessions SET expires_at = expires_at - interval '10 minutes 1 second'
            WHERE session_id IN (SELECT session_id FROM web_sessions) AND account_id = \(owner.account.id)::uuid
            """)
        #expect(try await browser.openAccount().isChooser)
    }

    @Test func `who comes by a blocked identity reads so, and another way opens the account`() async throws {
        let owner = try await linkedAccount("barred")
        try await world.sandbox.sendGoogleEvent(
            "account-disabled", about: .person("barred"), clientID: Countersign.googleClient, reason: "bulk-account",
            to: service.url + "/v1/events/google")
        try await eventually("the block") {
            try await world.count(
                """
                SELECT count(*) FROM identities
                WHERE account_id = \(owner.account.id)::uuid AND blocked_at IS NOT NULL
                """) == 1
        }
        let browser = world.browser()
        let refused = try await world.signIn("barred", with: .google, in: browser)
        #expect(refused.html.text.contains("The provider has disabled your account there"), "\(refused.answer.text)")
        #expect(!refused.html.text.contains("This account is disabled"))
        let account = try await world.signIn("barred", with: .apple, on: refused, browser)
        #expect(account.url == Self.url)
        #expect(account.html.text.contains("Google has disabled your account there"), "\(account.answer.text)")
    }

    @Test func `another identity of the provider is replaced only by who asks for it`() async throws {
        let email = "twice@example.com"
        let device = try await world.newAccount(ofNew: "former", email: email, with: .google)
        try await service.setPassword(bearer: device.bearer)
        try await world.newPerson("latter", email: "latter@example.com")
        let browser = world.browser()
        let question = try await world.signIn("latter", with: .google, in: browser)
        let typed = ["email": email, "password": "correct horse battery"]
        func ask(from question: Browser.Page) async throws -> (Browser.Page, HTML.Form) {
            let bind = try await browser.go(to: "bind", on: question, typed: ["displayName": "Kim Typed"])
            let page = try await browser.submit(try bind.bindForm("password"), on: bind, typed: typed).expecting(409)
            let replaces = page.html.forms.first { $0.buttons.contains { $0.value == "replace" } }
            return (page, try #require(replaces, "\(page.answer.body)"))
        }
        var (conflict, replace) = try await ask(from: question)
        #expect(!conflict.answer.body.contains("correct horse battery"))
        #expect(conflict.html.text.contains("latter@example.com"), "\(conflict.answer.body)")
        #expect(browser.session == nil)
        // A wrong password leads back, and to what was typed for a new account.
        let wrong = try await browser.submit(
            replace, on: conflict, typed: ["password": "wrong horse battery"], button: "replace"
        ).expecting(401)
        let create = try await browser.go(to: "create", on: wrong)
        #expect(try create.form("/web/link/create").input("displayName")?.value == "Kim Typed")
        (conflict, replace) = try await ask(from: create)
        try await browser.submit(replace, on: conflict, typed: typed, button: "replace").expecting(200)
        let subjects = try await world.scratch.texts(
            "SELECT email FROM identities WHERE account_id = \(device.account.id)::uuid")
        #expect(subjects == ["latter@example.com"])
    }

    @Test func `a link to the page makes it say what a way to a provider came to, and nothing else`() async throws {
        _ = try await linkedAccount("misled")
        let browser = world.browser()
        _ = try await world.signIn("misled", with: .google, in: browser)
        for (fault, isSaid) in [
            ("cancelledAtProvider", true), ("linkedElsewhere", true), ("identityAlreadyLinked", false),
            ("accountDisabled", false), ("wrongPassword", false), ("tooManyTries", false), ("%3Cb%3E", false),
            ("", false),
        ] {
            let page = try await browser.open(Self.url + "?fault=\(fault)").expecting(200)
            let roles = page.html.elements("p").compactMap { $0.attributes["role"] }
            #expect(roles.isEmpty != isSaid, "\(fault)")
        }
    }

    /// The cookie of one purpose is none of the other: neither opens what the other does.
    @Test func `the browser's cookie is no session, and a session no browser's cookie`() async throws {
        try await world.newAccount(ofNew: "mixed", with: .google)
        let browser = world.browser()
        _ = try await world.signIn("mixed", with: .google, in: browser)
        let session = try #require(browser.session).value
        let secret = try #require(browser.cookie("__Host-csn_browser", of: WebWorld.publicURL)).value
        let page = try await browser.open(
            Self.url, headers: [("Cookie", "__Host-csn_web=\(secret); __Host-csn_browser=\(session)")])
        #expect(page.isChooser)
        for token in [session, secret] {
            #expect(try await service.get("/v1/account", bearer: token).status == 401)
            try await service.refresh(token).expecting(401)
        }
    }

    @Test func `a page whose browser has lost its cookie leads to the account, which signs out`() async throws {
        let (browser, page, _) = try await AccountHolder.signedIn("late")
        // An hour after the page was shown, in which another tab has kept the session.
        let session = try #require(browser.session)
        browser.set([session], of: WebWorld.publicURL)
        var account = page
        for path in ["/web/sign-out", "/web/account/sign-out-everywhere"] {
            let refused = try await browser.submit(path, on: page).expecting(403)
            account = try await browser.press("/web/account", on: refused)
            #expect(account.url == AccountHolder.url && browser.session == session, "\(account.answer.text)")
        }
        let out = try await browser.submit("/web/sign-out", on: account).expecting(200)
        #expect(out.html.text.contains("You’re signed out") && browser.session == nil, "\(out.answer.text)")
    }
}
