import Accounts
import Curl
import HTTPServer
import Postgres
import TestSupport
import Testing

@testable import WebPages

/// The pages' header fields, cookies and forms, on a real port.
@Suite(.fixture(PageServer.self), .timeLimit(.minutes(5))) struct PageRouteTests {
    var server: PageServer { .current }

    private static let policy =
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"

    /// The header fields of a page, without those that change.
    private static func fields(_ page: PageBrowser.Page) -> [String: String] {
        let changing = ["date", "x-request-id", "content-length", "set-cookie", "location"]
        return Dictionary(
            page.response.headers.fields.map { ($0.name.lowercased(), $0.value) }.filter { !changing.contains($0.0) }
        ) { "\($0) and \($1)" }
    }

    private static func expected(_ changes: [String: String?]) -> [String: String] {
        var fields = [
            "content-type": "text/html; charset=utf-8", "cache-control": "no-store",
            "x-content-type-options": "nosniff",
            "content-security-policy": policy, "x-frame-options": "DENY", "referrer-policy": "no-referrer",
            "x-robots-tag": "none", "strict-transport-security": "max-age=31536000",
            "cross-origin-opener-policy": "same-origin",
        ]
        for (name, value) in changes { fields[name] = value }
        return fields
    }

    @Test func `every page and redirect has the header fields, and no other`() async throws {
        var browser = PageBrowser(server)
        let providers = " https://appleid.apple.com https://accounts.google.com"
        let opened = try await browser.get(PageServer.authorize())
        #expect(opened.status == 303)
        #expect(Self.fields(opened) == Self.expected(["content-type": nil]))
        let chooser = try await browser.follow(opened)
        #expect(chooser.status == 200)
        let target = ["content-security-policy": Self.policy + providers + " https:"]
        #expect(Self.fields(chooser) == Self.expected(target))
        let wrong = try await browser.submit(
            chooser, "/web/password", [("email", "kim@example.com"), ("password", "wrong")])
        #expect(wrong.status == 401)
        #expect(Self.fields(wrong) == Self.expected(target.merging(["www-authenticate": "Bearer"]) { $1 }))
        let failure = try await browser.get("/web/sign-in?flow=none")
        #expect(failure.status == 400)
        #expect(Self.fields(failure) == Self.expected(["cross-origin-opener-policy": nil]))
        let scheme = try await browser.chooser(PageServer.scheme)
        #expect(Self.fields(scheme)["content-security-policy"] == Self.policy + providers + " com.example.lamp:")
        // To Apple's page, from its form to ours, and to the app.
        let started = try await browser.submit(chooser, "/web/start/apple")
        let state = try #require(started.location?.firstMatch(of: /[?&]state=([\w-]{43})/)?.1)
        let held = try await browser.post(
            "/web/callback/apple", [("state", String(state)), ("error", "invalid_request")])
        for hop in [started, held] {
            #expect(hop.status == 303)
            #expect(Self.fields(hop) == Self.expected(["content-type": nil, "cross-origin-opener-policy": nil]))
        }
        let returned = try await browser.follow(held)
        #expect(returned.location?.hasPrefix("\(PageServer.link)?error=server_error") == true)
        #expect(Self.fields(returned) == Self.expected(["content-type": nil]))
    }

    @Test(.fixture { try await PageServer.run(publicURL: "http://127.0.0.1:8080", $0) })
    func `a page by http has no strict transport security`() async throws {
        var browser = PageBrowser(server)
        let page = try await browser.chooser()
        #expect(Self.fields(page)["strict-transport-security"] == nil)
    }

    @Test(.noFixture(PageServer.self)) func `an origin that a form may end at is listed once`() throws {
        let apple = "https://sandbox.example"
        let fields = PageHeaders(isSecure: true).fields(targets: [apple, apple, "com.example.lamp:", apple])
        let policy = try #require(fields.first { $0.name == "Content-Security-Policy" }).value
        #expect(policy == Self.policy + " https://sandbox.example com.example.lamp:")
    }

    @Test(.noFixture(PageServer.self))
    func `cookies have prefix and attributes by the public URL, and keep their value`() async throws {
        for (publicURL, name, secure) in [
            ("https://auth.example.com", "__Host-csn_browser", "; Secure"),
            ("http://127.0.0.1:8080", "csn_browser", ""),
        ] {
            try await PageServer.run(publicURL: publicURL) { server in
                var browser = PageBrowser(server)
                let first = try await browser.get(PageServer.authorize())
                let value = try #require(browser.cookies[name])
                #expect(value.utf8.count == 43)
                let field = "\(name)=\(value); Path=/; HttpOnly; SameSite=Lax\(secure); Max-Age=3600"
                #expect(first.response.headers.all("Set-Cookie") == [field])
                let second = try await browser.get(PageServer.authorize())
                #expect(second.response.headers.all("Set-Cookie") == [field])
                #expect(second.location != first.location)
                browser.cookies[name] = "forged"
                _ = try await browser.get(PageServer.authorize())
                #expect(browser.cookies[name] != "forged")
            }
        }
    }

    @Test func `a form of another site, flow, action or browser is refused, and nothing is done`() async throws {
        try await server.register()
        var browser = PageBrowser(server)
        let chooser = try await browser.chooser()
        let form = try chooser.form("/web/password")
        let typed = [("email", PageServer.person.email), ("password", PageServer.person.password)]
        let own = [("csrf", form.csrf)] + typed
        let other = try await browser.chooser()
        let tokens: [String] = [
            "", "a", String(form.csrf.dropLast()), form.csrf + "A", try other.form("/web/password").csrf,
            try chooser.form("/web/cancel").csrf,
        ]
        #expect(try await browser.post(form.target, typed).status == 403)
        for token in tokens {
            #expect(try await browser.post(form.target, [("csrf", token)] + typed).status == 403, "\(token)")
        }
        for site in ["cross-site", "same-site", "none", "evil"] {
            #expect(try await browser.post(form.target, own, [("Sec-Fetch-Site", site)]).status == 403, "\(site)")
        }
        var stranded = PageBrowser(server)
        #expect(try await stranded.post(form.target, own).status == 403)
        _ = try await stranded.chooser()
        #expect(try await stranded.post(form.target, own).status == 403)
        // The cookie by its name without the prefix is none.
        stranded.cookies = ["csn_browser": try #require(browser.cookies["__Host-csn_browser"])]
        #expect(try await stranded.post(form.target, own).status == 403)
        #expect(try await browser.post(form.target, own + [("role", "admin")]).status == 400)
        #expect(try await browser.post(form.target, own + [("email", "eve@example.com")]).status == 400)
        #expect(try await server.database.count("web_flows WHERE status <> 'new'") == 0)
        // `no-referrer` makes the origin of our own forms null. Older browsers send no Sec-Fetch-Site.
        let done = try await browser.post(form.target, own, [("Origin", "null")])
        #expect(done.status == 303, "\(done.text)")
        #expect(done.location?.hasPrefix("\(PageServer.link)?code=") == true)
    }

    @Test func `a browser without a cookie of ours finds no flow`() async throws {
        var browser = PageBrowser(server)
        let location = try #require(try await browser.get(PageServer.authorize()).location)
        let query = try #require(location.split(separator: "?").last)
        for path in ["/web/sign-in", "/web/register", "/web/forgot"] {
            var other = PageBrowser(server)
            let page = try await other.get("\(path)?\(query)")
            #expect(page.status == 400 && page.text.contains("Signing in needs cookies"), "\(path)")
            #expect(try await browser.get("\(path)?\(query)").status == 200, "\(path)")
        }
    }

    @Test func `what nobody has asked for yet opens and spends nothing`() async throws {
        var browser = PageBrowser(server)
        for purpose in ["prefetch", "prefetch;prerender", "prefetch;anonymous-client-ip"] {
            for path in [
                PageServer.authorize(), "/web/account", "/web/callback/google?state=a",
                "/web/callback/apple/finish?h=a",
            ] {
                // A browser shows at the click what it has prefetched, unless it is a refusal.
                let page = try await browser.get(path, [("Sec-Purpose", purpose)])
                #expect(page.status == 403 && page.text.isEmpty, "\(path)")
                #expect(page.response.headers.first("Set-Cookie") == nil)
                #expect(page.response.headers.first("Cache-Control") == "no-store")
            }
        }
        #expect(try await server.flows() == 0)
    }

    @Test func `a fault of ours can be tried again at its address, which the page doesn't repeat`() async throws {
        var browser = PageBrowser(server)
        try await server.database.execute("ALTER TABLE web_flows RENAME TO web_flows_away")
        let page = try await browser.get(PageServer.authorize())
        #expect(page.status >= 500 && page.location == nil)
        #expect(page.text.contains(#"href="">Try again</a>"#), "\(page.text)")
        #expect(!page.text.contains(PageServer.state))
        try await server.database.execute("ALTER TABLE web_flows_away RENAME TO web_flows")
        #expect(try await browser.get(PageServer.authorize()).status == 303)
    }

    @Test func `one provider is gone to at once, but for a private scheme after a click`() async throws {
        var browser = PageBrowser(server)
        for (provider, target) in [
            ("google", "https://accounts.google.com/o/oauth2/v2/auth?"),
            ("apple", "https://appleid.apple.com/auth/authorize?"),
        ] {
            let sent = try await browser.get(PageServer.authorize(PageServer.link, "&provider=\(provider)"))
            #expect(sent.location?.hasPrefix(target) == true)
        }
        let hinted = try await browser.get(
            PageServer.authorize(PageServer.link, "&provider=google&login_hint=kim%40example.com"))
        #expect(hinted.location?.contains("&login_hint=kim%40example.com") == true)
        let page = try await browser.chooser(PageServer.scheme, "&provider=apple")
        #expect(page.text.contains("Lamp &amp; Co"))
        #expect(throws: PageBrowser.NoForm.self) { try page.form("/web/start/google") }
        #expect(throws: PageBrowser.NoForm.self) { try page.form("/web/password") }
        let started = try await browser.submit(page, "/web/start/apple")
        #expect(started.status == 303)
        #expect(started.location?.hasPrefix("https://appleid.apple.com/auth/authorize?") == true)
    }

    @Test func `a private scheme is left for from a page, and cancelling is an answer`() async throws {
        var browser = PageBrowser(server)
        let chooser = try await browser.chooser(PageServer.scheme)
        let page = try await browser.submit(chooser, "/web/cancel")
        #expect(page.status == 200)
        #expect(page.location == nil)
        let uri = "com.example.lamp:/in?error=access_denied&amp;state=\(PageServer.state)"
        #expect(page.text.contains("content=\"0; url=\(uri)"))
        #expect(page.text.contains("href=\"\(uri)"))
        let link = try await browser.submit(try await browser.chooser(), "/web/cancel")
        #expect(link.location?.hasPrefix("\(PageServer.link)?error=access_denied&state=") == true)
    }

    @Test func `Apple's post needs a form with one state, sets no cookie, and an unknown state is a page`() async throws
    {
        var browser = PageBrowser(server)
        browser.headers = [("Sec-Fetch-Site", "cross-site")]
        let state = String(repeating: "A", count: 43)
        for fields in [
            [("code", "c")], [("state", ""), ("code", "c")], [("state", state), ("state", state)],
            [("state", state), ("code", "a"), ("code", "b")], [("state", state), ("more", "1")],
        ] {
            let page = try await browser.post("/web/callback/apple", fields)
            #expect(page.status == 400, "\(fields)")
            #expect(page.response.headers.first("Content-Type") == "text/html; charset=utf-8")
            #expect(page.response.headers.first("Set-Cookie") == nil)
        }
        #expect(try await browser.get("/web/callback/apple").status == 405)
        for query in ["", "?state=&code=a", "?state=\(state)&state=\(state)", "?state=\(state)&code=a"] {
            let page = try await browser.get("/web/callback/google" + query)
            #expect(page.status == 400, "\(query)")
            #expect(page.location == nil)
        }
        // With the state of a flow too, which stays.
        browser = PageBrowser(server)
        let started = try await browser.submit(try await browser.chooser(), "/web/start/google")
        let live = try #require(started.location?.firstMatch(of: /[?&]state=([\w-]{43})/)?.1)
        for twice in ["code=a&code=b", "code=a&iss=x&iss=x", "error=x&error=x"] {
            let page = try await browser.get("/web/callback/google?state=\(live)&\(twice)")
            #expect(page.status == 400 && page.location == nil, "\(twice)")
        }
        #expect(try await server.database.count("web_flows WHERE status = 'failed'") == 0)
    }

    @Test func `the relay hands on what Apple posts, and nothing else`() async throws {
        var browser = PageBrowser(server)
        let fields = [("state", "a b&c"), ("code", "c+d/="), ("user", "{\"name\":\"É;#\"}"), ("package", "com.evil")]
        let page = try await browser.post("/web/relay/apple/lamp", fields)
        #expect(page.status == 303)
        #expect(
            page.location
                == "intent://callback?code=c%2Bd%2F%3D&state=a%20b%26c&user=%7B%22name%22%3A%22%C3%89%3B%23%22%7D"
                + "#Intent;package=com.example.lamp;scheme=signinwithapple;end")
        let cancelled = try await browser.post(
            "/web/relay/apple/lamp", [("state", "s"), ("error", "user_cancelled_authorize")])
        #expect(cancelled.location?.contains("error=user_cancelled_authorize") == true)
        for name in ["state", "code", "id_token", "user", "error"] {
            let twice = try await browser.post("/web/relay/apple/lamp", [(name, "a"), (name, "b")])
            #expect(twice.status == 400, "\(name)")
            #expect(twice.location == nil)
        }
        for app in ["other", "unknown", "..%2Flamp"] {
            let missed = try await browser.post("/web/relay/apple/" + app, fields)
            #expect(missed.status == 404, "\(app)")
            #expect(missed.location == nil)
        }
        #expect(try await browser.get("/web/relay/apple/lamp").status == 405)
    }

    @Test func `a wrong password shows the form again, with the address and without the password`() async throws {
        try await server.register()
        var browser = PageBrowser(server)
        let chooser = try await browser.chooser()
        let wrong = try await browser.submit(
            chooser, "/web/password", [("email", "kim@example.com"), ("password", "wrong \"canary\"")])
        #expect(wrong.status == 401)
        #expect(wrong.text.contains("role=\"alert\"") && wrong.text.contains("value=\"kim@example.com\""))
        #expect(!wrong.text.contains("canary"))
        let unknown = try await browser.submit(
            chooser, "/web/password", [("email", "eve@example.com"), ("password", "wrong")])
        #expect(unknown.status == 401)
        let right = try await browser.submit(
            wrong, "/web/password", [("email", "kim@example.com"), ("password", PageServer.person.password)])
        #expect(right.location?.hasPrefix("\(PageServer.link)?code=") == true)
    }

    @Test(.fixture { try await PageServer.run(limits: [.webFlowsPerNetwork: .limit(count: 1, seconds: 900)], $0) })
    func `above the limit a page says when to come back`() async throws {
        var browser = PageBrowser(server)
        #expect(try await browser.get(PageServer.authorize()).status == 303)
        let page = try await browser.get(PageServer.authorize())
        #expect(page.status == 429)
        #expect(page.response.headers.first("Retry-After") == "900")
        #expect(page.response.headers.first("Content-Type") == "text/html; charset=utf-8")
    }

    @Test func `pages speak the app's language before the browser's`() async throws {
        var browser = PageBrowser(server)
        browser.headers.append(("Accept-Language", "fr, en;q=0.5"))
        #expect(try await browser.chooser().text.contains("<html lang=\"fr\""))
        #expect(try await browser.chooser(PageServer.link, "&ui_locales=xx+de").text.contains("<html lang=\"de\""))
        let unknown = try await browser.get("/web/authorize?ui_locales=ja")
        #expect(unknown.text.contains("<html lang=\"ja\""))
    }

    @Test func `style sheet and pictures may be cached, and run nothing`() async throws {
        var browser = PageBrowser(server)
        let page = try await browser.chooser()
        let paths = Set(page.text.matches(of: #/"(/web/assets/[^"]+)"/#).map { String($0.1) })
        #expect(paths.count == 2)
        for path in paths {
            let asset = try await browser.get(path)
            #expect(asset.status == 200)
            #expect(asset.response.headers.first("Cache-Control") == "public, max-age=31536000")
            #expect(asset.response.headers.first("X-Content-Type-Options") == "nosniff")
            #expect(asset.response.headers.first("Set-Cookie") == nil)
            #expect(
                asset.response.headers.first("Content-Security-Policy")
                    == "default-src 'none'; style-src 'unsafe-inline'; sandbox")
            let type = asset.response.headers.first("Content-Type")
            #expect(type == (path.hasSuffix(".css") ? "text/css; charset=utf-8" : "image/svg+xml"))
            // A page of another release, from a process beside this one, names other bytes, which are not there to be kept.
            let other = try await browser.get(path.replacing(#/[0-9a-f]{16}/#, with: "0123456789abcdef"))
            #expect(other.status == 200 && other.text == asset.text)
            #expect(other.response.headers.first("Cache-Control") == "no-store")
        }
        #expect(try await browser.get("/web/assets/none.css").status == 404)
    }

    @Test func `the account opens after a sign-in, for ten minutes, and closes with it`() async throws {
        try await server.register()
        var browser = PageBrowser(server)
        let chooser = try await browser.follow(try await browser.get("/web/account"))
        let entered = try await browser.submit(
            chooser, "/web/password",
            [("email", PageServer.person.email), ("password", PageServer.person.password)])
        #expect(entered.location == "https://auth.example.com/web/account")
        let field = try #require(entered.response.headers.all("Set-Cookie").first)
        #expect(field.wholeMatch(of: /__Host-csn_web=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure/) != nil)
        let kept = try #require(browser.cookies["__Host-csn_browser"])
        let account = try await browser.get("/web/account")
        #expect(account.status == 200)
        #expect(account.text.contains(PageServer.person.email))
        // Renewed, for the forms of the page that are under it.
        let renewed = "__Host-csn_browser=\(kept); Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=3600"
        #expect(account.response.headers.all("Set-Cookie") == [renewed])

        let signOut = try account.form("/web/sign-out")
        #expect(try await browser.post(signOut.target, [("csrf", "x")]).status == 403)
        let foreign = try await browser.post(
            signOut.target, [("csrf", signOut.csrf)], [("Sec-Fetch-Site", "cross-site")])
        #expect(foreign.status == 403 && foreign.text.contains(#"href="/web/account""#), "\(foreign.text)")
        #expect(try await browser.get("/web/account").status == 200)
        server.clock.advance(by: 601)
        #expect(try await browser.get("/web/account").status == 303)
        // Done, and done again: neither repeats anything when it is loaded once more.
        for _ in 1...2 {
            let out = try await browser.post(signOut.target, [("csrf", signOut.csrf)])
            #expect(out.status == 303 && out.location == "https://auth.example.com/web/signed-out")
            // Emptied, and not deleted: a browser that goes back then loads the page again.
            #expect(browser.cookies["__Host-csn_web"]?.isEmpty == true)
            #expect(try await browser.follow(out).status == 200)
        }
    }
}
