import Postgres
import TestSupport
import Testing

/// Where Google redirects to, and what somebody else could send there. One after another: an alteration of the sandbox meets
/// the next authorization.
@Suite(.limitedConcurrency, .webWorld, .serialized, .timeLimit(.minutes(30))) struct GoogleCallbackTests: WorldSuite {
    /// A sign-in up to the address that Google redirects to, which has not been opened yet.
    private struct Pending: Sendable {
        let browser: Browser
        /// Google's answer, a redirect.
        let page: Browser.Page
    }

    /// What alters Google's next answer.
    private static func fault(_ changes: String) -> String {
        #"{"path":"/google/o/oauth2/v2/auth","effect":"altered","times":1,\#(changes)}"#
    }

    private func pending(_ person: String, _ changes: String? = nil) async throws -> Pending {
        try await world.newPerson(person)
        if let changes { try await world.sandbox.control("faults", Self.fault(changes)) }
        let (_, browser, chooser) = try await world.begin()
        let shown = try await world.press(.google, on: chooser, browser)
        let page = try await world.consent(person, at: shown, browser, following: false)
        return Pending(browser: browser, page: page)
    }

    @Test(arguments: [
        #""parameters":{"iss":"https://evil.example"}"#, #""exchange":{"token":{"claims":{"nonce":"other"}}}"#,
    ])
    func `an answer with anything wrong in it ends the flow, and says nothing of it`(_ changes: String) async throws {
        let sessions = try await world.sessionCount()
        let pending = try await self.pending("wrong", changes)
        let back = try AppAnswer(try await pending.browser.follow(pending.page))
        #expect(back["error"] == "server_error", "\(back.uri)")
        #expect(Set(back.parameters.map(\.name)) == ["error", "state", "iss"])
        #expect(try await world.sessionCount() == sessions)
        try await pending.browser.follow(pending.page).expecting(400)
    }

    @Test func `where no app waits, the page of a failure is in the flow's languages and leads back`() async throws {
        try await world.newPerson("ohne-app")
        let browser = world.browser()
        let chooser = try await browser.open(WebWorld.publicURL + "/web/account?ui_locales=de")
        let shown = try await world.press(.google, on: chooser, browser)
        let page = try await world.consent("ohne-app", at: shown, browser, following: false)
        let location = try page.location().settingParameter("iss", to: "https%3A%2F%2Fevil.example")
        try await expectWayBack(from: try await browser.open(location), browser)
    }

    @Test func `so it is where the person was proven, and could not be signed in`() async throws {
        let device = try await world.newAccount(ofNew: "veraltet", with: .google)
        try await scratch.execute(
            """
            UPDATE identities SET not_before = now() + interval '1 hour' WHERE account_id = \(device.account.id)::uuid
            """)
        let browser = world.browser()
        let chooser = try await browser.open(WebWorld.publicURL + "/web/account?ui_locales=de")
        try await expectWayBack(from: try await world.signIn("veraltet", with: .google, on: chooser, browser), browser)
    }

    /// Expects the page of a failure, in German, and a link by which its person begins again.
    private func expectWayBack(
        from failed: Browser.Page, _ browser: Browser, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(failed.status == 401, sourceLocation: location)
        #expect(failed.html.root["lang"] == "de", "\(failed.answer.body)", sourceLocation: location)
        let again = try await browser.click(try #require(failed.wayOn, sourceLocation: location), on: failed)
        #expect(again.isChooser, sourceLocation: location)
        #expect(again.html.root["lang"] == "de", sourceLocation: location)
    }

    @Test(arguments: Sandbox.Provider.allCases)
    func `who comes back too late is led to where they began`(_ provider: Sandbox.Provider) async throws {
        let person = "late-\(provider.rawValue)"
        try await world.newPerson(person)
        let attempt = try AppAttempt()
        for (url, isOfApp) in [(attempt.url(), true), (WebWorld.publicURL + "/web/account?ui_locales=de", false)] {
            let browser = world.browser()
            let chooser = try await browser.open(url)
            let flow = try #require(FormEncoding.parameters(of: chooser.url).first { $0.name == "flow" }).value
            let shown = try await world.press(provider, on: chooser, browser)
            try await scratch.execute(
                "UPDATE web_flows SET expires_at = now() - interval '1 second' WHERE flow_id = \(flow)::uuid")
            var page = try await world.consent(person, at: shown, browser, following: provider == .apple)
            if provider == .apple {
                page = try await browser.submit(try #require(page.html.forms.first), on: page)
            } else {
                let other = try await world.browser().follow(page)
                #expect(other.status == 400 && !other.answer.text.contains(attempt.redirectURI), "\(other.answer.body)")
                page = try await browser.follow(page)
            }
            try await expectLate(page, of: isOfApp ? attempt : nil, browser)
        }
    }

    @Test func `who comes too late for Apple's answer that is held is led there too`() async throws {
        try await world.newPerson("late-held")
        let (attempt, browser, chooser) = try await world.begin()
        let page = try await world.consent(
            "late-held", at: try await world.press(.apple, on: chooser, browser), browser)
        let held = try await browser.submit(try #require(page.html.forms.first), on: page, following: false)
        try await scratch.execute(
            "UPDATE web_flows SET answer_expires_at = now() - interval '1 second' WHERE handle_hash IS NOT NULL")
        let other = try await world.browser().follow(held)
        #expect(other.status == 400 && !other.answer.text.contains(attempt.redirectURI), "\(other.answer.body)")
        try await expectLate(try await browser.follow(held), of: attempt, browser)
    }

    @Test(arguments: Sandbox.Provider.allCases)
    func `who has lost the cookie at the provider reads that signing in needs it`(
        _ provider: Sandbox.Provider
    ) async throws {
        let person = "cookieless-\(provider.rawValue)"
        try await world.newPerson(person)
        let (_, browser, chooser) = try await world.begin()
        let shown = try await world.press(provider, on: chooser, browser)
        browser.set([], of: WebWorld.publicURL)
        var page = try await world.consent(person, at: shown, browser, following: provider == .apple)
        if provider == .apple {
            page = try await browser.submit(try #require(page.html.forms.first), on: page)
        } else {
            page = try await browser.follow(page)
        }
        #expect(page.status == 400 && page.html.title.hasPrefix("Signing in needs cookies"), "\(page.answer.body)")
        // A browser that has one brings an answer that is none of its own.
        let other = world.browser()
        _ = try await world.chooser(try AppAttempt(), other)
        let foreign = try await other.open(page.url)
        #expect(foreign.status == 400 && foreign.html.title.hasPrefix("The sign-in couldn’t be confirmed"))
        // Nothing waits for it any more, with a cookie or without.
        let again = try await world.browser().open(page.url)
        #expect(again.status == 400 && again.html.title.hasPrefix("The sign-in couldn’t be confirmed"))
    }

    /// Expects the page of a flow that has expired, in the flow's language, and a button: to the app, which gets an error, or
    /// to the account, in that language too.
    private func expectLate(_ page: Browser.Page, of attempt: AppAttempt?, _ browser: Browser) async throws {
        let title = attempt == nil ? "Diese Anmeldung ist abgelaufen" : "This sign-in has expired"
        #expect(page.status == 400 && page.html.title.hasPrefix(title), "\(page.answer.body)")
        let target = try #require(page.wayOn)
        guard let attempt else {
            let again = try await browser.click(target, on: page)
            #expect(again.html.root["lang"] == "de")
            #expect(again.isChooser)
            return
        }
        #expect(page.html.links.contains { $0.target == target && $0.label == "Go back to \(WebWorld.appName)" })
        #expect(target.hasPrefix(attempt.redirectURI + "?"))
        let parameters = FormEncoding.parameters(of: target)
        #expect(parameters.map(\.name) == ["error", "state", "iss"])
        #expect(parameters.map(\.value) == ["access_denied", attempt.state, WebWorld.publicURL])
    }

    @Test(.webWorld(["google.hostedDomains": "lamp.example", "web.google.requireIss": "true"]))
    func `hosted domains and an issuer in the answer are asked for where they are configured`() async throws {
        try await world.openGoogleAccount("inside", email: "in@lamp.example", workspace: "lamp.example")
        try await world.openGoogleAccount("outside", email: "out@other.example", workspace: "other.example")
        try await world.openGoogleAccount("private", email: "private@example.com")
        for (person, isIn) in [("inside", true), ("outside", false), ("private", false)] {
            let back = try await world.answer(to: try AppAttempt(), person, with: .google)
            #expect((back["code"] != nil) == isIn, "\(person): \(back.uri)")
            #expect((back["error"] == nil) == isIn, "\(person)")
        }
        try await world.sandbox.control("faults", Self.fault(#""withoutParameters":["iss"]"#))
        let silent = try await world.answer(to: try AppAttempt(), "inside", with: .google)
        #expect(silent["error"] == "server_error", "\(silent.uri)")
    }
}

extension String {
    /// This address with another value of a parameter of its query, as it is.
    func settingParameter(_ name: String, to value: String) -> String {
        let parts = split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let others = parts.dropFirst().joined().split(separator: "&").filter { !$0.hasPrefix("\(name)=") }
        return "\(parts[0])?" + (others.map(String.init) + ["\(name)=\(value)"]).joined(separator: "&")
    }
}
