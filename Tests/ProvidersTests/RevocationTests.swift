import Accounts
import Curl
import Providers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct RevocationTests {
    @Test func `Apple gets the refresh token and what it is`() async throws {
        try await withEndpoint(.apple, answering: .respond()) { apps in
            try await apps.revoke()
            let form = try apps.form()
            let secret = try form.value("client_secret")
            #expect(form.target == "/auth/revoke")
            #expect(
                form.lines == [
                    "client_id=com.example.lamp", "client_secret=\(secret)", "token=1//0gCanary.Refresh+Token&=",
                    "token_type_hint=refresh_token",
                ])
            #expect(try AppleSecretVerifier().accepts(secret, clientID: AppleFixture.clientID, at: referenceTime))
            #expect(apps.fetcher.requests.map(\.timeout) == [.seconds(10)])
            #expect(apps.fetcher.requests.map(\.maximumBodyBytes) == [65_536])
        }
    }

    @Test func `Google gets the refresh token in the body and nothing else`() async throws {
        try await withEndpoint(.google, answering: .respond(text: "{}")) { apps in
            try await apps.revoke()
            let form = try apps.form()
            #expect(form.target == "/revoke")
            #expect(form.lines == ["token=1//0gCanary.Refresh+Token&="])
            #expect(apps.fetcher.requests.map(\.timeout) == [.seconds(10)])
            #expect(apps.fetcher.requests.map(\.maximumBodyBytes) == [65_536])
        }
    }

    @Test func `Google revokes a token of a client that we no longer are`() async throws {
        try await withEndpoint(.google, answering: .respond()) { apps in
            try await apps.google().revoke("r", of: "former-client", at: Timestamp(seconds: referenceTime))
            #expect(try apps.form().lines == ["token=r"])
        }
    }

    @Test func `nothing is sent to Apple without the client's key`() async throws {
        try await withEndpoint(.apple, answering: .respond()) { apps in
            await #expect(throws: EndpointRefusal.notConfigured) {
                try await apps.apple().revoke("r", of: "com.example.other", at: Timestamp(seconds: referenceTime))
            }
            #expect(apps.requests.isEmpty)
        }
    }

    @Test(arguments: Provider.allCases, ["", "{}", "[]", "<html>", #"{"error":"invalid_grant"}"#])
    func `a success is one whatever its body says`(provider: Provider, body: String) async throws {
        try await withEndpoint(provider, answering: .respond(text: body)) { apps in
            try await apps.revoke()
            #expect(apps.requests.count == 1)
        }
    }

    @Test func `a token that was dead is dead at Google, and at Apple the answer doesn't say so`() async throws {
        let answer = LoopbackServer.Step.respond(
            400, text: #"{"error":"invalid_token","error_description":"Token expired or revoked"}"#)
        try await withEndpoint(.google, answering: answer) { apps in
            try await apps.revoke()
            #expect(apps.requests.count == 1)
        }
        try await withEndpoint(.apple, answering: answer) { apps in
            await #expect(throws: EndpointRefusal.unavailable(detail: "invalid_token")) { try await apps.revoke() }
        }
    }

    @Test(arguments: Provider.allCases)
    func `a refusal says whose fault it is`(provider: Provider) async throws {
        let keyID = EndpointFixture.keyID(provider)
        for (error, expected): (String, EndpointRefusal) in [
            ("invalid_client", .clientRejected(error: "invalid_client", keyID: keyID)),
            ("invalid_request", .clientRejected(error: "invalid_request", keyID: keyID)),
            ("unauthorized_client", .clientRejected(error: "unauthorized_client", keyID: keyID)),
            ("invalid_grant", .grantRejected(error: "invalid_grant")),
            ("server_error", .unavailable(detail: "unknown_error")),
        ] {
            try await withEndpoint(provider, answering: .respond(400, text: "{\"error\":\"\(error)\"}")) { apps in
                await #expect(throws: expected) { try await apps.revoke() }
                #expect(apps.requests.count == 1)
                try apps.expectSilence(expected)
            }
        }
    }

    @Test(arguments: Provider.allCases)
    func `a bad day is an outage`(provider: Provider) async throws {
        for (detail, step): (String, LoopbackServer.Step) in [
            ("http_500", .respond(500)), ("http_429", .respond(429)), ("http_302", .respond(302)),
            ("http_204", .respond(204)), ("not_json", .respond(400, text: "<html>")), ("closed", .reset),
            ("too_large", .respond(body: [UInt8](repeating: 0x20, count: 65_537))),
        ] {
            try await withEndpoint(provider, answering: step) { apps in
                await #expect(throws: EndpointRefusal.unavailable(detail: detail)) { try await apps.revoke() }
                #expect(apps.requests.count == 1)
            }
        }
    }
}
