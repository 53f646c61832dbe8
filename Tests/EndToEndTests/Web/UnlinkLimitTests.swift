import TestSupport
import Testing

/// How often one account may unlink a provider, and replace one.
@Suite(.limitedConcurrency, .webWorld(["limits.linkPerAccount": "1/d"]), .timeLimit(.minutes(30)))
struct UnlinkLimitTests: WorldSuite {
    /// Binds a person of Google to the account of a session.
    private func bind(_ person: String, bearer: String, replacing: Bool = false) async throws -> Answer {
        let ticket = try await world.signIn(person, with: .google).linkTicket()
        let members: TokenMint.Members = ["linkTicket": .string(ticket)]
        return try await service.post(
            "/v1/links/bind", members.with("onConflict", replacing ? "replace" : nil), bearer: bearer)
    }

    @Test func `a session that binds and unlinks in a loop is stopped, on the page too`() async throws {
        try await world.newPerson("looper")
        let (browser, page, bearer) = try await AccountHolder.signedIn("looper")
        func bindAndUnlink() async throws -> RawAnswer {
            let identity = try await bind("looper", bearer: bearer).identityID()
            return try await service.delete("/v1/account/identities/\(identity)", bearer: bearer)
        }
        #expect(try await bindAndUnlink().status == 202)
        let refused = try await bindAndUnlink().expecting(429)
        #expect(refused.code == "rate_limited")
        #expect(refused["Retry-After"].flatMap(Int.init).map { (1...86_400).contains($0) } == true)

        let account = try await browser.open(page.url)
        let asked = try await browser.submit("/web/account/unlink", on: account)
        let shown = try await browser.submit("/web/account/unlink", on: asked).expecting(429)
        #expect(shown.answer["Retry-After"] != nil)
        #expect(shown.html.source.contains(#"role="alert""#))
        // It is the page of the account, where the identity still is.
        #expect(shown.html.forms.contains { $0.path == "/web/account/unlink" })

        // An allowance of its own: one identity may still be replaced.
        for (person, status) in [("looper-2", 200), ("looper-3", 429)] {
            try await world.newPerson(person)
            let answer = try await bind(person, bearer: bearer, replacing: true)
            #expect(answer.status == status, "\(answer.text)")
        }
    }
}
