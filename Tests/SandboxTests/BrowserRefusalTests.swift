import Curl
import Foundation
import TestSupport
import Testing

private let callback = "https://auth.example.com/callback"
private let refusals = Result { try DataFile("Fixtures/browser-refusals.tsv").rows }

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
    ) async throws { try await expectRefusal(url: request.url, code, reason, status: status) }

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

    @Test(arguments: try refusals.get())
    func `a provider refuses on a page of its own`(_ row: [String]) async throws {
        let provider = try #require(Sandbox.Provider(rawValue: row[0]))
        let value = row[2] == "absent" ? nil : row[2]
        try await expectRefusal(request(provider).with((row[1], value)), row[3], row[4])
    }

    @Test func `a client of Google's that is unknown, deleted or not for the web is refused`() async throws {
        let client = try await GoogleClient.register(in: sandbox)
        let request = AuthorizationRequest(.google, client.id, redirectURI: callback, in: sandbox)
        try await expectRefusal(request.with(("client_id", "nobody")), "invalid_client", "was not found", status: 401)
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
