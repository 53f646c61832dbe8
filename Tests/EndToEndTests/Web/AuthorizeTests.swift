import JSON
import Postgres
import TestSupport
import Testing

/// The request that opens a flow: where it may lead, and what it must have. One after another: some count the flows.
@Suite(.limitedConcurrency, .webWorld, .serialized, .timeLimit(.minutes(30))) struct AuthorizeTests: WorldSuite {
    /// The tricks by which other servers were made to redirect elsewhere.
    private static var tricks: [String] {
        get throws {
            let addresses = [WebWorld.appLink, WebWorld.loopback, WebWorld.privateScheme]
            return try addresses.flatMap(spellings) + Fixtures.file("redirect-tricks.json").decoded(as: [String].self)
        }
    }

    private static func spellings(_ uri: String) -> [String] {
        let origin = Browser.origin(of: uri)
        let rest = String(uri.dropFirst(origin.count))
        let endings = [
            "/", "/..", "/..%2F..%2Fevil", "%2F", "%252F..", "?a=b", "#a", "%00", "\t", " ", "\u{301}", "\\", ";a=b",
            "/..;/evil",
        ]
        let hosts = [".evil.example", "@evil.example", "\\@evil.example", "%2eevil.example"]
        let whole = [String(uri.dropLast()), uri.uppercased(), " \(uri)", "\(origin.uppercased())\(rest)"]
        return endings.map { "\(uri)\($0)" } + hosts.map { "\(origin)\($0)\(rest)" } + whole
    }

    @Test func `no other spelling of a registered address is redirected to`() async throws {
        let flows = try await world.count("SELECT count(*) FROM web_flows")
        let browser = world.browser()
        let tricks = try Self.tricks
        for uri in tricks {
            for provider in [nil, "google"] as [String?] {
                let url = try AppAttempt(redirectURI: uri).url(["provider": provider])
                let page = try await browser.open(url, following: false)
                #expect(page.status == 400, "\(uri)")
                #expect(page.answer["Location"] == nil && page.answer["Set-Cookie"] == nil, "\(uri)")
                #expect(page.answer["Content-Type"]?.hasPrefix("text/html") == true)
                #expect(page.html.refresh == nil)
                // Nothing of it is on the page: neither to click nor to read.
                #expect(!page.answer.body.contains("evil.example"), "\(uri)")
            }
        }
        #expect(tricks.count > 100)
        #expect(try await world.count("SELECT count(*) FROM web_flows") == flows)
    }

    @Test func `no app is handed an answer at the address of another one`() async throws {
        let page = try await world.browser().open(
            try AppAttempt(app: "other", redirectURI: WebWorld.appLink).url(), following: false)
        #expect(page.status == 400)
        #expect(page.answer["Location"] == nil)
    }

    @Test func `a state comes back as it was, and a bad one comes back not at all`() async throws {
        let printable = String(decoding: Array(0x21...0x7E as ClosedRange<UInt8>), as: UTF8.self)
        let good = [printable, String(repeating: "a", count: 16), String(repeating: "%+", count: 256)]
        for state in good {
            let browser = world.browser()
            let page = try await world.chooser(try AppAttempt(), browser, ["state": state])
            let back = try AppAnswer(try await browser.submit("/web/cancel", on: page))
            #expect(back["state"] == state)
            #expect(!back.uri.contains("+"))
            #expect(!page.answer.body.contains(state))
        }
        let bad: [String?] = [
            nil, "", String(repeating: "a", count: 15), String(repeating: "a", count: 513), "with a space inside it",
            String(repeating: "\u{e9}", count: 20),
        ]
        for state in bad {
            let page = try await world.browser().open(try AppAttempt().url(["state": state]))
            let back = try AppAnswer(page)
            #expect(back["error"] == "invalid_request", "\(String(describing: state))")
            #expect(back["state"] == nil)
            let line = try await service.logged(try #require(page.answer["X-Request-Id"]))
            #expect(line["code"]?.string == "invalid_request" && line["reason"]?.string == "state")
        }
        for control in ["\r\nX-Injected: 1", "\u{0}", "\u{1f}", "\u{7f}"] {
            let page = try await world.browser().open(try AppAttempt().url(["state": control + "and sixteen more"]))
            let back = try AppAnswer(page)
            #expect(back["error"] == "invalid_request" && back["state"] == nil, "\(back.uri)")
            #expect(page.answer["X-Injected"] == nil)
        }
    }

    @Test(arguments: ["%0A", "%00", "%FF", "%C3", "%", "%4", "%zz"])
    func `a value that can't be read is the app's to hear of, but for its own name and address`(
        value: String
    ) async throws {
        for name in ["state", "provider", "login_hint", "ui_locales", "code_challenge", "unknown"] {
            let attempt = try AppAttempt()
            let page = try await world.browser().open(attempt.url([name: nil]) + "&\(name)=0123456789abc\(value)")
            let back = try AppAnswer(page)
            #expect(back.address == WebWorld.appLink && back["error"] == "invalid_request", "\(name): \(back.uri)")
            #expect(back["iss"] == WebWorld.publicURL, "\(name)")
            #expect(back["state"] == (name == "state" ? nil : attempt.state), "\(name): \(back.uri)")
        }
        let attempt = try AppAttempt()
        for pair in ["app=\(value)", "redirect_uri=\(value)", "x\(value)=a"] {
            for url in [attempt.url() + "&\(pair)", attempt.url([String(pair.prefix { $0 != "=" }): nil]) + "&\(pair)"]
            {
                let page = try await world.browser().open(url, following: false)
                #expect(page.status == 400 && page.answer["Location"] == nil, "\(url)")
            }
        }
    }

    @Test func `a parameter that comes twice is refused, also one that is not known`() async throws {
        let flows = try await world.count("SELECT count(*) FROM web_flows")
        for name in ["login_hint", "utm_source", "%75tm_source"] {
            let attempt = try AppAttempt()
            let page = try await world.browser().open(attempt.url() + "&utm_source=a&login_hint=a&\(name)=b")
            let back = try AppAnswer(page)
            #expect(back["error"] == "invalid_request", "\(name)")
            #expect(back["state"] == attempt.state, "\(name)")
        }
        #expect(try await world.count("SELECT count(*) FROM web_flows") == flows)
        // Without a value it is not there.
        let page = try await world.browser().open(try AppAttempt().url() + "&utm_source=a&utm_source=&utm_source")
        #expect(page.html.forms.contains { $0.path == "/web/cancel" }, "\(page.answer.body)")
    }

    @Test func `script in any parameter is not on the page`() async throws {
        let markup = "\"><script>alert(1)</script>"
        for name in [
            "app", "redirect_uri", "state", "provider", "login_hint", "ui_locales", "code_challenge", "unknown",
        ] {
            let page = try await world.browser().open(try AppAttempt().url([name: markup]))
            #expect(!page.answer.body.contains("<script"), "\(name)")
            #expect(!page.locations.joined().contains("<"), "\(name)")
        }
    }

    @Test func `a service without apps has no page`() async throws {
        try await World.run(["web.apps": Countersign.unset, "web.app.lamp.redirectUris": Countersign.unset]) { world in
            for path in [
                "/web/authorize", "/web/sign-in", "/web/account", "/web/callback/google", "/web/callback/apple/finish",
            ] { #expect(try await world.service.get(path).status == 404, "\(path)") }
            let exchange = try await world.service.post(
                "/v1/sign-in/web", ["code": "a", "codeVerifier": "b", "redirectUri": "c"])
            #expect(exchange.status == 404)
        }
    }

    @Test func `a service of clients alone has the pages, and a code that no app has is refused`() async throws {
        let apps = ["web.apps": Countersign.unset, "web.app.lamp.redirectUris": Countersign.unset]
        try await World.run(apps.merging(["oauth.enabled": "true"]) { $1 }) { world in
            #expect(try await world.service.get("/web/authorize").status == 400)
            let exchange = try await world.service.post(
                "/v1/sign-in/web", ["code": "a", "codeVerifier": "b", "redirectUri": "c"])
            #expect(exchange.status == 401 && exchange.code == "invalid_token")
        }
    }

    @Test func `without a Services ID there is no button of Apple's`() async throws {
        try await WebWorld.run(["apple.servicesId": Countersign.unset]) { world in
            let (_, browser, page) = try await world.begin()
            #expect(page.isChooser)
            #expect(!page.html.forms.contains { $0.path == "/web/start/apple" })
            let back = try AppAnswer(try await browser.open(try AppAttempt().url(["provider": "apple"])))
            #expect(back["error"] == "invalid_request")
        }
    }
}
