import Accounts
import Foundation
import KeyRing
import OpenSSL
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// Google's `token-revoked`, which names a refresh token and no person.
@Suite(.fixture(ProviderEventFixture.self)) struct ProviderEventTokenTests {
    var fixture: ProviderEventFixture { .current }

    /// The example of Google's documentation and the two names by which an event may refer to it.
    private static let token = "1//0gMadeUpRefreshTokenForTests_0001"
    private static let names = [
        ("prefix", "1//0gMadeUpRefre"),
        (
            "hash_base64_sha512_sha512",
            "8JFQ49gOVwvoytv4De3ThlgYjRHqU5JaF3MDfK+ri4y11QYlUnLJyp9kWvcliKHEiwxUEzxvFSHyGwHnoPtq9g=="
        ),
    ]

    @Test(arguments: names)
    func `the named refresh token goes, and with the last one the authorization`(
        algorithm: String, name: String
    ) async throws {
        let google = try await fixture.account(.google)
        try await fixture.keep(Self.token, .google)
        _ = try await fixture.account(.google, "ada")
        try await fixture.keep("1//0gSomebodyElses_0001", .google, "ada")
        _ = try await fixture.account(.apple)
        try await fixture.keep(Self.token, .apple)
        try await fixture.deliver(.google, fixture.google(revokedToken: name, by: algorithm, id: "e1"))

        let left = try await fixture.texts("SELECT provider || ' ' || subject FROM provider_grants ORDER BY subject")
        #expect(left == ["google ada", "apple kim"])
        #expect(try await fixture.identity(google)?.authorization == .revoked)
        #expect(try await fixture.isOpen(google))
        #expect(try await fixture.audited() == ["e1 grant_revoked provider google"])
        #expect(try await fixture.isRecorded("e1", of: google))
        #expect(try await fixture.statuses() == ["e1": "done"])
        #expect(try await fixture.count("outbox") == 0)
    }

    @Test(arguments: names)
    func `a refresh token is found under an older key of the ring`(algorithm: String, name: String) async throws {
        _ = try await fixture.account(.google)
        try await fixture.keep(Self.token, .google)
        let event = try fixture.google(revokedToken: name, by: algorithm, id: "e1")
        func deliver(_ keyRing: KeyRing) async throws {
            let storage = ServiceDatabase(fixture.database, keyRing: keyRing)
            let events = try ProviderEventFixture.events(fixture.people, store: storage.providerEvents)
            try await events.take(event, from: .google)
            _ = try await events.processPending()
        }
        let bytes = Data(repeating: 9, count: 32).base64EncodedString()
        let old = Data(repeating: 7, count: 32).base64EncodedString()
        try await deliver(try KeyRing(parsing: "k2 \(bytes)\n"))
        #expect(try await fixture.count("provider_grants") == 1)
        #expect(try await fixture.statuses() == ["e1": "unknown_subject"])
        try await fixture.database.execute("DELETE FROM provider_events")
        try await deliver(try KeyRing(parsing: "k2 \(bytes)\nk1 \(old)\n"))
        #expect(try await fixture.count("provider_grants") == 0)
        #expect(try await fixture.statuses() == ["e1": "done"])
    }

    @Test func `of several clients' grants the others stay, and the authorization with them`() async throws {
        let google = try await fixture.account(.google)
        try await fixture.keep(Self.token, .google)
        let other = NewGrant(
            clientID: "lamp-tv.apps.googleusercontent.com", refreshToken: "another-refresh-token",
            exchangedAt: fixture.clock.now(), checkAt: nil)
        #expect(
            try await fixture.storage.grants.keep(other, for: try fixture.key(.google), by: .at(fixture.clock.now())))
        try await fixture.deliver(.google, fixture.google(revokedToken: Self.names[0].1, by: Self.names[0].0, id: "e1"))
        let clients = try await fixture.texts("SELECT client_id FROM provider_grants")
        #expect(clients == ["lamp-tv.apps.googleusercontent.com"])
        #expect(try await fixture.identity(google)?.authorization == .active)
    }

    @Test func `a beginning that fits several tokens ends none, and has each checked`() async throws {
        let people = ["kim", "ada"]
        for person in people {
            _ = try await fixture.account(.google, person)
            try await fixture.keep(Self.token + person, .google, person)
        }
        _ = try await fixture.account(.google, "bob")
        try await fixture.keep("1//0gSomebodyElses_0001", .google, "bob")
        fixture.advance(by: 5)
        try await fixture.deliver(.google, fixture.google(revokedToken: Self.names[0].1, by: Self.names[0].0, id: "e1"))
        #expect(try await fixture.count("provider_grants") == 3)
        let checked = try await fixture.texts(
            "SELECT subject FROM provider_grants WHERE check_at = \(fixture.clock.now()) ORDER BY subject")
        #expect(checked == ["ada", "kim"])
        #expect(try await fixture.audited() == [])
        #expect(try await fixture.statuses() == ["e1": "done"])
    }

    @Test func `the token of somebody who has not chosen yet goes too`() async throws {
        let hash = SecretHash([UInt8](repeating: 1, count: 32))
        let ticket = LinkTicket(
            identity: VerifiedIdentity(
                key: try fixture.key(.google), email: nil, clientID: ProviderClientID(SignInFixture.googleClient),
                authenticatedAt: fixture.clock.now(), issuedAt: fixture.clock.now()),
            displayName: nil, createdAt: fixture.clock.now(), expiresAt: fixture.clock.now().advanced(bySeconds: 600))
        try await fixture.storage.links.insert(
            ticket, hash: hash, grant: fixture.grant(ProviderRefreshToken(Self.token), .google),
            by: .at(fixture.clock.now()))
        #expect(try await fixture.count("provider_grants") == 1)
        try await fixture.deliver(.google, fixture.google(revokedToken: Self.names[1].1, by: Self.names[1].0, id: "e1"))
        #expect(try await fixture.count("provider_grants") == 0)
        #expect(try await fixture.audited() == ["e1 grant_revoked provider google"])
    }

    @Test func `a token that is not known here, or named in no known way, is nobody's`() async throws {
        _ = try await fixture.account(.google)
        try await fixture.keep(Self.token, .google)
        try await fixture.deliver(
            .google, fixture.google(revokedToken: "1//0gUnknownToke", by: "prefix", id: "e1"),
            fixture.google(revokedToken: Self.names[0].1, by: "hash_sha256", id: "e2"))
        #expect(try await fixture.count("provider_grants") == 1)
        #expect(try await fixture.statuses() == ["e1": "unknown_subject", "e2": "unknown_subject"])
        #expect(try await fixture.audited() == [])
    }

    @Test func `what names the token is not in the database`() async throws {
        for (algorithm, name) in Self.names {
            try await fixture.events.take(
                fixture.google(revokedToken: name, by: algorithm, id: algorithm), from: .google)
        }
        let digest = SHA512.hash(SHA512.hash(Array(Self.token.utf8))).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
        for secret in Self.names.map(\.1) + [digest] {
            #expect(try await fixture.count("provider_events e WHERE strpos(e::text, \(secret)) > 0") == 0)
        }
        #expect(try await fixture.count("provider_events WHERE token_fingerprints IS NOT NULL") == 2)
    }
}
