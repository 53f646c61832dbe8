import TestSupport
import Testing

/// The form of a consent that the browser sends more than once, as by a double tap.
@Suite(.limitedConcurrency, .oauthWorld, .timeLimit(.minutes(30))) struct OAuthRepeatedConsentTests: WorldSuite {
    private func question(on page: Browser.Page) throws -> HTML.Form {
        try #require(page.html.forms.first { $0.buttons.contains { $0.name == "consent" } }, "\(page.answer.body)")
    }

    @Test func `a client that was disabled since the first answer hears of no second`() async throws {
        let client = try await world.linkingClient()
        let browser = try await world.signedInBrowser("double-disabler")
        let page = try await world.consentPage(client, browser)
        #expect(try await world.decision("allow", on: page, browser)["code"] != nil)
        let ending = try await Countersign.run(
            ["oauth-client", "disable", client.id], ["postgres.url": world.scratch.url])
        #expect(ending.status == 0, "\(ending.error)")
        try await eventually("the disabling of a client") { try await world.browser().open(client.url()).status == 400 }
        let again = try await browser.submit(try question(on: page), on: page, button: "allow", following: false)
        #expect(again.status == 400 && again.answer["Location"] == nil, "\(again.answer.text)")
    }
}
