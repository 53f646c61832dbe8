import JSON
import Postgres
import TestSupport
import Testing

/// How often one account may be linked.
@Suite(.limitedConcurrency, .oauthWorld(["limits.linkPerAccount": "3/d"]), .timeLimit(.minutes(30)))
struct OAuthLinkLimitTests: WorldSuite {
    private func flip(_ client: LinkingClient, _ device: SignedInDevice) async throws -> Answer {
        try await service.post("/oauth/flip", client.flip, bearer: device.bearer)
    }

    private func get(_ client: LinkingClient, _ person: String) async throws -> Answer {
        let assertion = try await world.sandbox.authorizeGoogle(person, clientID: OAuthWorld.audience).idToken
        return try await world.oauth(
            "/oauth/token", client,
            [
                ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("intent", "get"),
                ("assertion", assertion),
            ])
    }

    private func unlink(_ client: LinkingClient, _ device: SignedInDevice) async throws {
        let path = "/v1/account/linked-clients/\(client.id)"
        #expect(try await service.delete(path, bearer: device.bearer).status == 204)
    }

    @Test func `an account is linked to clients as often as it may be, whichever way they take`() async throws {
        let client = try await world.linkingClient()
        let device = try await world.newAccount(ofNew: "restless", email: "restless@gmail.com", with: .google)
        #expect(try await flip(client, device).status == 200)
        try await unlink(client, device)
        #expect(try await get(client, "restless").status == 200)
        try await unlink(client, device)
        let browser = world.browser()
        _ = try await world.signIn("restless", with: .google, in: browser)
        _ = try await world.oauthCode(client, browser)

        let flipped = try await flip(client, device).expecting(429)
        #expect(flipped.json?["flip_error"]?.string == "cancelled")
        let asserted = try await get(client, "restless").expecting(429)
        #expect(asserted.text == "{}")
        for answer in [flipped, asserted] { #expect((1...28_800).contains(answer.retryAfter ?? 0)) }
        let page = try await world.consentPage(client, browser)
        let form = try page.consentForm()
        let refused = try await browser.submit(form, on: page, button: "allow").expecting(429)
        #expect(refused.answer["Retry-After"] != nil)
        // Nothing was decided by it, and its button leads back to the question. How long the wait is depends on the limit.
        #expect(!refused.html.text.contains("minutes"), "\(refused.answer.text)")
        let again = try await browser.click(try #require(refused.wayOn), on: refused)
        #expect(again.html.forms.contains { $0.buttons.contains { $0.value == "allow" } }, "\(again.answer.text)")
        #expect(try await world.decision("deny", on: page, browser)["error"] == "access_denied")

        let linked = try await world.recorded("type = 'client_linked' AND reason LIKE \(client.id + " %")")
        #expect(linked == 3)
        #expect(try await world.codes(of: client) == 1)
        // What is linked can be unlinked.
        try await unlink(client, device)
    }
}
