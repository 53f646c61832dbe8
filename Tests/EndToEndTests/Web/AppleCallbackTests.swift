import JSON
import TestSupport
import Testing

/// What Apple's page posts to us, and what somebody else could. One after another: an alteration of the sandbox meets the next
/// authorization.
@Suite(.limitedConcurrency, .webWorld, .serialized, .timeLimit(.minutes(5))) struct AppleCallbackTests {
    var world: World { .current }

    static let callback = "/web/callback/apple"
    static let finish = "/web/callback/apple/finish"

    /// A sign-in up to Apple's form, which has not been sent yet.
    private struct Pending: Sendable {
        let attempt: AppAttempt
        let browser: Browser
        let page: Browser.Page
        let form: HTML.Form

        func send(_ fields: [(name: String, value: String)], in browser: Browser? = nil) async throws -> Browser.Page {
            try await (browser ?? self.browser).send(
                fields, to: WebWorld.appleCallback, on: page, following: false)
        }

        func fields(_ changes: [String: String?]) -> [(name: String, value: String)] {
            let kept = form.fields.compactMap { field -> (name: String, value: String)? in
                guard let change = changes[field.name] else { return field }
                return change.map { (name: field.name, value: $0) }
            }
            let added = changes.filter { change in !form.fields.contains { $0.name == change.key } }
            return kept + added.compactMap { name, value in value.map { (name: name, value: $0) } }
        }

        var code: String { form.input("code")?.value ?? "" }
    }

    private func pending(_ person: String, _ changes: String? = nil) async throws -> Pending {
        try await world.newPerson(person)
        if let changes {
            try await world.sandbox.control(
                "faults", #"{"path":"/apple/auth/authorize","effect":"altered","times":1,\#(changes)}"#)
        }
        let attempt = try AppAttempt()
        let browser = world.browser()
        let chooser = try await world.chooser(attempt, browser)
        let shown = try await world.press(.apple, on: chooser, browser)
        let page = try await world.consent(person, at: shown, browser)
        return Pending(
            attempt: attempt, browser: browser, page: page, form: try #require(page.html.forms.first))
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

    @Test func `what Apple is asked is what it documents`() async throws {
        let browser = world.browser()
        let chooser = try await world.chooser(try AppAttempt(), browser)
        let start = try await browser.submit(
            try chooser.form("/web/start/apple"), on: chooser, following: false)
        #expect(start.status == 303)
        let url = try #require(start.answer["Location"])
        #expect(url.hasPrefix(world.sandbox.url + "/apple/auth/authorize?"))
        #expect(url.contains("scope=name%20email"))
        #expect(!url.contains("+"))
        let asked = Dictionary(uniqueKeysWithValues: FormEncoding.parameters(of: url).map { ($0.name, $0.value) })
        #expect(
            Set(asked.keys) == [
                "client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce",
            ])
        #expect(asked["client_id"] == WebWorld.servicesID)
        #expect(asked["redirect_uri"] == WebWorld.appleCallback)
        #expect(asked["response_type"] == "code id_token")
        #expect(asked["response_mode"] == "form_post")
        for name in ["state", "nonce"] {
            #expect(asked[name]?.wholeMatch(of: /[A-Za-z0-9_-]{43,}|[0-9a-f]{64}/) != nil, "\(name)")
        }
    }

    @Test func `the code is exchanged as it was asked for, with a secret of the Services ID`() async throws {
        let pending = try await self.pending("exchanged")
        let done = try await pending.browser.submit(pending.form, on: pending.page)
        #expect(try AppAnswer(done)["code"] != nil)
        let calls = try await world.sandbox.history(path: "/apple/auth/token").filter {
            $0.field("code") == Sandbox.fingerprint(pending.code)
        }
        let call = try #require(calls.first)
        #expect(calls.count == 1)
        // The sandbox checks the secret as Apple does: issuer, subject and signature.
        #expect(call.status == 200)
        #expect(call.field("client_id") == WebWorld.servicesID)
        #expect(call.field("redirect_uri") == WebWorld.appleCallback)
        #expect(call.field("code_verifier") == nil)
    }

    @Test func `a second post of Apple's is refused, whatever is in it`() async throws {
        let pending = try await self.pending("second")
        let first = try await pending.send(pending.form.fields)
        #expect(first.status == 303)
        for fields in [pending.form.fields, pending.fields(["code": "another"])] {
            let second = try await pending.send(fields)
            #expect(second.status == 400)
            #expect(second.answer["Location"] == nil)
        }
        let back = try AppAnswer(try await pending.browser.follow(first))
        #expect(back["code"] != nil)
    }

    @Test(arguments: [true, false])
    func `the answer is good in no other browser, and then in none`(_ hasCookie: Bool) async throws {
        let sessions = try await world.sessionCount()
        let pending = try await self.pending("fixed-\(hasCookie)")
        let held = try await pending.send(pending.form.fields)
        let finish = Browser.resolve(try #require(held.answer["Location"]), on: held.url)
        let other = world.browser()
        if hasCookie { _ = try await world.chooser(try AppAttempt(), other) }
        let stolen = try await other.open(finish)
        #expect(stolen.status == 400)
        #expect(stolen.locations == [])
        #expect(stolen.handedOver == nil)
        let late = try await pending.browser.follow(held)
        #expect(late.status == 400)
        #expect(try await exchanges(of: pending.code) == 0)
        #expect(try await world.sessionCount() == sessions)
    }

    @Test func `a state that is missing, empty, repeated, unknown or Google's is refused`() async throws {
        let pending = try await self.pending("stateless")
        let google = try await world.chooser(try AppAttempt(), pending.browser)
        let start = try await pending.browser.submit(
            try google.form("/web/start/google"), on: google, following: false)
        let location = try #require(start.answer["Location"])
        let state = try #require(FormEncoding.parameters(of: location).first { $0.name == "state" }?.value)
        let wrong: [[(name: String, value: String)]] = [
            pending.fields(["state": nil]), pending.fields(["state": ""]), pending.fields(["state": "a"]),
            pending.form.fields + [("state", pending.form.input("state")?.value ?? "")],
            pending.fields(["state": state]),
        ]
        for fields in wrong {
            let refused = try await pending.send(fields)
            #expect(refused.status == 400, "\(fields.map(\.name))")
            #expect(refused.answer["Location"] == nil)
            #expect(refused.answer.values("Set-Cookie") == [])
        }
        // Nothing of it has touched the flow.
        let held = try await pending.send(pending.form.fields)
        #expect(held.status == 303)
    }

    @Test func `a post that is no form, is too large or repeats a name is refused, and other names are ignored`()
        async throws
    {
        let pending = try await self.pending("formless")
        let twice = try await pending.send(pending.form.fields + [("code", "b")])
        #expect(twice.status == 400)
        let large = try await pending.send(pending.fields(["user": String(repeating: "a", count: 70_000)]))
        #expect(large.status == 413 || large.status == 400)
        let typed = try await pending.browser.send(
            pending.form.fields, to: WebWorld.appleCallback, on: pending.page, following: false,
            headers: [("Content-Type", "text/plain")])
        #expect(typed.status == 415 || typed.status == 400)
        let get = try await pending.browser.open(
            WebWorld.appleCallback + "?" + FormEncoding.encode(pending.form.fields), following: false)
        #expect(get.status == 405)
        let more = try await pending.send(pending.form.fields + [("real_user_status", "2")])
        #expect(more.status == 303)
    }

    @Test func `the address that comes with Apple's first answer is not believed, the name is`() async throws {
        let pending = try await self.pending("named")
        let user = #"{"name":{"firstName":"Kay","lastName":"Lee"},"email":"victim@example.com"}"#
        let done = try await pending.browser.follow(try await pending.send(pending.fields(["user": user])))
        let back = try AppAnswer(done)
        let question = try Question(try await world.exchange(try #require(back["code"]), pending.attempt))
        #expect(question.email == "named@example.com")
        let created = try await world.create(for: question)
        #expect(try created.text("account.displayName") == "Kay Lee")
        #expect(!created.text.contains("victim"))
    }

    @Test(arguments: [
        #""token":{"claims":{"nonce":"other"}}"#, #""token":{"withoutClaims":["nonce"]}"#,
        #""token":{"claims":{"aud":"com.other.app"}}"#, #""token":{"claims":{"aud":"com.example.lamp"}}"#,
        #""token":{"signature":"forged"}"#, #""token":{"expired":true}"#,
        #""token":{"claims":{"iss":"https://evil.example"}}"#,
        #""token":{"claims":{"c_hash":"AAAAAAAAAAAAAAAAAAAAAA"}}"#,
        #""exchange":{"token":{"claims":{"sub":"001234.other.0001"}}}"#,
        #""exchange":{"token":{"claims":{"nonce":"other"}}}"#,
        #""exchange":{"token":{"claims":{"aud":"com.other.app"}}}"#,
        #""withoutParameters":["code","id_token"]"#,
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

    @Test func `a good token suffices while the token endpoint is out, and a good code without a token`() async throws {
        try await world.sandbox.fail("/apple/auth/token", .status(503))
        let without = try await self.pending("outage")
        let byToken = try AppAnswer(try await without.browser.submit(without.form, on: without.page))
        try await world.sandbox.clearFaults()
        #expect(
            try Question(try await world.exchange(try #require(byToken["code"]), without.attempt)).email
                == "outage@example.com")
        let codeAlone = try await self.pending("tokenless", #""withoutParameters":["id_token"]"#)
        let byCode = try AppAnswer(try await codeAlone.browser.submit(codeAlone.form, on: codeAlone.page))
        #expect(try await world.exchange(try #require(byCode["code"]), codeAlone.attempt).status == 200)
    }

    @Test(arguments: ["invalid_grant", "invalid_request", "invalid_client"])
    func `a good token suffices beside a code that Apple refuses, and when Apple refuses our secret`(
        error: String
    ) async throws {
        let name = "refused-\(error)"
        let pending = try await self.pending(name)
        try await world.sandbox.fail(
            "/apple/auth/token",
            .status(400, body: #"{"error":"\#(error)"}"#, headers: [("Content-Type", "application/json")]), times: 1)
        let back = try AppAnswer(try await pending.browser.submit(pending.form, on: pending.page))
        #expect(try await self.exchanges(of: pending.code) == 1)
        let question = try Question(
            try await world.exchange(try #require(back["code"], "\(back.uri)"), pending.attempt))
        #expect(question.email == "\(name)@example.com")
        let created = try await world.create(for: question)
        #expect(try created.text("identity.authorization") == "none")
    }

    @Test(.webWorld(["apple.keyId": "WRONGKEY01"]))
    func `with a key that Apple refuses people sign in by their tokens, and the log has an error with the key`()
        async throws
    {
        let pending = try await self.pending("keyless")
        let back = try AppAnswer(try await pending.browser.submit(pending.form, on: pending.page))
        let answer = try await world.exchange(try #require(back["code"], "\(back.uri)"), pending.attempt)
        #expect(try Question(answer).email == "keyless@example.com")
        let lines = try world.service.logLines().filter {
            $0["message"]?.string?.hasPrefix("client credentials refused") == true
        }
        #expect(lines.map { $0["level"]?.string } == ["error"])
        #expect(lines.first?["key"]?.string == "WRONGKEY01")
        #expect(lines.first?["redirectUri"]?.string == WebWorld.appleCallback)
        // Without a token there is nothing that suffices.
        let codeAlone = try await self.pending("codeless", #""withoutParameters":["id_token"]"#)
        let refused = try AppAnswer(try await codeAlone.browser.submit(codeAlone.form, on: codeAlone.page))
        #expect(refused["error"] == "temporarily_unavailable")
    }

    @Test func `an error of Apple's is one of ours to the app, and its text goes nowhere`() async throws {
        for (error, expected) in [
            ("invalid_request", "server_error"), ("<script>alert(1)</script>", "server_error"),
        ] {
            let pending = try await self.pending("refused")
            let state = try #require(pending.form.input("state")?.value)
            let held = try await pending.send([
                ("state", state), ("error", error), ("error_description", "echo-of-evil"),
            ])
            #expect(held.status == 303)
            let back = try AppAnswer(try await pending.browser.follow(held))
            #expect(back["error"] == expected)
            #expect(!back.uri.contains("evil") && !back.uri.contains("script"))
        }
    }
}
