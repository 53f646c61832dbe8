import Curl
import Foundation
import TestSupport
import Testing

private let callback = "https://auth.example.com/callback"
private let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

/// Authorization requests that the providers answer with a page of their own.
@Suite(.sharedSandbox) struct BrowserRefusalTests {
    private var sandbox: Sandbox { .current }

    /// The request of a client that is registered for it.
    private func request(_ provider: Sandbox.Provider) async throws -> AuthorizationRequest {
        let client = try await provider.client(in: sandbox)
        return try await sandbox.webRequest(provider, client.id, redirectURI: callback)
    }

    private func expectRefusal(
        _ request: AuthorizationRequest, _ code: String, _ reason: String, status: Int = 400
    ) async throws {
        try await expectRefusal(url: request.url, code, reason, status: status)
    }

    /// The page is refused to a GET and to a POST of its form, with a reason in the history, and leads nowhere.
    private func expectRefusal(url: String, _ code: String, _ reason: String, status: Int = 400) async throws {
        for request in [
            FetchRequest(url: url), .form(url: url, fields: [("person", "nobody"), ("action", "continue")]),
        ] {
            let answer = try await sandbox.post(request)
            #expect(answer.status == status)
            #expect(answer.headers.first("Location") == nil)
            #expect(answer.reason?.contains(reason) == true, "\(answer.reason ?? "")")
            let page = String(decoding: answer.body, as: UTF8.self)
            #expect(page.contains("<code>\(code)</code>"))
            #expect(!page.contains("<form"))
        }
    }

    @Test(
        arguments: [
            (.apple, "client_id", nil, "invalid_request", "client_id is missing"),
            (.apple, "client_id", "", "invalid_request", "client_id is missing"),
            (.apple, "client_id", "com.example.unknown", "invalid_client", "no Services ID"),
            (.apple, "redirect_uri", nil, "invalid_request", "redirect_uri is missing"),
            (.apple, "redirect_uri", callback + "/", "invalid_request", "byte for byte"),
            (.apple, "redirect_uri", callback + "?x=1", "invalid_request", "byte for byte"),
            (.apple, "redirect_uri", "https://AUTH.example.com/callback", "invalid_request", "byte for byte"),
            (.apple, "response_type", nil, "invalid_request", "response_type is missing"),
            (.apple, "response_type", "id_token", "unsupported_response_type", "code, or code id_token"),
            (.apple, "response_type", "token", "unsupported_response_type", "code, or code id_token"),
            (.apple, "response_type", "code code", "unsupported_response_type", "code, or code id_token"),
            (.apple, "response_mode", "web_message", "invalid_request", "query, fragment or form_post"),
            (.apple, "response_mode", nil, "invalid_request", "must be form_post"),
            (.apple, "response_mode", "query", "invalid_request", "must be form_post"),
            (.apple, "response_mode", "fragment", "invalid_request", "must be form_post"),
            (.apple, "scope", "name email openid", "invalid_scope", "of name and email"),
            (.apple, "code_challenge", challenge, "invalid_request", "Parameter not allowed"),
            (.apple, "prompt", "login", "invalid_request", "Parameter not allowed: prompt"),
            (.google, "client_id", nil, "invalid_request", "Missing required parameter: client_id"),
            (.google, "redirect_uri", nil, "invalid_request", "Missing required parameter: redirect_uri"),
            (.google, "redirect_uri", callback + "/", "redirect_uri_mismatch", "byte for byte"),
            (.google, "redirect_uri", "https://auth.example.com/Callback", "redirect_uri_mismatch", "byte for byte"),
            (.google, "response_type", nil, "invalid_request", "Missing required parameter: response_type"),
            (.google, "response_type", "id_token", "unsupported_response_type", "response_type is code"),
            (.google, "response_mode", "form_post", "invalid_request", "response_mode is query"),
            (.google, "scope", nil, "invalid_request", "Missing required parameter: scope"),
            (.google, "scope", "email profile", "invalid_scope", "no openid"),
            (.google, "scope", "openid name", "invalid_scope", "not name"),
            (.google, "code_challenge", nil, "invalid_request", "code_challenge is missing"),
            (.google, "code_challenge", String(challenge.dropLast()), "invalid_request", "not one of its method"),
            (.google, "code_challenge", String(repeating: "a", count: 44), "invalid_request", "not one of its method"),
            (
                .google, "code_challenge", challenge.replacing("-", with: "+"), "invalid_request",
                "not one of its method"
            ),
            (.google, "code_challenge_method", "S512", "invalid_request", "plain or S256"),
            (.google, "prompt", "login", "invalid_request", "none, consent and select_account"),
            (.google, "prompt", "none consent", "invalid_request", "goes with no other"),
            (.google, "access_type", "always", "invalid_request", "online or offline"),
            (.google, "include_granted_scopes", "1", "invalid_request", "true or false"),
            (.google, "audience", "x", "invalid_request", "Parameter not allowed: audience"),
        ] as [(Sandbox.Provider, String, String?, String, String)])
    func `a provider refuses on a page of its own`(
        _ provider: Sandbox.Provider, _ name: String, _ value: String?, _ code: String, _ reason: String
    ) async throws {
        try await expectRefusal(request(provider).with((name, value)), code, reason)
    }

