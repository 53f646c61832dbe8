import Curl
import Foundation
import JOSE
import JSON
import TestSupport
import Testing

private let callback = "http://127.0.0.1:8080/callback"

/// The controls of the authorization pages: waiting choices and altered answers.
@Suite(.fixture(Sandbox.self)) struct BrowserControlTests {
    private var sandbox: Sandbox { .current }
    /// Requests of one web client of each provider, which the person kim has not used.
    private let apple: AuthorizationRequest
    private let google: AuthorizationRequest

    init() async throws {
        let sandbox = Sandbox.current
        try await sandbox.addApplePerson("kim", #"{"email":"kim@example.com"}"#)
        try await sandbox.addGooglePerson("kim", #"{"email":"kim@example.com"}"#)
        apple = try await sandbox.webRequest(.apple, "com.example.web", redirectURI: callback)
        google = try await sandbox.webRequest(.google, "web", redirectURI: callback, secret: "x")
    }

    // MARK: Choices that wait

    @Test func `the next authorizations are answered by the choices that wait, the oldest first`() async throws {
        try await sandbox.addApplePerson("lee")
        try await sandbox.answerNext(.apple, person: "kim", clientID: "com.other", times: 5)
        try await sandbox.answerNext(.apple, person: "kim", hideEmail: true, givenName: "Kay")
        try await sandbox.answerNext(.apple, cancel: true, clientID: "com.example.web", times: 2)
        let waiting = try await sandbox.control("apple/auto")["items"]?.elements
        #expect(waiting?.map { $0["remaining"]?.integer } == [5, 1, 2])
        #expect(waiting?.map { $0["action"]?.string } == ["continue", "continue", "cancel"])

        let first = try await sandbox.openPage(at: apple.url)
        #expect(first.isForm)
        #expect(first["user"]?.contains(#""firstName":"Kay""#) == true)
        #expect(first["user"]?.contains("@privaterelay.appleid.com") == true)
        for _ in 1...2 { #expect(try await sandbox.openPage(at: apple.url)["error"] == "user_cancelled_authorize") }
        let page = try await sandbox.openPage(at: apple.url)
        #expect(page.target == nil)
        #expect(page.page.contains(#"value="lee""#))

        try await sandbox.answerNext(.google, person: "kim", times: 3)
        let redirect = try await sandbox.openPage(at: google.url)
        #expect(redirect.status == 302)
        #expect(redirect["code"] != nil)
        try await sandbox.control("google/auto/clear", "{}")
        #expect(try await sandbox.openPage(at: google.url).status == 200)
        #expect(try await sandbox.control("apple/auto")["items"]?.elements?.count == 1)
        try await sandbox.control("reset", "{}")
        #expect(try await sandbox.control("apple/auto")["items"]?.elements?.isEmpty == true)
    }

    @Test func `a request that is refused leaves the choice waiting`() async throws {
        try await sandbox.answerNext(.apple, person: "kim")
        #expect(try await sandbox.openPage(at: apple.with(("response_mode", "query")).url).status == 400)
        #expect(try await sandbox.openPage(at: apple.url)["code"] != nil)
    }

    @Test func `a choice that waits is of a person who exists`() async throws {
        for provider in ["apple", "google"] {
            let refusal = try await sandbox.refusal("\(provider)/auto", #"{"person":"nobody"}"#)
            #expect(refusal.status == 404)
        }
    }

    // MARK: Altered answers

    @Test func `parameters of the answer can be missing, others, or there twice`() async throws {
        func names(_ request: AuthorizationRequest) async throws -> [String] {
            try await sandbox.authorize(at: request.url, person: "kim").parameters.map(\.name)
        }
        try await sandbox.alterNext(.apple, withoutParameters: ["state", "user"])
        #expect(try await names(apple) == ["code", "id_token"])
        try await sandbox.alterNext(.apple, withoutParameters: ["id_token"], repeatedParameters: ["state", "code"])
        #expect(try await names(apple) == ["state", "state", "code", "code"])
        #expect(try await names(apple) == ["state", "code", "id_token"])

        try await sandbox.alterNext(
            .google, parameters: #"{"iss":"https://evil.example","error":"admin_policy_enforced"}"#,
            withoutParameters: ["code", "scope", "prompt"])
        let altered = try await sandbox.authorize(at: google.url, person: "kim")
        #expect(altered.parameters.map(\.name) == ["state", "iss", "authuser", "error"])
        #expect(altered["iss"] == "https://evil.example")
        #expect(altered["error"] == "admin_policy_enforced")
        try await sandbox.alterNext(.google, parameters: #"{"state":"other"}"#)
        #expect(try await sandbox.authorize(at: google.url, action: "cancel")["state"] == "other")
    }

    @Test func `tokens of the answer and of the exchange can differ`() async throws {
        try await sandbox.alterNext(
            .apple,
            token: Sandbox.TokenChanges(
                claims: #"{"nonce":"other","aud":"com.other.app"}"#, signature: .forged))
        let answer = try await sandbox.authorize(at: apple.url, person: "kim")
        let token = try #require(answer["id_token"])
        #expect(try TokenParts(token).claims["nonce"]?.string == "other")
        #expect(try TokenParts(token).claims["aud"]?.string == "com.other.app")
        #expect(rejection(of: token, by: try await sandbox.keySet(.apple)) == .signatureMismatch)

        try await sandbox.alterNext(
            .google, exchange: Sandbox.ExchangeChanges(token: .init(claims: #"{"sub":"other"}"#)))
        let code = try #require(try await sandbox.authorize(at: google.url, person: "kim")["code"])
        let exchanged = try await GoogleClient(sandbox: sandbox, id: "web", secret: "x").exchange(
            code, [("redirect_uri", callback), ("code_verifier", AuthorizationRequest.verifier)])
        #expect(try TokenParts(try exchanged.text("id_token")).claims["sub"]?.string == "other")
    }

    @Test func `an alteration waits for an answer, and the history has it`() async throws {
        try await sandbox.alterNext(.apple, withoutParameters: ["state"])
        #expect(try await sandbox.openPage(at: apple.url).status == 200)
        #expect(try await sandbox.authorize(at: apple.url, person: "kim", action: nil).status == 200)
        #expect(try await sandbox.authorize(at: apple.url, person: "nobody").status == 400)
        #expect(try await sandbox.authorize(at: apple.url, person: "kim")["state"] == nil)
        let history = try await sandbox.history(path: "/apple/auth/authorize")
        #expect(history.map(\.method) == ["GET", "POST", "POST", "POST"])
        #expect(history.map(\.fault) == [nil, nil, nil, "altered"])
        #expect(history.map(\.reason) == [nil, nil, "There is no person nobody.", nil])
        #expect(history.last?.field("person") == "kim")
        #expect(history.last?.query.map(\.name) == apple.parameters.map(\.name))
    }

    @Test func `other faults act at the authorization pages too`() async throws {
        try await sandbox.fail("/google/o/oauth2/v2/auth", .status(503), method: "POST", times: 1)
        #expect(try await sandbox.openPage(at: google.url).status == 200)
        #expect(try await sandbox.authorize(at: google.url, person: "kim").status == 503)
        #expect(try await sandbox.authorize(at: google.url, person: "kim").status == 302)
    }
}

/// Clients with redirect URIs, and where discovery says that their requests go.
@Suite(.fixture(Sandbox.self)) struct WebClientTests {
    private var sandbox: Sandbox { .current }

    @Test func `redirect URIs and teams of a client change one without the other`() async throws {
        try await sandbox.assignAppleClient("web", team: "OTHERTEAM1")
        try await sandbox.registerWebClient(.apple, "web", redirectURIs: [callback])
        let apple = try await sandbox.control("apple/clients")["items"]?.elements?.first
        #expect(apple?["teamId"]?.string == "OTHERTEAM1")
        #expect(apple?["redirectUris"]?.elements?.map(\.string) == [callback])
        try await sandbox.registerWebClient(.apple, "own", redirectURIs: [callback])
        let own = try await sandbox.control("apple/clients")["items"]?.elements?.first
        #expect(own?["clientId"]?.string == "own")
        #expect(own?["teamId"]?.string == "SANDBOX001")

        try await sandbox.registerGoogleClient("web", secret: "x")
        try await sandbox.registerWebClient(.google, "web", redirectURIs: [callback])
        try await sandbox.registerGoogleClient("web", secret: "y")
        let google = try await sandbox.control("google/clients")["items"]?.elements?.first
        #expect(google?["redirectUris"]?.elements?.map(\.string) == [callback])
        #expect(google?["internalTo"] == nil)
    }

    @Test(arguments: [
        "https://auth.example.com/cb", "https://auth.example.com:8443/cb?x=1", "http://127.0.0.1:8080/cb",
        "http://localhost:8080/cb", "http://[::1]:8080/cb", "https://localhost/cb",
    ])
    func `a redirect URI can be registered when it is https with a domain name, or on this machine`(
        _ uri: String
    ) async throws {
        for provider in Sandbox.Provider.allCases {
            try await sandbox.registerWebClient(
                provider, "web", redirectURIs: [uri], secret: provider == .google ? "x" : nil)
        }
    }

    @Test(
        .sharedSandbox,
        arguments: [
            "http://auth.example.com/cb", "https://10.0.0.1/cb", "https://[fe80::1]/cb", "https://intranet/cb",
            "https://auth.example.com/cb#x", "https://auth.example.com/cb#", "https://a:b@auth.example.com/cb",
            "https://a@127.0.0.1/cb", "https://*.example.com/cb", "https://auth.example.com/a/../cb",
            "https://auth.example.com/%2e%2e/cb", "com.example.app:/cb", "/cb", "https://auth.example.com/c b",
        ])
    func `no other redirect URI can be registered`(_ uri: String) async throws {
        for provider in Sandbox.Provider.allCases {
            let secret = provider == .google ? #","clientSecret":"x""# : ""
            let refusal = try await sandbox.refusal(
                "\(provider.rawValue)/clients",
                #"{"clientId":"unregistered","redirectUris":["\#(callback)","\#(uri)"]\#(secret)}"#)
            #expect(refusal.message?.hasPrefix("redirectUris must be https") == true, "\(uri)")
        }
    }

    @Test(.sharedSandbox) func `discovery names the pages and what they take`() async throws {
        let apple = try JSONValue(parsing: try await sandbox.get("/apple/.well-known/openid-configuration").body)
        #expect(apple["authorization_endpoint"]?.string == sandbox.appleAuthorizeURL)
        #expect(apple["response_types_supported"]?.elements?.map(\.string) == ["code"])
        #expect(apple["response_modes_supported"]?.elements?.map(\.string) == ["query", "fragment", "form_post"])
        let google = try JSONValue(parsing: try await sandbox.get("/google/.well-known/openid-configuration").body)
        #expect(google["authorization_endpoint"]?.string == sandbox.googleAuthorizeURL)
        #expect(google["response_types_supported"]?.elements?.map(\.string) == ["code"])
        #expect(google["code_challenge_methods_supported"]?.elements?.map(\.string) == ["plain", "S256"])
    }
}
