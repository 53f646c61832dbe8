import Accounts
import Foundation
import JOSE
import OpenSSL
import Providers
import TestSupport
import Testing

@Suite struct GoogleEventTests {
    static let risc = "https://schemas.openid.net/secevent/risc/event-type/"
    static let oauth = "https://schemas.openid.net/secevent/oauth/event-type/"
    static let subject = "109876543210987654321"

    static let claims: TokenMint.Members = [
        "iss": "https://accounts.google.com/", "aud": .string(GoogleFixture.clientID.text),
        "iat": .integer(referenceTime),
        "jti": "756E69717565206964", "events": events([(risc + "sessions-revoked", event())]),
    ]

    static func events(_ members: [(String, TokenMint.Literal)]) -> TokenMint.Literal {
        var events: TokenMint.Members = [:]
        for (type, event) in members { events.append(type, event) }
        return .raw(String(decoding: events.bytes, as: UTF8.self))
    }

    static func event(
        _ subject: TokenMint.Literal? = person(), _ changes: [(String, TokenMint.Literal)] = []
    ) -> TokenMint.Literal {
        var event: TokenMint.Members = [:]
        event["subject"] = subject
        for (name, value) in changes { event[name] = value }
        return .raw(String(decoding: event.bytes, as: UTF8.self))
    }

    static func person(_ changes: [(String, TokenMint.Literal?)] = []) -> TokenMint.Literal {
        var person: TokenMint.Members = [
            "subject_type": "iss-sub", "iss": "https://accounts.google.com/", "sub": .string(subject),
        ]
        for (name, value) in changes { person[name] = value }
        return .raw(String(decoding: person.bytes, as: UTF8.self))
    }

    static func token(_ algorithm: TokenMint.Literal?, _ token: TokenMint.Literal?) -> TokenMint.Literal {
        var subject: TokenMint.Members = ["subject_type": "oauth_token", "token_type": "refresh_token"]
        subject["token_identifier_alg"] = algorithm
        subject["token"] = token
        return .raw(String(decoding: subject.bytes, as: UTF8.self))
    }

    private func read(
        _ claims: TokenMint.Members, by provider: GoogleProvider? = nil, at time: Int64 = referenceTime
    ) async throws -> [ProviderEvent] {
        try await (provider ?? GoogleFixture.provider()).events(
            of: TokenMint.shared.token(claims), at: Timestamp(seconds: time))
    }

    private func read(_ type: String, _ event: TokenMint.Literal) async throws -> ProviderEvent {
        let events = try await read(Self.claims.with("events", Self.events([(type, event)])))
        #expect(events.count == 1)
        return try #require(events.first)
    }

    @Test
    func `a token becomes its event, whatever ends the issuer and whatever else is in the audience`() async throws {
        let issuers: [TokenMint.Literal] = [
            "https://accounts.google.com/", "https://accounts.google.com", "accounts.google.com",
        ]
        let audiences: [TokenMint.Literal] = [
            .string(GoogleFixture.clientID.text), [.string(GoogleFixture.clientID.text)],
            ["another.apps.googleusercontent.com", .string(GoogleFixture.party.text)],
        ]
        for issuer in issuers {
            for audience in audiences {
                let events = try await read(Self.claims.with("iss", issuer).with("aud", audience))
                let event = try #require(events.first)
                #expect(events.count == 1)
                #expect(event.provider == .google)
                #expect(event.realm == .main)
                #expect(event.tokenID == "756E69717565206964")
                #expect(event.position == 0)
                #expect(event.type == Self.risc + "sessions-revoked")
                #expect(event.kind == .sessionsRevoked)
                #expect(event.subject.person == Self.subject)
                #expect(event.detail == nil)
                #expect(event.occurredAt == Timestamp(seconds: referenceTime))
            }
        }
    }

