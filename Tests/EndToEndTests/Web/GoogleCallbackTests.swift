import JSON
import TestSupport
import Testing

/// Where Google redirects to, and what somebody else could send there. One after another: an alteration of the sandbox meets
/// the next authorization.
@Suite(.limitedConcurrency, .webWorld, .serialized, .timeLimit(.minutes(5))) struct GoogleCallbackTests {
    var world: World { .current }

    static let callback = "/web/callback/google"

    /// A sign-in up to the address that Google redirects to, which has not been opened yet.
    private struct Pending: Sendable {
        let attempt: AppAttempt
        let browser: Browser
        /// Google's answer, a redirect.
        let page: Browser.Page
        let target: String

        func with(_ changes: [String: String?], repeating name: String? = nil) -> String {
            let fields = FormEncoding.parameters(of: target)
            let kept = fields.compactMap { field -> (name: String, value: String)? in
                guard let change = changes[field.name] else { return field }
                return change.map { (name: field.name, value: $0) }
            }
            let added = changes.filter { change in !fields.contains { $0.name == change.key } }
            let all = kept + added.compactMap { name, value in value.map { (name: name, value: $0) } }
            let twice = all.filter { $0.name == name }
            return WebWorld.googleCallback + "?" + FormEncoding.encode(all + twice)
        }
    }

    private func pending(_ person: String, _ changes: String? = nil) async throws -> Pending {
        try await world.newPerson(person)
        if let changes {
            try await world.sandbox.control(
                "faults", #"{"path":"/google/o/oauth2/v2/auth","effect":"altered","times":1,\#(changes)}"#)
        }
        let attempt = try AppAttempt()
        let browser = world.browser()
        let chooser = try await world.chooser(attempt, browser)
        let shown = try await world.press(.google, on: chooser, browser)
        let page = try await world.consent(person, at: shown, browser, following: false)
        return Pending(
            attempt: attempt, browser: browser, page: page, target: try #require(page.answer["Location"]))
    }

    @Test func `what Google is asked is what it documents, with PKCE`() async throws {
        let browser = world.browser()
        let chooser = try await world.chooser(
            try AppAttempt(), browser, ["login_hint": "kim@example.com", "ui_locales": "de"])
        let start = try await browser.submit(
            try chooser.form("/web/start/google"), on: chooser, following: false)
        let url = try #require(start.answer["Location"])
        #expect(url.hasPrefix(world.sandbox.url + "/google/o/oauth2/v2/auth?"))
        let asked = Dictionary(uniqueKeysWithValues: FormEncoding.parameters(of: url).map { ($0.name, $0.value) })
        #expect(asked["client_id"] == Countersign.googleClient)
        #expect(asked["redirect_uri"] == WebWorld.googleCallback)
        #expect(asked["response_type"] == "code")
        #expect(asked["scope"] == "openid email profile")
        #expect(asked["code_challenge_method"] == "S256")
        #expect(asked["code_challenge"]?.utf8.count == 43)
        #expect(asked["prompt"] == "select_account")
        #expect(asked["login_hint"] == "kim@example.com")
        #expect(asked["include_granted_scopes"] == nil)
        // Of what the app sent nothing else reaches a provider.
        for name in ["app", "code_verifier", "ui_locales"] { #expect(asked[name] == nil) }
    }

    @Test func `the code is exchanged with the verifier and the address of the request`() async throws {
        let pending = try await self.pending("exchanged")
        #expect(try AppAnswer(try await pending.browser.follow(pending.page))["code"] != nil)
        let code = try #require(FormEncoding.parameters(of: pending.target).first { $0.name == "code" }?.value)
        let calls = try await world.sandbox.history(path: "/google/token").filter {
            $0.field("code") == Sandbox.fingerprint(code)
        }
        #expect(calls.map(\.status) == [200])
        #expect(calls.first?.field("redirect_uri") == WebWorld.googleCallback)
        #expect(calls.first?.field("code_verifier") != nil)
    }

    @Test(arguments: [
        #""parameters":{"iss":"https://evil.example"}"#, #""parameters":{"iss":"https://accounts.google.com/"}"#,
        #""withoutParameters":["code"]"#, #""exchange":{"token":{"claims":{"nonce":"other"}}}"#,
        #""exchange":{"token":{"withoutClaims":["nonce"]}}"#, #""exchange":{"token":{"claims":{"aud":"other"}}}"#,
        #""exchange":{"token":{"signature":"forged"}}"#,
        #""exchange":{"token":{"claims":{"iss":"https://evil.example"}}}"#,
        #""parameters":{"code":"4/0Aforeign"}"#,
    ])
    func `an answer with anything wrong in it ends the flow, and says nothing of it`(_ changes: String) async throws {
        let sessions = try await world.sessionCount()
        let pending = try await self.pending("wrong", changes)
        let back = try AppAnswer(try await pending.browser.follow(pending.page))
        #expect(back["error"] == "server_error", "\(back.uri)")
        #expect(Set(back.parameters.map(\.name)) == ["error", "state", "iss"])
        #expect(try await world.sessionCount() == sessions)
        let late = try await pending.browser.follow(pending.page)
        #expect(late.status == 400)
    }

    @Test(arguments: [#""exchange":{"omitIdToken":true}"#, #""exchange":{"withoutAnswer":["id_token"]}"#])
    func `an exchange that brings no ID token signs nobody in`(_ changes: String) async throws {
        let pending = try await self.pending("tokenless", changes)
        let back = try AppAnswer(try await pending.browser.follow(pending.page))
        #expect(["server_error", "temporarily_unavailable"].contains(back["error"]), "\(back.uri)")
        #expect(back["code"] == nil)
    }

    @Test func `while Google's token endpoint is out the app hears that it may try again`() async throws {
        let pending = try await self.pending("outage")
        try await world.sandbox.fail("/google/token", .status(503))
        let back = try AppAnswer(try await pending.browser.follow(pending.page))
        try await world.sandbox.clearFaults()
        #expect(back["error"] == "temporarily_unavailable")
        #expect(back["state"] == pending.attempt.state)
    }

    @Test func `an answer without an issuer is taken unless that is required`() async throws {
        let pending = try await self.pending("issuerless", #""withoutParameters":["iss"]"#)
        #expect(try AppAnswer(try await pending.browser.follow(pending.page))["code"] != nil)
        try await WebWorld.run(["web.google.requireIss": "true"]) { world in
            for (changes, expected) in [(#""withoutParameters":["iss"]"#, false), (nil, true)] {
                if let changes {
                    try await world.sandbox.control(
                        "faults", #"{"path":"/google/o/oauth2/v2/auth","effect":"altered","times":1,\#(changes)}"#)
                }
                try await world.newPerson("issued")
                let back = try await world.answer(to: try AppAttempt(), "issued", with: .google)
                #expect((back["code"] != nil) == expected, "\(back.uri)")
            }
        }
    }

    @Test func `an error of Google's is one of ours to the app, and its text goes nowhere`() async throws {
        let pending = try await self.pending(
            "refused",
            #""parameters":{"error":"admin_policy_enforced","error_description":"echo-of-evil"},"#
                + #""withoutParameters":["code","scope"]"#)
        let back = try AppAnswer(try await pending.browser.follow(pending.page))
        #expect(back["error"] == "server_error")
        #expect(!back.uri.contains("evil"))
    }

    @Test func `a state that is missing, empty, repeated or Apple's is refused, and a repeated code too`() async throws
    {
        let pending = try await self.pending("stateless")
        let other = try await world.chooser(try AppAttempt(), pending.browser)
        let start = try await pending.browser.submit(
            try other.form("/web/start/apple"), on: other, following: false)
        let apple = FormEncoding.parameters(of: try #require(start.answer["Location"])).first { $0.name == "state" }
        for target in [
            pending.with(["state": nil]), pending.with(["state": ""]), pending.with([:], repeating: "state"),
            pending.with(["state": try #require(apple?.value)]), pending.with([:], repeating: "code"),
            WebWorld.googleCallback,
        ] {
            let refused = try await pending.browser.click(target, on: pending.page, following: false)
            #expect(refused.status == 400, "\(target)")
            #expect(refused.answer["Location"] == nil)
        }
    }

    @Test(arguments: [true, false])
    func `Google's answer is good in no other browser, and no code is exchanged there`(_ hasCookie: Bool) async throws {
        let pending = try await self.pending("fixed-\(hasCookie)")
        let other = world.browser()
        if hasCookie { _ = try await world.chooser(try AppAttempt(), other) }
        let before = try await world.sandbox.history(path: "/google/token").count
        let stolen = try await other.open(pending.target)
        #expect(stolen.status == 400)
        #expect(stolen.locations == [])
        #expect(try await world.sandbox.history(path: "/google/token").count == before)
    }

    @Test(.webWorld(["google.hostedDomains": "lamp.example"]))
    func `only people of the hosted domains get in where some are configured`() async throws {
        try await world.openGoogleAccount("inside", email: "in@lamp.example", workspace: "lamp.example")
        try await world.openGoogleAccount("outside", email: "out@other.example", workspace: "other.example")
        try await world.openGoogleAccount("private", email: "private@example.com")
        for (person, isIn) in [("inside", true), ("outside", false), ("private", false)] {
            let back = try await world.answer(to: try AppAttempt(), person, with: .google)
            #expect((back["code"] != nil) == isIn, "\(person): \(back.uri)")
            #expect((back["error"] == nil) == isIn, "\(person)")
        }
    }
}
