import Postgres
import TestSupport
import Testing

/// The ways to prove an account that our own page offers, in each degree of its address, for somebody whose provider
/// states the same address and does not run the mailbox.
@Suite(.limitedConcurrency, .webWorld(["limits.mailPerAddress": "0"]), .timeLimit(.minutes(30)))
struct BindPageTests: WorldSuite {
    /// The page of *bind* that somebody comes to whose address the holder has.
    private func bindPage(
        _ degree: DegreeHolder.Degree, _ name: String, workspace: String? = nil
    ) async throws -> (holder: DegreeHolder, page: Browser.Page, browser: Browser) {
        let browser = world.browser()
        let email = "\(name)@company.example"
        let holder = try await world.holder(degree, name, email: email)
        try await world.openGoogleAccount(name, email: email, workspace: workspace)
        let question = try await world.signIn(name, with: .google, in: browser)
        // The account of a proven address shows nothing, and leaves no choice.
        guard degree == .proven else { return (holder, try await browser.go(to: "bind", on: question), browser) }
        #expect(question.html.text.contains("There is already an account with this address."))
        return (holder, question, browser)
    }

    func expectEntered(
        _ page: Browser.Page, _ holder: DegreeHolder, proof: String, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(page.status == 200, "\(page.answer.text)", sourceLocation: location)
        #expect(page.html.text.contains(holder.email), sourceLocation: location)
        let found = try await scratch.texts(
            """
            SELECT concat_ws(' ', a.email_proof, count(i.*)) FROM accounts a JOIN identities i USING (account_id)
            WHERE a.account_id = \(holder.device.account.id)::uuid AND i.provider = 'google'
            GROUP BY a.account_id
            """)
        #expect(found == ["\(proof) 1"], sourceLocation: location)
    }

    /// Has a code mailed: the page that takes it, and the code.
    private func mailCode(
        _ holder: DegreeHolder, _ page: Browser.Page, _ browser: Browser
    ) async throws -> (page: Browser.Page, code: String) {
        let asking = try page.bindForm(button: "email")
        let ask = try await browser.submit(asking, on: page, typed: ["email": holder.email], button: "email")
        let typing = try await browser.submit(try ask.bindForm("email"), on: ask, typed: ["email": holder.email])
        return (typing, try await world.code(holder.mailedCodes + 1, mailedTo: holder.email))
    }

    /// Has a code mailed, and types it.
    private func typeCode(
        _ holder: DegreeHolder, _ page: Browser.Page, _ browser: Browser
    ) async throws -> Browser.Page {
        let (typing, code) = try await mailCode(holder, page, browser)
        return try await browser.submit(try typing.bindForm("code"), on: typing, typed: ["code": code])
    }

    @Test(arguments: DegreeHolder.Degree.allCases)
    func `the account's password binds`(_ degree: DegreeHolder.Degree) async throws {
        let (holder, page, browser) = try await bindPage(degree, "key-\(degree)")
        #expect(!page.asksForConfirmation)
        let account = try await browser.submit(
            try page.bindForm("password"), on: page, typed: ["email": holder.email, "password": World.password])
        try await expectEntered(account, holder, proof: degree == .proven ? "proven" : "stated")
    }

    @Test(arguments: [DegreeHolder.Degree.claimed, .proven])
    func `a mailed code binds`(_ degree: DegreeHolder.Degree) async throws {
        let (holder, page, browser) = try await bindPage(degree, "mail-\(degree)")
        try await expectEntered(try await typeCode(holder, page, browser), holder, proof: "proven")
    }

