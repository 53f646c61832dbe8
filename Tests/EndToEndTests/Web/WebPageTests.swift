import JSON
import Postgres
import TestSupport
import Testing

/// What all pages have in common: their header fields, their languages, and what was typed on the way.
@Suite(.limitedConcurrency, .webWorld, .timeLimit(.minutes(30))) struct WebPageTests: WorldSuite {
    /// Every page that a browser is shown, by its name.
    private func pages(_ world: World, _ browser: Browser) async throws -> [(name: String, page: Browser.Page)] {
        let email = "pages@example.com"
        try await world.newPerson("pages", email: email)
        var pages: [(String, Browser.Page)] = []
        let chooser = try await world.chooser(try AppAttempt(), browser)
        pages.append(("chooser", chooser))
        let password = try await world.screen("/web/password", from: chooser, browser)
        pages.append(("password", password.page))
        let wrong = ["email": email, "password": "wrong horse battery"]
        pages.append(("wrong password", try await browser.submit(password.form, on: password.page, typed: wrong)))
        let code = try await world.screen("/web/email-code", from: chooser, browser)
        pages.append(("email", code.page))
        pages.append(("code", try await browser.submit(code.form, on: code.page, typed: ["email": email])))
        pages.append(("failure", try await browser.open(WebWorld.googleCallback, following: false)))
        pages.append(
            ("unknown app", try await browser.open(try AppAttempt().url(["app": "unknown"]), following: false)))
        let scheme = try await world.chooser(try AppAttempt(redirectURI: WebWorld.privateScheme), browser)
        pages.append(("private scheme", scheme))
        pages.append(("open the app", try await world.signIn("pages", with: .google, on: scheme, browser)))
        let account = try await browser.openAccount()
        pages.append(("account chooser", account))
        let link = try await world.signIn("pages", with: .apple, on: account, browser)
        pages.append(("link", link))
        return pages
    }

    @Test func `every page has the header fields of a page, exactly`() async throws {
        let pages = try await self.pages(world, world.browser())
        #expect(pages.count > 10)
        for (name, page) in pages {
            let answer = page.answer
            #expect(answer["Content-Type"] == "text/html; charset=utf-8", "\(name)")
            #expect(answer["X-Frame-Options"] == "DENY", "\(name)")
            #expect(answer["Referrer-Policy"] == "no-referrer", "\(name)")
            #expect(answer["Cache-Control"] == "no-store", "\(name)")
            #expect(answer["X-Content-Type-Options"] == "nosniff", "\(name)")
            #expect(answer["X-Robots-Tag"] == "none", "\(name)")
            #expect(answer["Strict-Transport-Security"]?.hasPrefix("max-age=") == true, "\(name)")
            if !["failure", "unknown app"].contains(name) {
                #expect(answer["Cross-Origin-Opener-Policy"] == "same-origin", "\(name)")
            }
            #expect(answer["Access-Control-Allow-Origin"] == nil, "\(name)")
            #expect(answer["X-Request-Id"] != nil, "\(name)")
            let policy = try #require(answer["Content-Security-Policy"], "\(name)")
            let directives = policy.split(separator: ";").map { $0.split(separator: " ").map(String.init) }
            for fixed in [
                ["default-src", "'none'"], ["style-src", "'self'"], ["img-src", "'self'"], ["base-uri", "'none'"],
                ["frame-ancestors", "'none'"],
            ] { #expect(directives.contains(fixed), "\(name): \(policy)") }
            #expect(directives.filter { $0.first == "form-action" }.count == 1, "\(name)")
            #expect(!policy.contains("unsafe") && !policy.contains("script-src") && !policy.contains("*"), "\(name)")
        }
    }

    @Test func `on a machine of its own, by http, the cookie has neither prefix nor Secure`() async throws {
        try await WebWorld.run(["server.publicUrl": Countersign.unset]) { world in
            try await WebWorld.register(at: world.sandbox, world.service.url)
            try await world.newPerson("local")
            let browser = world.browser()
            let attempt = try AppAttempt()
            let url = attempt.url().replacing(WebWorld.publicURL, with: world.service.url)
            let page = try await browser.open(url)
            let cookie = try #require(browser.cookie("csn_browser", of: world.service.url), "\(page.answer.text)")
            #expect(cookie.attributes["secure"] == nil)
            #expect(cookie.attributes["httponly"] == "")
            #expect(page.answer["Strict-Transport-Security"] == nil)
            let back = try AppAnswer(try await world.signIn("local", with: .google, on: page, browser))
            #expect(back["iss"] == world.service.url)
            #expect(try await world.exchange(try back.code(), attempt).status == 200)
        }
    }

    @Test func `the API takes no cookie and sets none`() async throws {
        let browser = world.browser()
        _ = try await world.chooser(try AppAttempt(), browser)
        let cookie = try #require(browser.cookies(of: WebWorld.publicURL).first)
        for path in ["/v1/account", "/v1/sessions", "/.well-known/jwks.json"] {
            let answer = try await browser.open(
                WebWorld.publicURL + path, headers: [("Cookie", "\(cookie.name)=\(cookie.value)")])
            #expect(answer.answer.values("Set-Cookie") == [], "\(path)")
            #expect(path.hasPrefix("/v1") == (answer.status == 401), "\(path)")
        }
    }

    @Test(
        arguments: [
            ("de", "en", "de"), (nil, "fr-CA, en;q=0.8", "fr"), ("%00<script>", "es", "es"),
        ] as [(asked: String?, accepted: String?, expected: String)])
    func `a page is in the language that was asked for`(
        _ language: (asked: String?, accepted: String?, expected: String)
    ) async throws {
        let expected = language.expected
        let browser = world.browser(languages: language.accepted)
        let page = try await world.chooser(try AppAttempt(), browser, ["ui_locales": language.asked])
        #expect(page.html.root["lang"] == expected)
        // The next page of the flow is in the same one.
        let (screen, _) = try await world.screen("/web/email-code", from: page, browser)
        #expect(screen.html.root["lang"] == expected)
    }

    @Test func `a page of a sign-in that is over, or that has expired, is in the language of that one`() async throws {
        let browser = world.browser(languages: "en")
        let left = try await world.chooser(try AppAttempt(), browser, ["ui_locales": "de"])
        _ = try AppAnswer(try await browser.submit("/web/cancel", on: left))
        let old = try await world.chooser(try AppAttempt(), browser, ["ui_locales": "de"])
        let flow = try #require(FormEncoding.parameters(of: old.url).first { $0.name == "flow" }).value
        try await scratch.execute(
            "UPDATE web_flows SET expires_at = now() - interval '1 second' WHERE flow_id = \(flow)::uuid")
        for (url, title) in [(left.url, "Diese Anmeldung ist beendet"), (old.url, "Diese Anmeldung ist abgelaufen")] {
            let page = try await browser.open(url).expecting(400)
            #expect(page.html.root["lang"] == "de" && page.html.title.hasPrefix(title), "\(page.answer.text)")
        }
    }

    @Test func `an address that was typed stays from page to page, and is in no URL`() async throws {
        let (_, browser, chooser) = try await world.begin()
        let code = try await browser.submit(
            "/web/password", on: chooser,
            typed: ["email": "typed@example.com", "password": "half a password"], button: "email")
        #expect(code.status == 200, "\(code.answer.body)")
        let form = try code.form("/web/email-code")
        #expect(form.input("email")?.value == "typed@example.com")
        #expect(!code.answer.body.contains("half a password"))
        // Changed there, and back.
        let back = try await browser.submit(form, on: code, typed: ["email": "other@example.com"], button: "first")
        #expect(try back.form("/web/password").input("email")?.value == "other@example.com")
        // After a wrong password, and from the page of the code.
        let wrong = try await browser.submit("/web/password", on: back, typed: ["password": "wrong horse battery"])
        #expect(wrong.status == 401)
        let again = try await browser.submit("/web/password", on: wrong, button: "email")
        let sent = try await browser.submit("/web/email-code", on: again)
        let leading = try #require(sent.html.forms.first { $0.buttons.contains { $0.value == "first" } })
        let start = try await browser.submit(leading, on: sent, button: "first")
        #expect(try start.form("/web/password").input("email")?.value == "other@example.com")
        for page in [code, back, wrong, again, sent, start] {
            #expect(!page.url.contains("typed") && !page.url.contains("other"), "\(page.url)")
        }
    }

    @Test(arguments: ["email", "register", "forgot"])
    func `a screen for which nothing was typed is a page that a browser goes back to`(_ screen: String) async throws {
        let (_, browser, chooser) = try await world.begin()
        let form = try chooser.form("/web/password")
        let shown = try await browser.submit(form, on: chooser, button: screen)
        #expect(shown.status == 200 && shown.hops.map(\.method) == ["POST", "GET"])
        #expect(shown.url.hasSuffix("&with=\(screen)"))
        let back = try await browser.open(shown.url)
        #expect(back.status == 200 && back.html.title == shown.html.title)
        // An address that was typed is in no URL.
        let typed = try await browser.submit(form, on: chooser, typed: ["email": "kept@example.com"], button: screen)
        #expect(typed.hops.map(\.method) == ["POST"])
    }

    @Test func `what a form has shown leads back to its flow when it is loaded again by its address`() async throws {
        let (_, browser, chooser) = try await world.begin()
        let (page, form) = try await world.screen("/web/email-code", from: chooser, browser)
        let sent = try await browser.submit(form, on: page, typed: ["email": "reloaded@example.com"])
        #expect(sent.status == 200 && sent.url.contains("/web/email-code?"))
        let again = try await browser.open(sent.url).expecting(200)
        #expect(again.hops.map(\.path) == ["/web/email-code", "/web/sign-in"])
        #expect(!again.html.forms.isEmpty)
        // Without a flow there is no way back, and a page says so; JSON is for those who ask for no page.
        let none = try await browser.open(WebWorld.publicURL + "/web/password")
        #expect(none.status == 405 && none.answer["Allow"] == "POST")
        #expect(none.html.text.contains("This page can’t be opened like this"))
        let plain = try await service.get("/web/password")
        #expect(plain.status == 405 && plain.code == "method_not_allowed")
    }

    @Test func `an address that is too long has a page in a browser`() async throws {
        let path = "/web/authorize?app=lamp&state=" + String(repeating: "a", count: 9_000)
        for accept in ["text/html", "*/*"] {
            let answer = try await RawConnection.exchange(
                service.port,
                "GET \(path) HTTP/1.1\r\nHost: auth.example.com\r\nAccept: \(accept)\r\nConnection: close\r\n\r\n")
            #expect(answer.status == 400)
            #expect(answer.body.contains("This link doesn’t work") == (accept == "text/html"), "\(answer.text)")
            #expect(answer.body.contains(#""code":"invalid_request""#) == (accept != "text/html"), "\(answer.text)")
        }
    }

    @Test func `a sign-in that is over says so to who goes back, and one for the account leads there`() async throws {
        try await world.newPerson("returning")
        let (_, browser, chooser) = try await world.begin()
        _ = try AppAnswer(try await world.signIn("returning", with: .google, on: chooser, browser))
        let back = try await browser.open(chooser.url)
        let late = try await browser.submit("/web/start/google", on: chooser)
        for page in [back, late] {
            #expect(page.status == 400)
            #expect(page.html.title.hasPrefix("This sign-in is over"), "\(page.answer.text)")
            #expect(!page.html.text.contains("cookies") && !page.html.links.contains { $0.target.contains("account") })
        }
        // Another browser does not hear what became of it.
        let another = world.browser()
        let without = try await another.open(chooser.url)
        #expect(without.status == 400 && without.html.title.hasPrefix("Signing in needs cookies"))
        _ = try await world.chooser(try AppAttempt(), another)
        let other = try await another.open(chooser.url)
        #expect(other.status == 400 && other.html.title.hasPrefix("This sign-in has expired"))
        #expect(other.wayOn == nil)

        let account = try await browser.openAccount()
        let create = try await world.signIn("returning", with: .google, on: account, browser)
        _ = try await browser.submit("/web/link/create", on: create)
        let over = try await browser.open(account.url)
        #expect(over.status == 400 && over.html.title.hasPrefix("This sign-in is over"))
        #expect(try await browser.press("/web/account", on: over).status == 200)
    }

    @Test func `who clicks twice comes to the app all the same`() async throws {
        let email = "twice@example.com"
        try await world.claim(email)
        let browser = world.browser()
        let attempt = try AppAttempt()
        let chooser = try await world.chooser(attempt, browser)
        let form = try chooser.form("/web/password")
        @Sendable func send(_ password: String = World.heldPassword) async throws -> Browser.Page {
            try await browser.submit(form, on: chooser, typed: ["email": email, "password": password])
        }
        let answers = try await concurrently(0..<2) { _ in try AppAnswer(try await send()).uri }
        #expect(answers[0] == answers[1])
        let late = try AppAnswer(try await send())
        #expect(late.uri == answers[0])
        // What differs in one character is another try to sign in, and comes too late.
        #expect(try await send(World.heldPassword + " ").html.title.hasPrefix("This sign-in is over"))
        let exchanged = try await world.exchange(try #require(late["code"], "\(late.uri)"), attempt)
        #expect(exchanged.json?["account"]?["email"]?.string == email, "\(exchanged.text)")
        let over = try await send()
        #expect(over.status == 400 && over.html.title.hasPrefix("This sign-in is over"), "\(over.answer.text)")
        let bearer = try exchanged.text("session.accessToken")
        #expect(try await world.service.get("/v1/account", bearer: bearer).status == 200)
    }

    @Test func `who clicks twice is signed in to the account all the same, unless they signed out since`()
        async throws
    {
        let email = "twice-here@example.com"
        try await world.claim(email)
        let browser = world.browser()
        let chooser = try await browser.openAccount()
        let before = browser.cookies(of: WebWorld.publicURL)
        func send(_ following: Bool) async throws -> Browser.Page {
            try await browser.submit(
                "/web/password", on: chooser, typed: ["email": email, "password": World.heldPassword],
                following: following)
        }
        let account = try await browser.clickTwice(send).expecting(200)
        #expect(account.url == AccountHolder.url)
        let session = try #require(browser.session)
        let sessions = try await world.count(
            """
            SELECT count(*) FROM web_sessions w JOIN sessions s USING (session_id) JOIN accounts a USING (account_id)
            WHERE a.email = \(email)
            """)
        #expect(sessions == 1)
        // Once more, of a browser that has the cookie by now.
        let again = try await send(true).expecting(200)
        #expect(again.url == AccountHolder.url && browser.session == session)
        try await browser.submit("/web/sign-out", on: again).expecting(200)
        browser.set(before, of: WebWorld.publicURL)
        let over = try await send(true).expecting(400)
        #expect(over.html.title.hasPrefix("This sign-in is over"), "\(over.answer.text)")
        #expect(browser.session == nil)
    }

    @Test func `a browser that takes no cookies hears so, and begins again at the account alone`() async throws {
        for (url, leadsBack) in [(try AppAttempt().url(), false), (WebWorld.publicURL + "/web/account", true)] {
            let opened = try await world.browser().open(url, following: false)
            let page = try await world.browser().open(try opened.location())
            #expect(page.status == 400 && page.html.title.hasPrefix("Signing in needs cookies"), "\(page.answer.body)")
            #expect(page.html.text.contains("Allow cookies for this site"))
            let targets = page.html.elements("a").filter { $0.attributes["class"] == "button primary" }
            #expect(targets.map { $0.attributes["href"] } == (leadsBack ? ["/web/account"] : []))
        }
    }

    @Test func `a name and an address stay on the ways between create and bind, and are in no URL`() async throws {
        try await world.newPerson("between", email: "between@example.com")
        let name = #"Kim "Kit" O'Hara <b>"#
        let browser = world.browser()
        let create = try await world.signIn("between", with: .apple, in: browser)
        let bind = try await browser.go(to: "bind", on: create, typed: ["displayName": name])
        // Over the page of the code, and a wrong password.
        let code = try await browser.submit(
            try bind.bindForm("password"), on: bind, typed: ["email": "mine@example.com"], button: "email")
        let returned = try await browser.go(to: "bind", on: code)
        let wrong = try await browser.submit(
            try returned.bindForm("password"), on: returned, typed: ["password": "wrong horse battery"])
        #expect(wrong.status == 401)
        let back = try await browser.go(to: "create", on: wrong)
        #expect(try back.form("/web/link/create").input("displayName")?.value == name, "\(back.answer.body)")
        #expect(!back.answer.body.contains("wrong horse battery") && !back.answer.body.contains("<b>"))
        let again = try await browser.go(to: "bind", on: back)
        #expect(try again.bindForm("password").input("email")?.value == "mine@example.com", "\(again.answer.body)")
        for page in [bind, code, returned, wrong, back, again] {
            #expect(!page.url.contains("Kit") && !page.url.contains("mine"), "\(page.url)")
        }
        // An emptied field is no name, and stays so.
        let emptied = try await browser.go(to: "bind", on: back, typed: ["displayName": ""])
        let empty = try await browser.go(to: "create", on: emptied)
        #expect(try empty.form("/web/link/create").input("displayName")?.value == "")
    }

    @Test func `the name of Google's token stands in the form of a new account, and an emptied field is no name`()
        async throws
    {
        for (person, typed, name) in [
            ("called", "Kim Called", "Kim Called"), ("renamed", "K.", "K."), ("uncalled", "", nil),
        ] as [(String, String, String?)] {
            let claimed = "form-\(person)"
            _ = try await world.sandbox.addGooglePerson(
                claimed, #"{"email":"\#(claimed)@example.com","givenName":"Kim","familyName":"Called"}"#)
            let browser = world.browser()
            let create = try await world.signIn(claimed, with: .google, in: browser)
            let form = try create.form("/web/link/create")
            #expect(form.input("displayName")?.value == "Kim Called")
            try await browser.submit(form, on: create, typed: ["displayName": typed]).expecting(200)
            let names = try await scratch.texts(
                "SELECT coalesce(display_name, 'NULL') FROM accounts WHERE email = \("form-\(person)@example.com")")
            #expect(names == [name ?? "NULL"])
        }
    }
}
