import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// Events that came before the identity that they are about.
@Suite(.fixture(ProviderEventFixture.self)) struct EarlyEventTests {
    var fixture: ProviderEventFixture { .current }

    private var imports: ImportStore { ImportStore(database: fixture.database, keyRing: fixture.people.keyRing) }

    private func imported(_ provider: Provider) async throws -> AccountID {
        let (now, id) = (fixture.clock.now(), try #require(ExternalID("old/kim")))
        let identity = ImportedPerson.Identity(
            key: try fixture.key(provider), email: nil, isEmailVerified: false, isPrivateEmail: false, linkedAt: now)
        let person = ImportedPerson(
            externalID: id, email: nil, emailProof: .stated, displayName: nil, createdAt: now, isDisabled: false,
            identities: [identity], passwordHash: nil)
        let run = try await imports.begin(try #require(ImportName("moved")), source: "ndjson", by: .at(now))
        let results = try await imports.merge(
            [ImportRow(externalID: id, content: .person(person))], of: run, by: .at(now))
        return try #require(results.first?.outcome.accountID)
    }

    @Test(
        arguments: [
            (Provider.apple, "consent-revoked", false), (.apple, "consent-revoked", true),
            (.google, ProviderEventFixture.risc + "sessions-revoked", false),
            (.google, ProviderEventFixture.risc + "sessions-revoked", true),
            (.google, ProviderEventFixture.oauth + "tokens-revoked", true),
        ] as [(Provider, String, Bool)])
    func `a token from before an event opens nothing when its person comes after it, new or imported`(
        provider: Provider, type: String, isImported: Bool
    ) async throws {
        let authenticated = fixture.clock.now().seconds
        let stolen = try fixture.token(provider)
        fixture.advance(by: 10)
        try await fixture.deliver(
            provider, provider == .apple ? fixture.apple(type, id: "e1") : fixture.google(type, id: "e1"))
        #expect(try await fixture.statuses() == ["e1": "unknown_subject"])
        fixture.advance(by: 10)
        let account = try await isImported ? imported(provider) : fixture.account(provider).account.id
        try await expectFailure("expired") { try await fixture.people.signIn(provider, stolen) }
        // Nor does one that the provider has renewed since, for an authentication that it has taken back.
        let renewed = try fixture.people.token(provider, "kim", [("auth_time", .integer(authenticated))])
        if type.hasSuffix("sessions-revoked") {
            try await expectFailure("expired") { try await fixture.people.signIn(provider, renewed) }
        } else {
            #expect(try await fixture.people.session(provider, renewed).account.id == account)
        }
        #expect(try await fixture.session(provider).account.id == account)
    }

    @Test func `an event that comes while an import brings its person finds them`() async throws {
        _ = try await imports.begin(try #require(ImportName("moved")), source: "ndjson", by: .at(fixture.clock.now()))
        try await fixture.expectEventFinds(personMadeAfter: "SELECT FROM imports FOR SHARE")
    }

    @Test func `an event from before an import blocks its person, who has proven nothing since`() async throws {
        fixture.advance(by: 100)
        _ = try await imported(.google)
        try await fixture.deliver(.google, fixture.google("account-disabled", at: 20, id: "e1"))
        #expect(try await fixture.statuses() == ["e1": "done"])
    }
}