    @Test func `a mailed code shows a stated account, and then one button binds`() async throws {
        let (holder, page, browser) = try await bindPage(.stated, "seen")
        let shown = try await typeCode(holder, page, browser).expecting(200)
        #expect(shown.html.text.contains("s***@company.example"))
        #expect(shown.html.text.contains("The code was right."))
        #expect(shown.html.text.contains("Is this your account?"))
        // One question, and nothing to type.
        #expect(shown.html.forms.allSatisfy { $0.input("email") == nil && $0.input("password") == nil })
        let button = try shown.bindForm(button: "ticket")
        #expect(shown.html.text.contains("the password and name that the account has are removed"))
        try await scratch.execute(
            "UPDATE accounts SET display_name = 'Former' WHERE account_id = \(holder.device.account.id)::uuid")
        try await expectEntered(try await browser.submit(button, on: shown, button: "ticket"), holder, proof: "proven")
        let kept = try await world.count(
            """
            SELECT count(*) FROM accounts
            WHERE account_id = \(holder.device.account.id)::uuid
                AND (password_hash IS NOT NULL OR display_name = 'Former')
            """)
        #expect(kept == 0)
    }

    @Test func `the form of a mailed code that is sent twice leads to the question twice, and to nothing else`()
        async throws
    {
        for number in 1...5 {
            let (holder, page, browser) = try await bindPage(.stated, "twice-\(number)")
            let (typing, code) = try await mailCode(holder, page, browser)
            let form = try typing.bindForm("code")
            let questions = try await concurrently(0..<2) { _ in
                try await browser.submit(form, on: typing, typed: ["code": code]).expecting(200)
            }
            for question in questions {
                #expect(question.html.text.contains("Is this your account?"), "\(question.answer.text)")
            }
            #expect(browser.session == nil)
            let account = try await world.account(on: holder.device)
            #expect(account.emailProof == "stated" && account.hasPassword)
            #expect(account.providers == ["apple"])

            let button = try questions[1].bindForm(button: "ticket")
            let bound = try await browser.submit(button, on: questions[1], button: "ticket")
            try await expectEntered(bound, holder, proof: "proven")
        }
    }

    @Test func `who has been shown a stated account that isn't theirs makes one, as the page says`() async throws {
        let (holder, page, browser) = try await bindPage(.stated, "other")
        let shown = try await typeCode(holder, page, browser)
        let create = try await browser.go(to: "create", on: shown)
        #expect(create.html.text.contains("o***@company.example"))
        let account = try await browser.submit("/web/link/create", on: create).expecting(200)
        #expect(account.html.text.contains(holder.email))
        #expect(try await world.account(on: holder.device).emailTakenAt != nil)
    }

    @Test func `an account that only its address opens is closed by who takes that, as the page says`() async throws {
        let email = "imported@company.example"
        let row = #"{"externalId":"page/1","email":"\#(email)","emailVerified":true,"displayName":"Kim"}"#
        try await ImportedPersonTests.import("page", [row], into: scratch).expecting(0)
        let browser = world.browser()
        let link = try await world.question(to: email, by: 1, browser)
        #expect(link.html.text.contains("There is already an account with this address."), "\(link.answer.text)")
        #expect(link.html.text.contains("Account since") && !link.html.text.contains("It is opened with:"))
        let create = try await browser.go(to: "create", on: link)
        #expect(create.html.text.contains("Nobody can open it any more"))
        let account = try await browser.submit("/web/link/create", on: create)
        #expect(account.status == 200 && account.html.text.contains(email), "\(account.answer.text)")
        let closed = try await world.count(
            """
            SELECT count(*) FROM accounts
            WHERE external_id = 'page/1' AND status = 'disabled' AND disabled_reason = 'email_reclaimed'
            """)
        #expect(closed == 1)
    }

    @Test func `who came by the provider that runs the mailbox binds with one button`() async throws {
        let (holder, page, browser) = try await bindPage(.stated, "runs", workspace: "company.example")
        let button = try page.bindForm(button: "ticket")
        try await expectEntered(try await browser.submit(button, on: page, button: "ticket"), holder, proof: "proven")
    }

    // MARK: By a provider

