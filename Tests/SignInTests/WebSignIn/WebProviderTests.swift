import Accounts
import Foundation
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// What is asked of a provider, and which of its answers prove a person.
@Suite(.fixture(WebFixture.self)) struct WebProviderTests {
    var fixture: WebFixture { .current }

    /// The parameters of a URL, which came once each.
    private static func parameters(_ url: String) throws -> [String: String] {
        let query = try #require(url.split(separator: "?", maxSplits: 1).last)
        #expect(!query.contains("+"))
        return Dictionary(
            uniqueKeysWithValues: query.split(separator: "&").map { pair in
                let parts = pair.split(separator: "=", maxSplits: 1)
                return (String(parts[0]), parts.count > 1 ? parts[1].removingPercentEncoding ?? "" : "")
            })
    }

    @Test func `Apple is asked for a code and a token, by a form`() async throws {
        let url = try await fixture.start(.apple, try await fixture.open())
        #expect(url.contains("scope=name%20email"))
        var parameters = try Self.parameters(url)
        #expect(parameters.removeValue(forKey: "state")?.utf8.count == 43)
        // The form in which Apple's tokens are expected to have it.
        #expect(parameters.removeValue(forKey: "nonce")?.utf8.count == 64)
        #expect(
            parameters == [
                "client_id": WebFixture.servicesID, "response_mode": "form_post", "scope": "name email",
                "response_type": "code id_token", "redirect_uri": "https://auth.example.com/web/callback/apple",
            ])
    }

    @Test(.fixture { try await WebFixture.run(hostedDomains: ["example.com"], $0) })
    func `Google is asked for a code by a challenge, and which account`() async throws {
        let flow = try await fixture.open { $0.loginHint = ["kim@example.com"] }
        let first = try Self.parameters(try await fixture.start(.google, flow))
        var parameters = try Self.parameters(try await fixture.start(.google, flow))
        for secret in ["state", "nonce", "code_challenge"] {
            #expect(first[secret] != parameters[secret])
            #expect(parameters.removeValue(forKey: secret)?.utf8.count == 43)
        }
        #expect(
            parameters == [
                "client_id": LifeCycleFixture.serverClient, "response_type": "code", "hd": "example.com",
                "redirect_uri": "https://auth.example.com/web/callback/google", "scope": "openid email profile",
                "code_challenge_method": "S256", "prompt": "select_account", "login_hint": "kim@example.com",
            ])
    }

    @Test func `only the provider that the app wants is started`() async throws {
        let flow = try await fixture.open { $0.provider = ["apple"] }
        #expect(flow.only == .apple)
        try await expectFailure("providerDisabled") { try await fixture.start(.google, flow) }
    }

    @Test(arguments: Provider.allCases)
    func `the exchange is that of the flow's client and redirect URI`(provider: Provider) async throws {
        _ = try await fixture.code(provider)
        let requests = try await fixture.exchanges(at: provider)
        #expect(requests.map(\.status) == [200])
        let request = try #require(requests.first)
        #expect(request.field("redirect_uri") == "https://auth.example.com/web/callback/\(provider.rawValue)")
        switch provider {
        case .apple:
            #expect(request.field("client_id") == WebFixture.servicesID)
            #expect(request.field("code_verifier") == nil)
        case .google:
            #expect(request.field("client_id") == LifeCycleFixture.serverClient)
            #expect(request.field("code_verifier") != nil)
        }
    }

    @Test(arguments: Provider.allCases)
    func `a person who cancels chooses once more, and is denied where the app wants this provider alone`(
        provider: Provider
    ) async throws {
        let any = try await fixture.open()
        guard case .choose(let page, .cancelled?) = try await fixture.cancel(any, at: provider) else {
            return #expect(Bool(false))
        }
        #expect(page.status == .new)
        let other = provider == .apple ? Provider.google : .apple
        #expect(try await fixture.sign(in: page, at: other).code.count == 43)

        let flow = try await fixture.open { $0.provider = [provider.rawValue] }
        let step = try await fixture.cancel(flow, at: provider)
        #expect(try step.error == "access_denied")
        #expect(try step.appReturn.uri.contains("&state=state-of-the-app%3A0123456789%2F%2B%3D&iss=https%3A"))
        #expect(try await fixture.status(flow) == "failed")
        #expect(try await fixture.exchanges(at: provider).isEmpty)
    }

    @Test func `a proven person who can't be kept is an error of the server's, which the app hears of`() async throws {
        try await fixture.database.execute(
            "ALTER TABLE web_flows ADD CONSTRAINT web_flows_fault CHECK (status <> 'coded')")
        let flow = try await fixture.open()
        #expect(try await fixture.sign(in: flow, at: .google).error == "server_error")
        #expect(try await fixture.status(flow) == "failed")
    }

    @Test(arguments: Provider.allCases)
    func `any other error of a provider's is an error of the server's, in its own words alone`(
        provider: Provider
    ) async throws {
        for error in ["org_internal", "<script>alert(1)</script>"] {
            let flow = try await fixture.open()
            let step: WebStep
            switch provider {
            case .apple:
                let state = try await fixture.appleAnswer(flow).state
                step = try await fixture.finish(
                    AppleAnswer(state: state, code: "c0de", idToken: nil, user: nil, error: error))
            case .google:
                let state = try await fixture.googleAnswer(flow).state
                step = try await fixture.finish(GoogleAnswer(state: state, code: "c0de", issuer: nil, error: error))
            }
            #expect(try step.error == "server_error")
            let uri = try step.appReturn.uri
            #expect(!uri.contains("org_internal") && !uri.contains("script"))
        }
        #expect(try await fixture.exchanges(at: provider).isEmpty)
    }

    // MARK: Apple

    /// An answer of Apple's that proves nobody.
    struct Answer: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reason: String
        /// Whether the code was sent to Apple.
        var isSent = false
        var token: Sandbox.TokenChanges?
        var exchange: Sandbox.ExchangeChanges?
        var withoutParameters: [String] = []
    }

    @Test(arguments: [
        Answer(testDescription: "wrong nonce", reason: "nonce_mismatch", token: .init(claims: #"{"nonce":"x"}"#)),
        Answer(testDescription: "no nonce", reason: "nonce_missing", token: .init(withoutClaims: ["nonce"])),
        // An accepted client, but not the flow's.
        Answer(
            testDescription: "the app's client", reason: "client_rejected",
            token: .init(claims: #"{"aud":"com.example.lamp"}"#)),
        Answer(
            testDescription: "a foreign client", reason: "audience_rejected",
            token: .init(claims: #"{"aud":"com.example.other"}"#)),
        Answer(
            testDescription: "foreign issuer", reason: "issuer_rejected",
            token: .init(claims: #"{"iss":"https://account.apple.com"}"#)),
        Answer(testDescription: "forged", reason: "signature_mismatch", token: .init(signature: .forged)),
        Answer(testDescription: "expired", reason: "expired", token: .init(expired: true)),
        Answer(
            testDescription: "another code's hash", reason: "hash_mismatch",
            token: .init(claims: #"{"c_hash":"AAAAAAAAAAAAAAAAAAAAAA"}"#)),
        Answer(
            testDescription: "another person's code", reason: "subject_mismatch", isSent: true,
            exchange: .init(token: .init(claims: #"{"sub":"000000.another"}"#))),
        Answer(
            testDescription: "another nonce at the exchange", reason: "nonce_mismatch", isSent: true,
            exchange: .init(token: .init(claims: #"{"nonce":"x"}"#))),
        Answer(
            testDescription: "another client at the exchange", reason: "client_rejected", isSent: true,
            exchange: .init(token: .init(claims: #"{"aud":"com.example.lamp"}"#))),
        Answer(
            testDescription: "a foreign client at the exchange", reason: "audience_rejected", isSent: true,
            exchange: .init(token: .init(claims: #"{"aud":"com.example.other"}"#))),
        Answer(
            testDescription: "neither code nor token", reason: "malformed", withoutParameters: ["code", "id_token"]),
    ]) func `any fault of Apple's answer ends the flow`(answer: Answer) async throws {
        let flow = try await fixture.open()
        try await fixture.base.sandbox.alterNext(
            .apple, token: answer.token, exchange: answer.exchange, withoutParameters: answer.withoutParameters)
        let step = try await fixture.finish(try await fixture.appleAnswer(flow))
        #expect(try step.error == "server_error")
        #expect(try await fixture.exchanges(at: .apple).count == (answer.isSent ? 1 : 0))
        #expect(try await fixture.status(flow) == "failed")
        #expect(try await fixture.sealed(flow) == [])
        #expect(try await fixture.refusals() == [answer.reason])
        #expect(try await fixture.count("sessions") == 0)
        #expect(try await fixture.count("link_tickets") == 0)
    }

    @Test(arguments: ["invalid_grant", "invalid_request", "invalid_client"])
    func `beside Apple's good token a code that Apple refuses is recorded, and no more`(error: String) async throws {
        try await fixture.base.sandbox.fail(
            "/apple/auth/token", .status(400, body: #"{"error":"\#(error)"}"#), times: 1)
        let ticket = try await fixture.exchange(try await fixture.code(.apple)).ticket
        #expect(ticket.identity?.clientID.text == WebFixture.servicesID)
        #expect(try await fixture.count("provider_grants") == 0)
        #expect(try await fixture.refusals() == [])
        // That our key is refused says nothing of the code.
        let recorded = try await fixture.count("audit_events WHERE type = 'code_rejected' AND reason = \(error)")
        #expect(recorded == (error == "invalid_client" ? 0 : 1))
    }

    @Test func `beside Apple's token a token endpoint that is down is forgiven`() async throws {
        try await fixture.base.sandbox.fail("/apple/auth/token", .status(500), times: 1)
        let code = try await fixture.code(.apple)
        #expect(try await fixture.exchanges(at: .apple).map(\.status) == [500])
        #expect(try await fixture.exchange(code).ticket.identity?.clientID.text == WebFixture.servicesID)
        #expect(try await fixture.count("provider_grants") == 0)
    }

    @Test(arguments: Provider.allCases)
    func `without a token it is not, and the app may try again`(provider: Provider) async throws {
        try await fixture.base.sandbox.fail(LifeCycleFixture.tokenPath(provider), .status(500), times: 1)
        try await fixture.base.sandbox.alterNext(provider == .apple ? .apple : .google, withoutParameters: ["id_token"])
        let step = try await fixture.sign(in: try await fixture.open(), at: provider)
        #expect(try step.error == "temporarily_unavailable")
    }

    @Test func `a token by a key that may not be fetched yet is no fault of the server's, and the app may try again`()
        async throws
    {
        let web = try fixture.fetchingKeys()
        #expect(try await !web.sign(in: try await web.open(), at: .apple).appReturn.isError)
        // Within the minute in which the keys were fetched.
        try await fixture.base.sandbox.rotateKeys(.apple)
        #expect(try await web.sign(in: try await web.open(), at: .apple).error == "temporarily_unavailable")
        #expect(try await web.refusals() == ["key_unknown"])
        try await fixture.base.advance(by: 60)
        #expect(try await !web.sign(in: try await web.open(), at: .apple).appReturn.isError)
        // One that the newest set lacks was made up.
        try await fixture.base.advance(by: 60)
        try await fixture.base.sandbox.alterNext(.apple, token: .init(header: #"{"kid":"made-up"}"#))
        #expect(try await web.sign(in: try await web.open(), at: .apple).error == "server_error")
    }

    @Test func `Apple's code suffices without a token`() async throws {
        try await fixture.base.sandbox.alterNext(.apple, withoutParameters: ["id_token"])
        #expect(try await fixture.exchange(try await fixture.code(.apple)).ticket.identity != nil)
    }

    @Test func `of Apple's user only the name is used`() async throws {
        let answer = try await fixture.appleAnswer(try await fixture.open(), name: ("Kim", "Lee"))
        let user = try #require(answer.user)
        #expect(user.contains("kim@example.com"))
        let forged = AppleAnswer(
            state: answer.state, code: answer.code, idToken: answer.idToken,
            user: user.replacing("kim@example.com", with: "victim@example.com"), error: nil)
        let ticket = try await fixture.exchange(try await fixture.finish(forged).code).ticket
        #expect(ticket.person.email?.text == "kim@example.com")
        #expect(try await fixture.base.create(ticket).account.displayName?.text == "Kim Lee")
    }

    @Test(arguments: [
        "{", "[]", #"{"name":"Kim"}"#, #"{"name":{"firstName":1}}"#, #"{"name":{"firstName":"Kim"},"name":{}}"#,
        #"{"name":{"firstName":"\#(String(repeating: "k", count: 2_048))"}}"#,
    ]) func `a user that can't be read is nobody's name`(user: String) async throws {
        let answer = try await fixture.appleAnswer(try await fixture.open())
        let changed = AppleAnswer(
            state: answer.state, code: answer.code, idToken: answer.idToken, user: user, error: nil)
        let ticket = try await fixture.exchange(try await fixture.finish(changed).code).ticket
        #expect(try await fixture.base.create(ticket).account.displayName == nil)
    }

    // MARK: Google

    @Test func `a foreign issuer, and one that is missing where it is required, is not Google's`() async throws {
        for issuer in [
            "https://accounts.google.com.evil.example", "https://accounts.google.com/", "accounts.google.com",
        ] {
            let answer = try await fixture.googleAnswer(try await fixture.open())
            let foreign = GoogleAnswer(state: answer.state, code: answer.code, issuer: issuer, error: nil)
            #expect(try await fixture.finish(foreign).error == "server_error")
        }
        #expect(try await fixture.exchanges(at: .google).isEmpty)
        let other = try await fixture.googleAnswer(try await fixture.open())
        let silent = GoogleAnswer(state: other.state, code: other.code, issuer: nil, error: nil)
        #expect(try await !fixture.finish(silent).appReturn.isError)
        #expect(try await fixture.refusals() == ["web_issuer_mismatch"])
    }

    @Test(.web { $0.web?.google?.requireIssuer = true })
    func `an answer without its issuer is refused where that is required`() async throws {
        let answer = try await fixture.googleAnswer(try await fixture.open())
        let silent = GoogleAnswer(state: answer.state, code: answer.code, issuer: nil, error: nil)
        #expect(try await fixture.finish(silent).error == "server_error")
        #expect(try await fixture.exchanges(at: .google).isEmpty)
    }

    @Test(.fixture { try await WebFixture.run(hostedDomains: ["example.com"], $0) })
    func `only accounts of the Workspace domains sign in`() async throws {
        #expect(try await fixture.sign(in: try await fixture.open(), at: .google).error == "server_error")
        try await fixture.base.sandbox.addGooglePerson("ada", #"{"hostedDomain":"other.example"}"#)
        #expect(try await fixture.sign(in: try await fixture.open(), at: .google, "ada").error == "server_error")
        try await fixture.base.sandbox.addGooglePerson("kim", #"{"hostedDomain":"example.com"}"#)
        #expect(try await !fixture.sign(in: try await fixture.open(), at: .google).appReturn.isError)
        #expect(try await fixture.refusals().sorted() == ["claim_missing", "party_rejected"])
    }

    @Test(arguments: [
        (Sandbox.TokenChanges(claims: #"{"nonce":"x"}"#), "nonce_mismatch"),
        (.init(withoutClaims: ["nonce"]), "nonce_missing"),
        (.init(claims: #"{"iss":"https://evil.example"}"#), "issuer_rejected"),
        (.init(claims: #"{"aud":"other"}"#), "audience_rejected"), (.init(signature: .forged), "signature_mismatch"),
    ]) func `any fault of Google's token ends the flow`(token: Sandbox.TokenChanges, reason: String) async throws {
        try await fixture.base.sandbox.alterNext(.google, exchange: .init(token: token))
        let flow = try await fixture.open()
        #expect(try await fixture.sign(in: flow, at: .google).error == "server_error")
        #expect(try await fixture.status(flow) == "failed")
        #expect(try await fixture.refusals() == [reason])
    }

    @Test func `an exchange of Google's that brings no ID token proves nobody`() async throws {
        try await fixture.base.sandbox.alterNext(.google, exchange: .init(omitsIDToken: true))
        let step = try await fixture.sign(in: try await fixture.open(), at: .google)
        #expect(try step.error == "temporarily_unavailable")
    }

    @Test func `an answer of Google's without a code proves nobody`() async throws {
        let answer = try await fixture.googleAnswer(try await fixture.open())
        let empty = GoogleAnswer(state: answer.state, code: nil, issuer: answer.issuer, error: nil)
        #expect(try await fixture.finish(empty).error == "server_error")
        #expect(try await fixture.exchanges(at: .google).isEmpty)
        // Neither does one with another's code.
        let other = try await fixture.googleAnswer(try await fixture.open())
        let foreign = GoogleAnswer(state: other.state, code: "4/0Aforeign", issuer: other.issuer, error: nil)
        #expect(try await fixture.finish(foreign).error == "server_error")
    }
}
