import Postgres
import TestSupport
import Testing

/// Another account of the provider stands in the way: it is shown to who proves the account, and replaced or kept.
extension BindPageTests {
    /// The page of *bind* of somebody whose address a holder has who is entered by Apple and by another Google account.
    private func rivalledPage(
        _ name: String, former: String, _ browser: Browser
    ) async throws -> (holder: DegreeHolder, former: Answer, page: Browser.Page) {
        let email = "\(name)@company.example"
        let holder = try await world.holder(.stated, name, email: email)
        let linked = try await linkGoogle(former, to: holder)
        try await world.openGoogleAccount(name, email: email)
        let question = try await world.signIn(name, with: .google, in: browser)
        return (holder, linked, try await browser.go(to: "bind", on: question))
    }

    private func googleAddresses(of holder: DegreeHolder) async throws -> [String] {
        try await scratch.texts(
            """
            SELECT email FROM identities
            WHERE account_id = \(holder.device.account.id)::uuid AND provider = 'google'
            """)
    }

    @Test(arguments: Sandbox.Provider.allCases)
    func `another account of the provider is replaced by a second proof, once it was shown`(
        _ prover: Sandbox.Provider
    ) async throws {
        let name = "rival-\(prover.rawValue)"
        let browser = world.browser()
        let (holder, _, page) = try await rivalledPage(name, former: "former-\(name)", browser)
        #expect(page.html.text.contains("Continue with Apple") && page.html.text.contains("Continue with Google"))
        let person = prover == .apple ? name : "former-\(name)"
        let conflict = try await press(prover.rawValue, to: prover, as: person, on: page, browser).expecting(200)
        #expect(conflict.html.text.contains("f***@example.com"), "\(conflict.answer.body)")
        #expect(try await googleAddresses(of: holder) == ["former-\(name)@example.com"])

        // Who thinks better of it at the provider has replaced nothing, and chooses again.
        let cancelled = try await press("replace", to: prover, as: person, on: conflict, browser, cancel: true)
        #expect(cancelled.html.text.contains("You cancelled."))
        let again = try await press(prover.rawValue, to: prover, as: person, on: cancelled, browser).expecting(200)
        let account = try await press("replace", to: prover, as: person, on: again, browser)
        try await expectEntered(account, holder, proof: "stated")
        #expect(try await googleAddresses(of: holder) == [holder.email])
        // That of the person's device, and the browser's.
        let sessions = try await world.count(
            "SELECT count(*) FROM sessions WHERE account_id = \(holder.device.account.id)::uuid AND ended_at IS NULL")
        #expect(sessions == 2)
    }

    @Test func `an account of the provider that has come since the question is not replaced before it was shown`()
        async throws
    {
        let browser = world.browser()
        let (holder, former, page) = try await rivalledPage("unseen", former: "seen-before", browser)
        let conflict = try await press("apple", to: .apple, as: "unseen", on: page, browser)
        let id = try former.text("identityId")
        try await service.delete("/v1/account/identities/\(id)", bearer: holder.device.bearer).expecting(202)
        try await linkGoogle("late-rival", to: holder)
        let again = try await press("replace", to: .apple, as: "unseen", on: conflict, browser).expecting(200)
        #expect(again.html.text.contains("l***@example.com"), "\(again.answer.body)")
        #expect(try await googleAddresses(of: holder) == ["late-rival@example.com"])
        let account = try await press("replace", to: .apple, as: "unseen", on: again, browser)
        try await expectEntered(account, holder, proof: "stated")
    }

    @Test func `the question is asked again at its address, of who has proven the account`() async throws {
        let browser = world.browser()
        let (holder, former, page) = try await rivalledPage("reloading", former: "former-reloading", browser)
        let asked = try await press("apple", to: .apple, as: "reloading", on: page, browser).expecting(200)
        #expect(asked.url.hasPrefix(WebWorld.publicURL + "/web/sign-in?flow="))
        let shown = "f***@example.com"
        for page in [asked, try await browser.open(asked.url)] { #expect(page.html.text.contains(shown)) }
        // Who goes back from the provider, without an answer.
        let replace = try asked.bindForm(button: "replace")
        let left = try await browser.submit(replace, on: asked, button: "replace")
        #expect(left.url.hasPrefix(world.sandbox.url))
        let back = try await browser.open(asked.url).expecting(200)
        #expect(back.html.text.contains(shown))
        // Its id is what shows the identity, and a provider by which the account is entered.
        let id = try former.text("identityId")
        for (name, value) in [("existing", holder.device.account.id), ("by", "facebook")] {
            let other = try await browser.open(asked.url.settingParameter(name, to: value)).expecting(200)
            #expect(!other.html.text.contains(shown), "\(name)")
        }
        #expect(FormEncoding.parameters(of: asked.url).contains { $0.name == "existing" && $0.value == id })
        #expect(try await world.browser().open(asked.url).status == 400)

        let account = try await press("replace", to: .apple, as: "reloading", on: back, browser)
        try await expectEntered(account, holder, proof: "stated")
    }

    @Test func `where the identity is gone the question is over, and its address leads on`() async throws {
        let browser = world.browser()
        let (holder, former, page) = try await rivalledPage("resolved", former: "former-resolved", browser)
        let asked = try await press("apple", to: .apple, as: "resolved", on: page, browser)
        let id = try former.text("identityId")
        try await service.delete("/v1/account/identities/\(id)", bearer: holder.device.bearer).expecting(202)
        let again = try await browser.go(to: "bind", on: try await browser.open(asked.url).expecting(200))
        try await expectEntered(
            try await press("apple", to: .apple, as: "resolved", on: again, browser), holder, proof: "stated")
    }
}