    /// Presses a button that leads to a provider, and goes on there.
    func press(
        _ value: String, to provider: Sandbox.Provider, as person: String, on page: Browser.Page, _ browser: Browser,
        cancel: Bool = false
    ) async throws -> Browser.Page {
        let button = try page.bindForm(button: value)
        let shown = try await browser.submit(button, on: page, button: value)
        #expect(shown.url.hasPrefix(world.sandbox.url))
        let answer = try await world.consent(person, at: shown, browser, cancel: cancel)
        guard provider == .apple else { return answer }
        let form = try #require(answer.html.forms.first { $0.attributes["id"] == "answer" }, "\(answer.answer.text)")
        return try await browser.submit(form, on: answer)
    }

    @Test func `the provider by which the account is entered binds, with one session more`() async throws {
        let (holder, page, browser) = try await bindPage(.stated, "entered")
        #expect(page.html.text.contains("Continue with Apple") && !page.html.text.contains("Continue with Google"))
        let account = try await press("apple", to: .apple, as: "entered", on: page, browser)
        try await expectEntered(account, holder, proof: "stated")
        // That of the person's device, and the browser's.
        let sessions = try await world.count(
            "SELECT count(*) FROM sessions WHERE account_id = \(holder.device.account.id)::uuid AND ended_at IS NULL")
        #expect(sessions == 2)
    }

    private func sessions(of accounts: (String, String)) async throws -> Int64 {
        try await world.count(
            "SELECT count(*) FROM sessions WHERE account_id IN (\(accounts.0)::uuid, \(accounts.1)::uuid)")
    }

    @Test func `another identity changes nothing and is named, a cancellation too, and the ticket stays good`()
        async throws
    {
        let (holder, page, browser) = try await bindPage(.stated, "mistaken")
        let bystander = try await world.newAccount("bystander")
        let accounts = (holder.device.account.id, try bystander.accountID())
        let before = try await sessions(of: accounts)
        let refused = try await press("apple", to: .apple, as: "bystander", on: page, browser).expecting(200)
        #expect(refused.html.text.contains("That sign-in doesn’t open this account."))
        #expect(try await sessions(of: accounts) == before)
        #expect(try await service.get("/v1/account", bearer: bystander.bearer()).status == 200)

        let cancelled = try await press("apple", to: .apple, as: "mistaken", on: refused, browser, cancel: true)
        #expect(cancelled.html.text.contains("You cancelled."))
        try await expectEntered(
            try await press("apple", to: .apple, as: "mistaken", on: cancelled, browser), holder, proof: "stated")
    }

    /// Another Google account opens the holder's account by now: the answer, with its id.
    @discardableResult
    func linkGoogle(_ person: String, to holder: DegreeHolder) async throws -> Answer {
        try await world.openGoogleAccount(person, email: "\(person)@example.com")
        let token = try await world.googleToken(person)
        return try await service.linkGoogle(token, bearer: holder.device.bearer).expecting(201)
    }

    @Test func `who comes back from the provider without an answer goes on by another proof`() async throws {
        let (holder, page, browser) = try await bindPage(.stated, "back")
        let button = try page.bindForm(button: "apple")
        _ = try await browser.submit(button, on: page, button: "apple")
        let account = try await browser.submit(
            try page.bindForm("password"), on: page, typed: ["email": holder.email, "password": World.password])
        try await expectEntered(account, holder, proof: "stated")
    }

    @Test(.webWorld(["limits.webFlowsPerNetwork": "6/d"]))
    func `each way to the provider counts as a flow of the network`() async throws {
        let (_, page, browser) = try await bindPage(.stated, "often")
        let button = try page.bindForm(button: "apple")
        var statuses: [Int] = []
        for _ in 0..<7 { statuses.append(try await browser.submit(button, on: page, button: "apple").status) }
        #expect(statuses.first == 200, "\(statuses)")
        #expect(statuses.last == 429, "\(statuses)")
    }

