import Curl
import Foundation
import TestSupport
import Testing

private let callback = "https://auth.example.com/callback"
private let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

/// Authorization requests that the providers answer with a page of their own.
@Suite struct BrowserRefusalTests {
    private func expectRefusal(
        _ request: AuthorizationRequest, _ code: String, _ reason: String, status: Int = 400, in sandbox: Sandbox
    ) async throws {
        try await expectRefusal(url: request.url, code, reason, status: status, in: sandbox)
    }

    /// The page is refused to a GET and to a POST of its form, with a reason in the history, and leads nowhere.
    private func expectRefusal(
        url: String, _ code: String, _ reason: String, status: Int = 400, in sandbox: Sandbox
    ) async throws {
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
            ("client_id", nil, "invalid_request", "client_id is missing"),
            ("client_id", "", "invalid_request", "client_id is missing"),
            ("client_id", "com.example.unknown", "invalid_client", "no Services ID"),
            ("redirect_uri", nil, "invalid_request", "redirect_uri is missing"),
            ("redirect_uri", callback + "/", "invalid_request", "byte for byte"),
            ("redirect_uri", callback + "?x=1", "invalid_request", "byte for byte"),
            ("redirect_uri", "https://AUTH.example.com/callback", "invalid_request", "byte for byte"),
            ("response_type", nil, "invalid_request", "response_type is missing"),
            ("response_type", "id_token", "unsupported_response_type", "code, or code id_token"),
            ("response_type", "token", "unsupported_response_type", "code, or code id_token"),
            ("response_type", "code code", "unsupported_response_type", "code, or code id_token"),
            ("response_mode", "web_message", "invalid_request", "query, fragment or form_post"),
            ("response_mode", nil, "invalid_request", "must be form_post"),
            ("response_mode", "query", "invalid_request", "must be form_post"),
            ("response_mode", "fragment", "invalid_request", "must be form_post"),
            ("scope", "name email openid", "invalid_scope", "of name and email"),
            ("code_challenge", challenge, "invalid_request", "Parameter not allowed"),
            ("prompt", "login", "invalid_request", "Parameter not allowed: prompt"),
        ] as [(String, String?, String, String)])
    func `Apple refuses on a page of its own`(
        _ name: String, _ value: String?, _ code: String, _ reason: String
    ) async throws {
        try await SharedSandbox.use { sandbox in
            let client = try await AppleClient.register(in: sandbox)
            try await sandbox.registerWebClient(.apple, client.id, redirectURIs: [callback])
            let request = AuthorizationRequest(apple: client.id, redirectURI: callback, in: sandbox)
            try await expectRefusal(request.with((name, value)), code, reason, in: sandbox)
        }
    }

    @Test(
        arguments: [
            ("client_id", nil, "invalid_request", "Missing required parameter: client_id"),
            ("redirect_uri", nil, "invalid_request", "Missing required parameter: redirect_uri"),
            ("redirect_uri", callback + "/", "redirect_uri_mismatch", "byte for byte"),
            ("redirect_uri", "https://auth.example.com/Callback", "redirect_uri_mismatch", "byte for byte"),
            ("response_type", nil, "invalid_request", "Missing required parameter: response_type"),
            ("response_type", "id_token", "unsupported_response_type", "response_type is code"),
            ("response_mode", "form_post", "invalid_request", "response_mode is query"),
            ("scope", nil, "invalid_request", "Missing required parameter: scope"),
            ("scope", "email profile", "invalid_scope", "no openid"),
            ("scope", "openid name", "invalid_scope", "not name"),
            ("code_challenge", nil, "invalid_request", "code_challenge is missing"),
            ("code_challenge", String(challenge.dropLast()), "invalid_request", "not one of its method"),
            ("code_challenge", String(repeating: "a", count: 44), "invalid_request", "not one of its method"),
            ("code_challenge", challenge.replacing("-", with: "+"), "invalid_request", "not one of its method"),
            ("code_challenge_method", "S512", "invalid_request", "plain or S256"),
            ("prompt", "login", "invalid_request", "none, consent and select_account"),
            ("prompt", "none consent", "invalid_request", "goes with no other"),
            ("access_type", "always", "invalid_request", "online or offline"),
            ("include_granted_scopes", "1", "invalid_request", "true or false"),
            ("audience", "x", "invalid_request", "Parameter not allowed: audience"),
        ] as [(String, String?, String, String)])
    func `Google refuses on a page of its own`(
        _ name: String, _ value: String?, _ code: String, _ reason: String
    ) async throws {
        try await SharedSandbox.use { sandbox in
            let client = try await GoogleClient.register(in: sandbox)
            try await sandbox.registerWebClient(.google, client.id, redirectURIs: [callback])
            let request = AuthorizationRequest(google: client.id, redirectURI: callback, in: sandbox)
            try await expectRefusal(request.with((name, value)), code, reason, in: sandbox)
        }
    }

    @Test func `a client of Google's that is unknown, deleted or not for the web is refused`() async throws {
        try await SharedSandbox.use { sandbox in
            let client = try await GoogleClient.register(in: sandbox)
            let request = AuthorizationRequest(google: client.id, redirectURI: callback, in: sandbox)
            try await expectRefusal(
                request.with(("client_id", "nobody")), "invalid_client", "was not found", status: 401, in: sandbox)
            try await expectRefusal(request, "redirect_uri_mismatch", "none of this client", in: sandbox)
            try await sandbox.registerWebClient(.google, client.id, redirectURIs: [callback])
            try await sandbox.deleteGoogleClient(client.id)
            try await expectRefusal(request, "deleted_client", "was deleted", status: 401, in: sandbox)
        }
    }

    @Test func `a client of Apple's without a redirect URI is no Services ID`() async throws {
        try await SharedSandbox.use { sandbox in
            let client = try await AppleClient.register(in: sandbox)
            let request = AuthorizationRequest(apple: client.id, redirectURI: callback, in: sandbox)
            try await expectRefusal(request, "invalid_client", "no Services ID", in: sandbox)
            try await sandbox.registerWebClient(.apple, client.id, redirectURIs: [callback])
            #expect(try await sandbox.openPage(at: request.url).status == 200)
            try await sandbox.registerWebClient(.apple, client.id, redirectURIs: [])
            try await expectRefusal(request, "invalid_client", "no Services ID", in: sandbox)
        }
    }

    @Test func `a plus sign for a space is refused by Apple, with the reason, and taken by Google`() async throws {
        try await SharedSandbox.use { sandbox in
            let apple = try await AppleClient.register(in: sandbox)
            try await sandbox.registerWebClient(.apple, apple.id, redirectURIs: [callback])
            let url = AuthorizationRequest(apple: apple.id, redirectURI: callback, in: sandbox).url
            try await expectRefusal(
                url: url.replacing("scope=name%20email", with: "scope=name+email"), "invalid_request",
                "scope has a + in it: a space is %20", in: sandbox)
            let google = try await GoogleClient.register(in: sandbox)
            try await sandbox.registerWebClient(.google, google.id, redirectURIs: [callback])
            let other = AuthorizationRequest(google: google.id, redirectURI: callback, in: sandbox).url
            #expect(try await sandbox.openPage(at: other.replacing("%20", with: "+")).status == 200)
        }
    }

    @Test(arguments: ["client_id", "redirect_uri", "state", "nonce", "scope"])
    func `a parameter that is there twice is refused`(_ name: String) async throws {
        try await SharedSandbox.use { sandbox in
            let apple = try await AppleClient.register(in: sandbox)
            try await sandbox.registerWebClient(.apple, apple.id, redirectURIs: [callback])
            let google = try await GoogleClient.register(in: sandbox)
            try await sandbox.registerWebClient(.google, google.id, redirectURIs: [callback])
            for request in [
                AuthorizationRequest(apple: apple.id, redirectURI: callback, in: sandbox),
                AuthorizationRequest(google: google.id, redirectURI: callback, in: sandbox),
            ] {
                try await expectRefusal(
                    url: request.url + "&\(name)=x", "invalid_request", "\(name) is there twice", in: sandbox)
                try await expectRefusal(
                    url: request.url + "&x=%ff", "invalid_request", "not percent-encoded", in: sandbox)
            }
        }
    }

    @Test(arguments: [
        (#"person=PERSON&action=continue&agree=yes"#, "has no field agree"),
        (#"person=PERSON&action=accept"#, "action is neither"),
        (#"person=PERSON&person=PERSON&action=continue"#, "person is there twice"),
        (#"action=continue"#, "person is missing"),
        (#"person=nobody&action=continue"#, "There is no person nobody"),
        (#"person=nobody"#, "There is no person nobody"),
        (#"person=%ff&action=continue"#, "not percent-encoded"),
    ])
    func `a form with a fault in it is refused`(_ form: String, _ reason: String) async throws {
        try await SharedSandbox.use { sandbox in
            let name = UUID().uuidString
            try await sandbox.addApplePerson(name)
            try await sandbox.addGooglePerson(name)
            let apple = try await AppleClient.register(in: sandbox)
            try await sandbox.registerWebClient(.apple, apple.id, redirectURIs: [callback])
            let google = try await GoogleClient.register(in: sandbox)
            try await sandbox.registerWebClient(.google, google.id, redirectURIs: [callback])
            for request in [
                AuthorizationRequest(apple: apple.id, redirectURI: callback, in: sandbox),
                AuthorizationRequest(google: google.id, redirectURI: callback, in: sandbox),
            ] {
                let body = Array(form.replacing("PERSON", with: name).utf8)
                let type = ("Content-Type", "application/x-www-form-urlencoded")
                let answer = try await sandbox.post(FetchRequest(.post, url: request.url, headers: [type], body: body))
                #expect(answer.status == 400)
                #expect(answer.reason?.contains(reason) == true, "\(answer.reason ?? "")")
                #expect(!String(decoding: answer.body, as: UTF8.self).contains(#"id="answer""#))
                let json = try await sandbox.post(FetchRequest(.post, url: request.url, body: body))
                #expect(json.status == 400)
            }
            #expect(try await apple.authorization(of: name) == nil)
            #expect(try await google.authorization(of: name) == nil)
        }
    }

    @Test func `hideEmail is true or false, and Apple's alone`() async throws {
        try await SharedSandbox.use { sandbox in
            let apple = try await AppleClient.register(in: sandbox)
            try await sandbox.registerWebClient(.apple, apple.id, redirectURIs: [callback])
            let request = AuthorizationRequest(apple: apple.id, redirectURI: callback, in: sandbox)
            let refused = try await sandbox.authorize(at: request.url, person: "kim", fields: [("hideEmail", "on")])
            #expect(refused.status == 400)
            #expect(refused.page.contains("hideEmail is true or false."))
            let google = try await GoogleClient.register(in: sandbox)
            try await sandbox.registerWebClient(.google, google.id, redirectURIs: [callback])
            let other = AuthorizationRequest(google: google.id, redirectURI: callback, in: sandbox)
            let foreign = try await sandbox.authorize(at: other.url, person: "kim", fields: [("hideEmail", "true")])
            #expect(foreign.status == 400)
            #expect(foreign.page.contains("no field hideEmail"))
        }
    }
}
