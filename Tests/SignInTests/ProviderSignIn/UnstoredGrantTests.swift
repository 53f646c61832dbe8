import Accounts
import Postgres
import Providers
import TestSupport
import Testing

@testable import SignIn
@testable import Storage

/// Grants of codes that were exchanged while the database stored nothing.
@Suite(.fixture(LifeCycleFixture.self), .timeLimit(.minutes(15))) struct UnstoredGrantTests {
    var fixture: LifeCycleFixture { .current }

    /// Makes the database refuse every new grant and ticket as a full disk does.
    private func fillDisk() async throws {
        // A sequence counts what is rolled back.
        try await fixture.database.execute("CREATE SEQUENCE refusals")
        try await fixture.database.execute(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN
                PERFORM nextval('refusals');
                RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full';
            END $$
            """)
        for table in ["provider_grants", "link_tickets"] as [SQL] {
            try await fixture.database.execute(
                "CREATE TRIGGER full_disk BEFORE INSERT ON \(table) FOR EACH ROW EXECUTE FUNCTION refuse()")
        }
    }

    private func refusals() async throws -> Int64 {
        try await fixture.database.number("SELECT last_value FROM refusals")
    }

    private func emptyDisk() async throws {
        try await fixture.database.execute("DROP FUNCTION refuse CASCADE")
        try await fixture.database.execute("DROP SEQUENCE refusals")
    }

    /// Exchanges a code, whose grant can't be stored.
    private func signInWithFullDisk(_ provider: Provider = .apple) async throws {
        try await fillDisk()
        let consent = try await fixture.consent(provider)
        try await expectFailure("storageUnavailable") { try await fixture.signIn(consent, .code) }
    }

    @Test(arguments: Provider.allCases)
    func `what no ticket holds is revoked when the database takes it`(provider: Provider) async throws {
        try await signInWithFullDisk(provider)
        #expect(fixture.strayGrants.count == 1)
        await fixture.strayGrants.endAll(timeout: .zero)
        #expect(fixture.strayGrants.count == 1)
        #expect(try await fixture.count("outbox") == 0)

        try await emptyDisk()
        await fixture.strayGrants.endAll()
        #expect(fixture.strayGrants.count == 0)
        #expect(try await fixture.audited(.revocationRequested) == ["service not_stored"])
        try await fixture.revokeDue()
        #expect(try await fixture.grants(provider).map(\.endedBy) == [.revoke])
    }

    @Test func `a shutdown waits for a database that comes back`() async throws {
        try await signInWithFullDisk()
        let before = try await refusals()
        async let end: Void = fixture.strayGrants.endAll(timeout: .seconds(120))
        while try await refusals() == before { try await pollingPause() }
        try await emptyDisk()
        await end
        #expect(fixture.strayGrants.count == 0)
        try await fixture.revokeDue()
        #expect(try await fixture.grants(.apple).map(\.endedBy) == [.revoke])
    }

    @Test func `rounds that meet end each once`() async throws {
        try await signInWithFullDisk()
        try await emptyDisk()
        let grants = fixture.strayGrants
        async let other: Void = grants.endAll(timeout: .seconds(120))
        await grants.endAll(timeout: .seconds(120))
        await other
        #expect(grants.count == 0)
        #expect(try await fixture.audited(.revocationRequested) == ["service not_stored"])
    }

    @Test func `a shutdown waits for a round that is under way`() async throws {
        try await signInWithFullDisk()
        try await emptyDisk()
        let grants = fixture.strayGrants
        let left = try await fixture.database.transaction { transaction in
            try await transaction.execute("LOCK TABLE provider_grants")
            Task { await grants.endDue() }
            try await transaction.awaitWaiters()
            let left = Task {
                await grants.endAll(timeout: .zero)
                return grants.count
            }
            for _ in 0..<50 { try await pollingPause() }
            return left
        }
        #expect(await left.value == 0)
    }

    @Test func `one that waits is tried again without a shutdown`() async throws {
        try await signInWithFullDisk()
        await fixture.strayGrants.endDue()
        #expect(fixture.strayGrants.count == 1)
        try await emptyDisk()
        // The pause is a second.
        while fixture.strayGrants.count > 0 {
            await fixture.strayGrants.endDue()
            try await pollingPause()
        }
        try await fixture.revokeDue()
        #expect(try await fixture.grants(.apple).map(\.endedBy) == [.revoke])
    }

    @Test func `who has come again meanwhile keeps their authorization`() async throws {
        try await signInWithFullDisk()
        try await emptyDisk()
        #expect(try await fixture.account(.apple).identity?.authorization == .active)
        await fixture.strayGrants.endAll()
        #expect(fixture.strayGrants.count == 0)
        try await fixture.revokeDue()
        #expect(try await fixture.grants(.apple).map(\.isLive) == [true, true])
        // The grant of their sign-in, and not the one that waited.
        #expect(try await fixture.count("provider_grants") == 1)
    }

    /// Signs in a person whose identity has no grant, by a code while the disk is full; then there is room again.
    private func keepGrantOfKnownPerson(_ provider: Provider) async throws -> SignedIn {
        let signedIn = try await fixture.create(try await fixture.ticket(try await fixture.consent(provider), .token))
        #expect(try await fixture.authorization(signedIn.identity) == "none")
        try await signInWithFullDisk(provider)
        try await emptyDisk()
        return signedIn
    }

    @Test(arguments: Provider.allCases)
    func `an identity without a grant gets what could not be stored, and its end revokes it`(
        provider: Provider
    ) async throws {
        let signedIn = try await keepGrantOfKnownPerson(provider)
        await fixture.strayGrants.endAll()
        #expect(fixture.strayGrants.count == 0)
        #expect(try await fixture.authorization(signedIn.identity) == "active")
        #expect(try await fixture.audited(.revocationRequested) == [])
        #expect(try await fixture.grants(provider).map(\.isLive) == [true])
        try await fixture.deleteAccount(signedIn)
        try await fixture.revokeDue()
        #expect(try await fixture.grants(provider).map(\.endedBy) == [.revoke])
    }

    @Test func `what its person withdrew while it could not be stored is found by a check`() async throws {
        let signedIn = try await keepGrantOfKnownPerson(.google)
        try await fixture.withdraw(.google)
        await fixture.strayGrants.endAll()
        #expect(try await fixture.checks.checkDue() == 1)
        #expect(try await fixture.authorization(signedIn.identity) == "revoked")
    }

    @Test(arguments: Provider.allCases)
    func `who has yet to choose by then takes along what could not be stored, and their end revokes it`(
        provider: Provider
    ) async throws {
        try await signInWithFullDisk(provider)
        try await emptyDisk()
        // Their next try brings no code.
        let ticket = try await fixture.ticket(try await fixture.consent(provider), .token)
        await fixture.strayGrants.endAll()
        #expect(fixture.strayGrants.count == 0)
        #expect(try await fixture.count("provider_grants WHERE ticket_hash IS NOT NULL") == 1)
        let created = try await fixture.create(ticket)
        #expect(created.identity?.authorization == .active)
        #expect(try await fixture.audited(.revocationRequested) == [])
        try await fixture.deleteAccount(created)
        try await fixture.revokeDue()
        #expect(try await fixture.grants(provider).map(\.endedBy) == [.revoke])
    }

    @Test func `who gives up what they have yet to choose leaves no authorization`() async throws {
        try await signInWithFullDisk()
        try await emptyDisk()
        let ticket = try await fixture.ticket(try await fixture.consent(.apple), .token)
        await fixture.strayGrants.endAll()
        try await fixture.service.tickets.cancel(linkTicket: ticket.linkTicket, by: fixture.call)
        try await fixture.revokeDue()
        #expect(try await fixture.grants(.apple).map(\.endedBy) == [.revoke])
    }

    @Test func `a ticket with a grant of its own gets no other one`() async throws {
        try await signInWithFullDisk()
        try await emptyDisk()
        let ticket = try await fixture.ticket(try await fixture.consent(.apple))
        let other = try await fixture.ticket(try await fixture.consent(.apple), .token)
        let kept = try await fixture.refreshTokens()
        await fixture.strayGrants.endAll()
        #expect(fixture.strayGrants.count == 0)
        #expect(try await fixture.refreshTokens() == kept)
        // It goes to the one that is left.
        try await fixture.service.tickets.cancel(linkTicket: ticket.linkTicket, by: fixture.call)
        #expect(try await fixture.create(other).identity?.authorization == .active)
        #expect(try await fixture.refreshTokens() == kept)
    }

    @Test func `an identity that could not be linked leaves no authorization`() async throws {
        let session = try await fixture.opened(try await fixture.account(.apple))
        try await fillDisk()
        let consent = try await fixture.consent(.google)
        let credential = ProviderCredential(code: consent.code)
        try await expectFailure("storageUnavailable") {
            try await fixture.service.linking.link(.google, credential, to: session, by: fixture.call)
        }
        try await emptyDisk()
        await fixture.strayGrants.endAll()
        try await fixture.revokeDue()
        #expect(try await fixture.grants(.google).map(\.endedBy) == [.revoke])
        #expect(try await fixture.grants(.apple).map(\.isLive) == [true])
    }

    @Test func `a thousand are kept, and no more`() async throws {
        let key = IdentityKey(provider: .apple, realm: .main, subject: try #require(ProviderSubject("001.a.1")))
        let grant = NewGrant(
            clientID: ProviderClientID(LifeCycleFixture.appleClient), refreshToken: "r",
            exchangedAt: fixture.clock.now(), checkAt: nil)
        let event = AuditEvent(.revocationRequested, by: .service)
        for _ in 0..<StrayGrants.limit + 1 {
            fixture.strayGrants.keep(grant, of: key, isAttachable: true, recording: event)
        }
        #expect(fixture.strayGrants.count == StrayGrants.limit)
    }
}