    @Test func `a provider by which nothing shown is entered is no proof`() async throws {
        let (_, page, browser) = try await bindPage(.proven, "unshown")
        #expect(!page.html.text.contains("Continue with"))
        var fields = try page.bindForm("password").fields
        fields = fields.filter { $0.name == "csrf" } + [(name: "provider", value: "apple")]
        try await browser.send(fields, to: try page.bindForm("password").action, on: page).expecting(400)
        fields[fields.count - 1].value = "facebook"
        #expect(try await browser.send(fields, to: try page.bindForm("password").action, on: page).status == 400)
    }

    @Test func `who is new has one screen, which leads to an account of theirs, a new one or back`() async throws {
        let browser = world.browser()
        try await world.openGoogleAccount("newcomer", email: "newcomer@example.com")
        let screen = try await world.signIn("newcomer", with: .google, in: browser)
        #expect(screen.html.text.contains("Create an account"))
        #expect(try await browser.go(to: "bind", on: screen).html.text.contains("Use your existing account"))
        // Who cancels has neither an account nor a session, and chooses again.
        let left = try await browser.submit("/web/link/cancel", on: screen)
        #expect(left.status == 200 && left.isChooser)
        #expect(try await browser.submit("/web/link/create", on: screen).status == 400)
        #expect(browser.session == nil)
        #expect(try await world.countAccounts(with: "newcomer@example.com") == 0)
        let again = try await world.signIn("newcomer", with: .google, on: left, browser)
        let account = try await browser.submit("/web/link/create", on: again)
        #expect(account.status == 200 && account.html.text.contains("newcomer@example.com"))
    }

    @Test func `an account that has changed since is shown again, with the address that was there`() async throws {
        let (holder, page, browser) = try await bindPage(.stated, "late", workspace: "company.example")
        let button = try page.bindForm(button: "ticket")
        try await linkGoogle("latecomer", to: holder)

        let changed = try await browser.submit(button, on: page, button: "ticket")
        #expect(changed.status == 401 && changed.html.text.contains("changed in the meantime"))
        #expect(changed.html.text.contains("l***@example.com"))
        #expect(try changed.bindForm("password").input("email")?.value == holder.email)
        // It is shown as it is now, so the button is good again.
        let second = try changed.bindForm(button: "ticket")
        #expect(try await browser.submit(second, on: changed, button: "ticket").status == 409)
    }

    @Test func `so is one that a mailed code has led to, and its button is good again`() async throws {
        let holder = try await world.holder(.stated, "read", email: "read@company.example")
        let browser = world.browser()
        let shown = try await browser.go(to: "bind", on: try await world.question(to: holder.email, by: 1, browser))
        let button = try shown.bindForm(button: "ticket")
        try await linkGoogle("newly-linked", to: holder)

        let changed = try await browser.submit(button, on: shown, button: "ticket")
        #expect(changed.status == 401 && changed.html.text.contains("n***@example.com"))
        let second = try changed.bindForm(button: "ticket")
        try await expectEntered(
            try await browser.submit(second, on: changed, button: "ticket"), holder, proof: "proven")
    }

    @Test func `a mailed code doesn't lead to the account that takes the address behind it`() async throws {
        let holder = try await world.holder(.stated, "before", email: "before@company.example")
        let browser = world.browser()
        let shown = try await browser.go(to: "bind", on: try await world.question(to: holder.email, by: 1, browser))
        let other = world.browser()
        let create = try await other.go(to: "create", on: try await world.question(to: holder.email, by: 2, other))
        #expect(try await other.submit("/web/link/create", on: create).status == 200)
        let button = try shown.bindForm(button: "ticket")
        let refused = try await browser.submit(button, on: shown, button: "ticket")
        #expect(refused.status == 401 && !refused.asksForConfirmation, "\(refused.answer.body)")
        #expect(refused.html.text.contains("can’t be opened like this any more"))
        // Nothing of the other one is shown. To sign in again is what is left.
        let again = try await browser.open(shown.url)
        #expect(!again.html.text.contains("Account since") && again.html.text.contains("Use that account."))
        let chooser = try await browser.submit("/web/link/cancel", on: again)
        #expect(chooser.isChooser, "\(chooser.answer.body)")
    }
}
