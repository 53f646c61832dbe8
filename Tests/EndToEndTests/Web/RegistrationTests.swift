import JSON
import Postgres
import TestSupport
import Testing

/// New people, and those who have forgotten their password, on our own page.
@Suite(.limitedConcurrency, .webWorld, .timeLimit(.minutes(5))) struct RegistrationTests {
    private static let url = WebWorld.publicURL + "/web/register"
    private static let password = "correct horse battery"

    /// Fills in the form, and returns the page that asks for the code.
    private func register(
        _ email: String, name: String = "", on page: Browser.Page, _ browser: Browser,
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> Browser.Page {
        let asked = try await browser.submit(
            try page.form("/web/register", location), on: page,
            typed: ["email": email, "password": Self.password, "name": name])
        #expect(asked.status == 200, "\(asked.answer.text)", sourceLocation: location)
        return asked
    }

    private func confirm(_ code: String, on page: Browser.Page, _ browser: Browser) async throws -> Browser.Page {
        try await browser.submit(try page.form("/web/register"), on: page, typed: ["code": code])
    }

    private func hold(_ email: String) async throws {
        let made = try await World.shared.service.post(
            "/v1/accounts", ["email": .string(email), "password": "another horse battery"])
        #expect(made.status == 201, "\(made.text)")
    }

    private func prove(_ email: String) async throws {
        let world = try World.shared
        try await hold(email)
        let code = try await world.mailedCode("signIn", to: email)
        let signedIn = try await world.service.post(
            "/v1/sign-in/email-code", ["email": .string(email), "code": .string(code)])
        // The proof has taken away what was set before it.
        let set = try await world.service.send(
            "PUT", "/v1/account/password", ["newPassword": "another horse battery"],
            bearer: try signedIn.text("session.accessToken"))
        #expect(set.status == 204, "\(set.body)")
    }

    // MARK: Registration

    @Test func `the code that is mailed makes the account, and nothing is made before`() async throws {
        let world = try World.shared
        let browser = world.browser()
        let asked = try await register(
            "new@example.com", name: "Kim New", on: try await browser.open(Self.url), browser)
        #expect(!asked.url.contains("new@example.com"))
        #expect(!asked.answer.body.contains(Self.password))
        #expect(try await world.countAccounts(with: "new@example.com") == 0)
        let code = try await world.code(1, mailedTo: "new@example.com")
        let wrong = try await confirm(code == "000000" ? "000001" : "000000", on: asked, browser)
        #expect(wrong.status == 401)
        #expect(try await world.countAccounts(with: "new@example.com") == 0)
        // Who goes back finds what they had typed, but for the password.
        let back = try await browser.submit(try wrong.form("/web/register"), on: wrong, typed: ["to": "register"])
        let form = try back.form("/web/register")
        #expect(form.input("email")?.value == "new@example.com")
        #expect(form.input("name")?.value == "Kim New")

        let account = try await confirm(code, on: wrong, browser)
        #expect(account.status == 200, "\(account.answer.text)")
        #expect(account.url == WebWorld.publicURL + "/web/account")
        #expect(account.html.text.contains("Kim New"))
        let signedIn = try await world.signIn("new@example.com", password: Self.password)
        #expect(signedIn.json?["account"]?["emailProof"]?.string == "proven", "\(signedIn.text)")
        #expect(signedIn.json?["account"]?["displayName"]?.string == "Kim New")
        let late = try await confirm(code, on: wrong, browser)
        #expect(late.status == 400)
        let rows = try await world.count("SELECT count(*) FROM web_registrations WHERE email = 'new@example.com'")
        #expect(rows == 0)
    }

    @Test func `in an app's flow the new person comes to the app`() async throws {
        let world = try World.shared
        let browser = world.browser()
        let attempt = try AppAttempt()
        let chooser = try await world.chooser(attempt, browser)
        let page = try await browser.submit(
            try chooser.form("/web/password"), on: chooser, typed: ["email": "apper@example.com", "to": "register"])
        #expect(try page.form("/web/register").input("email")?.value == "apper@example.com")
        let asked = try await register("apper@example.com", on: page, browser)
        let answer = try AppAnswer(
            try await confirm(try await world.code(1, mailedTo: "apper@example.com"), on: asked, browser))
        let exchanged = try await world.exchange(try #require(answer["code"], "\(answer.uri)"), attempt)
        #expect(exchanged.json?["account"]?["email"]?.string == "apper@example.com", "\(exchanged.text)")
    }

    @Test func `where the address is held the page says the same, and the mail has no code`() async throws {
        let world = try World.shared
        try await prove("holder@example.com")
        var pages: [String] = []
        for email in ["holder@example.com", "nobody@example.com"] {
            let browser = world.browser()
            let page = try await browser.open(Self.url)
            let asked = try await register(email, on: page, browser)
            let flow = try #require(FormEncoding.parameters(of: page.url).first { $0.name == "flow" }).value
            let csrf = try #require(try asked.form("/web/register").input("csrf")?.value)
            pages.append(
                asked.answer.body.replacing(email, with: "EMAIL").replacing(flow, with: "FLOW")
                    .replacing(csrf, with: "CSRF"))
            guard email.hasPrefix("holder") else { continue }
            let mail = try await world.mail(about: "There is already a", to: email)
            #expect(mail.text?.contains(#/\d{6}/#) == false)
            for code in ["000000", "123456"] {
                #expect(try await confirm(code, on: asked, browser).status == 401)
            }
        }
        #expect(pages[0] == pages[1])
        #expect(try await world.signIn("holder@example.com", password: "another horse battery").status == 200)
        #expect(try await world.signIn("holder@example.com", password: Self.password).status == 401)
    }

    @Test func `who claims the address loses it to its reader, who gets a sign-in code`() async throws {
        let world = try World.shared
        try await hold("claimed@example.com")
        let browser = world.browser()
        let asked = try await register("claimed@example.com", on: try await browser.open(Self.url), browser)
        let mail = try await world.mail(about: "Your sign-in code", to: "claimed@example.com")
        let account = try await confirm(try World.code(in: mail), on: asked, browser)
        #expect(account.status == 200, "\(account.answer.text)")
        #expect(account.html.text.contains("claimed@example.com"))
        #expect(try await world.countAccounts(with: "claimed@example.com") == 1)
        #expect(try await world.signIn("claimed@example.com", password: "another horse battery").status == 401)
    }

    @Test func `a weak password is said before anything of the address`() async throws {
        let world = try World.shared
        try await hold("weakling@example.com")
        let browser = world.browser()
        let page = try await browser.open(Self.url)
        for email in ["weakling@example.com", "unknown@example.com", "no address"] {
            let refused = try await browser.submit(
                try page.form("/web/register"), on: page,
                typed: ["email": email, "password": "password", "name": "Kim"])
            #expect(refused.status == 400)
            #expect(refused.html.text.contains("Choose another password"))
            #expect(try refused.form("/web/register").input("email")?.value == email)
            #expect(try refused.form("/web/register").input("name")?.value == "Kim")
        }
        #expect(try await world.count("SELECT count(*) FROM outbox WHERE template LIKE 'register%'") == 0)
    }

    @Test func `the code of one registration finishes no other of the address`() async throws {
        let world = try World.shared
        let (victim, attacker) = (world.browser(), world.browser())
        let begun = try await register("victim@example.com", on: try await attacker.open(Self.url), attacker)
        let first = try await world.code(1, mailedTo: "victim@example.com")
        let own = try await register("victim@example.com", on: try await victim.open(Self.url), victim)
        let second = try await world.code(2, mailedTo: "victim@example.com")
        #expect(try await confirm(first == second ? "x" : second, on: begun, attacker).status == 401)
        let account = try await confirm(second, on: own, victim)
        #expect(account.status == 200, "\(account.answer.text)")
        // And after it the address is held.
        #expect(try await confirm(first, on: begun, attacker).status == 401)
        #expect(try await world.countAccounts(with: "victim@example.com") == 1)
    }

    @Test func `an app can't ask for such a code`() async throws {
        let refused = try await World.shared.askForCode("register", "somebody@example.com")
        #expect(refused.status == 400)
    }

    @Test func `the form belongs to its flow and its browser`() async throws {
        let world = try World.shared
        let browser = world.browser()
        let page = try await browser.open(Self.url)
        let form = try page.form("/web/register")
        let stolen = try await world.browser().submit(
            form, on: page, typed: ["email": "stolen@example.com", "password": Self.password])
        #expect(stolen.status == 403)
        let crossSite = try await browser.submit(
            form, on: page, typed: ["email": "stolen@example.com", "password": Self.password],
            headers: [("Sec-Fetch-Site", "cross-site")])
        #expect(crossSite.status == 403)
        let head = try await browser.open(Self.url, method: "HEAD", following: false)
        #expect(head.answer["Location"] == nil)
    }

    // MARK: Forgotten password

    @Test func `a forgotten password is replaced in an app's flow, which goes on at the chooser`() async throws {
        let world = try World.shared
        try await prove("forgetter@example.com")
        let device = try await world.signIn("forgetter@example.com", password: "another horse battery")
        let bearer = try device.text("session.accessToken")
        let browser = world.browser()
        let attempt = try AppAttempt()
        let chooser = try await world.chooser(attempt, browser)
        let page = try await browser.submit(
            try chooser.form("/web/password"), on: chooser,
            typed: ["email": "forgetter@example.com", "to": "forgot"])
        let form = try page.form("/web/forgot")
        #expect(form.input("email")?.value == "forgetter@example.com")
        let asked = try await browser.submit(form, on: page)
        #expect(asked.status == 200, "\(asked.answer.text)")
        let mail = try await world.mail(about: "Your code to reset", to: "forgetter@example.com")
        let code = try World.code(in: mail)
        // A weak password costs no try.
        for _ in 1...6 {
            let weak = try await browser.submit(
                try asked.form("/web/forgot"), on: asked, typed: ["code": code, "newPassword": "password"])
            #expect(weak.status == 400)
        }
        let again = try await browser.submit(
            try asked.form("/web/forgot"), on: asked, typed: ["code": code, "newPassword": Self.password])
        #expect(again.status == 200, "\(again.answer.text)")
        #expect(again.html.text.contains("Your password is changed."))
        #expect(try await world.service.get("/v1/account", bearer: bearer).status == 401)
        let password = try again.form("/web/password")
        #expect(password.input("email")?.value == "forgetter@example.com")
        let answer = try AppAnswer(
            try await browser.submit(password, on: again, typed: ["password": Self.password]))
        #expect(answer["code"] != nil, "\(answer.uri)")
    }

    @Test func `who came for a new password alone is signed in with it`() async throws {
        let world = try World.shared
        try await prove("alone@example.com")
        let browser = world.browser()
        let page = try await browser.open(WebWorld.publicURL + "/web/forgot")
        let asked = try await browser.submit(
            try page.form("/web/forgot"), on: page, typed: ["email": "alone@example.com"])
        let unknown = try await browser.submit(
            try page.form("/web/forgot"), on: page, typed: ["email": "unheard@example.com"])
        #expect(
            asked.html.text.replacing("alone@", with: "") == unknown.html.text.replacing("unheard@", with: ""))
        let mail = try await world.mail(about: "Your code to reset", to: "alone@example.com")
        let code = try World.code(in: mail)
        let wrong = try await browser.submit(
            try asked.form("/web/forgot"), on: asked,
            typed: ["code": code == "000000" ? "1" : "000000", "newPassword": Self.password])
        #expect(wrong.status == 401)
        #expect(!wrong.answer.body.contains(Self.password))
        let account = try await browser.submit(
            try wrong.form("/web/forgot"), on: wrong, typed: ["code": code, "newPassword": Self.password])
        #expect(account.status == 200, "\(account.answer.text)")
        #expect(account.url == WebWorld.publicURL + "/web/account")
        #expect(try await world.signIn("alone@example.com", password: Self.password).status == 200)
    }
}
