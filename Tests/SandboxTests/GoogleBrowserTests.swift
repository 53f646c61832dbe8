import Foundation
import JSON
import TestSupport
import Testing

/// Google's authorization page, by its form.
@Suite(.sharedSandbox) struct GoogleBrowserTests {
    private static let callback = "https://auth.example.com/web/callback/google"

    private var sandbox: Sandbox { .current }
    private let client: GoogleClient
    /// A person who has not used the client.
    private let name = UUID().uuidString
    /// The request of a service.
    private let request: AuthorizationRequest

    init() async throws {
        let sandbox = Sandbox.current
        try await sandbox.addGooglePerson(name, #"{"email":"\#(name)@gmail.com","givenName":"Kim"}"#)
        client = try await GoogleClient.register(in: sandbox)
        request = try await sandbox.webRequest(.google, client.id, redirectURI: Self.callback)
    }

    private func fields(
        verifier: String? = AuthorizationRequest.verifier, redirectURI: String? = Self.callback
    ) -> [(String, String)] {
        [("redirect_uri", redirectURI), ("code_verifier", verifier)].compactMap { name, value in
            value.map { (name, $0) }
        }
    }

    @Test func `consent is a redirect with every parameter of Google's`() async throws {
        let answer = try await sandbox.authorize(at: request.url, person: name)
        #expect(answer.status == 302)
        #expect(answer.target == Self.callback)
        #expect(answer.parameters.map(\.name) == ["state", "iss", "code", "scope", "authuser", "prompt"])
        #expect(answer["state"] == "s-1")
        #expect(answer["iss"] == "https://accounts.google.com")
        #expect(answer["code"]?.hasPrefix("4/0A") == true)
        #expect(
            answer["scope"] == "email profile openid https://www.googleapis.com/auth/userinfo.email "
                + "https://www.googleapis.com/auth/userinfo.profile")
        #expect(answer["authuser"] == "0")
        #expect(answer["prompt"] == "consent")
        #expect(try await sandbox.authorize(at: request.url, person: name)["prompt"] == "none")
        try await sandbox.addGooglePerson(name, #"{"hostedDomain":"example.com"}"#)
        #expect(try await sandbox.authorize(at: request.url, person: name)["hd"] == "example.com")
    }

    @Test func `the code is exchanged with redirect_uri and verifier for a token with the nonce`() async throws {
        let answer = try await sandbox.authorize(at: request.url, person: name)
        let code = try #require(answer["code"])
        let mismatch = "400 redirect_uri_mismatch redirect_uri is not that of the request"
        for other in [nil, "", Self.callback + "/", Self.callback.uppercased()] {
            #expect(try await client.exchange(code, fields(redirectURI: other)).refusal == mismatch)
        }
        #expect(
            try await client.exchange(code, fields(verifier: nil)).refusal
                == "400 invalid_grant Missing code verifier.")
        let flipped = "e" + AuthorizationRequest.verifier.dropFirst()
        for wrong in [flipped, "", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"] {
            #expect(
                try await client.exchange(code, fields(verifier: wrong)).refusal
                    == "400 invalid_grant Invalid code verifier.")
        }
        let exchanged = try await client.exchange(code, fields())
        #expect(exchanged.status == 200)
        #expect(exchanged.json?["refresh_token"] == nil)
        let claims = try TokenParts(try exchanged.text("id_token")).claims
        #expect(claims["aud"]?.string == client.id)
        #expect(claims["nonce"]?.string == "n-1")
        #expect(claims["email"]?.string == "\(name)@gmail.com")
        #expect(try await client.exchange(code, fields()).refusal == "400 invalid_grant code: spent")
    }

    @Test func `a plain challenge is its own verifier, and without one there is none`() async throws {
        let verifier = String(repeating: "a-._~", count: 9)
        let plain = request.with(("code_challenge", verifier), ("code_challenge_method", nil))
        let first = try #require(try await sandbox.authorize(at: plain.url, person: name)["code"])
        #expect(try await client.exchange(first, fields()).error == "invalid_grant")
        #expect(try await client.exchange(first, fields(verifier: verifier)).status == 200)
        let none = request.with(("code_challenge", nil), ("code_challenge_method", nil))
        let second = try #require(try await sandbox.authorize(at: none.url, person: name)["code"])
        #expect(
            try await client.exchange(second, fields()).refusal
                == "400 invalid_request code_verifier is not needed.")
        #expect(try await client.exchange(second, fields(verifier: nil)).status == 200)
    }

    @Test func `a refresh token comes with offline access at the first consent, and when consent is asked again`()
        async throws
    {
        func refreshes(_ request: AuthorizationRequest) async throws -> Bool {
            let code = try #require(try await sandbox.authorize(at: request.url, person: name)["code"])
            let answer = try await client.exchange(code, fields())
            #expect(answer.status == 200)
            return answer.json?["refresh_token"] != nil
        }
        let offline = request.with(("access_type", "offline"))
        #expect(try await !refreshes(request))
        #expect(try await refreshes(offline))
        #expect(try await !refreshes(offline))
        #expect(try await !refreshes(request.with(("prompt", "consent"))))
        #expect(try await refreshes(offline.with(("prompt", "select_account consent"))))
        try await sandbox.withdrawGoogle(name, clientID: client.id)
        #expect(try await refreshes(offline))
    }

    @Test func `a person who cancels sends access_denied, and no code`() async throws {
        let answer = try await sandbox.authorize(at: request.url, action: "cancel")
        #expect(answer.status == 302)
        #expect(answer.parameters.map(\.name) == ["error", "state", "iss"])
        #expect(answer["error"] == "access_denied")
        #expect(try await client.authorization(of: name) == nil)
    }

    @Test func `a person is asked for consent before the first time and when the client wants it`() async throws {
        func isAsked(_ request: AuthorizationRequest) async throws -> Bool {
            let answer = try await sandbox.authorize(at: request.url, person: name, action: nil)
            if answer.status == 302 { return false }
            #expect(answer.page.contains(#"value="continue""#))
            return true
        }
        #expect(try await isAsked(request))
        _ = try await sandbox.authorize(at: request.url, person: name)
        #expect(try await !isAsked(request))
        #expect(try await !isAsked(request.with(("prompt", "select_account"))))
        #expect(try await isAsked(request.with(("prompt", "consent"))))
    }

    @Test(.fixture(Sandbox.self)) func `hints put the persons first whom they mean`() async throws {
        for (name, domain) in [("ana", "null"), ("ben", #""b.example""#), ("cleo", #""c.example""#)] {
            try await sandbox.addGooglePerson(name, #"{"email":"\#(name)@x.example","hostedDomain":\#(domain)}"#)
        }
        let subject = try await sandbox.addGooglePerson("cleo")
        func order(_ name: String, _ value: String?) async throws -> [String] {
            try await sandbox.openPage(at: request.with((name, value)).url).page
                .matches(of: /name="person" value="([a-z]+)"/).map { String($0.1) }
        }
        #expect(try await order("hd", nil) == ["ana", "ben", "cleo"])
        #expect(try await order("hd", "c.example") == ["cleo", "ana", "ben"])
        #expect(try await order("hd", "*") == ["ben", "cleo", "ana"])
        #expect(try await order("login_hint", "Ben@x.example") == ["ben", "ana", "cleo"])
        #expect(try await order("login_hint", subject) == ["cleo", "ana", "ben"])
    }

    @Test func `prompt none answers without a page`() async throws {
        let silent = request.with(("prompt", "none"))
        let hinted = silent.with(("login_hint", "\(name)@gmail.com"))
        func outcome(_ request: AuthorizationRequest) async throws -> String? {
            let answer = try await sandbox.openPage(at: request.url)
            #expect(answer.status == 302)
            #expect(answer["state"] == "s-1")
            return answer["error"] ?? answer["prompt"]
        }
        #expect(try await outcome(silent) == "login_required")
        #expect(try await outcome(hinted) == "consent_required")
        _ = try await sandbox.authorize(at: request.url, person: name)
        #expect(try await outcome(hinted) == "none")
        #expect(try await outcome(silent) == "login_required")
        try await sandbox.answerNext(.google, person: name, clientID: client.id)
        #expect(try await outcome(silent) == "none")
        try await sandbox.answerNext(.google, cancel: true, clientID: client.id)
        #expect(try await outcome(silent) == "access_denied")
    }

    @Test func `a client of a Workspace domain is for its persons alone`() async throws {
        try await sandbox.control("google/clients", #"{"clientId":"\#(client.id)","internalTo":"example.com"}"#)
        let refused = try await sandbox.authorize(at: request.url, person: name)
        #expect(refused.status == 403)
        #expect(refused.page.contains("<code>org_internal</code>"))
        try await sandbox.addGooglePerson(name, #"{"hostedDomain":"example.com"}"#)
        #expect(try await sandbox.authorize(at: request.url, person: name).status == 302)
    }

    @Test(arguments: [
        "Mozilla/5.0 (Linux; Android 15; Pixel 9; wv) AppleWebKit/537.36 Version/4.0 Chrome/130.0 Mobile Safari/537.36",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
    ])
    func `a WebView is refused`(_ userAgent: String) async throws {
        let refused = try await sandbox.openPage(at: request.url, userAgent: userAgent)
        #expect(refused.status == 403)
        #expect(refused.page.contains("<code>disallowed_useragent</code>"))
        let browser = userAgent.replacing("; wv)", with: ")").replacing("Mobile/15E148", with: "Mobile/1 Safari/1")
        #expect(try await sandbox.openPage(at: request.url, userAgent: browser).status == 200)
    }
}
