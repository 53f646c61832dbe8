import Accounts
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

@Suite(.fixture(LifeCycleFixture.self)) struct AccountDeletionTests {
    var fixture: LifeCycleFixture { .current }

    /// An account with both providers' identities and grants.
    private static func everything(in fixture: LifeCycleFixture) async throws -> SignedIn {
        let ticket = try await fixture.ticket(try await fixture.consent(.apple))
        let account = try await fixture.create(ticket, displayName: DisplayName("Kim Lee"))
        return try await fixture.bind(try await fixture.ticket(try await fixture.consent(.google)), to: account)
    }

    @Test func `a deletion queues a revocation of each identity in its own transaction`() async throws {
        try await fixture.deleteAccount(try await Self.everything(in: fixture))
        let queued = try await fixture.texts("SELECT provider || ' ' || status FROM outbox ORDER BY provider")
        #expect(queued == ["apple pending", "google pending"])
        #expect(try await fixture.count("provider_grants WHERE revocation_id IS NOT NULL") == 2)
        // One transaction wrote the record of the deletion and the outbox rows.
        let writers = try await fixture.texts(
            """
            SELECT xmin::text FROM outbox
            UNION
            SELECT xmin::text FROM audit_events_default WHERE type IN ('account_deleted', 'revocation_requested')
            """)
        #expect(writers.count == 1)
        #expect(try await fixture.audited(.accountDeleted) == ["person -"])
        #expect(try await fixture.audited(.revocationRequested) == ["person -", "person -"])
    }

    @Test func `each authorization is revoked once`() async throws {
        try await fixture.deleteAccount(try await Self.everything(in: fixture))
        try await fixture.revokeDue()
        for provider in Provider.allCases {
            let grants = try await fixture.grants(provider)
            #expect(grants.map(\.endedBy) == [.revoke])
            let requests = try await fixture.sandbox.history(path: LifeCycleFixture.revokePath(provider))
            #expect(requests.map { $0.field("token") } == grants.map(\.refreshToken))
            #expect(requests.map(\.status) == [200])
        }
        #expect(try await fixture.revocationRows().map(\.status) == ["done", "done"])
        #expect(try await fixture.revocationRows().map(\.attempts) == [1, 1])
        #expect(try await fixture.audited(.revocationDone) == ["service -", "service -"])
    }

    @Test func `an identity without a grant leaves nothing to revoke`() async throws {
        let created = try await fixture.create(try await fixture.ticket(try await fixture.consent(.apple), .token))
        try await fixture.deleteAccount(created)
        let rows = try await fixture.revocationRows()
        #expect(rows.map(\.status) == ["done"])
        #expect(rows.map(\.lastError) == [Revocation.noGrant])
        #expect(try await fixture.revocations.attemptDue(at: .apple) == 0)
    }

    @Test func `nothing of the person stays, and after an hour not the subject either`() async throws {
        let account = try await Self.everything(in: fixture)
        let subjects = account.account.identities.map(\.key.subject.text)
        try await fixture.deleteAccount(account)
        for table in ["accounts", "identities", "sessions", "link_tickets"] as [SQL] {
            #expect(try await fixture.count(table) == 0)
        }
        for text in ["kim@example.com", "Kim Lee", "192.0.2.1"] {
            #expect(try await fixture.tables(holding: text) == [])
        }
        for subject in subjects {
            #expect(try await fixture.tables(holding: subject) == ["outbox", "provider_grants"])
        }
        try await fixture.revokeDue()
        #expect(try await fixture.count("provider_grants") == 0)
        try await fixture.advance(by: 3601)
        _ = try await fixture.sweeper.sweep()
        for subject in subjects { #expect(try await fixture.tables(holding: subject) == []) }
        // The record of the deletion stays, and the events of the feed, which hold ids alone.
        let left = ["account_sequences", "audit_events_default", "unstamped_events"]
        #expect(try await fixture.tables(holding: account.account.id.description) == left)
    }

    @Test func `tickets of the person go with the account, and their grants are revoked`() async throws {
        let spare = try await fixture.ticket(try await fixture.consent(.apple))
        try await fixture.deleteAccount(try await fixture.account(.apple))
        try await expectFailure("linkTicketExpired") { try await fixture.create(spare) }
        #expect(try await fixture.count("link_tickets") == 0)
        try await fixture.revokeDue()
        let grants = try await fixture.grants(.apple)
        #expect(grants.map(\.endedBy) == [.revoke, .revoke])
        #expect(grants.map(\.revocations) == [1, 1])
        #expect(try await fixture.count("provider_grants") == 0)
    }

    @Test func `every session of a deleted account is invalid`() async throws {
        let account = try await fixture.account(.apple)
        let other = try await fixture.session(try await fixture.consent(.apple), .token)
        let session = try await fixture.opened(account)
        try await fixture.service.accounts.delete(accountOf: session, by: fixture.call)
        for signedIn in [account, other] { try await fixture.expectEnded(signedIn.session) }
        // Also for a request whose session was checked before the deletion.
        try await expectFailure("invalidSession") {
            try await fixture.service.accounts.delete(accountOf: session, by: fixture.call)
        }
        #expect(try await fixture.revocationRows().count == 1)
    }

    /// As of a token that was posted again and again.
    @Test(arguments: [true, false])
    func `of an account with thousands of ended sessions these go first, in batches`(isByOwner: Bool) async throws {
        let account = try await fixture.account(.apple)
        let now = fixture.clock.now()
        for statement: SQL in [
            """
            INSERT INTO sessions (session_id, account_id, identity_id, rotated_at, auth_time, amr, created_at,
                last_used_at, expires_at, ended_at, end_reason)
            SELECT gen_random_uuid(), account_id, identity_id, \(now), \(now), '{apple}', \(now), \(now),
                \(now) + interval '60 days', \(now), 'signed_out'
            FROM identities
            CROSS JOIN generate_series(1, 5500)
            """,
            "CREATE TABLE deletions (number serial, sessions bigint)",
            """
            CREATE FUNCTION note_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN INSERT INTO deletions (sessions) SELECT count(*) FROM deleted; RETURN NULL; END $$
            """,
            """
            CREATE TRIGGER note_deletion AFTER DELETE ON sessions REFERENCING OLD TABLE AS deleted
            FOR EACH STATEMENT EXECUTE FUNCTION note_deletion()
            """,
        ] { try await fixture.database.execute(statement) }
        if isByOwner {
            try await fixture.deleteAccount(account)
        } else {
            try await fixture.storage.accounts.delete(
                account.account.id, recording: AuditEvent(.accountDeleted, by: .operator), by: fixture.call)
        }
        for table in ["accounts", "identities", "sessions"] as [SQL] { #expect(try await fixture.count(table) == 0) }
        // The live one goes with the account.
        let deleted = try await fixture.texts("SELECT sessions::text FROM deletions ORDER BY number")
        #expect(deleted == ["1000", "1000", "1000", "1000", "1000", "500", "1"])
    }

    @Test func `of a deletion and sign-ins at once the deletion leaves nothing of the person`() async throws {
        let account = try await fixture.account(.apple)
        let consent = try await fixture.consent(.apple)
        await withTaskGroup(of: Void.self) { group in
            for _ in 1...10 { group.addTask { _ = try? await fixture.signIn(consent, .token) } }
            group.addTask { try? await fixture.deleteAccount(account) }
        }
        // A sign-in that came too late got a ticket; no account and no session is left.
        for table in ["accounts", "identities", "sessions"] as [SQL] { #expect(try await fixture.count(table) == 0) }
        #expect(try await fixture.revocationRows().count == 1)
    }
}
