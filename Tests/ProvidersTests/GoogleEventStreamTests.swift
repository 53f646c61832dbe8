import Curl
import JOSE
import JSON
import OpenSSL
import Providers
import TestSupport
import Testing

/// Google's RISC API as an operator's command calls it.
@Suite struct GoogleEventStreamTests {
    /// The API on loopback, and our client of it.
    private struct Exchange {
        let server: LoopbackServer
        let stream: GoogleEventStream

        init(_ fetcher: CurlFetcher, _ steps: [LoopbackServer.Step], path: String = "") throws {
            server = try LoopbackServer { _ in steps }
            let unhurried = RecordingFetcher(fetcher) { request in
                #expect(request.timeout == .seconds(10))
                request = request.uncontended
            }
            stream = GoogleEventStream(
                account: try GoogleServiceAccount(parsing: try ServiceAccountFile.members.bytes),
                apiURL: server.url + path, fetcher: unhurried, clock: ManualClock(at: referenceTime))
        }

        func request(_ location: SourceLocation = #_sourceLocation) throws -> LoopbackServer.Request {
            try #require(server.history.requests.count == 1, sourceLocation: location)
            return server.history.requests[0]
        }

        func body() throws -> String { String(decoding: try request().body, as: UTF8.self) }
    }

    private func exchange(
        _ steps: LoopbackServer.Step..., path: String = "", _ body: (Exchange) async throws -> Void
    ) async throws { try await withFetcher { fetcher in try await body(Exchange(fetcher, steps, path: path)) } }

    private let types = ["https://schemas.openid.net/secevent/risc/event-type/sessions-revoked"]

    @Test func `Each request is the account's own token for the API, an hour long`() async throws {
        try await exchange(.respond(text: #"{"status":"enabled"}"#)) { exchange in
            #expect(try await exchange.stream.status() == .enabled)
            let bearer = try #require(try exchange.request().header("Authorization"))
            try #require(bearer.hasPrefix("Bearer "))
            let token = try UnverifiedToken(Array(bearer.dropFirst(7).utf8), allowedAlgorithms: [.rs256])
            #expect(token.keyID == Array(ServiceAccountFile.keyID.utf8))
            let claims = try token.verified(by: TokenMint.shared.rsa.publicKey).claims
            #expect(claims.members?.map(\.name) == ["iss", "sub", "aud", "iat", "exp"])
            #expect(claims["iss"]?.string == ServiceAccountFile.email)
            #expect(claims["sub"]?.string == ServiceAccountFile.email)
            #expect(
                claims["aud"]?.string
                    == "https://risc.googleapis.com/google.identity.risc.v1beta.RiscManagementService")
            #expect(claims["iat"]?.integer == referenceTime - 60)
            #expect(claims["exp"]?.integer == referenceTime + 3_540)
        }
    }

