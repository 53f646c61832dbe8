import JSON
import TestSupport
import Testing

/// What Apple's page posts to us, and what somebody else could. One after another: an alteration of the sandbox meets the next
/// authorization.
@Suite(.limitedConcurrency, .webWorld, .serialized, .timeLimit(.minutes(30))) struct AppleCallbackTests: WorldSuite {
    static let callback = "/web/callback/apple"
    static let finish = "/web/callback/apple/finish"

    /// A sign-in up to Apple's form, which has not been sent yet.
    private struct Pending: Sendable {
        let attempt: AppAttempt
        let browser: Browser
        let page: Browser.Page
        let form: HTML.Form

        func send(_ fields: [(name: String, value: String)]) async throws -> Browser.Page {
            try await browser.send(fields, to: WebWorld.appleCallback, on: page, following: false)
        }

        func fields(_ changes: [String: String?]) -> [(name: String, value: String)] { form.fields.with(changes) }

        var code: String { form.input("code")?.value ?? "" }
    }

    private func pending(_ person: String, _ changes: String? = nil) async throws -> Pending {
        try await world.newPerson(person)
        if let changes {
            try await world.sandbox.control(
                "faults", #"{"path":"/apple/auth/authorize","effect":"altered","times":1,\#(changes)}"#)
        }
        let (attempt, browser, chooser) = try await world.begin()
        let shown = try await world.press(.apple, on: chooser, browser)
        let page = try await world.consent(person, at: shown, browser)
        return Pending(attempt: attempt, browser: browser, page: page, form: try #require(page.html.forms.first))
    }

    /// How often a code came to Apple's token endpoint.
    private func exchanges(of code: String) async throws -> Int {
        try await world.exchanges(.apple)[Sandbox.fingerprint(code)] ?? 0
    }

    @Test func `Apple's post comes without a cookie and the GET after it with one`() async throws {
        let pending = try await self.pending("lax")
        let done = try await pending.browser.submit(pending.form, on: pending.page)
        #expect(done.hops.map(\.method) == ["POST", "GET"])
        #expect(done.hops.map(\.path) == [Self.callback, Self.finish])
        let (post, get) = (done.hops[0], done.hops[1])
        #expect(post.answer.status == 303)
        #expect(!post.hasCookies)
        #expect(post.answer.values("Set-Cookie") == [])
        #expect(get.answer.status == 303)
        #expect(get.request.contains("__Host-csn_browser="))
        #expect(
            get.url.wholeMatch(of: /https:\/\/auth\.example\.com\/web\/callback\/apple\/finish\?h=[A-Za-z0-9_-]{43}/)
                != nil)
        #expect(try AppAnswer(done)["state"] == pending.attempt.state)
    }

    @Test(arguments: [true, false])
    func `the answer is good in no other browser, and then in none`(_ hasCookie: Bool) async throws {
        let sessions = try await world.sessionCount()
        let pending = try await self.pending("fixed-\(hasCookie)")
        let held = try await pending.send(pending.form.fields)
        let finish = Browser.resolve(try held.location(), on: held.url)
        let other = world.browser()
        if hasCookie { _ = try await world.chooser(try AppAttempt(), other) }
        let stolen = try await other.open(finish).expecting(400)
        #expect(stolen.locations == [])
        #expect(stolen.handedOver == nil)
        try await pending.browser.follow(held).expecting(400)
        #expect(try await exchanges(of: pending.code) == 0)
        #expect(try await world.sessionCount() == sessions)
    }

    @Test func `a post that is no form, is too large or repeats a name is refused, and other names are ignored`()
        async throws
    {
        let pending = try await self.pending("formless")
        try await pending.send(pending.form.fields + [("code", "b")]).expecting(400)
        let large = try await pending.send(pending.fields(["user": String(repeating: "a", count: 70_000)]))
        #expect(large.status == 413 && large.html.title.hasPrefix("This link doesn’t work"))
        let typed = try await pending.browser.send(
            pending.form.fields, to: WebWorld.appleCallback, on: pending.page, following: false,
            headers: [("Content-Type", "text/plain")])
        #expect(typed.status == 400 && typed.html.title.hasPrefix("The sign-in couldn’t be confirmed"))
        let get = try await pending.browser.open(
            WebWorld.appleCallback + "?" + FormEncoding.encode(pending.form.fields), following: false)
        #expect(get.status == 405)
        let more = try await pending.send(
            pending.fields(["user": String(repeating: "a", count: 9_000)]) + [("real_user_status", "2")])
        #expect(more.status == 303)
    }

    @Test(arguments: [
        #""token":{"claims":{"nonce":"other"}}"#, #""exchange":{"token":{"claims":{"sub":"001234.other.0001"}}}"#,
    ])
    func `an answer with anything wrong in its tokens ends the flow, and says nothing of it`(
        _ changes: String
    ) async throws {
        let sessions = try await world.sessionCount()
        let pending = try await self.pending(
            "wrong-\(changes.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFFFF })", changes)
        let done = try await pending.browser.submit(pending.form, on: pending.page)
        let back = try AppAnswer(done)
        #expect(back["error"] == "server_error", "\(back.uri)")
        #expect(back["state"] == pending.attempt.state)
        #expect(Set(back.parameters.map(\.name)) == ["error", "state", "iss"])
        #expect(try await world.sessionCount() == sessions)
    }

    @Test(.webWorld(["apple.keyId": "WRONGKEY01"]))
    func `with a key that Apple refuses people sign in by their tokens, and the log has an error with the key`()
        async throws
    {
        let pending = try await self.pending("keyless")
        let back = try AppAnswer(try await pending.browser.submit(pending.form, on: pending.page))
        let answer = try await world.exchange(try #require(back["code"], "\(back.uri)"), pending.attempt)
        #expect(try Question(answer).email == "keyless@example.com")
        let lines = try service.logLines().filter {
            $0["message"]?.string?.hasPrefix("client credentials refused") == true
        }
        #expect(lines.map { $0["level"]?.string } == ["error"])
        #expect(lines.first?["key"]?.string == "WRONGKEY01")
        #expect(lines.first?["redirectUri"]?.string == WebWorld.appleCallback)
    }
}
