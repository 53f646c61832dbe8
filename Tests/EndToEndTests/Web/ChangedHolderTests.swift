import Postgres
import TestSupport
import Testing

/// The page of *bind* of somebody who reads the mailbox, as the provider that runs it says or by a mailed code, when the
/// account that it has shown is no longer one that they may take over.
@Suite(.limitedConcurrency, .webWorld(["limits.mailPerAddress": "0"]), .timeLimit(.minutes(30)))
struct ChangedHolderTests: WorldSuite {
    /// The page that shows a stated account, with the button *This is my account*.
    private func shownPage(
        _ name: String, _ browser: Browser
    ) async throws -> (holder: DegreeHolder, page: Browser.Page, button: HTML.Form) {
        let email = "\(name)@company.example"
        let holder = try await world.holder(.stated, name, email: email)
        try await world.openGoogleAccount("\(name)-reader", email: email, workspace: "company.example")
        let chooser = try await browser.openAccount()
        let question = try await world.signIn("\(name)-reader", with: .google, on: chooser, browser)
        let page = try await browser.go(to: "bind", on: question)
        #expect(page.html.text.contains("Account since"))
        return (holder, page, try page.bindForm(button: "ticket"))
    }

    /// Presses the button, which is refused, and isn't there a second time.
    private func pressInVain(
        _ button: HTML.Form, on page: Browser.Page, _ browser: Browser, _ location: SourceLocation = #_sourceLocation
    ) async throws -> Browser.Page {
        let changed = try await browser.submit(button, on: page, button: "ticket")
        #expect(changed.status == 401, sourceLocation: location)
        #expect(changed.html.text.contains("changed in the meantime"), sourceLocation: location)
        #expect(!changed.asksForConfirmation, "\(changed.answer.body)", sourceLocation: location)
        #expect(!changed.html.text.contains("Account since"), sourceLocation: location)
        return changed
    }

    /// Signs a holder out everywhere, as if a minute after a ticket that shows them: whole seconds decide.
    private func signOutEverywhere(_ holder: DegreeHolder, after table: SQL, _ issued: SQL) async throws {
        try await service.signOut("all", bearer: holder.device.bearer).expecting(204)
        try await scratch.execute(
            """
            UPDATE \(table) SET \(issued) = \(issued) - interval '1 minute'
            WHERE shown_account_id = \(holder.device.account.id)::uuid
            """)
    }

    private func bindByPassword(_ holder: DegreeHolder, _ page: Browser.Page, _ browser: Browser) async throws {
        let account = try await browser.submit(
            try page.bindForm("password"), on: page, typed: ["email": holder.email, "password": World.password])
        #expect(account.status == 200, "\(account.answer.text)")
        let linked = try await world.count(
            """
            SELECT count(*) FROM identities
            WHERE account_id = \(holder.device.account.id)::uuid AND provider = 'google'
            """)
        #expect(linked == 1)
    }

    @Test func `one that has proven its address since is shown no more, and has to be proven`() async throws {
        let browser = world.browser()
        let (holder, page, button) = try await shownPage("confirmed", browser)
        try await world.verify(holder.email, bearer: holder.device.bearer)
        let changed = try await pressInVain(button, on: page, browser)
        #expect(changed.html.text.contains("There is already an account with this address."))
        // Nor is there a choice: the address is its own.
        #expect(!changed.html.forms.contains { $0.buttons.contains { $0.value == "create" } })
        try await bindByPassword(holder, changed, browser)
    }

    @Test func `one that was signed out everywhere since shows its providers, and has to be proven`() async throws {
        let browser = world.browser()
        let (holder, page, button) = try await shownPage("left", browser)
        try await signOutEverywhere(holder, after: "link_tickets", "issued_at")
        let changed = try await pressInVain(button, on: page, browser)
        #expect(changed.html.text.contains("Continue with Apple"))
        #expect(!changed.html.text.contains("l***@company.example"))
        // Who makes an account has the address all the same, as the page says.
        let create = try await browser.go(to: "create", on: changed)
        #expect(create.html.text.contains("loses the address"), "\(create.answer.body)")
        try await bindByPassword(holder, changed, browser)
    }

    @Test func `one that has another address since shows nothing of what is linked to it`() async throws {
        let browser = world.browser()
        let (holder, page, button) = try await shownPage("moved", browser)
        let new = "moved-on@example.com"
        let asked = try await service.send(
            "PUT", "/v1/account/email", ["email": .string(new)], bearer: holder.device.bearer)
        #expect(asked.status == 202, "\(asked.text)")
        let code = try await world.code(1, mailedTo: new)
        try await service.verifyEmail(code, bearer: holder.device.bearer).expecting(204)
        try await world.openGoogleAccount("newly-added", email: "newly-added@example.com")
        let linked = try await service.linkGoogle(
            try await world.googleToken("newly-added"), bearer: holder.device.bearer)
        #expect(linked.status == 201, "\(linked.text)")

        let again = try await browser.open(page.url)
        #expect(!again.html.text.contains("n***@example.com") && !again.asksForConfirmation)
        let changed = try await pressInVain(button, on: page, browser)
        #expect(!changed.html.text.contains("n***@example.com"))
        // There is nothing to look at again.
        #expect(changed.html.text.contains("can’t be opened like this any more"))
    }

