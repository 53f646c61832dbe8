import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// Events about unknown subjects, forged events, and events that can't be processed.
@Suite(.fixture(ProviderEventFixture.self)) struct ProviderEventFaultTests {
    var fixture: ProviderEventFixture { .current }

    // MARK: Unknown subjects

    @Test func `an event about somebody unknown is acknowledged, and their subject soon forgotten`() async throws {
        let otherPerson = try await fixture.account(.apple, "ada")
        for (number, type) in ["consent-revoked", "account-deleted", "email-disabled"].enumerated() {
            try await fixture.deliver(.apple, fixture.apple(type, id: "a\(number)"))
        }
        for (number, type) in ["sessions-revoked", "account-disabled", "account-enabled"].enumerated() {
            try await fixture.deliver(.google, fixture.google(type, id: "g\(number)"))
        }
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", of: nil, id: "a3"))
        #expect(try await Set(fixture.statuses().values) == ["unknown_subject"])
        #expect(try await fixture.count("provider_events") == 7)
        // Those of sessions refuse the tokens of before.
        let known: SQL = "provider_events WHERE subject IS NOT NULL"
        #expect(try await fixture.texts("SELECT jti FROM \(known) ORDER BY jti") == ["a0", "a1", "g0"])
        #expect(try await fixture.audited() == [])
        #expect(try await fixture.isOpen(otherPerson))
        _ = try await fixture.sweeper.sweep()
        #expect(try await fixture.count(known) == 3)
        fixture.advance(by: Lifetimes.unknownSubjectRetentionSeconds + 1)
        _ = try await fixture.sweeper.sweep()
        #expect(try await fixture.count(known) == 0)
    }

    @Test func `the same subject at the other provider, or of another team, is somebody else`() async throws {
        let google = try await fixture.account(.google)
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", id: "e1"))
        #expect(try await fixture.isOpen(google))
        try await fixture.database.execute("UPDATE identities SET provider = 'apple', realm = 'beta'")
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", id: "e2"))
        #expect(try await fixture.isOpen(google))
        #expect(try await fixture.statuses() == ["e1": "unknown_subject", "e2": "unknown_subject"])
    }

    @Test func `an event of an unknown type is stored and acknowledged, and does nothing`() async throws {
        let apple = try await fixture.account(.apple)
        let google = try await fixture.account(.google)
        try await fixture.deliver(.apple, fixture.apple("account-frozen", id: "e1"))
        try await fixture.deliver(.google, fixture.google("account-purged", id: "e2"))
        #expect(try await fixture.statuses() == ["e1": "unknown_type", "e2": "unknown_type"])
        let types = try await fixture.texts("SELECT type FROM provider_events ORDER BY jti")
        #expect(types == ["account-frozen", ProviderEventFixture.risc + "account-purged"])
        for session in [apple, google] { #expect(try await fixture.isOpen(session)) }
        #expect(try await fixture.audited() == [])
    }

    // MARK: People with an open ticket

    @Test(.noFixture(ProviderEventFixture.self), arguments: [VerifiedEmailPolicy.prompt, .automatic])
    func `a token of somebody unknown from before the event enters no account`(
        policy: VerifiedEmailPolicy
    ) async throws {
        try await SignInFixture.withMail(policy: policy) { people in
            let fixture = try ProviderEventFixture(people: people)
            let owner = try await people.member("kim@gmail.com")
            func expectRefused(_ token: String) async throws {
                if policy == .automatic {
                    try await expectFailure("expired") { try await people.signIn(.google, token) }
                } else {
                    let ticket = try await people.ticket(.google, token)
                    try await expectFailure("linkTicketExpired") { try await people.create(ticket) }
                    try await expectFailure("linkTicketExpired") {
                        try await people.bind(ticket, owner.session.credential)
                    }
                }
            }
            let claims = SignInFixture.email("kim@gmail.com")
            let before = try people.google("kim", claims)
            fixture.advance(by: 10)
            try await fixture.deliver(.google, fixture.google("sessions-revoked", id: "e1"))
            try await expectRefused(before)
            fixture.advance(by: 10)
            // Nor does one that Google has renewed since, for an authentication that it has taken back.
            let renewed = try people.google("kim", claims + [("auth_time", .integer(fixture.clock.now().seconds - 15))])
            try await expectRefused(renewed)
            #expect(try await people.account(owner).identities.isEmpty)
            fixture.advance(by: 10)
            switch try await people.signIn(.google, people.google("kim", claims)) {
            case .signedIn(let signedIn): #expect(signedIn.account.id == owner.account.id)
            case .linkRequired(let ticket): _ = try await people.bind(ticket, owner.session.credential)
            }
            #expect(try await people.account(owner).identities.count == 1)
        }
    }

    @Test(arguments: [(Provider.apple, "consent-revoked"), (.apple, "account-deleted"), (.google, "tokens-revoked")])
    func `the ticket of somebody who withdraws before they choose is over, and its grant with it`(
        provider: Provider, type: String
    ) async throws {
        let ticket = try await fixture.people.ticket(provider, fixture.token(provider))
        let other = try await fixture.people.ticket(provider, fixture.token(provider, "ada"))
        fixture.advance(by: 10)
        try await fixture.deliver(provider, fixture.event(provider, type, id: "e1"))
        try await expectFailure("linkTicketExpired") { try await fixture.people.create(ticket) }
        #expect(try await fixture.statuses() == ["e1": "unknown_subject"])
        _ = try await fixture.people.create(other)
        // A person who comes back gets a new one.
        fixture.advance(by: 10)
        _ = try await fixture.account(provider)
    }

    @Test func `the grant of a ticket goes with an event, and one that was granted later stays`() async throws {
        for (octet, seconds) in [(UInt8(1), Int64(0)), (2, 20)] {
            fixture.advance(by: seconds)
            let now = fixture.clock.now()
            let ticket = LinkTicket(
                identity: VerifiedIdentity(
                    key: try fixture.key(.apple), email: nil, clientID: ProviderClientID(SignInFixture.appleClient),
                    authenticatedAt: now, issuedAt: now),
                displayName: nil, createdAt: now, expiresAt: now.advanced(bySeconds: 600))
            try await fixture.storage.links.insert(
                ticket, hash: SecretHash([UInt8](repeating: octet, count: 32)),
                grant: fixture.grant("token-\(octet)", .apple), by: .at(fixture.clock.now()))
        }
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", at: 10, id: "e1"))
        let octets: SQL = "SELECT encode(substr(ticket_hash, 1, 1), 'hex') FROM"
        #expect(try await fixture.texts("\(octets) provider_grants") == ["02"])
        #expect(try await fixture.texts("\(octets) link_tickets WHERE consumed_at IS NULL") == ["02"])
    }

    @Test func `an event that comes while a ticket is spent finds whom it is about`() async throws {
        _ = try await fixture.people.ticket(.apple, fixture.token(.apple))
        let now = fixture.clock.now()
        try await fixture.expectEventFinds(personMadeAfter: "UPDATE link_tickets SET consumed_at = \(now)")
    }

    // MARK: What was proven before

    @Test(arguments: [(Provider.apple, "consent-revoked"), (.google, "sessions-revoked"), (.google, "tokens-revoked")])
    func `a token of before the event opens nothing after it`(provider: Provider, type: String) async throws {
        _ = try await fixture.account(provider)
        fixture.advance(by: 10)
        let token = try fixture.token(provider)
        fixture.advance(by: 10)
        try await fixture.deliver(provider, fixture.event(provider, type, id: "e1"))
        try await expectFailure("expired") { try await fixture.people.session(provider, token) }
        #expect(try await fixture.isOpen(try await fixture.session(provider)))
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 1)
    }

    /// A provider that has ended its own sessions takes back every authentication until then; one that has ended an
    /// authorization issues no token until the person has consented again.
    @Test(
        arguments: [
            (Provider.google, "sessions-revoked", nil, false), (.google, "account-disabled", "hijacking", false),
            (.google, "tokens-revoked", nil, true), (.apple, "consent-revoked", nil, true),
        ] as [(Provider, String, String?, Bool)])
    func `a new token of an old authentication is good unless the provider has ended its sessions`(
        provider: Provider, type: String, reason: String?, isGood: Bool
    ) async throws {
        _ = try await fixture.account(provider)
        let authenticated = fixture.clock.now().seconds
        fixture.advance(by: 10)
        let members = reason.map { [("reason", $0)] } ?? []
        try await fixture.deliver(provider, fixture.event(provider, type, members, id: "e1"))
        fixture.advance(by: 10)
        let claims: [(String, TokenMint.Literal?)] = [("auth_time", .integer(authenticated))]
        let renewed = try fixture.people.token(provider, "kim", claims)
        if isGood {
            #expect(try await fixture.isOpen(try await fixture.people.session(provider, renewed)))
        } else {
            try await expectFailure("expired") { try await fixture.people.session(provider, renewed) }
            #expect(try await fixture.isOpen(try await fixture.session(provider)))
        }
    }

    // MARK: Forged events

    @Test func `a flood of a thousand forged events does not even reach the database`() async throws {
        // No server listens there, so each connection is refused.
        let away = Database(
            configuration: .init(url: "postgres://countersign@127.0.0.1:1/none", poolSize: 1),
            logger: .silent)
        let storage = ServiceDatabase(away, keyRing: fixture.people.keyRing)
        let events = try ProviderEventFixture.events(fixture.people, store: storage.providerEvents)
        let forged = try fixture.apple("consent-revoked", id: "e1", by: TokenMint.otherSigner)
        let stolen = try fixture.google("sessions-revoked", id: "e2", by: TokenMint.otherSigner)
        let foreign = try fixture.apple("consent-revoked", id: "e3", [("aud", "com.example.other")])
        let identity = Array(try fixture.token(.apple).utf8)
        let refused = [
            (forged, Provider.apple, "signature_mismatch"), (stolen, .google, "signature_mismatch"),
            (foreign, .apple, "audience_rejected"), (identity, .apple, "claim_missing"),
        ]
        try await concurrently(0..<1_000) { number in
            let (token, provider, reason) = refused[number % refused.count]
            try await expectFailure(reason) { try await events.take(token, from: provider) }
        }
        let sound = try fixture.apple("consent-revoked", id: "e4")
        try await expectFailure("storageUnavailable") { try await events.take(sound, from: .apple) }
        await away.shutdown()
    }

    @Test func `the events of a provider that is not offered are refused`() async throws {
        let none = ProviderEvents(
            apple: nil, google: nil, policy: .init(consentRevoked: .unlink, accountDeleted: .unlink),
            store: fixture.storage.providerEvents, clock: fixture.clock, logger: .silent)
        let token = try fixture.apple("consent-revoked", id: "e1")
        for provider in Provider.allCases {
            try await expectFailure("providerDisabled") { try await none.take(token, from: provider) }
        }
    }

    // MARK: Faults

    @Test func `an event that fails stays, holds up no other, and is tried again later each time`() async throws {
        // More than a batch, and all before the one that can be acted on.
        let people = (1...40).map { "person-\($0)" }
        for person in people {
            _ = try await fixture.account(.apple, person)
            try await fixture.events.take(
                fixture.apple("consent-revoked", of: person, id: "bad-\(person)"), from: .apple)
        }
        let kim = try await fixture.account(.apple)
        fixture.advance(by: 1)
        try await fixture.events.take(fixture.apple("consent-revoked", id: "good"), from: .apple)
        try await fixture.database.execute(
            "ALTER TABLE audit_events ADD CONSTRAINT audit_events_fault CHECK (jti NOT LIKE 'bad%')")
        try await fixture.processAll()

        #expect(try await fixture.statuses()["good"] == "done")
        #expect(try await !fixture.isOpen(kim))
        #expect(try await fixture.count("provider_events WHERE status = 'pending'") == 40)
        // An event that failed is rolled back as a whole.
        #expect(try await fixture.count("sessions WHERE ended_at IS NOT NULL") == 1)
        func failures() -> Int { fixture.log.lines.filter { $0.hasPrefix("error ") }.count }
        #expect(failures() == 40)

        try await fixture.processAll()
        #expect(failures() == 40)
        for (pause, total) in [(1, 80), (1, 80), (1, 120), (3, 120), (1, 160)] {
            fixture.advance(by: Int64(pause))
            try await fixture.processAll()
            #expect(failures() == total)
        }
        try await fixture.database.execute("ALTER TABLE audit_events DROP CONSTRAINT audit_events_fault")
        fixture.advance(by: 300)
        try await fixture.processAll()
        #expect(try await fixture.statuses().values.allSatisfy { $0 == "done" })
        #expect(try await fixture.audited().count == 41)
        #expect(failures() == 160)
    }

    @Test func `an event that fails at one process is acted on by another`() async throws {
        let kim = try await fixture.account(.apple)
        try await fixture.events.take(fixture.apple("consent-revoked", id: "e1"), from: .apple)
        try await fixture.database.execute("ALTER TABLE audit_events RENAME TO audit_events_away")
        try await fixture.processAll()
        #expect(try await fixture.isOpen(kim))
        try await fixture.database.execute("ALTER TABLE audit_events_away RENAME TO audit_events")
        let other = try ProviderEventFixture.events(fixture.people, store: fixture.storage.providerEvents)
        #expect(try await other.processPending() == 1)
        #expect(try await !fixture.isOpen(kim))
        #expect(try await fixture.statuses() == ["e1": "done"])
    }

    @Test func `an instance that takes over after a reload keeps the backoff of the one before`() async throws {
        let kim = try await fixture.account(.apple)
        let backoff = EventBackoff()
        let store = fixture.storage.providerEvents
        let before = try ProviderEventFixture.events(fixture.people, store: store, backoff: backoff)
        try await before.take(fixture.apple("consent-revoked", id: "e1"), from: .apple)
        try await fixture.database.execute("ALTER TABLE audit_events RENAME TO audit_events_away")
        #expect(try await before.processPending() == 1)
        try await fixture.database.execute("ALTER TABLE audit_events_away RENAME TO audit_events")
        let after = try ProviderEventFixture.events(fixture.people, store: store, backoff: backoff)
        #expect(try await after.processPending() == 0)
        fixture.advance(by: 1)
        #expect(try await after.processPending() == 1)
        #expect(try await !fixture.isOpen(kim))
    }

    @Test func `an event that failed before the clock was set back is tried again at once`() async throws {
        _ = try await fixture.account(.apple)
        try await fixture.events.take(fixture.apple("consent-revoked", id: "e1"), from: .apple)
        try await fixture.database.execute("ALTER TABLE audit_events RENAME TO audit_events_away")
        #expect(try await fixture.events.processPending() == 1)
        #expect(try await fixture.events.processPending() == 0)
        fixture.advance(by: -3_600)
        #expect(try await fixture.events.processPending() == 1)
        #expect(try await fixture.events.processPending() == 0)
        fixture.advance(by: 2)
        #expect(try await fixture.events.processPending() == 1)
    }

    // MARK: Retention

    @Test func `an event that was acted on is kept for thirty days, and one that was not for ever`() async throws {
        _ = try await fixture.account(.apple)
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", id: "done"))
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", of: "ada", id: "unknown"))
        try await fixture.events.take(fixture.apple("email-disabled", id: "pending"), from: .apple)
        fixture.advance(by: 30 * 86_400)
        while try await fixture.sweeper.sweep() > 0 {}
        #expect(try await fixture.count("provider_events") == 3)
        fixture.advance(by: 1)
        while try await fixture.sweeper.sweep() > 0 {}
        #expect(try await fixture.texts("SELECT jti FROM provider_events") == ["pending"])
        // The audit record stays.
        #expect(try await fixture.audited().count == 1)
    }

    @Test func `who deletes their account is named by no event any more, acted on or not`() async throws {
        let apple = try await fixture.account(.apple)
        let otherPerson = try await fixture.account(.apple, "ada")
        try await fixture.deliver(.apple, fixture.apple("email-disabled", id: "e1"))
        try await fixture.deliver(.apple, fixture.apple("email-disabled", of: "ada", id: "e2"))
        try await fixture.events.take(fixture.apple("email-enabled", id: "e3"), from: .apple)
        try await fixture.deleteAccount(apple)
        try await fixture.processAll()
        #expect(try await fixture.subjects() == ["e1 done", "e2 done ada", "e3 unknown_subject"])
        #expect(try await fixture.identity(otherPerson)?.isEmailDeliverable == false)
    }
    @Test func `who is unlinked is named by no event, but for a day by one that refuses their tokens`() async throws {
        let apple = try await fixture.bind(.apple, to: try await fixture.account(.google))
        try await fixture.deliver(.google, fixture.google("account-credential-change-required", id: "e1"))
        try await fixture.deliver(.google, fixture.google("sessions-revoked", id: "e2"))
        #expect(try await fixture.subjects() == ["e1 done kim", "e2 done kim"])
        let google = try #require(apple.account.identities.first { $0.key.provider == .google })
        try await fixture.service.accounts.unlink(google.id, of: try await fixture.opened(apple), by: fixture.call)
        #expect(try await fixture.subjects() == ["e1 done", "e2 done kim"])
        fixture.advance(by: Lifetimes.unknownSubjectRetentionSeconds + 1)
        _ = try await fixture.sweeper.sweep()
        #expect(try await fixture.subjects() == ["e1 done", "e2 done"])
    }
}
