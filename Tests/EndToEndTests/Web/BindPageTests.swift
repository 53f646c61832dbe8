import Postgres
import TestSupport
import Testing

/// The ways to prove an account that our own page offers, in each degree of its address, for somebody whose provider
/// states the same address and does not run the mailbox.
@Suite(.limitedConcurrency, .webWorld(["limits.mailPerAddress": "0"]), .timeLimit(.minutes(5))) struct BindPageTests {
    private static let target = "/web/link/bind"

    /// The page of *bind* that somebody comes to whose address the holder has.
    private func bindPage(
        _ degree: DegreeHolder.Degree, _ name: String, workspace: String? = nil, _ browser: Browser
    ) async throws -> (holder: DegreeHolder, page: Browser.Page) {
        let world = try World.shared
        let email = "\(name)@company.example"
        let holder = try await world.holder(degree, name, email: email)
        try await world.openGoogleAccount(name, email: email, workspace: workspace)
        let chooser = try await browser.open(WebWorld.publicURL + "/web/account")
        let question = try await world.signIn(name, with: .google, on: chooser, browser)
        return (holder, try await follow("bind", on: question, browser))
    }

    private func follow(_ word: String, on page: Browser.Page, _ browser: Browser) async throws -> Browser.Page {
        let link = try #require(page.html.links.first { $0.target.contains("with=\(word)") }, "\(page.answer.body)")
        return try await browser.click(link.target, on: page)
    }

    private func form(_ field: String, on page: Browser.Page) throws -> HTML.Form {
        try #require(
            page.html.forms.first { $0.path == Self.target && $0.input(field) != nil }, "\(page.answer.body)")
    }

    /// The button *This is my account*.
    private func confirmation(on page: Browser.Page) -> HTML.Form? {
        page.html.forms.first { $0.path == Self.target && $0.buttons.contains { $0.value == "ticket" } }
    }

    private func expectEntered(
        _ page: Browser.Page, _ holder: DegreeHolder, proof: String, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(page.status == 200, "\(page.answer.text)", sourceLocation: location)
        #expect(page.html.text.contains(holder.email), sourceLocation: location)
        let found = try await World.shared.texts(
            """
            SELECT concat_ws(' ', a.email_proof, count(i.*)) FROM accounts a JOIN identities i USING (account_id)
            WHERE a.account_id = \(holder.device.account.id)::uuid AND i.provider = 'google'
            GROUP BY a.account_id
            """)
        #expect(found == ["\(proof) 1"], sourceLocation: location)
    }

    /// Has a code mailed, and types it.
    private func typeCode(
        _ holder: DegreeHolder, _ page: Browser.Page, _ browser: Browser
    ) async throws -> Browser.Page {
        let asking = try #require(
            page.html.forms.first { $0.path == Self.target && $0.buttons.contains { $0.value == "email" } },
            "\(page.answer.body)")
        let ask = try await browser.submit(asking, on: page, typed: ["email": holder.email], button: "email")
        let typing = try await browser.submit(try form("email", on: ask), on: ask, typed: ["email": holder.email])
        let code = try await World.shared.code(holder.mailedCodes + 1, mailedTo: holder.email)
        return try await browser.submit(try form("code", on: typing), on: typing, typed: ["code": code])
    }

    @Test(arguments: DegreeHolder.Degree.allCases)
    func `the account's password binds`(_ degree: DegreeHolder.Degree) async throws {
        let browser = try World.shared.browser()
        let (holder, page) = try await bindPage(degree, "key-\(degree)", browser)
        #expect(confirmation(on: page) == nil)
        let account = try await browser.submit(
            try form("password", on: page), on: page,
            typed: ["email": holder.email, "password": DegreeHolder.password])
        try await expectEntered(account, holder, proof: degree == .proven ? "proven" : "stated")
    }

    @Test(arguments: [DegreeHolder.Degree.claimed, .proven])
    func `a mailed code binds`(_ degree: DegreeHolder.Degree) async throws {
        let browser = try World.shared.browser()
        let (holder, page) = try await bindPage(degree, "mail-\(degree)", browser)
        try await expectEntered(try await typeCode(holder, page, browser), holder, proof: "proven")
    }

    @Test func `a mailed code shows a stated account, and then one button binds`() async throws {
        let browser = try World.shared.browser()
        let (holder, page) = try await bindPage(.stated, "seen", browser)
        let shown = try await typeCode(holder, page, browser)
        #expect(shown.status == 200)
        #expect(shown.html.text.contains("s***@company.example"))
        let again = confirmation(on: shown) == nil ? try await follow("bind", on: shown, browser) : shown
        let button = try #require(confirmation(on: again), "\(again.answer.body)")
        try await expectEntered(
            try await browser.submit(button, on: again, button: "ticket"), holder, proof: "proven")
    }

    @Test func `who has been shown a stated account that isn't theirs makes one, as the page says`() async throws {
        let browser = try World.shared.browser()
        let (holder, page) = try await bindPage(.stated, "other", browser)
        let shown = try await typeCode(holder, page, browser)
        let create = try await follow("create", on: shown, browser)
        #expect(create.html.text.contains("o***@company.example"))
        let account = try await browser.submit(try create.form("/web/link/create"), on: create)
        #expect(account.status == 200, "\(account.answer.text)")
        #expect(account.html.text.contains(holder.email))
        #expect(try await World.shared.account(on: holder.device).emailTakenAt != nil)
    }

    @Test func `who came by the provider that runs the mailbox binds with one button`() async throws {
        let browser = try World.shared.browser()
        let (holder, page) = try await bindPage(.stated, "runs", workspace: "company.example", browser)
        let button = try #require(confirmation(on: page), "\(page.answer.body)")
        try await expectEntered(try await browser.submit(button, on: page, button: "ticket"), holder, proof: "proven")
    }

    @Test func `an account that has changed since is shown again, with the address that was there`() async throws {
        let world = try World.shared
        let browser = world.browser()
        let (holder, page) = try await bindPage(.stated, "late", workspace: "company.example", browser)
        let button = try #require(confirmation(on: page), "\(page.answer.body)")
        try await world.openGoogleAccount("latecomer", email: "latecomer@example.com")
        let linked = try await world.service.post(
            "/v1/account/identities/google", ["idToken": .string(try await world.googleToken("latecomer"))],
            bearer: holder.device.bearer)
        #expect(linked.status == 201, "\(linked.text)")

        let changed = try await browser.submit(button, on: page, button: "ticket")
        #expect(changed.status == 401)
        #expect(changed.html.text.contains("changed in the meantime"))
        #expect(changed.html.text.contains("l***@example.com"))
        #expect(try form("password", on: changed).input("email")?.value == holder.email)
        // It is shown as it is now, so the button is good again.
        let second = try #require(confirmation(on: changed), "\(changed.answer.body)")
        #expect(try await browser.submit(second, on: changed, button: "ticket").status == 409)
    }
}