    @Test(
        arguments: [
            (risc + "sessions-revoked", .sessionsRevoked), (oauth + "tokens-revoked", .tokensRevoked),
            (oauth + "token-revoked", .tokenRevoked), (risc + "account-disabled", .accountDisabled),
            (risc + "account-enabled", .accountEnabled),
            (risc + "account-credential-change-required", .credentialChangeRequired),
            (risc + "verification", .verification), (risc + "tokens-revoked", nil), (oauth + "sessions-revoked", nil),
            ("https://accounts.google.com/risc/event/sessions-revoked", nil), (risc + "account-purged", nil),
            ("sessions-revoked", nil), ("consent-revoked", nil),
        ] as [(String, ProviderEvent.Kind?)])
    func `a type is known by its exact name, and an unknown one is kept`(
        type: String, kind: ProviderEvent.Kind?
    ) async throws {
        let event = try await read(type, Self.event())
        #expect(event.kind == kind)
        #expect(event.type == type)
    }

    @Test func `each event of a token has its place in it`() async throws {
        let types = (0..<16).map { "https://example.com/type-\($0)" }
        let events = try await read(Self.claims.with("events", Self.events(types.map { ($0, Self.event()) })))
        #expect(events.map(\.position) == Array(0..<16))
        #expect(events.map(\.type) == types)
        #expect(Set(events.map(\.tokenID)) == ["756E69717565206964"])
        await #expect(throws: CredentialRefusal(.claimInvalid)) {
            try await read(Self.claims.with("events", Self.events((types + ["one-more"]).map { ($0, Self.event()) })))
        }
    }

    @Test(arguments: ["hijacking", "bulk-account"])
    func `a disabled account comes with its reason, and a verification with its state`(text: String) async throws {
        let disabled = try await read(
            Self.risc + "account-disabled", Self.event(Self.person(), [("reason", .string(text))]))
        #expect(disabled.detail == text)
        let verification = try await read(Self.risc + "verification", Self.event(nil, [("state", .string(text))]))
        #expect(verification.detail == text)
        #expect(verification.subject == ProviderEvent.Subject.none)
    }

    @Test(
        arguments: [5, .null, "", "a\nb", .string(String(repeating: "s", count: 256)), .raw("{}")]
            as [TokenMint.Literal])
    func `a state that can't be kept is none`(state: TokenMint.Literal) async throws {
        let event = try await read(Self.risc + "verification", Self.event(nil, [("state", state)]))
        #expect(event.kind == .verification)
        #expect(event.detail == nil)
    }

    // MARK: Subjects

    @Test(arguments: ["iss-sub", "id_token_claims"])
    func `a person is named by Google's subject alone`(type: String) async throws {
        for issuer in ["https://accounts.google.com/", "https://accounts.google.com", "accounts.google.com"] {
            let person = Self.person([
                ("subject_type", .string(type)), ("iss", .string(issuer)), ("email", "ada@example.com"),
            ])
            let event = try await read(Self.risc + "sessions-revoked", Self.event(person))
            #expect(event.subject.person == Self.subject)
        }
    }

    @Test(
        arguments: [
            nil, .null, "sub", .raw("[]"), .raw("{}"), person([("subject_type", nil)]), person([("subject_type", 5)]),
            person([("subject_type", "iss_sub")]), person([("subject_type", "email"), ("email", "kim@example.com")]),
            person([("iss", nil)]), person([("iss", "https://evil.example")]), person([("iss", 5)]),
            person([("iss", "https://accounts.google.com//")]), person([("sub", nil)]), person([("sub", "")]),
            person([("sub", 5)]), person([("sub", .raw(#""a\u0000b""#))]),
        ] as [TokenMint.Literal?])
    func `an event about nobody who could be known here is about nobody`(subject: TokenMint.Literal?) async throws {
        let event = try await read(Self.risc + "sessions-revoked", Self.event(subject))
        #expect(event.kind == .sessionsRevoked)
        #expect(event.subject == ProviderEvent.Subject.none)
    }

    static let prefix = "1//0gMadeUpRefre"
    static let digest = "8JFQ49gOVwvoytv4De3ThlgYjRHqU5JaF3MDfK+ri4y11QYlUnLJyp9kWvcliKHEiwxUEzxvFSHyGwHnoPtq9g=="

    @Test func `a refresh token is named by its start, or by the hash of its hash`() async throws {
        let token = Array("1//0gMadeUpRefreshTokenForTests_0001".utf8)
        let byPrefix = try await read(
            Self.oauth + "token-revoked", Self.event(Self.token("prefix", .string(Self.prefix))))
        #expect(byPrefix.subject == .tokenPrefix(Array(token.prefix(16))))
        let byDigest = try await read(
            Self.oauth + "token-revoked",
            Self.event(Self.token("hash_base64_sha512_sha512", .string(Self.digest))))
        #expect(byDigest.subject == .tokenDigest(SHA512.hash(SHA512.hash(token))))
    }

    @Test(
        arguments: [
            token("prefix", nil), token("prefix", 5), token("prefix", ""), token("prefix", "1//0gMadeUpRefr"),
            token("prefix", "1//0gMadeUpRefres"), token(nil, .string(prefix)), token("PREFIX", .string(prefix)),
            token("hash_base64_sha512_sha512", .string(prefix)), token("prefix", .string(digest)),
            token("hash_base64_sha512_sha512", .string(String(digest.dropLast(2)))),
            token("hash_base64_sha512_sha512", .string(digest + "AA==")),
            token("hash_base64_sha512_sha512", .string(digest.replacing("+", with: "-"))),
            token("hash_sha256", .string(digest)), token("hash_base64_sha512_sha512", "8JFQ49gOVwvoytv4De3ThlgYjRE="),
            .raw(
                #"{"subject_type":"oauth_token","token_type":"access_token","token_identifier_alg":"prefix","token":"\#(prefix)"}"#
            ),
            .raw(#"{"subject_type":"oauth_token","token_identifier_alg":"prefix","token":"\#(prefix)"}"#),
        ] as [TokenMint.Literal])
    func `a token that is named in another way is none`(subject: TokenMint.Literal) async throws {
        let event = try await read(Self.oauth + "token-revoked", Self.event(subject))
        #expect(event.kind == .tokenRevoked)
        #expect(event.subject == ProviderEvent.Subject.none)
    }

    // MARK: Refusals

    @Test func `an event does not expire`() async throws {
        for expiry in [nil, .integer(referenceTime - 86_400), "never"] as [TokenMint.Literal?] {
            let events = try await read(Self.claims.with("exp", expiry), at: referenceTime + 40 * 86_400)
            #expect(events.map(\.kind) == [.sessionsRevoked])
        }
    }

    static let changes = [
        Change("events", .string(events([(risc + "sessions-revoked", event())]).text), .claimInvalid),
        Change("events", [.string(risc + "sessions-revoked")], .claimInvalid),
        Change("events", events([(risc + "sessions-revoked", "sub")]), .claimInvalid),
        Change("events", events([(risc + "sessions-revoked", .null)]), .claimInvalid),
        Change("events", events([("", event())]), .claimInvalid),
        Change("events", events([("a\nb", event())]), .claimInvalid),
        Change("events", events([(String(repeating: "t", count: 256), event())]), .claimInvalid),
    ]

    // MARK: Kinds

    @Test func `an ID token and an access token are no events`() async throws {
        await #expect(throws: CredentialRefusal(.claimMissing)) { try await read(GoogleFixture.claims) }
        await #expect(throws: CredentialRefusal(.claimMissing)) {
            try await read(GoogleFixture.claims.with("jti", "756E69717565206964"))
        }
        let provider = try GoogleFixture.provider()
        for header in [ownHeader, ownHeader.with("alg", "RS256").with("kid", .string(TokenMint.rsaKeyID))] {
            let algorithm: SignatureAlgorithm = header["alg"] == "RS256" ? .rs256 : .es256
            let own = try TokenMint.shared.token(ownAccessToken, header: header, by: algorithm)
            await #expect(throws: CredentialRefusal.self) {
                try await provider.events(of: own, at: Timestamp(seconds: referenceTime))
            }
        }
    }
}
