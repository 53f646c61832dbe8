import Accounts
import JOSE
import OpenSSL
import Providers
import TestSupport
import Testing

@Suite struct AppleEventTests {
    /// The claims as they come on the wire: `events` is a string.
    static let claims: TokenMint.Members = [
        "iss": "https://appleid.apple.com", "aud": .string(AppleFixture.clientID.text), "iat": .integer(referenceTime),
        "exp": .integer(referenceTime + 86_400), "jti": "9sXk2QvPq0aLw1eR",
        "events": .string(event("consent-revoked").text),
    ]

    static func event(_ type: TokenMint.Literal?, _ changes: [(String, TokenMint.Literal?)] = []) -> TokenMint.Literal {
        var event: TokenMint.Members = [
            "sub": .string(AppleFixture.subject), "event_time": .integer(referenceTime * 1_000 - 8_352),
        ]
        event["type"] = type
        for (name, value) in changes { event[name] = value }
        return .raw(String(decoding: event.bytes, as: UTF8.self))
    }

    /// The one event of a token of these claims.
    private func read(
        _ claims: TokenMint.Members, by provider: AppleProvider? = nil, at time: Int64 = referenceTime
    ) async throws -> ProviderEvent {
        let events = try await (provider ?? AppleFixture.provider()).events(
            of: TokenMint.shared.token(claims), at: Timestamp(seconds: time))
        #expect(events.count == 1)
        return try #require(events.first)
    }

    @Test func `a notification becomes an event, be it a text or an object`() async throws {
        let event = Self.event("consent-revoked")
        for form in [event, .string(event.text)] {
            let event = try await read(Self.claims.with("events", form))
            #expect(event.provider == .apple)
            #expect(event.realm == .main)
            #expect(event.tokenID == "9sXk2QvPq0aLw1eR")
            #expect(event.position == 0)
            #expect(event.type == "consent-revoked")
            #expect(event.kind == .consentRevoked)
            #expect(event.subject.person == AppleFixture.subject)
            #expect(event.detail == nil)
            #expect(event.occurredAt == Timestamp(microseconds: referenceTime * 1_000_000 - 8_352_000))
        }
    }

    @Test(
        arguments: [
            ("email-disabled", .emailDisabled), ("email-enabled", .emailEnabled), ("consent-revoked", .consentRevoked),
            ("account-deleted", .accountDeleted), ("account-delete", .accountDeleted), ("account-purged", nil),
            ("Consent-Revoked", nil), ("sessions-revoked", nil), (" consent-revoked", nil),
        ] as [(String, ProviderEvent.Kind?)])
    func `a type is known by its exact name, and an unknown one is kept`(
        type: String, kind: ProviderEvent.Kind?
    ) async throws {
        let event = try await read(Self.claims.with("events", Self.event(.string(type))))
        #expect(event.kind == kind)
        #expect(event.type == type)
    }

    @Test(
        arguments: [
            (1_767_225_600, 1_767_225_600_000_000), (1_767_225_600_123, 1_767_225_600_123_000),
            (100_000_000_000, 100_000_000_000_000), (0, 0),
            // Not after the second of the token.
            (99_999_999_999, 1_767_225_601_000_000), (1_767_225_601_001, 1_767_225_601_000_000),
        ] as [(Int64, Int64)])
    func `a time is in seconds, or in milliseconds from ten to the eleventh`(
        time: Int64, microseconds: Int64
    ) async throws {
        let event = try await read(Self.claims.with("events", Self.event("x", [("event_time", .integer(time))])))
        #expect(event.occurredAt == Timestamp(microseconds: microseconds))
    }

    @Test(
        arguments: [
            nil, .null, "1767225600", -1, .raw("1767225600.5"), .raw("1e300"), .integer(.max),
            .integer(.max / 1_000 + 1), .raw("[]"),
        ] as [TokenMint.Literal?])
    func `without a time that a clock shows, the event happened when the token was made`(
        time: TokenMint.Literal?
    ) async throws {
        let event = try await read(Self.claims.with("events", Self.event("x", [("event_time", time)])))
        #expect(event.occurredAt == Timestamp(seconds: referenceTime))
    }

    @Test(
        arguments: [nil, "", 5, .null, .raw(#""a\u0000b""#), .string(String(repeating: "s", count: 256))]
            as [TokenMint.Literal?])
    func `an event without a subject that anybody could have is about nobody`(subject: TokenMint.Literal?) async throws
    {
        let event = try await read(Self.claims.with("events", Self.event("consent-revoked", [("sub", subject)])))
        #expect(event.kind == .consentRevoked)
        #expect(event.subject == ProviderEvent.Subject.none)
    }

    @Test func `the team of the client decides the realm`() async throws {
        let provider = try AppleFixture.provider(teams: AppleProviderTests.teams)
        let event = try await read(Self.claims.with("aud", "com.example.lamp.beta"), by: provider)
        #expect(event.realm == Realm("beta"))
        await #expect(throws: CredentialRefusal(.audienceRejected)) {
            try await read(Self.claims.with("aud", ["com.example.lamp", "com.example.lamp.beta"]), by: provider)
        }
    }

    // MARK: Refusals

    @Test func `an event does not expire, and needs no expiry`() async throws {
        for claims in [Self.claims, Self.claims.with("exp", nil), Self.claims.with("exp", "never")] {
            let event = try await read(claims, at: referenceTime + 40 * 86_400)
            #expect(event.kind == .consentRevoked)
        }
    }

    static let changes = [
        Change("events", .string(event(nil).text), .claimInvalid),
        Change("events", event(5), .claimInvalid),
        Change("events", event(""), .claimInvalid),
        Change("events", event("a\nb"), .claimInvalid),
        Change("events", event(.string(String(repeating: "t", count: 256))), .claimInvalid),
    ]

    // MARK: Kinds

    @Test func `an identity token and an access token are no notifications`() async throws {
        await #expect(throws: CredentialRefusal(.claimMissing)) { try await read(AppleFixture.claims) }
        // Nor with every claim of a notification but `events`.
        await #expect(throws: CredentialRefusal(.claimMissing)) {
            try await read(AppleFixture.claims.with("jti", "9sXk2QvPq0aLw1eR"))
        }
        let own = try TokenMint.shared.token(ownAccessToken, header: ownHeader, by: .es256)
        await #expect(throws: CredentialRefusal(.headerRejected)) {
            try await AppleFixture.provider().events(of: own, at: Timestamp(seconds: referenceTime))
        }
    }
}

/// Our own access token, with every claim of a provider's token that can be copied.
let ownAccessToken: TokenMint.Members = AppleEventTests.claims.with("iss", "https://auth.example.com")
let ownHeader: TokenMint.Members = ["alg": "ES256", "kid": .string(TokenMint.p256KeyID), "typ": "at+jwt"]

/// Changes of one character of a signed token that leave its form intact.
enum Tampering {
    static func all(of token: [UInt8]) throws -> [[UInt8]] {
        let dots = token.indices.filter { token[$0] == UInt8(ascii: ".") }
        // In the claims and in the signature, in the middle of a part: the last character may have no twin.
        return [dots[0] + 20, dots[0] + 150, dots[1] + 1, dots[1] + 100].map { offset in
            var changed = token
            changed[offset] = token[offset] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            return changed
        }
    }
}

extension ProviderEvent.Subject {
    var person: String? {
        guard case .person(let subject) = self else { return nil }
        return subject.text
    }
}