    // MARK: Another ticket

    @Test func `a form decides about the ticket of its page, and does nothing where the flow has another by now`()
        async throws
    {
        let browser = world.browser()
        let (first, page, button) = try await shownPage("earlier", browser)
        let create = try await browser.go(to: "create", on: page)
        let password = try page.bindForm("password")
        let typed = ["email": first.email, "password": World.password]
        // In another tab.
        let chooser = try await browser.submit("/web/link/cancel", on: page)
        let second = try await world.holder(.stated, "later", email: "later@company.example")
        try await world.openGoogleAccount("later-reader", email: second.email, workspace: "company.example")
        let question = try await world.signIn("later-reader", with: .google, on: chooser, browser)

        func holders() async throws -> [String] {
            try await scratch.texts(
                """
                SELECT concat_ws(' ', a.account_id, a.email, a.email_proof, a.password_hash IS NOT NULL, count(i.*))
                FROM accounts a LEFT JOIN identities i USING (account_id)
                WHERE a.email IN (\(first.email), \(second.email)) GROUP BY a.account_id ORDER BY 1
                """)
        }
        let before = try await holders()
        #expect(before.count == 2)
        for late in [
            try await browser.submit(button, on: page, button: "ticket"),
            try await browser.submit(password, on: page, typed: typed),
            try await browser.submit(password, on: page, typed: typed, button: "email"),
            try await browser.submit("/web/link/create", on: create),
            try await browser.submit("/web/link/cancel", on: create),
        ] {
            late.expecting(400)
            #expect(late.html.title.hasPrefix("This page has expired"), "\(late.answer.text)")
            let shown = try await browser.click(try #require(late.wayOn), on: late).expecting(200)
            #expect(shown.html.text.contains(second.email) && !shown.html.text.contains(first.email))
        }
        #expect(try await holders() == before)
        #expect(browser.session == nil)

        // What the flow has is as good as before.
        let shown = try await browser.go(to: "bind", on: question)
        let own = try shown.bindForm(button: "ticket")
        let account = try await browser.submit(own, on: shown, button: "ticket").expecting(200)
        #expect(account.html.text.contains(second.email), "\(account.answer.text)")
    }

    // MARK: By a mailed code

    /// The page that a mailed code leads to, with the button.
    private func shownPage(
        byCodeTo holder: DegreeHolder, _ browser: Browser
    ) async throws -> (page: Browser.Page, button: HTML.Form) {
        let question = try await world.question(to: holder.email, by: 1, browser)
        let page = try await browser.go(to: "bind", on: question)
        #expect(page.html.text.contains("are removed"))
        return (page, try page.bindForm(button: "ticket"))
    }

    @Test func `one that has proven its address since is entered by who has typed the code, and loses nothing`()
        async throws
    {
        let holder = try await world.holder(.stated, "settled", email: "settled@company.example")
        let browser = world.browser()
        let (page, _) = try await shownPage(byCodeTo: holder, browser)
        try await world.verify(holder.email, bearer: holder.device.bearer)
        let again = try await browser.open(page.url)
        let button = try again.bindForm(button: "ticket")
        #expect(again.html.text.contains("Account since") && !again.html.text.contains("are removed"))
        // An account of their own would be refused: the address is this one's.
        #expect(!again.html.forms.contains { $0.buttons.contains { $0.value == "create" } })
        let account = try await browser.submit(button, on: again, button: "ticket")
        #expect(account.status == 200 && account.html.text.contains(holder.email), "\(account.answer.text)")
        #expect(try await world.signIn(holder.email, password: World.password).status == 200)
    }

    @Test func `one that was signed out everywhere since leaves who has typed the code an account of their own`()
        async throws
    {
        let holder = try await world.holder(.stated, "ended", email: "ended@company.example")
        let browser = world.browser()
        let (page, button) = try await shownPage(byCodeTo: holder, browser)
        try await signOutEverywhere(holder, after: "mailbox_tickets", "auth_time")
        let changed = try await pressInVain(button, on: page, browser)
        #expect(!changed.html.text.contains("e***@company.example"))
        #expect(changed.html.text.contains("loses the address"), "\(changed.answer.body)")
        #expect(!changed.html.forms.contains { $0.buttons.contains { $0.value == "bind" } })
        let account = try await browser.submit("/web/link/create", on: changed)
        #expect(account.status == 200 && account.html.text.contains(holder.email), "\(account.answer.text)")
        let left = try await world.count(
            "SELECT count(*) FROM accounts WHERE account_id = \(holder.device.account.id)::uuid AND email IS NULL")
        #expect(left == 1)
    }
}
