import JSON
import Postgres
import TestSupport
import Testing

/// New people, and those who have forgotten their password, on our own page.
@Suite(.limitedConcurrency, .webWorld, .timeLimit(.minutes(30))) struct RegistrationTests: WorldSuite {
    // MARK: Registration

    @Test func `the code that is mailed makes the account, and nothing is made before`() async throws {
        let browser = world.browser()
        // A look begins no flow.
        let head = try await browser.open(Browser.registration, method: "HEAD", following: false)
        #expect(head.answer["Location"] == nil)
        let asked = try await browser.register("new@example.com", name: "Kim New")
        #expect(!asked.url.contains("new@example.com"))
        #expect(!asked.answer.body.contains(World.password))
        #expect(try await world.countAccounts(with: "new@example.com") == 0)
        let code = try await world.code(1, mailedTo: "new@example.com")
        let wrong = try await browser.confirm(World.wrong(code), on: asked).expecting(401)
        #expect(try await world.countAccounts(with: "new@example.com") == 0)
        // Who goes back finds what they had typed, but for the password.
        let back = try await browser.submit("/web/register", on: wrong, typed: ["to": "register"])
        let form = try back.form("/web/register")
        #expect(form.input("email")?.value == "new@example.com")
        #expect(form.input("name")?.value == "Kim New")

        let account = try await browser.confirm(code, on: wrong).expecting(200)
        #expect(account.url == WebWorld.publicURL + "/web/account")
        #expect(account.html.text.contains("Kim New"))
        let signedIn = try await world.signIn("new@example.com", password: World.password)
        #expect(signedIn.json?["account"]?["emailProof"]?.string == "proven", "\(signedIn.text)")
        #expect(signedIn.json?["account"]?["displayName"]?.string == "Kim New")
        // The form that comes once more has the same answer, and makes nothing.
        #expect(try await browser.confirm(code, on: wrong).expecting(200).url == account.url)
        #expect(try await world.count("SELECT count(*) FROM accounts WHERE email = 'new@example.com'") == 1)
        #expect(try await world.count("SELECT count(*) FROM web_registrations WHERE email = 'new@example.com'") == 0)
    }

    @Test func `who loads the code's page again finds it, and the form from there`() async throws {
        let email = "reloader@example.com"
        let browser = world.browser()
        let asked = try await browser.register(email, name: "Kim Again")
        let loaded = try await browser.open(asked.url).expecting(200)
        #expect(loaded.html.text.contains(email))
        let back = try await browser.submit("/web/register", on: loaded, typed: ["to": "register"])
        let form = try back.form("/web/register")
        #expect(form.input("password") != nil && form.input("code") == nil)
        #expect(form.input("email")?.value == email && form.input("name")?.value == "Kim Again")
        let account = try await browser.confirm(try await world.code(1, mailedTo: email), on: loaded).expecting(200)
        #expect(account.url == WebWorld.publicURL + "/web/account")
    }

    @Test func `in an app's flow the new person comes to the app`() async throws {
        let (attempt, browser, chooser) = try await world.begin()
        let page = try await browser.submit(
            "/web/password", on: chooser, typed: ["email": "apper@example.com", "to": "register"])
        #expect(try page.form("/web/register").input("email")?.value == "apper@example.com")
        let asked = try await browser.register("apper@example.com", on: page)
        let answer = try AppAnswer(
            try await browser.confirm(try await world.code(1, mailedTo: "apper@example.com"), on: asked))
        let exchanged = try await world.exchange(try #require(answer["code"], "\(answer.uri)"), attempt)
        #expect(exchanged.json?["account"]?["email"]?.string == "apper@example.com", "\(exchanged.text)")
    }

    @Test func `where the address is held the page says the same, and the mail has no code`() async throws {
        try await world.prove("holder@example.com")
        try await world.claim("claimer@example.com")
        var pages: [String] = []
        for email in ["holder@example.com", "claimer@example.com", "nobody@example.com"] {
            let browser = world.browser()
            let asked = try await browser.register(email)
            pages.append(try asked.body(without: email))
            guard email == "holder@example.com" else { continue }
            let mail = try await world.mail(
                about: "There is already an account at Lamp Accounts with your address", to: email)
            #expect(mail.text?.contains(#/\d{6}/#) == false)
            for code in ["000000", "123456"] { #expect(try await browser.confirm(code, on: asked).status == 401) }
        }
        #expect(pages[0] == pages[1] && pages[1] == pages[2])
        #expect(try await world.signIn("holder@example.com", password: World.heldPassword).status == 200)
        #expect(try await world.signIn("holder@example.com", password: World.password).status == 401)
    }

    @Test func `who claims the address loses it to its reader, who has the password and the name of the form`()
        async throws
    {
        let email = "claimed@example.com"
        let bearer = try await world.claim(email)
        let browser = world.browser()
        let asked = try await browser.register(email, name: "Kim Later")
        #expect(try await service.get("/v1/account", bearer: bearer).status == 200)
        let mail = try await world.mail(about: "Your sign-in code", to: email)
        let account = try await browser.confirm(try World.code(in: mail), on: asked).expecting(200)
        #expect(account.html.text.contains(email))
        #expect(account.html.text.contains("Kim Later") && !account.html.text.contains("Pat Earlier"))
        try await expectNewOwner(of: email, called: "Kim Later", insteadOf: bearer)
    }

    @Test func `a code is right still when the address is claimed between it and the form`() async throws {
        let email = "overtaken@example.com"
        let browser = world.browser()
        let asked = try await browser.register(email, name: "Kim First")
        let code = try await world.code(1, mailedTo: email)
        let bearer = try await world.claim(email)
        let account = try await browser.confirm(code, on: asked).expecting(200)
        #expect(account.url == WebWorld.publicURL + "/web/account")
        try await expectNewOwner(of: email, called: "Kim First", insteadOf: bearer)
    }

    /// The account that claimed the address is the registered person's, and nothing of before leads into it.
    private func expectNewOwner(of email: String, called name: String, insteadOf bearer: String) async throws {
        #expect(try await world.countAccounts(with: email) == 1)
        let signedIn = try await world.signIn(email, password: World.password)
        #expect(signedIn.json?["account"]?["emailProof"]?.string == "proven", "\(signedIn.text)")
        #expect(signedIn.json?["account"]?["displayName"]?.string == name)
        #expect(try await world.signIn(email, password: World.heldPassword).status == 401)
        #expect(try await service.get("/v1/account", bearer: bearer).status == 401)
    }

    @Test func `a weak password is said before anything of the address`() async throws {
        try await world.claim("weakling@example.com")
        let browser = world.browser()
        let page = try await browser.open(Browser.registration)
        for email in ["weakling@example.com", "unknown@example.com", "no address"] {
            let refused = try await browser.submit(
                "/web/register", on: page, typed: ["email": email, "password": "password", "name": "Kim"])
            #expect(refused.status == 400)
            #expect(refused.html.text.contains("Choose another password"))
            #expect(try refused.form("/web/register").input("email")?.value == email)
            #expect(try refused.form("/web/register").input("name")?.value == "Kim")
        }
        let mailed = try await world.count(
            """
            SELECT count(*) FROM outbox
            WHERE template LIKE 'register%' AND recipient IN ('weakling@example.com', 'unknown@example.com')
            """)
        #expect(mailed == 0)
    }

    @Test func `the code of one registration finishes no other of the address`() async throws {
        let (victim, attacker) = (world.browser(), world.browser())
        let begun = try await attacker.register("victim@example.com")
        let first = try await world.code(1, mailedTo: "victim@example.com")
        let own = try await victim.register("victim@example.com")
        let second = try await world.code(2, mailedTo: "victim@example.com")
        #expect(try await attacker.confirm(first == second ? "x" : second, on: begun).status == 401)
        try await victim.confirm(second, on: own).expecting(200)
        // And after it the address is held.
        #expect(try await attacker.confirm(first, on: begun).status == 401)
        #expect(try await world.countAccounts(with: "victim@example.com") == 1)
    }

    @Test func `the mails of a flow are in the languages of its pages`() async throws {
        let email = "sprachlich@example.com"
        let browser = world.browser(languages: "fr")
        let page = try await browser.open(Browser.registration + "?ui_locales=de")
        #expect(page.html.root["lang"] == "de")
        let asked = try await browser.register(email, on: page)
        let code = try await world.mail(1, to: email)
        #expect(code.header("Content-Language") == "de")
        try await browser.confirm(try World.code(in: code), on: asked).expecting(200)

        let forgetful = world.browser(languages: "fr")
        let form = try await forgetful.open(WebWorld.publicURL + "/web/forgot?ui_locales=xx%20it")
        #expect(form.html.root["lang"] == "it")
        let sent = try world.mailbox(email).count
        try await forgetful.submit("/web/forgot", on: form, typed: ["email": email]).expecting(200)
        #expect(try await world.mail(sent + 1, to: email).header("Content-Language") == "it")
    }

    // MARK: Forgotten password

    @Test func `a forgotten password is replaced in an app's flow, which goes on at the chooser`() async throws {
        try await world.prove("forgetter@example.com")
        let device = try await world.signIn("forgetter@example.com", password: World.heldPassword)
        let bearer = try device.bearer()
        let (_, browser, chooser) = try await world.begin()
        let page = try await browser.submit(
            "/web/password", on: chooser, typed: ["email": "forgetter@example.com", "to": "forgot"])
        let form = try page.form("/web/forgot")
        #expect(form.input("email")?.value == "forgetter@example.com")
        let asked = try await browser.submit(form, on: page).expecting(200)
        let mail = try await world.mail(about: "Your code to reset", to: "forgetter@example.com")
        let code = try World.code(in: mail)
        // A weak password costs no try, and the code is there still.
        var shown = try await browser.submit(
            "/web/forgot", on: asked, typed: ["code": code, "newPassword": "password"])
        for _ in 1...6 {
            shown = try await browser.submit("/web/forgot", on: shown, typed: ["newPassword": "forgetter@example.com"])
            #expect(shown.status == 400)
            #expect(shown.html.text.contains("not a common one, and not your email address."))
            #expect(try shown.form("/web/forgot").input("code")?.value == code)
        }
        let again = try await browser.submit("/web/forgot", on: shown, typed: ["newPassword": World.password])
        #expect(again.status == 200, "\(again.answer.text)")
        #expect(again.html.text.contains("Your password is changed."))
        #expect(try await service.get("/v1/account", bearer: bearer).status == 401)
        let password = try again.form("/web/password")
        #expect(password.input("email")?.value == "forgetter@example.com")
        let answer = try AppAnswer(try await browser.submit(password, on: again, typed: ["password": World.password]))
        #expect(answer["code"] != nil, "\(answer.uri)")
    }

    @Test func `who came for a new password alone is signed in with it`() async throws {
        try await world.prove("alone@example.com")
        let browser = world.browser()
        let page = try await browser.open(WebWorld.publicURL + "/web/forgot")
        let asked = try await browser.submit("/web/forgot", on: page, typed: ["email": "alone@example.com"])
        let unknown = try await browser.submit("/web/forgot", on: page, typed: ["email": "unheard@example.com"])
        #expect(asked.html.text.replacing("alone@", with: "") == unknown.html.text.replacing("unheard@", with: ""))
        let mail = try await world.mail(about: "Your code to reset", to: "alone@example.com")
        let code = try World.code(in: mail)
        let wrong = try await browser.submit(
            "/web/forgot", on: asked, typed: ["code": World.wrong(code), "newPassword": World.password])
        #expect(wrong.status == 401)
        #expect(!wrong.answer.body.contains(World.password))
        #expect(try wrong.form("/web/forgot").input("code")?.value.isEmpty == true)
        // A form that comes twice has one answer.
        let account = try await browser.clickTwice {
            try await browser.submit(
                "/web/forgot", on: wrong, typed: ["code": code, "newPassword": World.password], following: $0)
        }
        #expect(account.status == 200, "\(account.answer.text)")
        #expect(account.url == WebWorld.publicURL + "/web/account")
        #expect(try await world.signIn("alone@example.com", password: World.password).status == 200)
    }
}
