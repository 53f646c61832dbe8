import Accounts
import Administration
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// An administrator's operations on identities, revocations and providers' events, and the record of each.
@Suite(.fixture(LifeCycleFixture.self)) struct AdministeredIdentityTests {
    var fixture: LifeCycleFixture { .current }

    // MARK: Unlinking

    @Test
    func `unlinking without revoking ends the sessions, erases the grant and leaves the provider alone`() async throws {
        let admin = try await fixture.administered()
        let (apple, google) = try await fixture.both()
        try await admin.detach(try #require(google.identity).id, reason: "another's")
        try await expectFailure("invalidSession") { try await fixture.opened(google) }
        _ = try await fixture.opened(apple)
        let left = try await admin.administration.account(apple.account.id).account.identities
        #expect(left.map(\.key.provider) == [.apple])
        #expect(try await fixture.refreshTokens().count == 1)
        #expect(try await fixture.count("outbox") == 0)
        #expect(try await fixture.grants(.google).map(\.isLive) == [true])
        #expect(try await admin.recorded() == ["identity_detached another's A I"])
        // A client that proves it may link it again.
        _ = try await fixture.ticket(try await fixture.consent(.google))
    }

    @Test func `the last way into an account stays while the account is in use`() async throws {
        let admin = try await fixture.administered()
        let only = try await fixture.account(.apple)
        let id = try #require(only.identity).id
        await #expect(throws: AdministrationFailure.lastSignInMethod) { try await admin.detach(id) }
        _ = try await fixture.opened(only)
        try await admin.disable(only.account.id, reason: "x")
        try await admin.detach(id)
        #expect(try await fixture.count("identities") == 0)
        #expect(try await admin.recorded() == ["account_disabled x A", "identity_detached - A I"])
    }

    // MARK: Unblocking

    @Test(.noFixture(LifeCycleFixture.self), .fixture(ProviderEventFixture.self))
    func `an identity that its provider has blocked signs in again, until the next event`() async throws {
        let fixture = ProviderEventFixture.current
        let admin = try await fixture.people.administered()
        let google = try await fixture.account(.google)
        let id = try #require(google.identity).id
        func unblock(_ reason: String) async throws {
            try await admin.administration.unblock(id, reason: reason, by: admin.administrator)
        }
        try await unblock("nothing to do")
        fixture.advance(by: 5)
        try await fixture.deliver(.google, fixture.google("account-disabled", id: "e1"))
        #expect(try await admin.administration.identity(id).identity.isBlocked)
        for reason in ["case 17", "again"] { try await unblock(reason) }
        #expect(try await admin.administration.identity(id).identity.block == nil)
        _ = try await fixture.session(.google)
        #expect(try await admin.recorded() == ["identity_unblocked case 17 A I"])

        fixture.advance(by: 5)
        try await fixture.deliver(.google, fixture.google("account-disabled", id: "e2"))
        try await expectFailure("identityBlocked") { try await fixture.session(.google) }
        await #expect(throws: AdministrationFailure.notFound) {
            try await admin.administration.unblock(
                IdentityID(now: fixture.clock.now()), reason: "case 17", by: admin.administrator)
        }
    }

    // MARK: Revoking

    @Test(arguments: [true, false])
    func `a revocation ends authorization and sessions, and unlinks if it is to`(unlinking: Bool) async throws {
        let admin = try await fixture.administered()
        let (apple, google) = try await fixture.both()
        let id = try #require(google.identity).id
        let revocation = try await admin.revoke(id, unlinking: unlinking, reason: "case 4")
        #expect(revocation.status == .pending)
        #expect(revocation.identityID == id)
        try await expectFailure("invalidSession") { try await fixture.opened(google) }
        _ = try await fixture.opened(apple)
        let left = try await admin.administration.account(apple.account.id).account.identities
        #expect(left.first { $0.key.provider == .apple }?.authorization == .active)
        #expect(left.first { $0.key.provider == .google }?.authorization == (unlinking ? nil : .revoking))
        try await fixture.revokeDue()
        #expect(try await fixture.grants(.google).map(\.endedBy) == [.revoke])
        #expect(try await fixture.grants(.apple).map(\.isLive) == [true])
        #expect(try await admin.administration.revocation(revocation.id).status == .done)
        #expect(try await admin.recorded() == ["revocation_requested case 4 A I R"])
    }

    @Test(.noFixture(LifeCycleFixture.self), .fixture(SignInFixture.self))
    func `the last way in is kept and marked, and only what is proven afterwards signs in`() async throws {
        let fixture = SignInFixture.current
        let admin = try await fixture.administered()
        let old = try fixture.apple("a-1")
        let only = try await fixture.create(try await fixture.ticket(.apple, old))
        let id = try #require(only.identity).id
        fixture.clock.advance(by: 5)
        let revocation = try await admin.revoke(id, unlinking: true, reason: "stolen")
        // No code was ever exchanged.
        #expect(revocation.status == .done)
        #expect(revocation.lastError == "no_grant")
        #expect(try await admin.administration.identity(id).identity.authorization == .revoked)
        try await expectFailure("invalidSession") { try await fixture.opened(only) }
        try await expectFailure("expired") { try await fixture.signIn(.apple, old) }
        #expect(try await fixture.session(.apple("a-1")).account.id == only.account.id)
    }

    // MARK: Trying again

    @Test func `a revocation that was given up is attempted again from the start of its schedule`() async throws {
        let admin = try await fixture.administered()
        let (_, google) = try await fixture.both()
        let id = try #require(google.identity).id
        let revocation = try await admin.revoke(id, unlinking: true, reason: "case 4")
        _ = try await fixture.database.execute(
            """
            UPDATE outbox
            SET status = 'failed', failures = 108, last_error = 'unavailable', finished_at = created_at,
                next_attempt_at = created_at + interval '1 hour'
            """)
        try await fixture.revokeDue()
        #expect(try await fixture.grants(.google).map(\.isLive) == [true])
        #expect(try await admin.administration.revocations(.failed, before: nil, limit: 9).items.count == 1)

        let retried = try await admin.retry(revocation.id, reason: "Google is back")
        #expect(retried.status == .pending)
        #expect(retried.finishedAt == nil)
        #expect(try await fixture.texts("SELECT failures::text FROM outbox") == ["0"])
        try await fixture.revokeDue()
        #expect(try await fixture.grants(.google).map(\.endedBy) == [.revoke])
        // A revocation that is done is not attempted again.
        #expect(try await admin.retry(revocation.id).status == .done)
        let recorded = ["revocation_requested case 4 A I R", "revocation_retried Google is back A I R"]
        #expect(try await admin.recorded() == recorded)
    }

    @Test func `the trail of an account says what became of its revocation, also when it is deleted`() async throws {
        let admin = try await fixture.administered()
        let kim = try await fixture.account(.apple)
        func trail() async throws -> [String] {
            var filter = AuditFilter()
            filter.accountID = kim.account.id
            let records = try await admin.administration.auditEvents(filter, before: nil, limit: 200).items
            return records.filter { $0.revocationID != nil }.map(\.type).sorted()
        }
        try await fixture.sandbox.fail("/apple/auth/revoke", .status(503))
        try await fixture.deleteAccount(kim)
        // The last attempt of the schedule.
        _ = try await fixture.database.execute("UPDATE outbox SET failures = 107")
        #expect(try await fixture.revocations.attemptDue(at: .apple) == 1)
        #expect(try await trail() == ["revocation_failed", "revocation_requested"])

        let failed = try await admin.administration.revocations(.failed, before: nil, limit: 9).items
        try await fixture.sandbox.clearFaults()
        _ = try await admin.retry(try #require(failed.first).id, reason: "Apple is back")
        try await fixture.revokeDue()
        let whole = ["revocation_done", "revocation_failed", "revocation_requested", "revocation_retried"]
        #expect(try await trail() == whole)
    }

    @Test func `a revocation whose grants a newer one holds is not attempted, and decides nothing of the identity`()
        async throws
    {
        let admin = try await fixture.administered()
        let id = try #require(try await fixture.account(.apple).identity).id
        let older = try await admin.revoke(id, unlinking: false, reason: "case 6")
        _ = try await fixture.database.execute(
            "UPDATE outbox SET status = 'failed', last_error = 'unavailable', finished_at = created_at")
        fixture.clock.advance(by: 1)
        let newer = try await admin.revoke(id, unlinking: false, reason: "case 6")
        #expect(newer.id != older.id)
        #expect(try await admin.retry(older.id).status == .failed)
        #expect(try await admin.recorded().filter { $0.hasPrefix("revocation_retried") } == [])

        // As if it had been tried again before the newer one took its grants.
        _ = try await fixture.database.execute(
            "UPDATE outbox SET status = 'pending', finished_at = NULL WHERE message_id = \(older.id)")
        let later: SQL = "next_attempt_at + interval '1 hour'"
        _ = try await fixture.database.execute(
            "UPDATE outbox SET next_attempt_at = \(later) WHERE message_id = \(newer.id)")
        try await fixture.revokeDue()
        #expect(try await admin.administration.revocation(older.id).status == .done)
        #expect(try await admin.administration.identity(id).identity.authorization == .revoking)
        #expect(try await admin.retry(newer.id).status == .pending)
        try await fixture.revokeDue()
        #expect(try await admin.administration.identity(id).identity.authorization == .revoked)
        #expect(try await fixture.grants(.apple).map(\.endedBy) == [.revoke])
    }

    @Test(.noFixture(LifeCycleFixture.self), .fixture(ProviderEventFixture.self))
    func `an event is acted on once more, and by whose wish is recorded`() async throws {
        let fixture = ProviderEventFixture.current
        let admin = try await fixture.people.administered()
        try await fixture.deliver(.apple, fixture.apple("email-disabled", id: "e1"))
        let page = try await admin.administration.providerEvents(before: nil, limit: 9)
        let event = try #require(page.items.first)
        #expect(page.items.map(\.tokenID) == ["e1"])
        #expect(!event.isPending)
        let replayed = try await admin.administration.replay(
            event.id, reason: "it came too early", by: admin.administrator)
        #expect(replayed.isPending)
        #expect(replayed.processedAt == nil)
        try await fixture.processAll()
        #expect(try await fixture.statuses() != ["e1": "pending"])
        #expect(try await admin.recorded() == ["event_replayed it came too early"])
    }
}
