import Postgres
import TestSupport
import Testing

/// The form of a consent that the browser sends more than once, as by a double tap.
@Suite(.limitedConcurrency, .oauthWorld, .timeLimit(.minutes(30))) struct OAuthRepeatedConsentTests: WorldSuite {
    private func question(on page: Browser.Page) throws -> HTML.Form {
        try #require(page.html.forms.first { $0.buttons.contains { $0.name == "consent" } }, "\(page.answer.body)")
    }

    @Test func `who clicks twice has linked once, and the client gets its code`() async throws {
        let client = try await world.linkingClient()
        let email = "double-tapper@gmail.com"
        let browser = try await world.signedInBrowser("double-tapper")
        let page = try await world.consentPage(client, browser)
        let form = try question(on: page)
        let answers = try await concurrently(0..<3) { _ in
            try AppAnswer(try await browser.submit(form, on: page, button: "allow")).uri
        }
        #expect(Set(answers).count == 1)
        let late = try await world.decision("allow", on: page, browser)
        #expect(late.uri == answers[0])
        #expect(late.address == client.redirectURI && late.parameters.map(\.name) == ["code", "state"])
        #expect(try await world.codes(of: client) == 1)
        // What else the browser says comes too late, and another browser says nothing.
        let token = try #require(form.input("csrf")?.value)
        for word in ["allow", "deny"] {
            let fields = [(name: "consent", value: word), (name: "csrf", value: token)]
            let other = try await browser.send(fields, to: form.action, on: page, following: false)
            #expect(other.status == 400 && other.html.title.hasPrefix("This sign-in is over"), "\(other.answer.body)")
        }
        #expect(try await world.browser().submit(form, on: page, button: "allow", following: false).status == 403)

        let tokens = try LinkedTokens(try await world.redeem(try #require(late["code"]), client))
        let over = try await browser.submit(form, on: page, button: "allow", following: false)
        #expect(over.status == 400 && over.html.title.hasPrefix("This sign-in is over"), "\(over.answer.body)")
        #expect(try await world.isAlive(tokens, client))
        #expect(
            try await world.count(
                "SELECT count(*) FROM audit_events WHERE type = 'client_linked' AND reason = \(client.id + " web")")
                == 1)
        func notices() throws -> Int {
            try world.mailbox(email).filter { $0.header("Subject")?.contains("now linked to Google") == true }.count
        }
        try await eventually("the notice") { try notices() > 0 }
        #expect(try notices() == 1)
    }

    @Test func `who refuses twice is back at the client, and has refused`() async throws {
        let client = try await world.linkingClient()
        let browser = try await world.signedInBrowser("double-refuser")
        let page = try await world.consentPage(client, browser)
        let form = try question(on: page)
        let answers = try await concurrently(0..<2) { _ in
            try AppAnswer(try await browser.submit(form, on: page, button: "deny")).uri
        }
        #expect(answers[0] == answers[1])
        let late = try await world.decision("deny", on: page, browser)
        #expect(late.uri == answers[0] && late["error"] == "access_denied", "\(late.uri)")
        #expect(try await browser.submit(form, on: page, button: "allow", following: false).status == 400)
        #expect(try await world.grants(of: client) == 0)
    }

    @Test func `a client that was disabled since the first answer hears of no second`() async throws {
        let client = try await world.linkingClient()
        let browser = try await world.signedInBrowser("double-disabler")
        let page = try await world.consentPage(client, browser)
        #expect(try await world.decision("allow", on: page, browser)["code"] != nil)
        let ending = try await Countersign.run(
            ["oauth-client", "disable", client.id], ["postgres.url": world.scratch.url])
        #expect(ending.status == 0, "\(ending.error)")
        try await eventually("the disabling of a client") {
            try await world.browser().open(client.url()).status == 400
        }
        let again = try await browser.submit(try question(on: page), on: page, button: "allow", following: false)
        #expect(again.status == 400 && again.answer["Location"] == nil, "\(again.answer.text)")
    }
}
