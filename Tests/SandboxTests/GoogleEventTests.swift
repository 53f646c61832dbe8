import Foundation
import JOSE
import JSON
import OpenSSL
import TestSupport
import Testing

/// Google's security event tokens, as the sandbox makes and sends them.
@Suite(.sharedSandbox) struct GoogleEventTests {
    private static let risc = "https://schemas.openid.net/secevent/risc/event-type/"
    private static let oauth = "https://schemas.openid.net/secevent/oauth/event-type/"

    private var sandbox: Sandbox { .current }
    private let name = UUID().uuidString

    init() async throws { try await sandbox.addGooglePerson(name, #"{"email":"kim@example.com"}"#) }

    private func event(_ token: String, _ type: String) throws -> JSONValue {
        try #require(try TokenParts(token).claims["events"]?[type])
    }

    @Test(.fixture(Sandbox.self)) func `an event is a token of Google's that does not expire`() async throws {
        try await sandbox.setClock("2026-01-01T12:00:00Z")
        let subject = try await sandbox.addGooglePerson("kim")
        let sent = try await sandbox.sendGoogleEvent(
            "account-disabled", about: .person("kim"), clientID: "web", reason: "hijacking")
        let token = try UnverifiedToken(Array(sent.token.utf8)).verified(by: try await sandbox.keySet(.google))
        var rules = ClaimRules.securityEvent(issuers: ["https://accounts.google.com"], audiences: ["web"])
        #expect(throws: TokenRejection.issuerRejected) { try rules.check(token, at: 1_767_268_800) }
        rules.ignoresIssuerTrailingSlash = true
        #expect(try rules.check(token, at: 1_767_268_800).tokenID == sent.tokenID)

        let parts = try TokenParts(sent.token)
        #expect(parts.claimNames == ["iss", "aud", "iat", "jti", "events"])
        #expect(parts.claims["iat"]?.integer == 1_767_268_800)
        let event = try event(sent.token, Self.risc + "account-disabled")
        #expect(event["reason"]?.string == "hijacking")
        #expect(event["subject"]?["subject_type"]?.string == "iss-sub")
        #expect(event["subject"]?["iss"]?.string == "https://accounts.google.com/")
        #expect(event["subject"]?["sub"]?.string == subject)
    }

    @Test(arguments: [
        ("tokens-revoked", oauth + "tokens-revoked"), ("token-revoked", oauth + "token-revoked"),
        ("sessions-revoked", risc + "sessions-revoked"), ("account-purged", risc + "account-purged"),
        ("https://a.example/b", "https://a.example/b"),
    ])
    func `a short name stands for a full one`(_ short: String, _ full: String) async throws {
        let sent = try await sandbox.sendGoogleEvent(short, about: .person(name), clientID: "web")
        #expect(try TokenParts(sent.token).claims["events"]?.members?.map(\.name) == [full])
    }

    @Test func `issuers may do without the slash, a subject may bring an address, and the time is free`() async throws {
        let sent = try await sandbox.sendGoogleEvent(
            "sessions-revoked", about: .person(name), clientID: "web", subjectType: "id_token_claims",
            trailingSlash: false, at: "2026-01-01T00:00:00Z", tokenID: "chosen")
        let claims = try TokenParts(sent.token).claims
        #expect(claims["iss"]?.string == "https://accounts.google.com")
        #expect(claims["iat"]?.integer == 1_767_225_600)
        #expect(claims["jti"]?.string == "chosen")
        let subject = try event(sent.token, Self.risc + "sessions-revoked")["subject"]
        #expect(subject?["subject_type"]?.string == "id_token_claims")
        #expect(subject?["iss"]?.string == "https://accounts.google.com")
        #expect(subject?["email"]?.string == "kim@example.com")
    }

    @Test func `a verification names no subject`() async throws {
        let sent = try await sandbox.sendGoogleEvent("verification", about: .none, clientID: "web", state: "s-1")
        let event = try event(sent.token, Self.risc + "verification")
        #expect(event.members?.map(\.name) == ["state"])
        #expect(event["state"]?.string == "s-1")
    }

    @Test func `a refresh token is named by its beginning or by its hash`() async throws {
        let hash = "8JFQ49gOVwvoytv4De3ThlgYjRHqU5JaF3MDfK+ri4y11QYlUnLJyp9kWvcliKHEiwxUEzxvFSHyGwHnoPtq9g=="
        for (identifier, text) in [(Sandbox.TokenIdentifier.prefix, "1//0gMadeUpRefre"), (.digest, hash)] {
            let sent = try await sandbox.sendGoogleEvent(
                "token-revoked", about: .token("1//0gMadeUpRefreshTokenForTests_0001", identifier), clientID: "web")
            let subject = try #require(try event(sent.token, Self.oauth + "token-revoked")["subject"])
            #expect(subject.members?.map(\.name) == ["subject_type", "token_type", "token_identifier_alg", "token"])
            #expect(subject["subject_type"]?.string == "oauth_token")
            #expect(subject["token_type"]?.string == "refresh_token")
            #expect(subject["token_identifier_alg"]?.string == identifier.rawValue)
            #expect(subject["token"]?.string == text)
        }
    }

    @Test func `a refresh token is found by its fingerprint, or as the person's last one`() async throws {
        let client = try await GoogleClient.register(in: sandbox)
        let first = try await client.refreshToken(name)
        let last = try await client.exchange(client.code(name, forceConsent: true)).text("refresh_token")
        for (subject, token) in [
            (Sandbox.GoogleSubject.token(Sandbox.fingerprint(first), .prefix), first),
            (.tokenOf(person: name, .prefix), last),
        ] {
            let sent = try await sandbox.sendGoogleEvent("token-revoked", about: subject, clientID: client.id)
            let named = try event(sent.token, Self.oauth + "token-revoked")["subject"]
            #expect(named?["token"]?.string == String(token.prefix(16)))
        }
    }

    @Test func `a delivery posts the token itself under its media type`() async throws {
        let receiver = try LoopbackServer { _ in [.respond(202)] }
        let sent = try await sandbox.sendGoogleEvent(
            "sessions-revoked", about: .person(name), clientID: "web", to: receiver.url + "/v1/events/google",
            deliveries: 2)
        #expect(sent.deliveries.map(\.status) == [202, 202])
        let requests = receiver.history.requests
        #expect(requests.map(\.target) == ["/v1/events/google", "/v1/events/google"])
        #expect(requests.map { $0.header("Content-Type") } == Array(repeating: "application/secevent+jwt", count: 2))
        #expect(requests.map { String(decoding: $0.body, as: UTF8.self) } == [sent.token, sent.token])
    }
}
