import Curl
import Foundation
import JSON
import OpenSSL
import TestSupport
import Testing

/// Google's RISC API, called by a service account whose requests are correct; tests change single parts.
@Suite(.fixture(Sandbox.self)) struct GoogleStreamTests {
    private static let email = "risc@lamp.iam.gserviceaccount.com"
    private static let audience = "https://risc.googleapis.com/google.identity.risc.v1beta.RiscManagementService"
    private static let noon: Int64 = 1_767_268_800
    private static let types = ["sessions-revoked", "verification"].map {
        "https://schemas.openid.net/secevent/risc/event-type/" + $0
    }

    private static let claims: TokenMint.Members = [
        "iss": .string(email), "sub": .string(email), "aud": .string(audience), "iat": .integer(noon),
        "exp": .integer(noon + 3600),
    ]

    private static let push = #""delivery_method":"https://schemas.openid.net/secevent/risc/delivery-method/push""#

    private static func registration(_ url: String, _ types: [String] = types) -> String {
        let list = types.map { #""\#($0)""# }.joined(separator: ",")
        return #"{"delivery":{\#(push),"url":"\#(url)"},"events_requested":[\#(list)]}"#
    }

    private static let refused = Result { try DataFile("Fixtures/refused-streams.tsv").rows.map { ($0[0], $0[1]) } }

    private var sandbox: Sandbox { .current }

    init() async throws {
        try await sandbox.setClock("2026-01-01T12:00:00Z")
        try await sandbox.registerServiceAccount(Self.email, keyID: TokenMint.rsaKeyID, try TokenMint.shared.rsa)
        try await sandbox.registerGoogleClient("web", secret: "GOCSPX-web")
    }

    private func bearer(_ claims: TokenMint.Members = claims) throws -> String {
        "Bearer " + String(decoding: try TokenMint.shared.token(claims), as: UTF8.self)
    }

    /// `POST` with a body, `GET` without.
    private func call(
        _ path: String, _ body: String? = nil, bearer: String? = nil, type: String = "application/json"
    ) async throws -> EndpointAnswer {
        try await sandbox.post(
            FetchRequest(
                body == nil ? .get : .post, url: sandbox.riscURL + "/v1beta/" + path,
                headers: [("Authorization", try bearer ?? self.bearer()), ("Content-Type", type)],
                body: body.map { Array($0.utf8) }))
    }

    @Test func `a stream is registered, read, switched off and on`() async throws {
        for path in ["stream", "stream/status"] {
            let answer = try await call(path)
            #expect(answer.status == 404)
            #expect(answer.json?["error"]?["status"]?.string == "NOT_FOUND")
            #expect(answer.json?["error"]?["code"]?.integer == 404)
        }
        #expect(try await call("stream/status:update", #"{"status":"enabled"}"#).status == 404)
        #expect(try await call("stream:verify", #"{"state":"s"}"#).status == 404)

        let url = "http://127.0.0.1:1/v1/events/google"
        #expect(try await call("stream:update", Self.registration(url)).status == 200)
        let stream = try await call("stream")
        #expect(stream.json?["delivery"]?["url"]?.string == url)
        #expect(stream.json?["events_requested"]?.elements?.map(\.string) == Self.types)
        #expect(try await call("stream/status").text("status") == "enabled")

        #expect(try await call("stream/status:update", #"{"status":"disabled"}"#).status == 200)
        #expect(try await call("stream/status").text("status") == "disabled")
        // Another address is not a decision about the status.
        #expect(try await call("stream:update", Self.registration(url + "2")).status == 200)
        #expect(try await call("stream/status").text("status") == "disabled")
        #expect(try await call("stream/status:update", #"{"status":"enabled"}"#).status == 200)
        #expect(try await sandbox.eventStream().isEnabled == true)
        #expect(try await sandbox.eventStream().url == url + "2")
    }

    @Test func `a type that Google does not know is silently dropped`() async throws {
        let body = Self.registration(
            "http://localhost:1/",
            Self.types + ["https://schemas.openid.net/secevent/risc/event-type/tokens-revoked"])
        let answer = try await call("stream:update", body)
        #expect(answer.status == 200)
        #expect(try await sandbox.eventStream().eventTypes == Self.types)
    }

    @Test(arguments: [
        Change("sub", "another account", "sub is not the service account", ("sub", .string("x@y"))),
        Change("iss", "another account", "iss is not the service account", ("iss", .string("x@y"))),
        Change("aud", "the API's address", "aud is not the API", ("aud", .string("https://risc.googleapis.com/"))),
        Change("aud", "an array", "aud is not the API", ("aud", .raw(#"["\#(audience)"]"#))),
        Change("exp", "a second less", "exp is not an hour after iat", ("exp", .integer(noon + 3599))),
        Change("exp", "a second more", "exp is not an hour after iat", ("exp", .integer(noon + 3601))),
        Change("exp", "nothing", "iat or exp is missing", ("exp", nil)),
        Change(
            "iat", "an hour ago", "iat is ahead or exp is over", ("iat", .integer(noon - 3600)), ("exp", .integer(noon))
        ),
        Change(
            "iat", "a second ahead", "iat is ahead or exp is over", ("iat", .integer(noon + 1)),
            ("exp", .integer(noon + 3601))),
    ])
    func `a bearer with a wrong claim is not believed`(_ change: Change) async throws {
        let claims = change.members.reduce(Self.claims) { $0.with($1.0, $1.1) }
        let answer = try await call("stream", bearer: bearer(claims))
        #expect(answer.status == 401)
        #expect(answer.reason == "bearer: " + change.reason)
        #expect(answer.json?["error"]?["status"]?.string == "UNAUTHENTICATED")
    }

    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reason: String
        let members: [(String, TokenMint.Literal?)]

        init(_ name: String, _ how: String, _ reason: String, _ members: (String, TokenMint.Literal?)...) {
            testDescription = "\(name): \(how)"
            self.reason = reason
            self.members = members
        }
    }

    @Test func `a bearer of another kind, key or algorithm is not believed`() async throws {
        let mint = try TokenMint.shared
        let token = String(decoding: try mint.token(Self.claims), as: UTF8.self)
        let es256 = String(decoding: try mint.token(Self.claims, by: .es256), as: UTF8.self)
        let foreign = String(decoding: try TokenMint.otherSigner.token(Self.claims), as: UTF8.self)
        let unknown = String(
            decoding: try mint.token(Self.claims, header: ["alg": "RS256", "kid": "other"]), as: UTF8.self)
        for (bearer, reason) in [
            ("Basic " + token, "there is no bearer"), ("Bearer ya29.x", "not an RS256 token with a key id"),
            ("Bearer " + es256, "not an RS256 token with a key id"),
            ("Bearer " + foreign, "the signature does not hold"),
            ("Bearer " + unknown, "kid is no key of a service account"),
        ] {
            let answer = try await call("stream", bearer: bearer)
            #expect(answer.status == 401)
            #expect(answer.reason == "bearer: " + reason)
        }
        try await sandbox.revokeServiceAccountKey(Self.email, keyID: TokenMint.rsaKeyID)
        #expect(try await call("stream").reason == "bearer: kid is no key of a service account")
    }

    @Test func `an account without the role, and a project without clients, may do nothing`() async throws {
        try await sandbox.reset()
        try await sandbox.setClock("2026-01-01T12:00:00Z")
        let key = try TokenMint.shared.rsa
        try await sandbox.registerServiceAccount(Self.email, keyID: TokenMint.rsaKeyID, key, hasRole: false)
        for path in ["stream", "stream/status"] { #expect(try await call(path).status == 403) }
        try await sandbox.registerServiceAccount(Self.email, keyID: TokenMint.rsaKeyID, key)
        let body = Self.registration("http://127.0.0.1:1/")
        let answer = try await call("stream:update", body)
        #expect(answer.status == 403)
        #expect(answer.reason == "The project has no OAuth client.")
    }

    @Test func `events go to authorized domains by https, and to this machine`() async throws {
        try await sandbox.authorizeDomains(["Example.com"])
        for (url, status) in [
            ("https://example.com/e", 200), ("https://auth.example.com/e", 200), ("http://[::1]:9/e", 200),
            ("http://auth.example.com/e", 403), ("https://badexample.com/e", 403),
            ("https://example.com.evil.example/e", 403), ("ftp://example.com/e", 403), ("nonsense", 403),
        ] {
            let answer = try await call("stream:update", Self.registration(url))
            #expect(answer.status == status, "\(url)")
        }
        #expect(try await sandbox.eventStream().url == "http://[::1]:9/e")
    }

    @Test(arguments: try refused.get())
    func `a request with a fault in it is refused`(_ path: String, _ body: String) async throws {
        #expect(try await call("stream:update", Self.registration("http://127.0.0.1:1/")).status == 200)
        let before = try await sandbox.eventStream()
        let answer = try await call(path, body)
        #expect(answer.status == 400)
        #expect(answer.json?["error"]?["status"]?.string == "INVALID_ARGUMENT")
        #expect(try await sandbox.eventStream() == before)
    }

    @Test func `a body that is not called JSON is refused`() async throws {
        let body = Self.registration("http://127.0.0.1:1/")
        let answer = try await call("stream:update", body, type: "text/plain")
        #expect(answer.status == 400)
    }

    @Test func `a verification arrives at the stream's address, for all clients of the project`() async throws {
        try await sandbox.registerGoogleClient("web2", secret: "GOCSPX-web2")
        let receiver = try LoopbackServer { _ in [.respond(202)] }
        #expect(try await call("stream:update", Self.registration(receiver.url + "/e")).status == 200)
        #expect(try await call("stream:verify", #"{"state":"hello"}"#).status == 200)
        let request = try #require(await receiver.history { $0.requests.count == 1 }.requests.first)
        let token = String(decoding: request.body, as: UTF8.self)
        #expect(request.header("Content-Type") == "application/secevent+jwt")
        #expect(rejection(of: token, by: try await sandbox.keySet(.google)) == nil)
        let claims = try TokenParts(token).claims
        #expect(claims["iss"]?.string == "https://accounts.google.com/")
        #expect(claims["aud"]?.elements?.map(\.string) == ["web", "web2"])
        #expect(claims["events"]?[Self.types[1]]?["state"]?.string == "hello")
    }

    @Test func `a stream that is off, or did not ask for it, gets no verification`() async throws {
        let receiver = try LoopbackServer { _ in [.respond(202)] }
        #expect(try await call("stream:update", Self.registration(receiver.url, [Self.types[0]])).status == 200)
        #expect(try await call("stream:verify", #"{"state":"unasked"}"#).status == 200)
        #expect(try await call("stream:update", Self.registration(receiver.url)).status == 200)
        #expect(try await call("stream/status:update", #"{"status":"disabled"}"#).status == 200)
        #expect(try await call("stream:verify", #"{"state":"off"}"#).status == 200)
        #expect(try await call("stream/status:update", #"{"status":"enabled"}"#).status == 200)
        #expect(try await call("stream:verify", #"{"state":"on"}"#).status == 200)
        let requests = await receiver.history { !$0.requests.isEmpty }.requests
        let token = String(decoding: try #require(requests.first).body, as: UTF8.self)
        #expect(try TokenParts(token).claims["events"]?[Self.types[1]]?["state"]?.string == "on")
        #expect(requests.count == 1)
        #expect(try await sandbox.eventStream().verifications.map(\.state) == ["unasked", "off", "on"])
    }

    @Test func `a reset forgets the stream and who may manage it`() async throws {
        #expect(try await call("stream:update", Self.registration("http://127.0.0.1:1/")).status == 200)
        try await sandbox.reset()
        #expect(try await sandbox.eventStream().url == nil)
        #expect(try await sandbox.control("google/service-accounts")["items"]?.elements?.isEmpty == true)
    }
}
