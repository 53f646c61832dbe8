import Accounts
import Curl
import JOSE
import Providers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct TokenExchangeTests {
    private func answer(
        _ provider: Provider, _ change: (inout TokenMint.Members) -> Void = { _ in }
    ) throws -> LoopbackServer.Step {
        var answer = try EndpointFixture.answer(provider)
        change(&answer)
        return .respond(headers: [("Content-Type", "application/json;charset=UTF-8")], body: answer.bytes)
    }

    @Test(arguments: Provider.allCases)
    func `a code becomes an identity and a refresh token`(provider: Provider) async throws {
        try await withEndpoint(provider, answering: answer(provider)) { apps in
            let exchanged = try await apps.exchange(timeout: .seconds(7))
            #expect(exchanged.identity.key.provider == provider)
            #expect(exchanged.identity.clientID == EndpointFixture.clientID(provider))
            #expect(exchanged.identity.issuedAt == Timestamp(seconds: referenceTime))
            #expect(exchanged.refreshToken == EndpointFixture.refreshToken)
            #expect(apps.fetcher.requests.map(\.timeout) == [.seconds(7)])
            #expect(apps.fetcher.requests.map(\.maximumBodyBytes) == [65_536])
            #expect(apps.log.lines.isEmpty)
        }
    }

    // MARK: What is sent

    @Test func `Apple gets a native app's code without a redirect address`() async throws {
        try await withEndpoint(.apple, answering: answer(.apple)) { apps in
            try await apps.exchange()
            let form = try apps.form()
            #expect(form.target == "/auth/token")
            #expect(
                form.lines == [
                    "client_id=com.example.lamp", "client_secret=\(try form.value("client_secret"))",
                    "code=c0ffee11223344556677889900aabbccd.0.rtzx.ExampleCodeTail", "grant_type=authorization_code",
                ])
            let secret = try form.value("client_secret")
            #expect(try AppleSecretVerifier().accepts(secret, clientID: AppleFixture.clientID, at: referenceTime))
        }
    }

    @Test func `Apple gets a web code with the redirect address that it was asked for with`() async throws {
        let client: ProviderClientID = "com.example.lamp.web"
        let claims = EndpointFixture.claims(.apple).with("aud", .string(client.text))
        let answer = try EndpointFixture.answer(.apple, claims).bytes
        try await withEndpoint(.apple, answering: .respond(body: answer)) { apps in
            let code = AuthorizationCode(
                text: "web.code", clientID: client, redirectURI: "https://lamp.example/signed-in?from=apple&x=1")
            let exchanged = try await apps.apple(clientIDs: [AppleFixture.clientID, client]).exchange(
                code, nonce: .proven, timeout: .seconds(50), at: Timestamp(seconds: referenceTime))
            #expect(exchanged.identity.clientID == client)
            let form = try apps.form()
            #expect(
                form.lines == [
                    "client_id=com.example.lamp.web", "client_secret=\(try form.value("client_secret"))",
                    "code=web.code", "grant_type=authorization_code",
                    "redirect_uri=https://lamp.example/signed-in?from=apple&x=1",
                ])
            #expect(try AppleSecretVerifier().accepts(form.value("client_secret"), clientID: client, at: referenceTime))
        }
    }

    @Test func `Google gets a code as the server client, with an empty redirect address`() async throws {
        try await withEndpoint(.google, answering: answer(.google)) { apps in
            try await apps.exchange()
            let form = try apps.form()
            #expect(form.target == "/token")
            #expect(
                form.lines == [
                    "client_id=\(GoogleFixture.clientID)", "client_secret=GOCSPX-canary+secret/=",
                    "code=4/0AbCdEfGh_canary+code&code=%2F", "grant_type=authorization_code", "redirect_uri=",
                ])
            let text = String(decoding: apps.requests[0].body, as: UTF8.self)
            #expect(text.contains("code=4%2F0AbCdEfGh_canary%2Bcode%26code%3D%252F"))
        }
    }

    @Test(arguments: Provider.allCases)
    func `nothing is sent for a client that can't be answered for`(provider: Provider) async throws {
        try await withEndpoint(provider, answering: answer(provider)) { apps in
            let now = Timestamp(seconds: referenceTime)
            let upper = ProviderClientID(EndpointFixture.clientID(provider).text.uppercased())
            for client in ["com.example.other", "", upper] {
                let endpoint = try apps.endpoint()
                await #expect(throws: EndpointRefusal.notConfigured) {
                    try await endpoint.exchange(
                        AuthorizationCode(text: "c", clientID: client), nonce: .proven, timeout: .seconds(50), at: now)
                }
                await #expect(throws: EndpointRefusal.notConfigured) {
                    try await endpoint.check("r", of: client, at: now)
                }
            }
            #expect(apps.requests.isEmpty)
        }
    }

    // MARK: What comes back

    @Test(arguments: Provider.allCases)
    func `whatever the answer says besides is not looked at`(provider: Provider) async throws {
        let longest = String(repeating: "a", count: 4_096)
        let claims = EndpointFixture.claims(provider)
            .with("at_hash", .string(EndpointFixture.hash(of: longest)))
            .with("padding", .string(String(repeating: "p", count: 8_192)))
        var answer = try EndpointFixture.answer(provider, claims)
        answer["access_token"] = .string(longest)
        answer["token_type"] = .null
        answer["expires_in"] = "soon"
        answer["scope"] = ["openid", ["deeper"]]
        try await withEndpoint(provider, answering: .respond(body: answer.bytes)) { apps in
            let exchanged = try await apps.exchange()
            #expect(exchanged.refreshToken == EndpointFixture.refreshToken)
        }
    }

    @Test(arguments: Provider.allCases)
    func `an answer without a refresh token is one all the same`(provider: Provider) async throws {
        try await withEndpoint(provider, answering: answer(provider) { $0["refresh_token"] = nil }) { apps in
            let exchanged = try await apps.exchange()
            #expect(exchanged.refreshToken == nil)
            #expect(apps.log.lines.isEmpty)
        }
    }

    static let unusable: [TokenMint.Literal] = [
        "", 1, .null, ["a"], "canary\u{7F}", "canary\n", "canäry", .string(String(repeating: "canary-", count: 586)),
    ]

    @Test(arguments: Provider.allCases, unusable)
    func `a refresh token that can't be one is dropped with a warning`(
        provider: Provider, token: TokenMint.Literal
    ) async throws {
        try await withEndpoint(provider, answering: answer(provider) { $0["refresh_token"] = token }) { apps in
            let exchanged = try await apps.exchange()
            #expect(exchanged.refreshToken == nil)
            #expect(apps.log.lines.map { $0.prefix { $0 != " " } } == ["warning"])
            #expect(apps.log.lines.first?.contains(provider.rawValue) == true)
            try apps.expectSilence()
        }
    }

    @Test(arguments: Provider.allCases)
    func `a refresh token of 4096 bytes is kept`(provider: Provider) async throws {
        let longest = String(repeating: "~", count: 4_096)
        try await withEndpoint(provider, answering: answer(provider) { $0["refresh_token"] = .string(longest) }) {
            let exchanged = try await $0.exchange()
            #expect(exchanged.refreshToken?.text == longest)
        }
    }

    // MARK: Nonces

    @Test(arguments: Provider.allCases)
    func `a posted nonce must be the token's unless it was proven before`(provider: Provider) async throws {
        try await withEndpoint(provider, answering: answer(provider)) { apps in
            let nonce = provider == .apple ? AppleFixture.rawNonce : "made-up-by-the-sdk"
            try await apps.exchange(nonce: .posted(nonce))
            try await apps.exchange(nonce: .proven)
            await #expect(throws: EndpointFixture.rejected(.nonceMismatch, provider)) {
                try await apps.exchange(nonce: .posted("another"))
            }
        }
        let plain = try EndpointFixture.answer(provider, EndpointFixture.claims(provider).with("nonce", nil)).bytes
        try await withEndpoint(provider, answering: .respond(body: plain)) { apps in
            try await apps.exchange(nonce: .proven)
            try await apps.exchange(nonce: .posted(nil))
            await #expect(throws: EndpointFixture.rejected(.nonceMissing, provider)) {
                try await apps.exchange(nonce: .posted("any"))
            }
        }
    }

    @Test func `a nonce that nobody posted is the provider's own rule`() async throws {
        try await withEndpoint(.apple, answering: answer(.apple)) { apps in
            await #expect(throws: EndpointFixture.rejected(.nonceMissing, .apple)) {
                try await apps.exchange(nonce: .posted(nil))
            }
        }
        try await withEndpoint(.google, answering: answer(.google)) { try await $0.exchange(nonce: .posted(nil)) }
    }

    // MARK: Who asked

    @Test func `Google's token must be for the server client, not for an app`() async throws {
        for audience: TokenMint.Literal in [.string(GoogleFixture.party.text), [.string(GoogleFixture.party.text)]] {
            let answer = try EndpointFixture.answer(.google, EndpointFixture.claims(.google).with("aud", audience))
            try await withEndpoint(.google, answering: .respond(body: answer.bytes)) { apps in
                await #expect(throws: EndpointFixture.rejected(.audienceRejected, nil)) { try await apps.exchange() }
            }
        }
    }

    @Test func `Apple's token must be for the client of the code, not for another of ours`() async throws {
        let claims = EndpointFixture.claims(.apple).with("aud", "com.example.lamp.web")
        try await withEndpoint(.apple, answering: .respond(body: EndpointFixture.answer(.apple, claims).bytes)) {
            apps in
            await #expect(throws: EndpointFixture.rejected(.clientRejected, nil)) { try await apps.exchange() }
        }
    }

    @Test func `the server client is a party of its own, also where apps are listed`() async throws {
        let rules = try GoogleFixture.provider { $0.authorizedParties = [GoogleFixture.party] }
        let now = Timestamp(seconds: referenceTime)
        for (party, isParty) in [(GoogleFixture.clientID, true), (GoogleFixture.party, true), ("another", false)] {
            let claims = EndpointFixture.claims(.google).with("azp", .string(party.text))
            let answer = try EndpointFixture.answer(.google, claims)
            try await withEndpoint(.google, answering: .respond(body: answer.bytes)) { apps in
                let endpoint = try apps.google(rules)
                let exchanged = try? await endpoint.exchange(
                    EndpointFixture.code(.google), nonce: .proven, timeout: .seconds(50), at: now)
                #expect((exchanged != nil) == isParty)
            }
        }
        // A posted token is judged as before.
        await #expect(throws: CredentialRefusal(.partyRejected)) {
            try await rules.judge(EndpointFixture.claims(.google))
        }
    }
}
