import JSON
import Postgres
import TestSupport
import Testing

/// What leaves with a person: their data, and the account.
@Suite(.limitedConcurrency, .webWorld, .timeLimit(.minutes(30))) struct AccountEndTests: WorldSuite {
    private static let url = AccountHolder.url
    /// The title of the end.
    private static let deleted = (english: "Your account is deleted", german: "Ihr Konto ist gelöscht")

    @Test func `the data leave as a file, after a question`() async throws {
        let (browser, page, _) = try await AccountHolder.signedIn("reader")
        let question = try await browser.press("/web/account/export", on: page)
        #expect(question.html.text.contains("r***@example.com"))
        let file = try await browser.submit("/web/account/export", on: question).expecting(200)
        #expect(file.answer["Content-Type"] == "application/json")
        #expect(file.answer["Content-Disposition"] == #"attachment; filename="account.json""#)
        #expect(file.answer["Cache-Control"] == "no-store")
        #expect(file.answer.json?["account"]?["email"]?.string == "reader@example.com", "\(file.answer.body)")
    }

    @Test func `an account is deleted by the answer to its question alone`() async throws {
        let device = try await world.newAccount(ofNew: "goner", with: .google)
        let browser = world.browser(languages: "de")
        // The address for the app stores: who is not signed in signs in, and is there.
        let chooser = try await browser.open(Self.url + "/delete")
        #expect(chooser.isChooser)
        #expect(chooser.html.text.contains("Melden Sie sich an, um Ihr Konto zu löschen."))
        let ways = chooser.html.forms.flatMap(\.buttons).map(\.value)
        #expect(ways.contains("forgot") && !ways.contains("register"), "\(ways)")
        let question = try await world.signIn("goner", with: .google, on: chooser, browser).expecting(200)
        #expect(question.html.text.contains("g***@example.com"))
        #expect(question.html.text.contains("Google"))
        let form = try question.form("/web/account/delete")
        let csrf = try form.csrf()

        #expect(try await browser.open(Self.url + "/delete").status == 200)
        #expect(try await browser.open(Self.url + "/delete", method: "HEAD").status < 300)
        let account = try await browser.openAccount()
        let foreign = try #require(try account.form("/web/sign-out").input("csrf")?.value)
        for fields in [[], [("csrf", "")], [("csrf", foreign)]] as [[(name: String, value: String)]] {
            #expect(try await browser.send(fields, to: form.action, on: question).status == 403)
        }
        let crossSite = try await browser.send(
            [("csrf", csrf)], to: form.action, on: question, headers: [("Sec-Fetch-Site", "cross-site")])
        #expect(crossSite.status == 403)
        #expect(try await service.get("/v1/account", bearer: device.bearer).status == 200)

        let deleted = try await browser.clickTwice { try await browser.submit(form, on: question, following: $0) }
        #expect(deleted.hops.map(\.answer.status) == [303, 200], "\(deleted.answer.text)")
        #expect(deleted.html.root["lang"] == "de" && deleted.html.title.hasPrefix(Self.deleted.german))
        #expect(browser.session == nil)
        #expect(try await world.countAccounts(with: "goner@example.com") == 0)
        #expect(try await service.get("/v1/account", bearer: device.bearer).status == 401)
        // Loaded again it says the same, and the same address says nothing to another browser.
        #expect(try await browser.open(deleted.url).html.title == deleted.html.title)
        let other = try await world.browser(languages: "de").open(deleted.url).expecting(200)
        #expect(!other.html.title.hasPrefix(Self.deleted.german))
    }

    @Test func `one press is answered by the end page itself, in the person's language, without the cookie`()
        async throws
    {
        let (browser, _, bearer) = try await AccountHolder.signedIn("presser")
        let question = try await browser.open(Self.url + "/delete?ui_locales=de")
        let form = try question.form("/web/account/delete")
        let deleted = try await browser.submit(form, on: question, following: false).expecting(202)
        #expect(deleted.html.root["lang"] == "de" && deleted.html.title.hasPrefix(Self.deleted.german))
        #expect(browser.session == nil)
        #expect(try await world.countAccounts(with: "presser@example.com") == 0)
        #expect(try await service.get("/v1/account", bearer: bearer).status == 401)
        try await browser.submit(form, on: question, following: false).expecting(403)
    }

    @Test func `who comes by an identity of no account is offered none, and signs in another way`() async throws {
        try await world.newPerson("unheld", email: "unheld@example.com")
        #expect(try await world.register("leaver@example.com").status == 201)
        let browser = world.browser()
        let chooser = try await browser.open(Self.url + "/delete")
        let page = try await world.signIn("unheld", with: .google, on: chooser, browser)
        let text = page.html.text
        #expect(text.contains("No Lamp Accounts account uses this Google account yet."), "\(text)")
        #expect(page.html.forms.map(\.path) == ["/web/link/cancel"])
        let again = try await browser.submit("/web/link/cancel", on: page)
        let question = try await browser.enter("leaver@example.com", on: again)
        #expect(question.html.forms.contains { $0.path == "/web/account/delete" }, "\(question.answer.text)")
        #expect(try await world.countAccounts(with: "unheld@example.com") == 0)

        // Where an account has the address, they prove that one.
        try await world.newAccount(ofNew: "halfway", with: .apple)
        let other = world.browser()
        let bind = try await world.signIn(
            "halfway", with: .google, on: try await other.open(Self.url + "/delete"), other)
        #expect(bind.html.text.contains("Continue with Apple"), "\(bind.answer.text)")
        #expect(!bind.html.forms.contains { $0.path == "/web/link/create" })
        #expect(!bind.html.forms.flatMap(\.buttons).contains { $0.value == "create" })
    }

    @Test func `a session that has grown old meanwhile deletes nothing`() async throws {
        let (browser, page, bearer) = try await AccountHolder.signedIn("slow")
        let question = try await browser.press("/web/account/delete", on: page)
        try await world.age(sessionsOf: "slow@example.com")
        let chooser = try await browser.submit("/web/account/delete", on: question)
        #expect(chooser.isChooser)
        #expect(try await service.get("/v1/account", bearer: bearer).status == 200)
        let asked = try await browser.enter("slow@example.com", on: chooser)
        // Nor does one that is so old that its row is gone, which is as if the account were.
        try await scratch.execute(
            """
            DELETE FROM sessions
            WHERE session_id IN (SELECT session_id FROM web_sessions)
                AND account_id = (SELECT account_id FROM accounts WHERE email = 'slow@example.com')
            """)
        let late = try await browser.submit("/web/account/delete", on: asked)
        #expect(late.isChooser, "\(late.answer.text)")
        #expect(try await service.get("/v1/account", bearer: bearer).status == 200)
        let again = try await browser.enter("slow@example.com", on: late)
        let deleted = try await browser.submit("/web/account/delete", on: again).expecting(202)
        #expect(deleted.html.title.hasPrefix(Self.deleted.english), "\(deleted.answer.text)")
        #expect(try await world.countAccounts(with: "slow@example.com") == 0)
    }

    @Test func `the language that the address names stays through the sign-in, to the end`() async throws {
        try await world.newAccount(ofNew: "speaker", with: .google)
        func expectArabic(_ page: Browser.Page, _ location: SourceLocation = #_sourceLocation) {
            #expect(page.html.root["lang"] == "ar", "\(page.answer.text)", sourceLocation: location)
            #expect(page.html.root["dir"] == "rtl", sourceLocation: location)
        }
        let browser = world.browser(languages: "en")
        let chooser = try await browser.open(Self.url + "/delete?ui_locales=ar")
        expectArabic(chooser)
        let question = try await world.signIn("speaker", with: .google, on: chooser, browser)
        expectArabic(question)

        // To and fro among the pages, and to a provider and back.
        let back = try #require(question.html.links.first { $0.target.hasPrefix("/web/account") })
        let account = try await browser.click(back.target, on: question)
        expectArabic(account)
        let links = account.html.links.filter { $0.target.hasPrefix("/web/account") }
        #expect(links.count >= 4)
        for link in links { expectArabic(try await browser.click(link.target, on: account)) }
        let cancelled = try await link(.apple, to: account, as: "speaker", cancel: true, browser)
        expectArabic(cancelled)
        #expect(cancelled.html.source.contains(#"role="status""#))
        let linked = try await link(.apple, to: cancelled, as: "speaker", browser)
        expectArabic(linked)
        try await eventually("the notice in Arabic") {
            try world.mailbox("speaker@example.com").contains { $0.header("Content-Language") == "ar" }
        }
        #expect(!linked.html.forms.contains { $0.path == "/web/account/link/apple" })
        let unlinking = try await browser.submit("/web/account/unlink", on: linked)
        expectArabic(unlinking)

        let asked = try await browser.open(question.url)
        let deleted = try await browser.submit("/web/account/delete", on: asked).expecting(202)
        expectArabic(deleted)
    }

    /// Adds a provider on the page of the account.
    private func link(
        _ provider: Sandbox.Provider, to page: Browser.Page, as person: String, cancel: Bool = false, _ browser: Browser
    ) async throws -> Browser.Page {
        let shown = try await browser.submit("/web/account/link/\(provider.rawValue)", on: page)
        let sent = try await world.consent(person, at: shown, browser, cancel: cancel)
        guard let answer = sent.html.forms.first(where: { $0.attributes["id"] == "answer" }) else { return sent }
        return try await browser.submit(answer, on: sent)
    }

    @Test func `two answers at once delete the account once, and neither fails`() async throws {
        for number in 1...5 {
            let email = "double-\(number)@example.com"
            let (browser, page, _) = try await AccountHolder.signedIn("double-\(number)")
            let id = try await scratch.texts("SELECT account_id::text FROM accounts WHERE email = \(email)")
            let question = try await browser.press("/web/account/delete", on: page)
            let form = try question.form("/web/account/delete")
            // Each has the cookies of before.
            let twin = world.browser()
            twin.set(browser.cookies(of: WebWorld.publicURL), of: WebWorld.publicURL)
            let ends = try await concurrently([browser, twin], { try await $0.submit(form, on: question) })
            for end in ends { #expect(end.html.title.hasPrefix(Self.deleted.english), "\(end.answer.text)") }
            let statuses = ends.map { $0.hops.map(\.answer.status) }.sorted { $0.count < $1.count }
            #expect(statuses == [[202], [303, 200]])
            #expect(try await world.countAccounts(with: email) == 0)
            let deletions = try await world.recorded(
                """
                type = 'account_deleted'
                    AND account_id = \(try #require(id.first))::uuid
                """)
            #expect(deletions == 1)
        }
    }
}
