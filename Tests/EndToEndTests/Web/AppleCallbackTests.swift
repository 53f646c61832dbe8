import JSON
import TestSupport
import Testing

/// What Apple's page posts to us, and what others could. One after another: the sessions of the world are counted.
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

    private func pending(_ person: String) async throws -> Pending {
        try await world.newPerson(person)
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

    @Test(.webWorld(["apple.keyId": "WRONGKEY01", "apple.redirectUris": "https://app.example.com/apple"]))
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

        // Nor does a code that comes alone bring anything; one of an address that is not listed is not sent.
        let code = try await world.authorize("keyless").codeAlone.with("clientId", .string(Countersign.appleClient))
        for (uri, status) in [("https://app.example.com/apple", 503), ("https://app.example.com/other", 400)] {
            let alone = try await service.signIn(.apple, code.with("redirectUri", .string(uri)))
            #expect(alone.status == status && !alone.text.contains("WRONGKEY01"), "\(alone.text)")
        }
        let rejected = try await service.metric(
            "countersign_code_exchanges_total", #"provider="apple""#, #"outcome="client_rejected""#)
        #expect(rejected == 2)
    }
}
