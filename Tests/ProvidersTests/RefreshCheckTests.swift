import Accounts
import Curl
import Providers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct RefreshCheckTests {
    static let alive = #"{"access_token":"a","token_type":"Bearer","expires_in":3600}"#

    @Test(arguments: Provider.allCases)
    func `the provider gets the refresh token as the client`(provider: Provider) async throws {
        try await withEndpoint(provider, answering: .respond(text: Self.alive)) { apps in
            try await apps.check()
            let form = try apps.form()
            let secret = try form.value("client_secret")
            #expect(form.target == (provider == .apple ? "/auth/token" : "/token"))
            #expect(
                form.lines == [
                    "client_id=\(EndpointFixture.clientID(provider))", "client_secret=\(secret)",
                    "grant_type=refresh_token", "refresh_token=1//0gCanary.Refresh+Token&=",
                ])
            if provider == .apple {
                #expect(try AppleSecretVerifier().accepts(secret, clientID: AppleFixture.clientID, at: referenceTime))
            } else {
                #expect(secret == EndpointFixture.googleSecret)
            }
            #expect(apps.fetcher.requests.map(\.timeout) == [.seconds(10)])
            #expect(apps.fetcher.requests.map(\.maximumBodyBytes) == [65_536])
        }
    }

    @Test(arguments: Provider.allCases, ["{}", alive, #"{"id_token":"not.a.token","refresh_token":""}"#])
    func `an object means that the token is honoured`(provider: Provider, body: String) async throws {
        try await withEndpoint(provider, answering: .respond(text: body)) { apps in
            try await apps.check()
            #expect(apps.requests.count == 1)
            #expect(apps.log.lines.isEmpty)
        }
    }

    @Test(arguments: Provider.allCases)
    func `a refusal says what is known`(provider: Provider) async throws {
        let keyID = EndpointFixture.keyID(provider)
        for (error, expected): (String, EndpointRefusal) in [
            ("invalid_grant", .grantRejected(error: "invalid_grant")),
            ("admin_policy_enforced", .grantRejected(error: "admin_policy_enforced")),
            ("invalid_client", .clientRejected(error: "invalid_client", keyID: keyID)),
            ("deleted_client", .clientRejected(error: "deleted_client", keyID: keyID)),
            ("unauthorized_client", .clientRejected(error: "unauthorized_client", keyID: keyID)),
            ("invalid_token", .unavailable(detail: "invalid_token")),
            ("temporarily_unavailable", .unavailable(detail: "unknown_error")),
        ] {
            try await withEndpoint(provider, answering: .respond(400, text: "{\"error\":\"\(error)\"}")) { apps in
                await #expect(throws: expected) { try await apps.check() }
                #expect(apps.requests.count == 1)
                try apps.expectSilence(expected)
            }
        }
    }

    @Test func `an invalid request may be a withdrawal at Apple, and at Google it is our fault`() async throws {
        let answer = LoopbackServer.Step.respond(400, text: #"{"error":"invalid_request"}"#)
        try await withEndpoint(.apple, answering: answer) { apps in
            await #expect(throws: EndpointRefusal.requestRejected(error: "invalid_request")) { try await apps.check() }
        }
        try await withEndpoint(.google, answering: answer) { apps in
            await #expect(
                throws: EndpointRefusal.clientRejected(error: "invalid_request", keyID: GoogleFixture.clientID.text)
            ) { try await apps.check() }
        }
    }

    @Test(arguments: Provider.allCases)
    func `a bad day says nothing about the token`(provider: Provider) async throws {
        for (detail, step): (String, LoopbackServer.Step) in [
            ("http_500", .respond(500, text: #"{"error":"invalid_grant"}"#)), ("http_429", .respond(429)),
            ("http_403", .respond(403, text: #"{"error":"invalid_grant"}"#)), ("http_302", .respond(302)),
            ("not_json", .respond()), ("not_json", .respond(text: "<html>")), ("closed", .reset),
            ("unexpected_json", .respond(text: "[]")),
            ("unexpected_json", .respond(text: #"{"error":"invalid_grant"}"#)),
        ] {
            try await withEndpoint(provider, answering: step) { apps in
                await #expect(throws: EndpointRefusal.unavailable(detail: detail)) { try await apps.check() }
                #expect(apps.requests.count == 1)
            }
        }
    }
}
