import Accounts
import Administration
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// An administrator's operations on accounts and sessions, and the record of each.
@Suite(.fixture(SignInFixture.self)) struct AdministrationTests {
    var fixture: SignInFixture { .current }

    /// The two sessions of an account with a password and an Apple identity, one opened by each.
    private static func member(of fixture: SignInFixture) async throws -> (password: SignedIn, apple: SignedIn) {
        let registered = try await fixture.register("kim@example.com")
        let apple = try await fixture.bind(.apple("a-1"), registered.session.credential)
        return (registered, apple)
    }

    @Test func `disabling ends every session, and no proof lets anybody in until the account is enabled`() async throws
    {
        let admin = try await fixture.administered()
        let (first, second) = try await Self.member(of: fixture)
        let id = first.account.id
        for _ in 0..<2 { try await admin.disable(id, reason: "case 17") }
        for signedIn in [first, second] { try await fixture.expectEnded(signedIn.session) }
        try await expectFailure("accountDisabled") { try await fixture.signIn("kim@example.com") }
        try await expectFailure("accountDisabled") { try await fixture.signIn(.apple("a-1")) }
        let record = try await admin.administration.account(id)
        #expect(record.account.status == .disabled)
        #expect(record.disabledReason == "administrator")

        for _ in 0..<2 { try await admin.enable(id, reason: "a mistake") }
        _ = try await fixture.session(.apple("a-1"))
        #expect(try await admin.administration.account(id).disabledReason == nil)
        let disabled = "account_disabled case 17 A"
        #expect(try await admin.recorded() == [disabled, disabled, "account_enabled a mistake A"])
    }

    @Test func `signing out ends all sessions and leaves every way in`() async throws {
        let admin = try await fixture.administered()
        let (first, second) = try await Self.member(of: fixture)
        try await admin.administration.signOut(first.account.id, reason: "a lost phone", by: admin.administrator)
        for signedIn in [first, second] {
            try await expectFailure("invalidSession") { try await fixture.opened(signedIn) }
        }
        _ = try await fixture.session(.apple("a-1"))
        #expect(try await admin.recorded() == ["sessions_ended a lost phone A"])
    }

    @Test func `one session is ended, once, and the others go on`() async throws {
        let admin = try await fixture.administered()
        let (first, second) = try await Self.member(of: fixture)
        #expect(try await Set(admin.sessions(of: first.account.id, by: 1)) == [first.session.id, second.session.id])
        try await admin.administration.endSession(second.session.id, reason: "not hers", by: admin.administrator)
        try await expectFailure("invalidSession") { try await fixture.opened(second) }
        _ = try await fixture.opened(first)
        #expect(try await admin.sessions(of: first.account.id, by: 1) == [first.session.id])
        await #expect(throws: AdministrationFailure.notFound) {
            try await admin.administration.endSession(second.session.id, reason: nil, by: admin.administrator)
        }
        #expect(try await admin.recorded() == ["sessions_ended not hers A S"])
    }

    @Test(.noFixture(SignInFixture.self), .fixture(LifeCycleFixture.self))
    func `deleting queues every revocation, and each row of it names the key`() async throws {
        let fixture = LifeCycleFixture.current
        let admin = try await fixture.administered()
        let kim = try await fixture.account(.apple)
        try await admin.administration.delete(kim.account.id, reason: "her letter", by: admin.administrator)
        try await expectFailure("invalidSession") { try await fixture.opened(kim) }
        await #expect(throws: AdministrationFailure.notFound) { try await admin.administration.account(kim.account.id) }
        #expect(try await fixture.tables(holding: "kim@example.com") == [])
        #expect(try await admin.recorded() == ["account_deleted her letter A", "revocation_requested - A I R"])
        try await fixture.revokeDue()
        #expect(try await fixture.grants(.apple).map(\.endedBy) == [.revoke])
    }

    @Test func `an account that lost its address is opened with one that the administrator vouches for`() async throws {
        let admin = try await fixture.administered()
        let squatter = try await fixture.register("kim@example.com")
        let owner = try await fixture.signUp(.google("g-1", SignInFixture.hosted("kim@example.com")))
        let id = squatter.account.id
        #expect(try await admin.administration.account(id).disabledReason == "email_reclaimed")
        try await admin.disable(id, reason: "a squatter")
        #expect(try await admin.administration.account(id).disabledReason == "administrator")
        let disabled = "account_disabled a squatter A"
        #expect(try await admin.recorded() == [disabled])

        await #expect(throws: AdministrationFailure.emailRequired) { try await admin.enable(id, reason: "he wrote") }
        await #expect(throws: AdministrationFailure.emailTaken) {
            try await admin.enable(id, email: "kim@example.com", reason: "he wrote")
        }
        #expect(try await admin.administration.account(id).account.status == .disabled)
        #expect(try await admin.recorded() == [disabled])

        // The second answers one that got lost.
        for _ in 0..<2 { try await admin.enable(id, email: "lee@example.com", reason: "he wrote") }
        let account = try await admin.administration.account(id).account
        #expect(account.status == .active)
        #expect(account.email?.text == "lee@example.com")
        #expect(account.emailProof == .proven)
        #expect(try await admin.recorded() == [disabled, "account_enabled he wrote A"])
        // An account that has a way in gets no address from an administrator.
        for account in [id, owner.account.id] {
            await #expect(throws: AdministrationFailure.emailNotAllowed) {
                try await admin.enable(account, email: "eve@example.com", reason: "x")
            }
        }
    }

    @Test func `an id of nobody, or of another kind of thing, is not found and changes nothing`() async throws {
        let admin = try await fixture.administered()
        let kim = try await Self.member(of: fixture).apple
        let identity = try #require(kim.identity).id
        let (administration, by) = (admin.administration, admin.administrator)
        let unknownIDs = [fixture.clock.now()].map { AccountID(now: $0).uuid } + [identity.uuid, kim.session.id.uuid]
        for uuid in unknownIDs {
            let id = AccountID(uuid: uuid)
            let calls: [@Sendable () async throws -> Void] = [
                { _ = try await administration.account(id) },
                { _ = try await administration.sessions(of: id, before: nil, limit: 9) },
                { try await administration.disable(id, reason: "x", by: by) },
                { try await administration.enable(id, email: nil, reason: "x", by: by) },
                { try await administration.signOut(id, reason: "x", by: by) },
                { try await administration.delete(id, reason: nil, by: by) },
            ]
            for call in calls { await #expect(throws: AdministrationFailure.notFound) { try await call() } }
        }
        let other = kim.account.id.uuid
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await administration.identity(IdentityID(uuid: other)) },
            { try await administration.detach(IdentityID(uuid: other), reason: nil, by: by) },
            { _ = try await administration.revoke(IdentityID(uuid: other), unlinking: true, reason: "x", by: by) },
            { try await administration.endSession(SessionID(uuid: other), reason: nil, by: by) },
            { _ = try await administration.revocation(RevocationID(uuid: other)) },
            { _ = try await administration.retry(RevocationID(uuid: other), reason: nil, by: by) },
            { _ = try await administration.replay(ProviderEventID(uuid: other), reason: nil, by: by) },
        ]
        for call in calls { await #expect(throws: AdministrationFailure.notFound) { try await call() } }
        #expect(try await admin.recorded() == [])
        _ = try await fixture.opened(kim)
    }
}
