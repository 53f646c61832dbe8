import Accounts
import Foundation
import JOSE
import JSON
import OpenSSL
import Providers
import TestSupport
import Testing

/// Notifications that Apple has signed, and samples that Google and OpenID publish.
@Suite struct RealEventTests {
    private func read(
        _ token: [UInt8], of notification: Vectors.RealToken, audience: String? = nil, issuer: String? = nil,
        at time: Int64? = nil
    ) async throws -> [ProviderEvent] {
        let keys = try KeySet(parsing: Vectors.keySet(named: #require(notification.keySets.first)))
        let provider = AppleProvider(
            configuration: .init(
                teams: [.init(clientIDs: [ProviderClientID(audience ?? notification.audience)])],
                issuers: [issuer ?? notification.issuer]),
            keys: .fixed(keys))
        return try await provider.events(of: token, at: Timestamp(seconds: time ?? notification.issuedAt))
    }

    @Test(arguments: try Vectors.realAppleNotifications)
    func `a real notification is accepted, in its time and long after it`(token: Vectors.RealToken) async throws {
        for time in [token.issuedAt - 60, token.issuedAt, token.expiresAt, token.expiresAt + 86_400] {
            let events = try await read(Array(token.token.utf8), of: token, at: time)
            let event = try #require(events.first)
            #expect(events.count == 1)
            #expect(event.tokenID == token.claims.jti)
            #expect(event.kind == .emailDisabled)
            #expect(event.subject.person == "001026.16112b36378440d995af22b268f00984.1744")
            #expect(event.occurredAt == Timestamp(microseconds: 1_630_085_403_648_000))
        }
    }

    @Test(arguments: try Vectors.realAppleNotifications)
    func `a real notification is refused to others, from others, too early and tampered with`(
        token: Vectors.RealToken
    ) async throws {
        let bytes = Array(token.token.utf8)
        await #expect(throws: CredentialRefusal(.audienceRejected)) {
            try await read(bytes, of: token, audience: token.audience + "x")
        }
        await #expect(throws: CredentialRefusal(.issuerRejected)) {
            try await read(bytes, of: token, issuer: "https://account.apple.com")
        }
        await #expect(throws: CredentialRefusal(.notYetValid)) {
            try await read(bytes, of: token, at: token.issuedAt - 61)
        }
        for change in try Tampering.all(of: bytes) {
            await #expect(throws: CredentialRefusal(.signatureMismatch)) { try await read(change, of: token) }
        }
    }

    @Test(arguments: try Vectors.realIDTokens)
    func `a real ID token is no event`(token: Vectors.RealToken) async throws {
        let keys = KeySource.fixed(try KeySet(parsing: Vectors.keySet(named: #require(token.keySets.first))))
        let now = Timestamp(seconds: token.issuedAt)
        await #expect(throws: CredentialRefusal(.claimMissing)) {
            if token.issuer.contains("apple") {
                let provider = AppleProvider(
                    configuration: .init(teams: [.init(clientIDs: [ProviderClientID(token.audience)])]), keys: keys)
                _ = try await provider.events(of: Array(token.token.utf8), at: now)
            } else {
                let provider = GoogleProvider(
                    configuration: .init(clientIDs: [ProviderClientID(token.audience)]), keys: keys)
                _ = try await provider.events(of: Array(token.token.utf8), at: now)
            }
        }
    }

    /// `google-risc-samples.json`: the list of one publisher.
    private static func samples(_ publisher: String) throws -> [JSONValue] {
        try #require(JSONValue(parsing: Vectors.bytes("google-risc-samples.json"))[publisher]?.elements)
    }

    private func read(_ sample: JSONValue) async throws -> ProviderEvent {
        let issuer = try #require(sample["iss"]?.string)
        let audience = try #require(sample["aud"]?.string)
        let provider = GoogleProvider(
            configuration: .init(clientIDs: [ProviderClientID(audience)], issuers: [issuer]),
            keys: .fixed(try TokenMint.shared.keySet))
        var writer = JSONWriter()
        writer.value(sample)
        let mint = try TokenMint.shared
        let token = try mint.token(header: mint.header(.rs256).bytes, payload: writer.bytes)
        let events = try await provider.events(of: token, at: Timestamp(seconds: 1_508_184_845))
        #expect(events.count == 1)
        return try #require(events.first)
    }

    @Test func `the samples of Google and of OpenID are read`() async throws {
        let samples = try Self.samples("google") + Self.samples("openid")
        #expect(samples.count == 3)
        var kinds: [ProviderEvent.Kind?] = []
        for sample in samples {
            let event = try await read(sample)
            kinds.append(event.kind)
            #expect(event.tokenID == "756E69717565206964656E746966696572")
            #expect(event.subject.person == "7375626A656374")
            #expect(event.occurredAt == Timestamp(seconds: 1_508_184_845))
            #expect(event.detail == (event.kind == .accountDisabled ? "hijacking" : nil))
        }
        #expect(kinds == [.accountDisabled, .credentialChangeRequired, .accountDisabled])
    }

    @Test func `every type that Google sends is known`() async throws {
        let document = try JSONValue(parsing: Vectors.bytes("google-risc-samples.json"))
        let types = try #require(document["event_types_google_sends"]?.elements).compactMap(\.string)
        #expect(types.count == 7)
        for type in types {
            let claims = GoogleEventTests.claims.with(
                "events", GoogleEventTests.events([(type, GoogleEventTests.event())]))
            let events = try await GoogleFixture.provider().events(
                of: TokenMint.shared.token(claims), at: Timestamp(seconds: referenceTime))
            #expect(events.first?.kind != nil, "\(type)")
        }
    }
}
