import Accounts
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

@Suite(.fixture(LifeCycleFixture.self)) struct UnlinkTests {
    var fixture: LifeCycleFixture { .current }

    // MARK: By its owner

    @Test func `unlinking revokes the authorization and ends the sessions that the identity opened`() async throws {
        let (apple, google) = try await fixture.both()
        try await fixture.unlink(google.identity, of: apple)
        try await expectFailure("invalidSession") { try await fixture.opened(google) }
        let account = try await fixture.service.accounts.account(of: try await fixture.opened(apple))
        #expect(account.identities.map(\.key.provider) == [.apple])
        #expect(account.identities.map(\.authorization) == [.active])
        #expect(try await fixture.audited(.identityUnlinked) == ["person -"])
        try await fixture.revokeDue()
        #expect(try await fixture.grants(.google).map(\.endedBy) == [.revoke])
        #expect(try await fixture.grants(.apple).map(\.isLive) == [true])
        // Its subject may be linked again, by any client that proves it.
        _ = try await fixture.ticket(try await fixture.consent(.google))
    }

    @Test func `the ticket that an identity was linked by goes with it, and one that is open stays`() async throws {
        let apple = try await fixture.account(.apple)
        let ticket = try await fixture.ticket(try await fixture.consent(.google))
        _ = try await fixture.ticket(try await fixture.consent(.google), .token)
        let google = try await fixture.bind(ticket, to: apple)
        #expect(try await fixture.count("link_tickets WHERE provider = 'google'") == 2)
        try await fixture.unlink(google.identity, of: apple)
        #expect(try await fixture.count("link_tickets WHERE provider = 'google' AND consumed_at IS NULL") == 1)
        #expect(try await fixture.count("link_tickets WHERE provider = 'google'") == 1)
    }

    @Test func `an account with a password can give its last identity up`() async throws {
        let registered = try await fixture.register("kim@local.example")
        let apple = try await fixture.bind(try await fixture.ticket(try await fixture.consent(.apple)), to: registered)
        try await fixture.unlink(apple.identity, of: registered)
        #expect(try await fixture.count("identities") == 0)
        #expect(try await fixture.revocationRows().map(\.status) == ["pending"])
        _ = try await fixture.opened(registered)
    }

    @Test(.fixture { try await LifeCycleFixture.run(configure: { $0.mailLanguages = ["en"] }, $0) })
    func `a password without an address to type is no way in, and a mailed code is none either`() async throws {
        let only = try await fixture.account(.apple)
        #expect(only.account.isEmailVerified)
        try await expectFailure("lastSignInMethod") { try await fixture.unlink(only.identity, of: only) }
        _ = try await fixture.database.execute(
            "UPDATE accounts SET email = NULL, email_verified = false, password_hash = 'x'")
        try await expectFailure("lastSignInMethod") { try await fixture.unlink(only.identity, of: only) }
        _ = try await fixture.database.execute("UPDATE accounts SET email = 'kim@example.com'")
        try await fixture.unlink(only.identity, of: only)
        #expect(try await fixture.count("identities") == 0)
    }

    @Test(.noFixture(LifeCycleFixture.self), .fixture(SignInFixture.self))
    func `a session that ends while it unlinks unlinks nothing`() async throws {
        let fixture = SignInFixture.current
        let member = try await fixture.register("kim@example.com")
        let bound = try await fixture.bind(.apple("a-1"), member.session.credential)
        let session = try await fixture.opened(member)
        let id = try #require(bound.identity).id
        try await fixture.expectEndedMeanwhile {
            try await fixture.service.accounts.unlink(id, of: session, by: fixture.call)
        }
        #expect(try await fixture.count("identities") == 1)
    }

    @Test func `somebody else's identity is not found, nor one that never was`() async throws {
        let (kim, _) = try await fixture.both()
        let ada = try await fixture.account(.apple, "ada")
        let session = try await fixture.opened(kim)
        for id in [try #require(ada.identity).id, IdentityID(now: fixture.clock.now())] {
            try await expectFailure("identityNotFound") {
                try await fixture.service.accounts.unlink(id, of: session, by: fixture.call)
            }
        }
        #expect(try await fixture.authorization(ada.identity) == "active")
        _ = try await fixture.opened(ada)
        #expect(try await fixture.count("outbox") == 0)
    }

    @Test func `unlinking needs a fresh authentication`() async throws {
        let (apple, google) = try await fixture.both()
        try await fixture.advance(by: Lifetimes.freshAuthenticationSeconds + 1)
        try await expectFailure("reauthenticationRequired") { try await fixture.unlink(google.identity, of: apple) }
        #expect(try await fixture.count("outbox") == 0)
    }

    @Test func `of two who unlink the two last identities at once one is refused`() async throws {
        let (apple, google) = try await fixture.both()
        let session = try await fixture.opened(apple)
        // Opened by neither of them: it stays.
        _ = try await fixture.database.execute("UPDATE sessions SET identity_id = NULL")
        let identities = [try #require(apple.identity).id, try #require(google.identity).id]
        let outcomes = try await concurrently(identities) { id in
            do {
                try await fixture.service.accounts.unlink(id, of: session, by: fixture.call)
                return "unlinked"
            } catch SignInFailure.lastSignInMethod {
                return "refused"
            }
        }
        #expect(outcomes.sorted() == ["refused", "unlinked"])
        #expect(try await fixture.count("identities") == 1)
    }

    // MARK: By an identity that replaces it

    @Test func `an identity that takes another's place ends its authorization and its sessions`() async throws {
        let (apple, google) = try await fixture.both()
        let ticket = try await fixture.ticket(try await fixture.consent(.google, "ada"))
        try await expectFailure("providerAlreadyLinked") { try await fixture.bind(ticket, to: apple) }
        #expect(try await fixture.count("outbox") == 0)

        let replaced = try await fixture.bind(ticket, to: apple, replacing: true)
        #expect(replaced.account.id == apple.account.id)
        #expect(Set(replaced.account.identities.map(\.key.provider)) == Set(Provider.allCases))
        #expect(replaced.identity?.key.subject != google.identity?.key.subject)
        #expect(replaced.identity?.authorization == .active)
        try await expectFailure("invalidSession") { try await fixture.opened(google) }
        _ = try await fixture.opened(apple)
        #expect(try await fixture.audited(.identityReplaced) == ["person -"])
        try await fixture.revokeDue()
        #expect(try await fixture.grants(.google).map(\.endedBy) == [.revoke])
        #expect(try await fixture.grants(.google, "ada").map(\.isLive) == [true])
    }

    // MARK: By an operator

    private static let request = AuditEvent(.revocationRequested, by: .operator, reason: "support case 17")

    @Test func `an operator's revocation keeps the link and reports its true state at every step`() async throws {
        let account = try await fixture.account(.apple)
        let id = try #require(account.identity).id
        let (revocation, isUnlinked) = try await fixture.storage.accounts.revoke(
            id, unlinking: false, recording: Self.request, by: .at(fixture.clock.now()))
        #expect(!isUnlinked)
        #expect(revocation.status == .pending)
        #expect(try await fixture.authorization(account.identity) == "revoking")
        try await expectFailure("invalidSession") { try await fixture.opened(account) }
        #expect(try await fixture.audited(.revocationRequested) == ["operator support case 17"])

        try await fixture.revokeDue()
        #expect(try await fixture.authorization(account.identity) == "revoked")
        #expect(try await RevocationRecords(database: fixture.storage.pool).revocation(revocation.id)?.status == .done)
        #expect(try await fixture.grants(.apple).map(\.endedBy) == [.revoke])

        let without = try await fixture.session(try await fixture.consent(.apple), .token)
        #expect(without.identity?.authorization == .revoked)
        let again = try await fixture.session(try await fixture.consent(.apple))
        #expect(again.account.id == account.account.id)
        #expect(again.identity?.authorization == .active)
    }

    @Test func `without a grant a revocation is done as soon as it is asked for`() async throws {
        let account = try await fixture.create(try await fixture.ticket(try await fixture.consent(.apple), .token))
        let (revocation, isUnlinked) = try await fixture.storage.accounts.revoke(
            #require(account.identity).id, unlinking: false, recording: Self.request, by: .at(fixture.clock.now()))
        #expect(!isUnlinked)
        #expect(revocation.status == .done)
        #expect(revocation.lastError == Revocation.noGrant)
        #expect(try await fixture.authorization(account.identity) == "revoked")
        #expect(try await RevocationRecords(database: fixture.storage.pool).revocation(revocation.id) == revocation)
    }

    @Test func `an identity that nobody has can't be revoked`() async throws {
        await #expect(throws: Refusal.identityNotFound) {
            try await fixture.storage.accounts.revoke(
                IdentityID(now: fixture.clock.now()), unlinking: true, recording: Self.request,
                by: .at(fixture.clock.now()))
        }
        #expect(try await fixture.count("audit_events") == 0)
    }
}