    @Test func `a client of Google's that is unknown, deleted or not for the web is refused`() async throws {
        let client = try await GoogleClient.register(in: sandbox)
        let request = AuthorizationRequest(.google, client.id, redirectURI: callback, in: sandbox)
        try await expectRefusal(
            request.with(("client_id", "nobody")), "invalid_client", "was not found", status: 401)
        try await expectRefusal(request, "redirect_uri_mismatch", "none of this client")
        try await sandbox.registerWebClient(.google, client.id, redirectURIs: [callback])
        try await sandbox.deleteGoogleClient(client.id)
        try await expectRefusal(request, "deleted_client", "was deleted", status: 401)
    }

    @Test func `a client of Apple's without a redirect URI is no Services ID`() async throws {
        let client = try await AppleClient.register(in: sandbox)
        let request = AuthorizationRequest(.apple, client.id, redirectURI: callback, in: sandbox)
        try await expectRefusal(request, "invalid_client", "no Services ID")
        try await sandbox.registerWebClient(.apple, client.id, redirectURIs: [callback])
        #expect(try await sandbox.openPage(at: request.url).status == 200)
        try await sandbox.registerWebClient(.apple, client.id, redirectURIs: [])
        try await expectRefusal(request, "invalid_client", "no Services ID")
    }

    @Test func `a plus sign for a space is refused by Apple, with the reason, and taken by Google`() async throws {
        try await expectRefusal(
            url: request(.apple).url.replacing("scope=name%20email", with: "scope=name+email"), "invalid_request",
            "scope has a + in it: a space is %20")
        let google = try await request(.google).url
        #expect(try await sandbox.openPage(at: google.replacing("%20", with: "+")).status == 200)
    }

    @Test(arguments: Sandbox.Provider.allCases, ["client_id", "redirect_uri", "state", "nonce", "scope"])
    func `a parameter that is there twice is refused`(_ provider: Sandbox.Provider, _ name: String) async throws {
        let url = try await request(provider).url
        try await expectRefusal(url: url + "&\(name)=x", "invalid_request", "\(name) is there twice")
        try await expectRefusal(url: url + "&x=%ff", "invalid_request", "not percent-encoded")
    }

    @Test(
        arguments: Sandbox.Provider.allCases,
        [
            (#"person=PERSON&action=continue&agree=yes"#, "has no field agree"),
            (#"person=PERSON&action=accept"#, "action is neither"),
            (#"person=PERSON&person=PERSON&action=continue"#, "person is there twice"),
            (#"action=continue"#, "person is missing"),
            (#"person=nobody&action=continue"#, "There is no person nobody"),
            (#"person=nobody"#, "There is no person nobody"),
            (#"person=%ff&action=continue"#, "not percent-encoded"),
        ])
    func `a form with a fault in it is refused`(
        _ provider: Sandbox.Provider, _ fault: (form: String, reason: String)
    ) async throws {
        let client = try await provider.client(in: sandbox)
        let url = try await sandbox.webRequest(provider, client.id, redirectURI: callback).url
        let name = try await client.person()
        let body = Array(fault.form.replacing("PERSON", with: name).utf8)
        let type = ("Content-Type", "application/x-www-form-urlencoded")
        let answer = try await sandbox.post(FetchRequest(.post, url: url, headers: [type], body: body))
        #expect(answer.status == 400)
        #expect(answer.reason?.contains(fault.reason) == true, "\(answer.reason ?? "")")
        #expect(!String(decoding: answer.body, as: UTF8.self).contains(#"id="answer""#))
        #expect(try await sandbox.post(FetchRequest(.post, url: url, body: body)).status == 400)
        #expect(try await client.authorization(of: name) == nil)
    }

    @Test func `hideEmail is true or false, and Apple's alone`() async throws {
        for (provider, value, reason) in [
            (Sandbox.Provider.apple, "on", "hideEmail is true or false."), (.google, "true", "no field hideEmail"),
        ] {
            let refused = try await sandbox.authorize(
                at: request(provider).url, person: "kim", fields: [("hideEmail", value)])
            #expect(refused.status == 400)
            #expect(refused.page.contains(reason))
        }
    }
}
