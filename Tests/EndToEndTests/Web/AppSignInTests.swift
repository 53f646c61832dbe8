import JSON
import TestSupport
import Testing

/// What people do who have no SDK of Apple's or Google's: on Android, in Flutter, on a desktop, in a browser.
@Suite(.limitedConcurrency, .webWorld, .timeLimit(.minutes(30))) struct AppSignInTests: WorldSuite {
    @Test(arguments: Sandbox.Provider.allCases)
    func `who is unknown chooses in the app, and is signed in at once the next time`(
        _ provider: Sandbox.Provider
    ) async throws {
        let person = "android-\(provider)"
        let name: TokenMint.Members = [
            "email": .string("\(person)@example.com"), "givenName": "Kim", "familyName": "Lee",
        ]
        try await world.sandbox.addApplePerson(person, name.text)
        try await world.sandbox.addGooglePerson(person, name.text)

        let attempt = try AppAttempt()
        let back = try await world.answer(to: attempt, person, with: provider)
        #expect(back.address == WebWorld.appLink)
        #expect(back["state"] == attempt.state)
        #expect(back["iss"] == WebWorld.publicURL)
        #expect(back["error"] == nil)
        #expect(Set(back.parameters.map(\.name)) == ["code", "state", "iss"])
        let code = try back.code()
        #expect(code.wholeMatch(of: /[A-Za-z0-9_-]{43}/) != nil)

        let device = TokenMint.Literal.raw(#"{"name":"Kim's phone","platform":"android"}"#)
        let answer = try await world.exchange(code, attempt, device: device)
        let question = try Question(answer)
        #expect(question.method == provider.rawValue)
        #expect(question.email == "\(person)@example.com")
        #expect(question.choices == ["create", "bind"])
        let created = try await world.create(for: question)
        let owner = try SignedInDevice(created, status: 201)
        // Google's name is a claim like others; Apple's is given once, for the account.
        if provider == .apple { #expect(try created.text("account.displayName") == "Kim Lee") }
        #expect(owner.account.providers == [provider.rawValue])

        let again = try SignedInDevice(try await world.signInByWeb(person, with: provider))
        #expect(again.account.id == owner.account.id)
        #expect(again.provider == provider.rawValue)
        let sessions = try await service.get("/v1/sessions", bearer: again.bearer)
        #expect(sessions.items.count == 2)
        #expect(sessions.text.contains("Kim's phone"))
        // Apple took the code from the Services ID.
        if provider == .apple {
            let calls = try await world.sandbox.history(path: "/apple/auth/token")
            #expect(calls.contains { $0.field("client_id") == WebWorld.servicesID && $0.status == 200 })
        }
    }

    @Test func `a hidden address is a relay's, and finds nobody`() async throws {
        try await world.newAccount(ofNew: "shy", with: .google)
        let answer = try await world.signInByWeb("shy", with: .apple, hidesEmail: true)
        let question = try Question(answer)
        #expect(question.email?.hasSuffix("@privaterelay.appleid.com") == true)
        #expect(answer.json?["identity"]?["isPrivateEmail"]?.bool == true)
        #expect(question.choices == ["create", "bind"])
        #expect(question.holder == nil)
    }

    @Test func `a password signs in on the page, and a wrong one says no more there than in the API`() async throws {
        let email = "typist@example.com"
        #expect(try await world.register(email).status == 201)
        let (attempt, browser, chooser) = try await world.begin()
        let (page, form) = try await world.screen("/web/password", from: chooser, browser)
        #expect(form.input("password")?.type == "password")
        #expect(form.input("password")?.attributes["autocomplete"] == "current-password")
        #expect(form.input("email")?.attributes["autocomplete"]?.contains("username") == true)

        var refusals: [String] = []
        for typed in [email, "nobody@example.com"] {
            let refused = try await browser.submit(
                form, on: page, typed: ["email": typed, "password": "wrong horse battery"])
            #expect(refused.status == 401, "\(refused.answer.text)")
            let alert = refused.html.source.contains(#"role="alert""#)
            #expect(alert, "\(refused.answer.body)")
            #expect(!refused.answer.body.contains("wrong horse battery"))
            refusals.append(refused.answer.body.replacing(typed, with: "ADDRESS"))
        }
        #expect(refusals[0] == refusals[1])

        let done = try await browser.submit(form, on: page, typed: ["email": email, "password": World.password])
        let back = try AppAnswer(done)
        let device = try SignedInDevice(try await world.exchange(try back.code(), attempt))
        #expect(device.account.email == email)
        #expect(device.provider == nil)
    }

    @Test func `a mailed code signs in on the page, or shows who is in the account`() async throws {
        let email = "mailed@example.com"
        // An account whose address was stated, and not proven.
        try await world.newAccount(ofNew: "mailed", with: .google)
        for isKnown in [false, true] {
            let (attempt, browser, chooser) = try await world.begin()
            let (page, form) = try await world.screen("/web/email-code", from: chooser, browser)
            let sent = try await browser.submit(form, on: page, typed: ["email": email]).expecting(200)
            let entry = try #require(sent.html.forms.first { $0.input("code") != nil }, "\(sent.answer.body)")
            #expect(entry.input("code")?.attributes["autocomplete"] == "one-time-code")
            let code = try await world.code(isKnown ? 2 : 1, mailedTo: email)
            let wrong = try await browser.submit(entry, on: sent, typed: ["email": email, "code": World.wrong(code)])
            #expect(wrong.status == 401)
            let done = try await browser.submit(entry, on: sent, typed: ["email": email, "code": code])
            let back = try AppAnswer(done)
            let answer = try await world.exchange(try back.code(), attempt)
            if isKnown {
                #expect(try SignedInDevice(answer).account.email == email)
            } else {
                let question = try Question(answer)
                #expect(question.method == "email")
                #expect(question.choices == ["bind", "create"])
                _ = try SignedInDevice(try await world.create(for: question), status: 201)
            }
        }
    }

    @Test func `a private scheme is opened by a page of ours, after a click there`() async throws {
        try await world.newPerson("scheme")
        for changes in [[:], ["provider": "google", "ui_locales": "ar"]] as [[String: String?]] {
            let attempt = try AppAttempt(redirectURI: WebWorld.privateScheme)
            let browser = world.browser()
            // The first page is ours also where the app names the provider: another app may have claimed the scheme.
            let first = try await world.chooser(attempt, browser, changes)
            #expect(first.url.hasPrefix(WebWorld.publicURL))
            #expect(first.html.text.contains(WebWorld.appName))
            let last = try await world.signIn("scheme", with: .google, on: first, browser)
            #expect(last.handedOver == nil)
            #expect(last.status == 200)
            #expect(last.answer.body.contains(#"<html lang="\#(changes.isEmpty ? "en" : "ar")""#))
            let back = try AppAnswer(last)
            #expect(back.address == WebWorld.privateScheme)
            #expect(back["state"] == attempt.state)
            #expect(last.html.links.contains { $0.target == back.uri && $0.label.contains(WebWorld.appName) })
            #expect(try await world.exchange(try back.code(), attempt).status == 200)
        }
    }

    @Test(arguments: ["http://127.0.0.1:49152/signed-in", "http://[::1]:49152/signed-in", WebWorld.loopback])
    func `a desktop app gets its answer at any port of its own machine`(_ uri: String) async throws {
        try await world.newPerson("desk-\(uri.utf8.count)")
        let attempt = try AppAttempt(redirectURI: uri)
        let back = try await world.answer(to: attempt, "desk-\(uri.utf8.count)", with: .google)
        #expect(back.address == uri)
        #expect(try await world.exchange(try back.code(), attempt).status == 200)
    }

    @Test(arguments: [WebWorld.appLink, "http://127.0.0.1:49153/signed-in"])
    func `the address of an app may lead on to another origin`(_ uri: String) async throws {
        let front = "https://front.example.com/welcome"
        let callback = try LoopbackServer { _ in [.respond(302, headers: [("Location", front)]), .close] }
        let email = "onward-\(uri.utf8.count)@example.com"
        #expect(try await world.register(email).status == 201)
        let browser = world.browser(reaching: [Browser.origin(of: uri): callback.port])
        let chooser = try await world.chooser(try AppAttempt(redirectURI: uri), browser)
        let (page, form) = try await world.screen("/web/password", from: chooser, browser)
        let done = try await browser.submit(form, on: page, typed: ["email": email, "password": World.password])
        #expect(done.blocked == nil && done.handedOver == front, "\(done.url)")
        #expect(callback.history.requests.map(\.method) == ["GET"])
        #expect(callback.history.requests.first?.target.hasPrefix("/signed-in?code=") == true)
    }
}
