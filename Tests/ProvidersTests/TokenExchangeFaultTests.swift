import Accounts
import Curl
import JOSE
import Logging
import Providers
import TestSupport
import Testing

/// Faults of an exchange: whatever happens, the code has been sent once.
@Suite(.timeLimit(.minutes(5))) struct TokenExchangeFaultTests {
    static let incomplete = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"access_token\":"
    static let endless = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    static let error = #"{"error":"invalid_grant"}"#

    static let faults: [ServerFault] = [
        ServerFault("an error", "http_500", .respond(500, text: error)),
        ServerFault("an outage", "http_503", .respond(503)),
        ServerFault("too many requests", "http_429", .respond(429, headers: [("Retry-After", "1")], text: error)),
        ServerFault("not found", "http_404", .respond(404, text: error)),
        ServerFault("forbidden", "http_403", .respond(403, text: error)),
        ServerFault("a redirect", "http_302", .respond(302, headers: [("Location", "/elsewhere")], text: error)),
        ServerFault("a redirect that keeps the form", "http_307", .respond(307, headers: [("Location", "/elsewhere")])),
        ServerFault("another success", "http_201", .respond(201, text: "{}")),
        ServerFault("no answer", "timed_out", .hold),
        ServerFault("half an answer and then nothing", "timed_out", .send(incomplete), .hold),
        ServerFault("closed at once", "closed", .close),
        ServerFault("reset at once", "closed", .reset),
        ServerFault("closed mid-body", "closed", .send(incomplete), .close),
        ServerFault("reset mid-body", "closed", .send(incomplete), .reset),
        ServerFault(
            "HTML with 200", "not_json", .respond(headers: [("Content-Type", "text/html")], text: "<html>Hi</html>")),
        ServerFault("HTML with 400", "not_json", .respond(400, text: "<html>Hi</html>")),
        ServerFault("nothing with 200", "not_json", .respond()),
        ServerFault("a member twice", "not_json", .respond(text: #"{"access_token":"a","access_token":"b"}"#)),
        ServerFault("64 KiB and a byte", "too_large", .respond(body: [UInt8](repeating: 0x20, count: 65_537))),
        ServerFault(
            "100 MB", "too_large", .send(endless),
            .repeated(Array("10\r\n0123456789abcdef\r\n".utf8), times: 6_553_600)),
        ServerFault("an array", "unexpected_json", .respond(text: "[]")),
        ServerFault("an empty object", "unexpected_json", .respond(text: "{}")),
        ServerFault("an error with 200", "unexpected_json", .respond(text: error)),
        ServerFault("no access token", "unexpected_json", .respond(text: #"{"id_token":"a.b.c"}"#)),
        ServerFault(
            "an empty access token", "unexpected_json", .respond(text: #"{"access_token":"","id_token":"a.b.c"}"#)),
        ServerFault("a number for an access token", "unexpected_json", .respond(text: #"{"access_token":1}"#)),
        ServerFault("an endless access token", "unexpected_json", .respond(text: longAccessToken)),
        ServerFault("no ID token", "id_token_missing", .respond(text: #"{"access_token":"a"}"#)),
        ServerFault("an error that nobody knows", "unknown_error", .respond(400, text: #"{"error":"slow_down"}"#)),
        ServerFault("an error in another case", "unknown_error", .respond(400, text: #"{"error":"Invalid_Grant"}"#)),
        ServerFault("an error that is an object", "unknown_error", .respond(400, text: #"{"error":{"code":400}}"#)),
        ServerFault("an error without one", "unknown_error", .respond(401, text: "{}")),
    ]

    static let longAccessToken = #"{"access_token":"\#(String(repeating: "a", count: 4_097))","id_token":"a.b.c"}"#

    @Test(arguments: Provider.allCases, faults)
    func `a bad day is an outage and the code was sent once`(provider: Provider, fault: ServerFault) async throws {
        try await withFetcher { fetcher in
            let apps = try EndpointServer(provider, fetcher: fetcher, answering: fault.steps)
            await #expect(throws: EndpointRefusal.unavailable(detail: fault.report)) {
                try await apps.exchange(timeout: fault.timeout(.seconds(1)))
            }
            #expect(apps.requests.count == 1)
            try apps.expectSilence(.unavailable(detail: fault.report))
        }
    }

    /// On a connection that was kept from an earlier answer: libcurl may try those again when they turn out dead.
    @Test(arguments: Provider.allCases, [LoopbackServer.Step.close, .reset])
    func `a kept connection that dies doesn't send the code again`(
        provider: Provider, end: LoopbackServer.Step
    ) async throws {
        try await withEndpoint(provider, answering: .respond(text: "{}")) { apps in
            try await apps.check()
            apps.script.set(end)
            await #expect(throws: EndpointRefusal.unavailable(detail: "closed")) { try await apps.exchange() }
            #expect(apps.requests.map(\.connection) == [0, 0])
        }
    }

    @Test(arguments: Provider.allCases)
    func `nobody there is an outage`(provider: Provider) async throws {
        try await withFetcher { fetcher in
            let apps = try EndpointServer(provider, fetcher: fetcher, answering: [], at: "http://127.0.0.1:1")
            await #expect(throws: EndpointRefusal.unavailable(detail: "connect")) { try await apps.exchange() }
        }
    }

    // MARK: Refusals

    static let codeIsNoGood = ["invalid_grant", "admin_policy_enforced", "invalid_request", "redirect_uri_mismatch"]
    static let clientIsNoGood = [
        "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope", "deleted_client",
    ]

    @Test(arguments: Provider.allCases, codeIsNoGood + clientIsNoGood)
    func `an error says whose fault it is`(provider: Provider, error: String) async throws {
        let expected: EndpointRefusal =
            Self.codeIsNoGood.contains(error)
            ? .grantRejected(error: error)
            : .clientRejected(error: error, keyID: EndpointFixture.keyID(provider))
        for status in [400, 401] {
            let text = #"{"error":"\#(error)","error_description":"canary","more":[1]}"#
            try await withEndpoint(provider, answering: .respond(status, text: text)) { apps in
                await #expect(throws: expected) { try await apps.exchange() }
                #expect(apps.requests.count == 1)
                try apps.expectSilence(expected)
            }
        }
    }

    // MARK: ID tokens that are refused

    struct RefusedToken: Sendable, CustomStringConvertible {
        let description: String
        let reason: TokenRejection
        /// Whether it says nevertheless who authorized the refresh token beside it.
        let isOwned: Bool
        let change: @Sendable (Provider) throws -> TokenMint.Members

        init(
            _ description: String, _ reason: TokenRejection, isOwned: Bool = false,
            _ change: @escaping @Sendable (Provider) throws -> TokenMint.Members
        ) {
            self.description = description
            self.reason = reason
            self.isOwned = isOwned
            self.change = change
        }

        /// A token with another value of one claim.
        init(_ name: String, _ value: TokenMint.Literal?, _ reason: TokenRejection, isOwned: Bool = false) {
            self.init("\(name): \(value?.text ?? "absent")", reason, isOwned: isOwned) {
                try EndpointFixture.answer($0, EndpointFixture.claims($0).with(name, value))
            }
        }
    }

    static let refusedTokens: [RefusedToken] = [
        RefusedToken("no text", .malformed) { try EndpointFixture.answer($0).with("id_token", .null) },
        RefusedToken("no token", .malformed) { try EndpointFixture.answer($0).with("id_token", "canary") },
        RefusedToken("too large", .tooLarge) {
            try EndpointFixture.answer($0).with("id_token", .string(String(repeating: "a", count: 16_385)))
        },
        RefusedToken("forged", .signatureMismatch) {
            let token = try TokenMint.otherSigner.token(EndpointFixture.claims($0))
            return try EndpointFixture.answer($0).with("id_token", .string(String(decoding: token, as: UTF8.self)))
        },
        RefusedToken("aud", "com.example.foreign", .audienceRejected),
        RefusedToken("iss", "https://evil.example", .issuerRejected),
        RefusedToken("exp", .integer(referenceTime - 60), .expired, isOwned: true),
        RefusedToken("iat", .integer(referenceTime + 61), .notYetValid, isOwned: true),
        RefusedToken("sub", nil, .claimMissing),
        RefusedToken("events", .raw("{}"), .eventToken),
        RefusedToken("at_hash", .string(EndpointFixture.hash(of: "another")), .hashMismatch, isOwned: true),
        RefusedToken("at_hash", "", .hashMismatch, isOwned: true),
        RefusedToken("at_hash", .null, .claimInvalid, isOwned: true),
        RefusedToken("c_hash", .string(EndpointFixture.hash(of: "another")), .hashMismatch, isOwned: true),
        RefusedToken("c_hash", 1, .claimInvalid, isOwned: true),
    ]

    @Test(arguments: Provider.allCases, refusedTokens)
    func `a token that isn't believed is named and the code was sent once`(
        provider: Provider, refused: RefusedToken
    ) async throws {
        let answer = try refused.change(provider).bytes
        try await withEndpoint(provider, answering: .respond(body: answer)) { apps in
            let expected = EndpointFixture.rejected(refused.reason, refused.isOwned ? provider : nil)
            await #expect(throws: expected) { try await apps.exchange() }
            #expect(apps.requests.count == 1)
            try apps.expectSilence(expected)
        }
    }

    @Test(arguments: Provider.allCases)
    func `a token that isn't believed leaves nothing where no refresh token came`(provider: Provider) async throws {
        let claims = EndpointFixture.claims(provider).with("exp", .integer(referenceTime - 60))
        let answer = try EndpointFixture.answer(provider, claims).with("refresh_token", nil).bytes
        try await withEndpoint(provider, answering: .respond(body: answer)) { apps in
            await #expect(throws: EndpointFixture.rejected(.expired, nil)) { try await apps.exchange() }
        }
    }

    @Test(arguments: Provider.allCases)
    func `hashes that hold are believed, and so are none`(provider: Provider) async throws {
        let claims = EndpointFixture.claims(provider)
        let code = EndpointFixture.code(provider).text
        for claims in [
            claims, claims.with("at_hash", nil), claims.with("c_hash", .string(EndpointFixture.hash(of: code))),
        ] {
            let answer = try EndpointFixture.answer(provider, claims).bytes
            try await withEndpoint(provider, answering: .respond(body: answer)) { try await $0.exchange() }
        }
    }

    @Test(arguments: Provider.allCases)
    func `without keys nobody can say, so it is an outage`(provider: Provider) async throws {
        let answer = try EndpointFixture.answer(provider).bytes
        try await withFetcher { fetcher in
            let apps = try EndpointServer(provider, fetcher: fetcher, answering: [.respond(body: answer)])
            let keys = try KeyServer(provider, fetcher: fetcher, answering: .respond(503))
            await #expect(throws: EndpointRefusal.unavailable(detail: "keys_unavailable")) {
                try await apps.exchange(keys: .cache(keys.cache))
            }
            #expect(apps.requests.count == 1)
        }
    }
}
