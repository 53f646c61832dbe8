import JSON
import Postgres
import TestSupport
import Testing

/// A client's request in the browser: what the client hears of it, what the person, and the consent.
@Suite(.limitedConcurrency, .oauthWorld, .timeLimit(.minutes(30))) struct OAuthAuthorizeTests: WorldSuite {
    @Test func `a person signs in, allows on a page that no frame shows, and the client gets a code with its state`()
        async throws
    {
        let client = try await world.linkingClient()
        try await world.newPerson("linker", email: "linker@gmail.com")
        let browser = world.browser()
        let chooser = try await browser.open(client.url(["user_locale": "en-GB", "login_hint": "x@gmail.com"]))
        #expect(chooser.status == 200)
        #expect(chooser.html.text.contains("Google"))
        let question = try await world.signIn("linker", with: .google, on: chooser, browser)
        let consent = try await browser.submit("/web/link/create", on: question).expecting(200)
        #expect(consent.answer["X-Frame-Options"] == "DENY" && consent.answer["Cache-Control"] == "no-store")
        #expect(consent.answer["Content-Security-Policy"]?.contains("frame-ancestors 'none'") == true)
        for text in [
            "Google", "linker@gmail.com", "See the devices of your home", "https://policies.google.com/privacy",
        ] { #expect(consent.answer.body.contains(text), "\(text)") }
        let answer = try await world.decision("allow", on: consent, browser)
        #expect(answer.address == client.redirectURI)
        #expect(answer.parameters.map(\.name) == ["code", "state"])
        #expect(answer["state"] == "AB+cd/EF==")
        #expect(answer.uri.contains("state=AB%2Bcd%2FEF%3D%3D"))
        #expect(answer["code"]?.utf8.count == 43)
        #expect(try await world.recorded("type = 'client_linked' AND reason = \(client.id + " web")") == 1)
    }

    @Test func `who is signed in decides at once, and each time`() async throws {
        let (client, browser) = try await world.clientAndBrowser("again")
        for _ in 1...2 {
            let page = try await world.consentPage(client, browser)
            #expect(page.html.forms.contains { $0.buttons.contains { $0.value == "allow" } })
            #expect(try await world.decision("allow", on: page, browser)["code"] != nil)
        }
    }

    @Test(arguments: ["allow", "deny"])
    func `the address of a client may lead on to another origin`(_ decision: String) async throws {
        let front = "https://front.example.com/linked"
        let callback = try LoopbackServer { _ in [.respond(302, headers: [("Location", front)]), .close] }
        let client = try await world.linkingClient(
            ["--redirect-uri", OAuthWorld.otherURI], redirectURI: OAuthWorld.otherURI)
        let browser = try await world.signedInBrowser(
            "onward-\(decision)", reaching: [Browser.origin(of: OAuthWorld.otherURI): callback.port])
        let page = try await world.consentPage(client, browser)
        let done = try await browser.submit(try page.consentForm(), on: page, button: decision)
        #expect(done.blocked == nil && done.handedOver == front, "\(done.url)")
        #expect(callback.history.requests.map(\.method) == ["GET"])
        let word = decision == "allow" ? "code" : "error"
        #expect(callback.history.requests.first?.target.hasPrefix("/linked?\(word)=") == true)
    }

    @Test func `a person who refuses, or cancels, links nothing, and the client hears of it`() async throws {
        let (client, browser, page) = try await world.asked("refuser")
        let answer = try await world.decision("deny", on: page, browser)
        #expect(answer.parameters.map(\.name) == ["error", "state"])
        #expect(answer["error"] == "access_denied")
        #expect(answer["state"] == "AB+cd/EF==")

        let another = world.browser()
        let chooser = try await another.open(client.url())
        let cancelled = try await another.submit("/web/cancel", on: chooser)
        #expect(try AppAnswer(cancelled)["error"] == "access_denied")
        let again = try await another.submit("/web/cancel", on: chooser)
        #expect(try AppAnswer(again).uri == AppAnswer(cancelled).uri)
        #expect(try await world.grants(of: client) == 0)
    }

    @Test func `a flow has one decision, in the browser that began it`() async throws {
        let (client, browser, page) = try await world.asked("decider")
        let form = try page.consentForm()
        // Another browser, and a form of another site.
        let thief = world.browser()
        #expect(try await thief.submit(form, on: page, button: "allow").status == 403)
        let foreign = try await browser.submit(
            form, on: page, button: "allow", headers: [("Sec-Fetch-Site", "cross-site")])
        #expect(foreign.status == 403)
        let answers = try await concurrently(["allow", "deny", "allow", "deny"]) { word in
            try await browser.submit(form, on: page, button: word, following: false)
        }
        // One word counts, and has the same answer each time.
        let targets = answers.map { $0.answer["Location"] }
        #expect(targets[0] == targets[2] && targets[1] == targets[3], "\(targets)")
        let decided = Set(targets.compactMap(\.self))
        #expect(decided.count == 1 && decided.allSatisfy { $0.hasPrefix(client.redirectURI) }, "\(targets)")
        #expect(answers.map { $0.status == 303 } == targets.map { $0 != nil })
    }

    @Test(arguments: [("55P03", "temporarily_unavailable"), ("P0001", "server_error")])
    func `a code that can't be stored is the client's to hear of, which may ask again`(
        state: String, error: String
    ) async throws {
        let (client, browser, page) = try await world.asked("unstored-\(state.lowercased())")
        let name = "refuse_\(state.lowercased())"
        try await scratch.execute(
            """
            CREATE FUNCTION \(unsafeSQL: name)() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '\(unsafeSQL: state)'; END $$
            """,
            """
            CREATE TRIGGER \(unsafeSQL: name) BEFORE INSERT ON oauth_grants
            FOR EACH ROW WHEN (NEW.client_id = '\(unsafeSQL: client.id)') EXECUTE FUNCTION \(unsafeSQL: name)()
            """)
        let answer = try await world.decision("allow", on: page, browser)
        #expect(answer.address == client.redirectURI)
        #expect(answer["error"] == error)
        #expect(answer["state"] == "AB+cd/EF==")
        #expect(answer["code"] == nil)
        #expect(try await world.grants(of: client) == 0)

        try await scratch.execute("DROP TRIGGER \(unsafeSQL: name) ON oauth_grants")
        let again = try await world.consentPage(client, browser)
        #expect(try await world.decision("allow", on: again, browser)["code"] != nil)
    }

    // MARK: What the client, or the person, hears

    @Test(
        arguments: [
            ["client_id": nil], ["client_id": "csc_unknown"], ["client_id": ""], ["redirect_uri": nil],
            ["redirect_uri": ""], ["redirect_uri": OAuthWorld.flipURI], ["redirect_uri": OAuthWorld.otherURI],
        ] as [[String: String?]])
    func `a request that can't be trusted to lead anywhere ends on our own page`(changes: [String: String?])
        async throws
    {
        let client = try await world.linkingClient()
        _ = try await world.linkingClient(["--redirect-uri", OAuthWorld.otherURI], redirectURI: OAuthWorld.otherURI)
        let page = try await world.browser().open(client.url(changes), following: false).expecting(400)
        #expect(page.answer["Location"] == nil)
        #expect(page.answer["Content-Type"]?.hasPrefix("text/html") == true)
        #expect(page.html.title.hasPrefix("This service isn’t registered here"), "\(page.html.title)")
    }

    @Test(
        arguments: [
            ("http://127.0.0.1/linked", "http://127.0.0.1:4711/linked"),
            ("http://[::1]:8080/linked", "http://[::1]:4711/linked"),
        ])
    func `a client on a loopback address gets its code at the port at which it listens`(
        registered: String, requested: String
    ) async throws {
        let client = try await world.linkingClient(["--redirect-uri", registered], redirectURI: requested)
        let browser = try await world.signedInBrowser("listener-\(registered.utf8.count)")
        let page = try await world.consentPage(client, browser)
        let answer = try await world.decision("allow", on: page, browser)
        #expect(answer.address == requested)
        #expect(try await world.redeem(try answer.code(), client).status == 200)
        // The code is for the address that was asked with, at its port.
        let code = try await world.oauthCode(client, browser)
        let elsewhere = try await world.redeem(code, client, ["redirect_uri": registered]).expecting(400)
        #expect(elsewhere.text == #"{"error":"invalid_grant"}"#)
    }

    @Test(
        arguments: [
            (["response_type": "token"], "unsupported_response_type"), (["state": nil], "invalid_request"),
            (["scope": "profile admin"], "invalid_scope"),
            (["state": String(repeating: "s", count: 2_049)], "invalid_request"),
        ] as [([String: String?], String)])
    func `other faults are the client's to hear`(changes: [String: String?], error: String) async throws {
        let client = try await world.linkingClient()
        let page = try await world.browser().open(client.url(changes))
        let answer = try AppAnswer(page)
        #expect(answer.address == client.redirectURI)
        #expect(answer["error"] == error)
        #expect(answer["state"] == (changes.keys.contains("state") ? changes["state"] ?? nil : "AB+cd/EF=="))
    }

    @Test func `a parameter that came twice is refused, and a state comes back as it was`() async throws {
        let client = try await world.linkingClient()
        let twice = try await world.browser().open(client.url(repeating: [("state", "x")]))
        #expect(try AppAnswer(twice)["error"] == "invalid_request")
        #expect(try AppAnswer(twice)["state"] == nil)
        // Also one that is not known; without a value it is not there.
        let unknown = try AppAnswer(try await world.browser().open(client.url(repeating: [("x", "1"), ("x", "1")])))
        #expect(unknown.address == client.redirectURI)
        #expect(unknown["error"] == "invalid_request")
        #expect(unknown["state"] == "AB+cd/EF==")
        let empty = try await world.browser().open(client.url(repeating: [("x", "1"), ("x", "")]))
        #expect(empty.status == 200 && empty.handedOver == nil)
        let browser = try await world.signedInBrowser("stately")
        for state in [
            #"a+b/c=d%&e #é"><script>alert(1)</script>"#, String(repeating: "§", count: 300),
            String(repeating: "s", count: 2_048),
        ] {
            let page = try await world.consentPage(client, browser, ["state": state])
            #expect(!page.answer.body.contains("<script>"))
            #expect(try await world.decision("deny", on: page, browser)["state"] == state)
        }
        let split = try await browser.open(client.url(["state": "a\r\nX-Injected: 1"]))
        #expect(try AppAnswer(split)["error"] == "invalid_request")
        #expect(try AppAnswer(split)["state"] == nil)
        #expect(split.answer["X-Injected"] == nil)
    }

    @Test(arguments: ["", "x", "01a1fc41-9b43-7a01-afff-a0f49219c796"])
    func `a request with a parameter that is named as one of ours is a client's all the same`(
        value: String
    ) async throws {
        let client = try await world.linkingClient()
        let url = client.url() + "&flow=\(value)"
        let chooser = try await world.browser().open(url).expecting(200)
        #expect(chooser.isChooser, "\(chooser.answer.body)")
        let browser = try await world.signedInBrowser("flowing-\(value.utf8.count)")
        let page = try await browser.open(url).expecting(200)
        #expect(try await world.decision("allow", on: page, browser)["code"] != nil)
        // What is wrong with it is the client's to hear of.
        let faulty = try AppAnswer(try await browser.open(client.url(["response_type": "token"]) + "&flow=\(value)"))
        #expect(faulty["error"] == "unsupported_response_type")
        let nameless = try await browser.open(client.url(["client_id": nil]) + "&flow=\(value)")
        #expect(nameless.status == 400 && nameless.html.title.hasPrefix("This service isn’t registered here"))
    }

    @Test(arguments: ["%0A", "%00", "%FF", "%"])
    func `a value that can't be read is the client's to hear of, but for its own name and address`(
        value: String
    ) async throws {
        let client = try await world.linkingClient()
        for name in ["state", "scope", "login_hint", "ui_locales", "x"] {
            let page = try await world.browser().open(client.url([name: nil]) + "&\(name)=a\(value)b")
            let answer = try AppAnswer(page)
            #expect(answer.address == client.redirectURI && answer["error"] == "invalid_request", "\(name)")
            #expect(answer["state"] == (name == "state" ? nil : "AB+cd/EF=="), "\(name)")
        }
        for pair in ["client_id=\(value)", "redirect_uri=\(value)", "x\(value)=a"] {
            let page = try await world.browser().open(client.url() + "&\(pair)", following: false)
            #expect(page.status == 400 && page.answer["Location"] == nil, "\(pair)")
        }
    }

    @Test func `a scope's sentence that the page's language lacks is marked as English`() async throws {
        let (client, browser) = try await world.clientAndBrowser("lectrice")
        for (language, marked) in [("fr", "en"), ("de", nil), ("en", nil)] as [(String, String?)] {
            let page = try await world.consentPage(client, browser, ["ui_locales": language])
            #expect(page.html.root["lang"] == language)
            let scopes = page.html.elements("li")
            #expect(scopes.map { $0.attributes["lang"] } == [nil, nil, marked], "\(page.answer.body)")
        }
    }

    @Test func `a client that must use PKCE is asked for it, and others hear who answers`() async throws {
        let options = ["--redirect-uri", OAuthWorld.otherURI, "--require-pkce"]
        let strict = try await world.linkingClient(options, redirectURI: OAuthWorld.otherURI)
        let refused = try AppAnswer(try await world.browser().open(strict.url()))
        #expect(refused["error"] == "invalid_request")
        #expect(refused["iss"] == WebWorld.publicURL)
        let browser = try await world.signedInBrowser("pkce")
        let client = try await world.linkingClient(options, redirectURI: OAuthWorld.otherURI, withPKCE: true)
        let page = try await world.consentPage(client, browser)
        let answer = try await world.decision("allow", on: page, browser)
        #expect(answer["iss"] == WebWorld.publicURL)
        let code = try answer.code()
        #expect(try await world.redeem(code, client).status == 200)
    }

    @Test func `a disabled client gets nobody's consent`() async throws {
        let (client, browser, page) = try await world.asked("disabler")
        #expect(try await world.run(["oauth-client", "disable", client.id]).status == 0)
        try await eventually("the disabling of a client") {
            try await browser.open(client.url(), following: false).status == 400
        }
        let asking = try await browser.open(client.url(), following: false)
        #expect(asking.html.title.hasPrefix("This service isn’t registered here"), "\(asking.html.title)")
        let form = try page.consentForm()
        let answer = try await browser.submit(form, on: page, button: "allow", following: false).expecting(400)
        #expect(answer.answer["Location"] == nil)
        #expect(try await world.codes(of: client) == 0)
    }

    // MARK: The person's account

    @Test func `a person takes another account`() async throws {
        let (client, browser) = try await world.clientAndBrowser("first-account")
        _ = try await world.signedInBrowser("second-account")
        let page = try await world.consentPage(client, browser)
        let chooser = try await browser.submit("/oauth/other-account", on: page)
        let consent = try await world.signIn("second-account", with: .google, on: chooser, browser)
        #expect(consent.answer.body.contains("second-account@gmail.com"), "\(consent.answer.text)")
        #expect(try await world.decision("allow", on: consent, browser)["code"] != nil)
    }

    @Test func `a consent that named another account links nothing, and is asked for again`() async throws {
        let (client, browser) = try await world.clientAndBrowser("first-named")
        _ = try await world.signedInBrowser("second-named")
        let page = try await world.consentPage(client, browser)
        // In another tab.
        let tab = try await world.consentPage(try await world.linkingClient(), browser)
        let chooser = try await browser.submit("/oauth/other-account", on: tab)
        _ = try await world.signIn("second-named", with: .google, on: chooser, browser)

        let form = try page.consentForm()
        let again = try await browser.submit(form, on: page, button: "allow").expecting(200)
        #expect(again.handedOver == nil)
        #expect(again.answer.body.contains("second-named@gmail.com"))
        #expect(!again.answer.body.contains("first-named@gmail.com"))
        #expect(try await world.grants(of: client) == 0)

        let code = try #require(try await world.decision("allow", on: again, browser)["code"])
        let tokens = try LinkedTokens(try await world.redeem(code, client))
        #expect(try await world.userinfo(tokens.access).json?["email"]?.string == "second-named@gmail.com")
    }

    @Test func `a consent whose token names an account that it was not made for is refused`() async throws {
        let (client, browser, page) = try await world.asked("forged")
        let form = try page.consentForm()
        let token = try form.csrf()
        let parts = token.split(separator: ".")
        try #require(parts.count == 2)
        // Without the account, and with another one.
        for forged in [String(parts[1]), "00000000-0000-7000-8000-000000000000.\(parts[1])"] {
            let answer = try await browser.send(
                [("csrf", forged), ("consent", "allow")], to: form.action, on: page, following: false)
            #expect(answer.status == 403)
        }
        #expect(try await world.grants(of: client) == 0)
    }
}
