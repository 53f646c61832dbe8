import Curl
import JSON
import TestSupport
import Testing

/// The settings of account linking, and its page.
@Suite(.fixture(Sandbox.self)) struct LinkingControlTests {
    private var sandbox: Sandbox { .current }

    @Test func `without a service there is nothing to link with`() async throws {
        for path in ["checks", "browser", "flip", "unlink"] {
            #expect(try await sandbox.refusal("google/linking/" + path, "{}").status == 409, "\(path)")
        }
        #expect(try await sandbox.refusal("google/linking/flip/answer", #"{"url":"https://a.example"}"#).status == 409)
        #expect(try await sandbox.get("/google/r/p?code=c&state=s").status == 400)
        let page = try await sandbox.get("/google/link").body
        #expect(String(decoding: page, as: UTF8.self).contains("no service"))
        #expect(try await sandbox.linkingReport().checks.allSatisfy { $0.result == "open" })
    }

    @Test func `settings are read without the secret, and a reset forgets them`() async throws {
        try await sandbox.configureLinking(
            server: "https://auth.example.com/", clientID: "c", clientSecret: "made-up", project: "p-1")
        let settings = try await sandbox.control("google/linking")
        #expect(settings["server"]?.string == "https://auth.example.com")
        #expect(settings["redirectUri"]?.string == sandbox.linkingRedirectURI(project: "p-1"))
        #expect(settings["flipLink"]?.string == "https://auth.example.com/app-flip")
        #expect(settings["clientSecret"] == nil)
        #expect(try await sandbox.refusal("google/linking/unlink", "{}").status == 409)
        let persons = try await sandbox.refusal("google/linking/streamlined", #"{"person":"nobody"}"#)
        #expect(persons.status == 404)
        try await sandbox.addGooglePerson("kim")
        let audience = try await sandbox.refusal("google/linking/streamlined", #"{"person":"kim"}"#)
        #expect(audience.status == 409)
        try await sandbox.reset()
        #expect(try await sandbox.refusal("google/linking/browser", "{}").status == 409)
    }

    @Test func `an authorization request has Google's parameters in Google's order`() async throws {
        try await sandbox.control(
            "google/linking",
            """
            {"server":"https://auth.example.com","clientId":"c","clientSecret":"s","project":"p",
             "scopes":["profile","devices.read"],"locale":"en-GB","pkce":true}
            """)
        let url = try await sandbox.beginBrowserLink()
        let names = url.split(separator: "?")[1].split(separator: "&").map { $0.split(separator: "=")[0] }
        #expect(
            names == [
                "client_id", "redirect_uri", "state", "response_type", "scope", "user_locale", "code_challenge",
                "code_challenge_method",
            ])
        #expect(url.hasPrefix("https://auth.example.com/oauth/authorize?client_id=c&redirect_uri="))
        #expect(url.contains("&response_type=code&scope=profile%20devices.read&user_locale=en-GB&"))
        #expect(url.contains("%2B%2F%3D%26%2541&response_type"))
        #expect(try await sandbox.beginBrowserLink() != url)
    }

    @Test func `the page's buttons do what the controls do, and what it shows has no secret`() async throws {
        let service = try LinkedService(
            redirectURI: sandbox.linkingRedirectURI(project: "p"), keys: try await sandbox.keySet(.google))
        service.begin(.accessTokenIsJWT)
        try await sandbox.addGooglePerson("kim", #"{"email":"kim@gmail.com"}"#)
        try await sandbox.configureLinking(
            server: service.url, clientID: LinkedService.clientID, clientSecret: LinkedService.secret,
            project: "p", scopes: ["profile"], audience: LinkedService.audience)
        func press(_ fields: (String, String)...) async throws -> String? {
            let answer = try await sandbox.post("/google/link", fields)
            return answer.status == 303 ? answer.headers.first("Location") : "\(answer.status)"
        }
        #expect(try await press(("action", "checks")) == "/google/link")
        let url = try #require(try await press(("action", "browser")))
        #expect(url.hasPrefix(service.url + "/oauth/authorize?"))
        _ = try await sandbox.get(String(service.allow(url).dropFirst(sandbox.url.count)))
        #expect(try await press(("action", "flip")) == "/google/link")
        #expect(try await press(("action", "answer"), ("url", "https://a.example/")) == "/google/link")
        let streamlined = try await press(("action", "streamlined"), ("person", "kim"), ("create", "on"))
        #expect(streamlined == "/google/link")
        #expect(try await press(("action", "other")) == "400")
        #expect(try await press(("action", "streamlined"), ("person", "nobody")) == "400")

        let page = String(decoding: try await sandbox.get("/google/link").body, as: UTF8.self)
        for text in [
            "In the browser", "<strong>Failed.</strong> The access token is not a JWT", #"class="passed""#,
            "kim@gmail.com", "/app-flip?client_id=linking-client&amp;scope=profile&amp;state=", "Unlink",
        ] { #expect(page.contains(text), "\(text)") }
        let report = String(decoding: try await sandbox.get("/control/google/linking/report").body, as: UTF8.self)
        for text in [page, report] {
            for secret in [LinkedService.secret, "eyJhbGciOiJub25lIn0", "refresh-1", "code-1"] {
                #expect(!text.contains(secret), "\(secret)")
            }
        }
        #expect(try await press(("action", "unlink")) == "/google/link")
        #expect(try await sandbox.linkingReport().result("streamlined", "revocation") == "passed")
        #expect(try await press(("action", "unlink")) == "400")
    }
}
