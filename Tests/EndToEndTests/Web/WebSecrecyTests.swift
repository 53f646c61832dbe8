import Postgres
import TestSupport
import Testing

/// Where the secrets of a web sign-in may be, and where they may not.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct WebSecrecyTests: WorldSuite {
    @Test(.webWorld(["log.level": "trace"]))
    func `log, URLs, referrers, metrics and audit hold no code, token, name or address`() async throws {
        var canaries = Canaries()
        let members: TokenMint.Members = [
            "email": .string(canaries.add("address", "canary-address@example.com")),
            "givenName": .string(canaries.add("given name", "Canarygiven")),
            "familyName": .string(canaries.add("family name", "Canaryfamily")),
        ]
        let person = members.text
        try await world.sandbox.addApplePerson("kim", person)
        try await world.sandbox.addGooglePerson("kim", person)
        var urls: [String] = []

        let browser = world.browser()
        let apple = try AppAttempt()
        let chooser = try await world.chooser(apple, browser)
        let shown = try await world.press(.apple, on: chooser, browser)
        let page = try await world.consent("kim", at: shown, browser)
        let form = try #require(page.html.forms.first)
        for name in ["code", "id_token", "user"] {
            _ = canaries.add(token: "Apple's \(name)", try #require(form.input(name)?.value, "\(name)"))
        }
        let done = try await browser.submit(form, on: page)
        urls += done.hops.map(\.url) + done.locations
        let appleCode = try #require(try AppAnswer(done)["code"])

        let google = try AppAttempt()
        let second = try await world.chooser(google, browser)
        let redirect = try await world.consent(
            "kim", at: try await world.press(.google, on: second, browser), browser, following: false)
        let target = try redirect.location()
        _ = canaries.add(
            "Google's code", try #require(FormEncoding.parameters(of: target).first { $0.name == "code" }?.value))
        let ended = try await browser.follow(redirect)
        // Google itself puts its code into the URL that it redirects to; no later one has it.
        urls += ended.locations
        let googleCode = try #require(try AppAnswer(ended)["code"])
        #expect(canaries.found(in: urls.joined(separator: "\n")) == [])
        for hop in done.hops + ended.hops where hop.url.hasPrefix(WebWorld.publicURL) {
            #expect(hop.answer["Referrer-Policy"] == "no-referrer")
        }

        for (code, attempt) in [(appleCode, apple), (googleCode, google)] {
            _ = canaries.add("our code", code)
            _ = canaries.add("verifier", attempt.verifier)
            let answer = try await world.exchange(code, attempt)
            _ = canaries.add("ticket", try answer.linkTicket())
            try await world.exchange(code, attempt).expectRefusal(401, "invalid_token")
        }
        _ = canaries.add("browser cookie", try #require(browser.cookies(of: WebWorld.publicURL).first).value)
        let third = try await world.chooser(try AppAttempt(), browser)
        let (screen, password) = try await world.screen("/web/password", from: third, browser)
        _ = try await browser.submit(
            password, on: screen,
            typed: [
                "email": canaries.add("typed address", "canary-typed@example.com"),
                "password": canaries.add("typed password", "canary-typed-password"),
            ])
        _ = canaries.add("form token", try password.csrf())
        #expect(canaries.found(in: service.log) == [])
        #expect(service.log.contains("/web/callback/apple"))
        #expect(canaries.found(in: try await service.privateGet("/metrics").text) == [])
        let trail = try await scratch.texts("SELECT row_to_json(e)::text FROM audit_events e")
        #expect(!trail.isEmpty)
        #expect(canaries.found(in: trail.joined(separator: "\n")) == [])
    }

    @Test(.webWorld) func `the database keeps what is held sealed, and what is compared as a digest`() async throws {
        var canaries = Canaries()
        try await world.newPerson("kim", email: canaries.add("address", "canary-address@example.com"))
        let (_, browser, chooser) = try await world.begin()
        let start = try await browser.submit("/web/start/apple", on: chooser, following: false)
        let asked = FormEncoding.parameters(of: try start.location())
        for name in ["state", "nonce"] { _ = canaries.add(name, try #require(asked.first { $0.name == name }?.value)) }
        let shown = try await browser.follow(start)
        let page = try await world.consent("kim", at: shown, browser)
        let form = try #require(page.html.forms.first)
        for name in ["code", "id_token"] { _ = canaries.add(token: name, try #require(form.input(name)?.value)) }
        let held = try await browser.submit(form, on: page, following: false)
        let location = try held.location()
        let handle = try #require(FormEncoding.parameters(of: location).first?.value)
        _ = canaries.add("handle", handle)
        _ = canaries.add("cookie", try #require(browser.cookies(of: WebWorld.publicURL).first).value)
        func flows() async throws -> String {
            try await scratch.texts("SELECT row_to_json(f)::text FROM web_flows f").joined(separator: "\n")
        }
        let whileHeld = try await flows()
        #expect(!whileHeld.isEmpty)
        #expect(canaries.found(inDump: whileHeld) == [])
        let back = try AppAnswer(try await browser.follow(held))
        _ = canaries.add("our code", try back.code())
        #expect(canaries.found(inDump: try await flows()) == [])
    }
}