    @Test func `A registration says where and what`() async throws {
        try await exchange(.respond(text: "{}")) { exchange in
            try await exchange.stream.register(
                .init(url: "https://auth.example.com/v1/events/google", eventTypes: types))
            let request = try exchange.request()
            #expect(request.method == "POST")
            #expect(request.target == "/v1beta/stream:update")
            #expect(request.header("Content-Type") == "application/json")
            #expect(
                try exchange.body() == """
                    {"delivery":{"delivery_method":"https://schemas.openid.net/secevent/risc/delivery-method/push",\
                    "url":"https://auth.example.com/v1/events/google"},"events_requested":["\(types[0])"]}
                    """)
        }
    }

    @Test(arguments: [(true, "enabled"), (false, "disabled")])
    func `The stream is switched on and off`(_ isEnabled: Bool, _ status: String) async throws {
        try await exchange(.respond(text: "")) { exchange in
            try await exchange.stream.enable(isEnabled)
            #expect(try exchange.request().target == "/v1beta/stream/status:update")
            #expect(try exchange.body() == #"{"status":"\#(status)"}"#)
        }
    }

    @Test func `A verification carries its state`() async throws {
        try await exchange(.respond(text: "{}")) { exchange in
            try await exchange.stream.verify(state: #"a "quoted" state"#)
            #expect(try exchange.request().target == "/v1beta/stream:verify")
            #expect(try exchange.body() == #"{"state":"a \"quoted\" state"}"#)
        }
    }

    @Test func `Settings are read, whatever else is said`() async throws {
        let answer = """
            {"iss":"x","aud":["a"],"delivery":{"delivery_method":"y","url":"https://auth.example.com/e"},
             "events_requested":["\(types[0])"],"events_supported":["z"]}
            """
        try await exchange(.respond(text: answer), path: "/") { exchange in
            let settings = try await exchange.stream.settings()
            #expect(settings == .init(url: "https://auth.example.com/e", eventTypes: types))
            let request = try exchange.request()
            #expect(request.method == "GET")
            #expect(request.target == "/v1beta/stream")
        }
    }

    @Test(arguments: GoogleEventStream.Status.allCases)
    func `Each status has its word`(_ status: GoogleEventStream.Status) async throws {
        try await exchange(.respond(text: #"{"status":"\#(status.rawValue)"}"#)) { exchange in
            let read = try await exchange.stream.status()
            #expect(read == status)
            #expect(try exchange.request().target == "/v1beta/stream/status")
        }
    }

    struct Outcome: Sendable, CustomTestStringConvertible {
        let steps: [LoopbackServer.Step]
        let refusal: GoogleEventStream.Refusal
        let testDescription: String

        init(_ status: Int, _ body: String, _ refusal: GoogleEventStream.Refusal) {
            steps = [.respond(status, headers: [("Location", "http://127.0.0.1:1/")], text: body)]
            self.refusal = refusal
            testDescription = "\(status) \(body)"
        }

        init(_ step: LoopbackServer.Step, _ refusal: GoogleEventStream.Refusal) {
            steps = [step]
            self.refusal = refusal
            testDescription = "\(refusal)"
        }
    }

    private static func error(_ message: String) -> String {
        #"{"error":{"code":1,"message":"\#(message)","status":"X"}}"#
    }

    private static let refusals = [
        Outcome(400, error("No url."), .invalid(message: "No url.")), Outcome(400, "", .invalid(message: nil)),
        Outcome(401, error("Who?"), .unauthenticated), Outcome(401, "<html>", .unauthenticated),
        Outcome(403, error("No role."), .forbidden(message: "No role.")), Outcome(403, "", .forbidden(message: nil)),
        Outcome(403, error(#"a\u001b[2J\nb\u009bc"#), .forbidden(message: "a[2Jbc")),
        Outcome(404, error("No stream."), .noStream), Outcome(404, "<html>", .unavailable(detail: "http_404")),
        Outcome(301, "", .unavailable(detail: "http_301")), Outcome(204, "", .unavailable(detail: "http_204")),
        Outcome(429, error("Slow."), .unavailable(detail: "http_429")),
        Outcome(500, "", .unavailable(detail: "http_500")), Outcome(503, "", .unavailable(detail: "http_503")),
        Outcome(.respond(body: [UInt8](repeating: 0x20, count: 100_000)), .unavailable(detail: "too_large")),
        Outcome(.close, .unavailable(detail: "closed")),
    ]

    @Test(arguments: refusals)
    func `Each refusal of a request is distinguished`(_ outcome: Outcome) async throws {
        try await withFetcher { fetcher in
            let exchange = try Exchange(fetcher, outcome.steps)
            await #expect(throws: outcome.refusal) { try await exchange.stream.verify(state: "s") }
        }
    }

    @Test(
        arguments: refusals + [
            Outcome(200, "", .unavailable(detail: "not_json")),
            Outcome(200, "<html>", .unavailable(detail: "not_json")),
            Outcome(200, "{}", .unavailable(detail: "unexpected_json")),
            Outcome(200, #"{"delivery":{"url":1}}"#, .unavailable(detail: "unexpected_json")),
            Outcome(
                200, #"{"delivery":{"url":"https://a.example/"},"events_requested":[1]}"#,
                .unavailable(detail: "unexpected_json")),
        ])
    func `Each refusal of a query is distinguished`(_ outcome: Outcome) async throws {
        try await withFetcher { fetcher in
            let exchange = try Exchange(fetcher, outcome.steps)
            await #expect(throws: outcome.refusal) { _ = try await exchange.stream.settings() }
        }
    }

    @Test func `A status without a known word is not understood`() async throws {
        try await exchange(.respond(text: #"{"status":"asleep"}"#)) { exchange in
            await #expect(throws: GoogleEventStream.Refusal.unavailable(detail: "unexpected_json")) {
                _ = try await exchange.stream.status()
            }
        }
    }

    @Test func `An API that is away is reported as unavailable`() async throws {
        try await withFetcher { fetcher in
            let stream = GoogleEventStream(
                account: try GoogleServiceAccount(parsing: try ServiceAccountFile.members.bytes),
                apiURL: "http://127.0.0.1:1", fetcher: fetcher, clock: ManualClock(at: referenceTime))
            await #expect(throws: GoogleEventStream.Refusal.unavailable(detail: "connect")) {
                try await stream.enable(true)
            }
        }
    }

    @Test func `Every event that is acted on is asked for by Google's name`() {
        #expect(
            GoogleEventStream.eventTypes == [
                "https://schemas.openid.net/secevent/risc/event-type/sessions-revoked",
                "https://schemas.openid.net/secevent/oauth/event-type/tokens-revoked",
                "https://schemas.openid.net/secevent/oauth/event-type/token-revoked",
                "https://schemas.openid.net/secevent/risc/event-type/account-disabled",
                "https://schemas.openid.net/secevent/risc/event-type/account-enabled",
                "https://schemas.openid.net/secevent/risc/event-type/account-credential-change-required",
                "https://schemas.openid.net/secevent/risc/event-type/verification",
            ])
    }

    // MARK: What Google publishes

    @Test(arguments: [
        ("https://accounts.google.com/", true), ("https://accounts.google.com", true), ("accounts.google.com/", true),
        ("https://accounts.google.com//", false), ("https://accounts.google.co", false), ("", false),
    ])
    func `An issuer is known but for one slash`(_ issuer: String, _ isKnown: Bool) async throws {
        let document = #"{"issuer":"\#(issuer)","jwks_uri":"https://www.googleapis.com/oauth2/v3/certs"}"#
        try await withFetcher { fetcher in
            let server = try LoopbackServer { _ in [.respond(text: document)] }
            let discovery = try #require(await GoogleEventDiscovery(at: server.url, fetcher: fetcher))
            #expect(discovery.names(oneOf: ["https://accounts.google.com", "accounts.google.com"]) == isKnown)
            #expect(discovery.names(keysURL: "https://www.googleapis.com/oauth2/v3/certs"))
            #expect(!discovery.names(keysURL: "https://www.googleapis.com/oauth2/v3/certs/"))
        }
    }

    @Test(arguments: [
        (200, "<html>"), (200, "{}"), (200, #"{"issuer":"a"}"#), (200, #"{"issuer":"a","jwks_uri":1}"#),
        (404, #"{"issuer":"a","jwks_uri":"b"}"#), (302, #"{"issuer":"a","jwks_uri":"b"}"#),
    ])
    func `What is no such document is none`(_ status: Int, _ body: String) async throws {
        try await withFetcher { fetcher in
            let server = try LoopbackServer { _ in [.respond(status, text: body)] }
            let discovery = await GoogleEventDiscovery(at: server.url, fetcher: fetcher)
            #expect(discovery == nil)
        }
    }
}
