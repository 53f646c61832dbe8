import JSON
import Postgres
import TestSupport
import Testing

/// A client that asks for an address, and an account that has none that is proven.
@Suite(.limitedConcurrency, .oauthWorld, .timeLimit(.minutes(30))) struct OAuthAddressTests: WorldSuite {
    /// Signs in by the password, from the page that offers it to wherever that leads.
    private func signIn(_ email: String, on chooser: Browser.Page, _ browser: Browser) async throws -> Browser.Page {
        let (page, form) = try await world.screen("/web/password", from: chooser, browser)
        return try await browser.submit(form, on: page, typed: ["email": email, "password": World.password])
    }

    /// Has a code mailed to the address that is typed on this page, and returns the page for it.
    private func typed(_ email: String, on page: Browser.Page, _ browser: Browser) async throws -> Browser.Page {
        let form = try #require(page.html.forms.first { $0.input("email") != nil }, "\(page.answer.text)")
        return try await browser.submit(form, on: page, typed: ["email": email])
    }

    private func entered(_ code: String, on page: Browser.Page, _ browser: Browser) async throws -> Browser.Page {
        let form = try #require(page.html.forms.first { $0.input("code") != nil }, "\(page.answer.text)")
        return try await browser.submit(form, on: page, typed: ["code": code])
    }

    /// Lets the sign-ins of an account be long ago.
    private func age(_ email: String) async throws {
        try await scratch.execute(
            """
            UPDATE sessions SET created_at = created_at - interval '11 minutes'
            WHERE account_id = (SELECT account_id FROM accounts WHERE email = \(email))
            """)
        try await world.age(sessionsOf: email)
    }

    /// The whole rest of the way: the consent, the code, and what the client sees.
    private func link(
        _ client: LinkingClient, on consent: Browser.Page, _ browser: Browser, _ email: String
    ) async throws {
        let answer = try await world.decision("allow", on: consent, browser)
        #expect(answer["state"] == "AB+cd/EF==")
        let tokens = try LinkedTokens(try await world.redeem(try #require(answer["code"], "\(answer.uri)"), client))
        let info = try await world.userinfo(tokens.access)
        #expect(info.json?["email"]?.string == email)
        #expect(info.json?["email_verified"]?.bool == true)
    }

    @Test func `an account without an address is asked for one before a client gets it`() async throws {
        let client = try await world.linkingClient()
        let email = "typed@example.com"
        #expect(try await world.register(email).status == 201)
        let browser = world.browser()
        let ask = try await signIn(email, on: try await browser.open(client.url()), browser)
        let enter = try await typed(email, on: ask, browser)
        let code = try await world.code(1, mailedTo: email)
        let wrong = try await entered(World.wrong(code), on: enter, browser).expecting(401)
        // Who clicks twice sees the answer to the second form alone.
        _ = try await entered(code, on: wrong, browser)
        let consent = try await entered(code, on: wrong, browser)
        try await link(client, on: consent, browser, email)
    }

    @Test func `a code that is mailed near the end of the flow is good for as long as any other`() async throws {
        let client = try await world.linkingClient()
        let email = "typed-late@example.com"
        #expect(try await world.register(email).status == 201)
        let browser = world.browser()
        let ask = try await signIn(email, on: try await browser.open(client.url()), browser)
        let flow = try #require(FormEncoding.parameters(of: ask.url).first { $0.name == "flow" }).value
        try await scratch.execute(
            "UPDATE web_flows SET expires_at = now() + interval '5 minutes' WHERE flow_id = \(flow)::uuid")
        let enter = try await typed(email, on: ask, browser)
        let left = try await world.count(
            """
            SELECT count(*) FROM web_flows
            WHERE flow_id = \(flow)::uuid AND expires_at > now() + interval '7 minutes'
            """)
        #expect(left == 1)
        let consent = try await entered(try await world.code(1, mailedTo: email), on: enter, browser)
        try await link(client, on: consent, browser, email)
    }

    @Test func `who proves the address of another account of theirs goes on with that one`() async throws {
        let client = try await world.linkingClient()
        let (email, other) = ("proven-before@example.com", "made-later@example.com")
        let holder = try SignedInDevice(try await world.register(email), status: 201)
        try await world.verify(email, bearer: holder.bearer)
        #expect(try await world.register(other).status == 201)
        let browser = world.browser()
        let ask = try await signIn(other, on: try await browser.open(client.url()), browser)
        let enter = try await typed(email, on: ask, browser)
        let taken = try await entered(try await world.code(2, mailedTo: email), on: enter, browser).expecting(409)
        #expect(taken.html.text.contains("There is already an account with this address."), "\(taken.answer.text)")
        let button = try taken.form("/oauth/other-account")
        #expect(button.buttons.map(\.label) == ["Use another account"])
        let chooser = try await browser.submit(button, on: taken)
        let consent = try await signIn(email, on: chooser, browser)
        try await link(client, on: consent, browser, email)
    }

    @Test func `the forms of a page of another account mail nothing and prove nothing, and the page is shown again`()
        async throws
    {
        let client = try await world.linkingClient()
        let (first, second, third) = ("asked-first@example.com", "signed-in-since@example.com", "mistyped@example.com")
        for email in [first, second] { #expect(try await world.register(email).status == 201) }
        let browser = world.browser()
        let ask = try await signIn(first, on: try await browser.open(client.url()), browser)
        let enter = try await typed(first, on: ask, browser)
        let code = try await world.code(1, mailedTo: first)
        // In another tab.
        let tab = try await browser.open(try await world.linkingClient().url())
        let chooser = try await browser.submit("/oauth/other-account", on: tab)
        _ = try await signIn(second, on: chooser, browser).expecting(200)

        func accounts() async throws -> [String] {
            try await scratch.texts(
                """
                SELECT concat_ws(' ', email, email_proof, password_hash IS NOT NULL) FROM accounts
                WHERE email IN (\(first), \(second)) ORDER BY 1
                """)
        }
        let before = try await accounts()
        #expect(before.count == 2)
        for late in [try await typed(third, on: ask, browser), try await entered(code, on: enter, browser)] {
            late.expecting(200)
            let form = try #require(late.html.forms.first { $0.input("email") != nil }, "\(late.answer.text)")
            #expect(form.input("email")?.value == second && form.input("code") == nil)
        }
        #expect(try await accounts() == before)
        #expect(try await world.count("SELECT count(*) FROM outbox WHERE recipient = \(third)") == 0)
        #expect(try world.mailbox(third).isEmpty)
    }

    @Test func `who signed in long ago signs in again, and comes back to the client's question`() async throws {
        let client = try await world.linkingClient()
        let email = "older@example.com"
        #expect(try await world.register(email).status == 201)
        let browser = world.browser()
        let account = try await signIn(email, on: try await browser.openAccount(), browser)
        #expect(account.html.forms.contains { $0.path == "/web/sign-out" }, "\(account.answer.text)")
        try await age(email)

        let chooser = try await browser.open(client.url()).expecting(200)
        #expect(chooser.html.text.contains("Google"))
        let ask = try await signIn(email, on: chooser, browser)
        // The form that was open for so long leads there too.
        try await age(email)
        let late = try await typed(email, on: ask, browser)
        #expect(late.isChooser, "\(late.answer.text)")
        #expect(try await world.count("SELECT count(*) FROM outbox WHERE recipient = \(email)") == 0)
        #expect(try world.mailbox(email).isEmpty)

        let enter = try await typed(email, on: try await signIn(email, on: late, browser), browser)
        // A code that was mailed is good however old the sign-in is by now.
        try await age(email)
        let consent = try await entered(try await world.code(1, mailedTo: email), on: enter, browser)
        try await link(client, on: consent, browser, email)
    }

    @Test
    func `who has just signed in by an old proof reads why that is not enough, and is not sent round`() async throws {
        let client = try await world.linkingClient()
        let email = "stale-proof@example.com"
        #expect(try await world.register(email).status == 201)
        let browser = world.browser()
        _ = try await signIn(email, on: try await browser.open(client.url()), browser)
        try await world.age(sessionsOf: email)
        let page = try await browser.open(client.url()).expecting(403)
        #expect(page.html.text.contains("Please sign in again"))
        let retry = try #require(page.html.links.first { $0.target.contains("/web/sign-in?flow=") })
        let ask = try await signIn(email, on: try await browser.click(retry.target, on: page), browser)
        let enter = try await typed(email, on: ask, browser)
        let consent = try await entered(try await world.code(1, mailedTo: email), on: enter, browser)
        try await link(client, on: consent, browser, email)
    }

    @Test func `where no mail is sent a page says so, and the client hears of it by its button`() async throws {
        try await OAuthWorld.run(["mail.smtpUrl": Countersign.unset, "mail.from": Countersign.unset]) { world in
            try await world.asCurrent {
                let google = try await world.linkingClient()
                let other = try await world.linkingClient(
                    ["--redirect-uri", OAuthWorld.otherURI], redirectURI: OAuthWorld.otherURI)
                let email = "mailless@example.com"
                #expect(try await world.register(email).status == 201)
                let browser = world.browser()
                _ = try await signIn(email, on: try await browser.openAccount(), browser)
                // However old the sign-in is: another one would not help.
                try await age(email)
                for (client, names) in [(google, ["error", "state"]), (other, ["error", "state", "iss"])] {
                    let page = try await browser.open(client.url()).expecting(200)
                    #expect(page.html.text.contains("no mail can be sent here"), "\(page.answer.text)")
                    // It is on the page, unconfirmed.
                    #expect(page.html.text.contains(email) && !page.html.text.contains("has none"))
                    #expect(page.html.title.hasPrefix("Your email address isn’t confirmed"), "\(page.html.title)")
                    #expect(page.html.forms.contains { $0.path == "/oauth/other-account" })
                    #expect(page.html.forms.allSatisfy { !$0.buttons.contains { $0.value == "allow" } })
                    let answer = try await world.decision("deny", on: page, browser)
                    #expect(answer.address == client.redirectURI)
                    #expect(answer.parameters.map(\.name) == names)
                    #expect(answer["error"] == "access_denied")
                    #expect(answer["state"] == "AB+cd/EF==")
                    #expect(names.count == 2 || answer["iss"] == WebWorld.publicURL)
                    #expect(try await world.grants(of: client) == 0)
                    // What is posted without the page's leave gets no further.
                    let again = try await browser.open(client.url())
                    let form = try #require(again.html.forms.first { $0.buttons.contains { $0.value == "deny" } })
                    let token = try form.csrf()
                    for fields in [[("consent", "allow")], [("email", email)]] as [[(String, String)]] {
                        let refused = try await browser.send(
                            [(name: "csrf", value: token)] + fields.map { (name: $0.0, value: $0.1) }, to: form.action,
                            on: again)
                        #expect(refused.html.text.contains("no mail can be sent here"), "\(refused.answer.text)")
                    }
                    // A client that asks for no address has no need of one.
                    let profile = try await world.consentPage(client, browser, ["scope": "profile"])
                    #expect(try await world.decision("allow", on: profile, browser)["code"] != nil)
                }
            }
        }
    }
}
