import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The holder of a grant: it has one at a time and is never lost, neither between a person's tickets, nor between one
/// revocation and the next.
@Suite(.fixture(LifeCycleFixture.self), .timeLimit(.minutes(15))) struct GrantCustodyTests {
    var fixture: LifeCycleFixture { .current }

    /// Google gives a refresh token for a person's first code alone, and its ticket need not be the one that is spent.
    @Test func `the grant of one ticket comes to the account that another made`() async throws {
        _ = try await fixture.ticket(try await fixture.consent(.google, isForced: false))
        let second = try await fixture.ticket(try await fixture.consent(.google, isForced: false))
        #expect(try await fixture.grants(.google).count == 1)
        let account = try await fixture.create(second)
        #expect(account.identity?.authorization == .active)
        try await fixture.deleteAccount(account)
        try await fixture.revokeDue()
        #expect(try await fixture.grants(.google).map(\.endedBy) == [.revoke])
    }

    @Test func `the grant of a cancelled ticket goes to the one that lives`() async throws {
        let first = try await fixture.ticket(try await fixture.consent(.google, isForced: false))
        let second = try await fixture.ticket(try await fixture.consent(.google, isForced: false))
        try await fixture.service.tickets.cancel(linkTicket: first.linkTicket, by: fixture.call)
        #expect(try await fixture.count("outbox") == 0)
        #expect(try await fixture.create(second).identity?.authorization == .active)
    }

    @Test func `the grant of an expired ticket goes to the identity that has none`() async throws {
        let first = try await fixture.ticket(try await fixture.consent(.google, isForced: false))
        let account = try await fixture.create(
            try await fixture.ticket(try await fixture.consent(.google, isForced: false), .token))
        // The state if the create had committed before the first ticket was stored.
        try await fixture.database.transaction { transaction in
            _ = try await transaction.execute(
                """
                UPDATE provider_grants
                SET identity_id = NULL, ticket_hash = (SELECT ticket_hash FROM link_tickets WHERE consumed_at IS NULL)
                """)
            _ = try await transaction.execute("UPDATE identities SET authorization_status = 'none'")
        }
        #expect(first.choices.count == 2)
        try await fixture.advance(by: 601)
        #expect(try await fixture.sweeper.sweep() == 1)
        #expect(try await fixture.authorization(account.identity) == "active")
        #expect(try await fixture.count("provider_grants WHERE identity_id IS NOT NULL") == 1)
    }

    /// Each sees the other's ticket as live as long as neither has committed.
    @Test func `of two tickets that are cancelled at once the last one's grant is revoked`() async throws {
        let tickets = [
            try await fixture.ticket(try await fixture.consent(.apple)),
            try await fixture.ticket(try await fixture.consent(.apple)),
        ]
        try await concurrently(tickets) {
            try await fixture.service.tickets.cancel(linkTicket: $0.linkTicket, by: fixture.call)
        }
        try await fixture.revokeDue()
        #expect(try await fixture.revocationRows().map(\.status) == ["done"])
        #expect(try await fixture.grants(.apple).contains(where: \.isLive) == false)
        #expect(try await fixture.count("provider_grants") == 0)
    }

    @Test
    func `a revocation that is asked for twice is one, and the identity shows it until it is done`() async throws {
        let account = try await fixture.account(.apple)
        let identity = try #require(account.identity)
        try await fixture.sandbox.fail(LifeCycleFixture.revokePath(.apple), .status(503))
        let first = try await revoke(identity)
        try await fixture.revokeDue()
        let second = try await revoke(identity)
        #expect(second.id == first.id)
        #expect(second.status == .pending)
        #expect(try await fixture.authorization(identity) == "revoking")
        #expect(try await fixture.revocationRows().count == 1)
        try await fixture.endOutage()
        #expect(try await fixture.authorization(identity) == "revoked")
        #expect(try await fixture.grants(.apple).map(\.endedBy) == [.revoke])
    }

    @Test func `what a failed revocation still holds is revoked by the next, which ends both`() async throws {
        let account = try await fixture.account(.apple)
        let identity = try #require(account.identity)
        _ = try await revoke(identity)
        _ = try await fixture.database.execute(
            "UPDATE outbox SET status = 'failed', finished_at = \(fixture.clock.now())")
        #expect(try await revoke(identity).status == .pending)
        #expect(try await fixture.revocationRows().map(\.status) == ["failed", "pending"])
        try await fixture.revokeDue()
        #expect(try await fixture.revocationRows().map(\.status) == ["done", "done"])
        #expect(try await fixture.audited(.revocationDone) == ["service -", "service -"])
        #expect(try await fixture.grants(.apple).map(\.endedBy) == [.revoke])
        #expect(try await fixture.authorization(identity) == "revoked")
        // And neither names the person any more once their account is gone.
        let deletion = AuditEvent(.accountDeleted, by: .operator)
        try await fixture.storage.accounts.delete(account.account.id, recording: deletion, by: fixture.call)
        try await fixture.advance(by: 3601)
        _ = try await fixture.sweeper.sweep()
        #expect(try await fixture.tables(holding: identity.key.subject.text) == [])
    }

    @Test func `a check after a revocation that gets no answer is made again`() async throws {
        let account = try await fixture.account(.google)
        try await fixture.withdraw(.google)
        _ = try await fixture.database.execute("UPDATE provider_grants SET check_at = \(fixture.clock.now())")
        try await fixture.sandbox.fail(LifeCycleFixture.tokenPath(.google), .status(503))
        #expect(try await fixture.checks.checkDue() == 1)
        #expect(try await fixture.authorization(account.identity) == "active")
        try await fixture.sandbox.clearFaults()
        try await fixture.advance(by: GrantCheckWorker.interval + 601)
        #expect(try await fixture.checks.checkDue() == 1)
        #expect(try await fixture.authorization(account.identity) == "revoked")
    }

    @Test func `Google is asked once, and not every day`() async throws {
        _ = try await fixture.account(.google)
        _ = try await fixture.database.execute("UPDATE provider_grants SET check_at = \(fixture.clock.now())")
        #expect(try await fixture.checks.checkDue() == 1)
        try await fixture.advance(by: 3 * GrantCheckWorker.interval)
        #expect(try await fixture.checks.checkDue() == 0)
    }

    /// An identity whose authorization the provider has ended is not revived by a token from before.
    @Test func `a token from before the end opens nothing, and one from after does`() async throws {
        let account = try await fixture.account(.apple)
        let old = try await fixture.consent(.apple)
        try await fixture.withdraw(.apple)
        try await fixture.advance(by: 60)
        _ = try await fixture.database.execute("UPDATE provider_grants SET check_at = \(fixture.clock.now())")
        #expect(try await fixture.checks.checkDue() == 1)
        try await expectFailure("expired") { try await fixture.signIn(old, .token) }
        #expect(try await fixture.session(try await fixture.consent(.apple), .token).account.id == account.account.id)
    }

    private func revoke(_ identity: Identity) async throws -> Revocation {
        try await fixture.storage.accounts.revoke(
            identity.id, unlinking: false, recording: AuditEvent(.revocationRequested, by: .operator, reason: "test"),
            by: .at(fixture.clock.now())
        ).revocation
    }
}
