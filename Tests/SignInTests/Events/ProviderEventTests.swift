import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The effect of each kind of event, and its row in the audit trail.
@Suite(.fixture(ProviderEventFixture.self)) struct ProviderEventTests {
    var fixture: ProviderEventFixture { .current }

    // MARK: Apple: the end of a consent

    @Test(arguments: ["consent-revoked", "account-deleted", "account-delete"])
    func `a withdrawn consent and a deleted Apple account unlink the identity and end its sessions and grants`(
        type: String
    ) async throws {
        let apple = try await fixture.account(.apple)
        let second = try await fixture.session(.apple)
        let google = try await fixture.bind(.google, to: apple)
        try await fixture.keep("apple-token", .apple)
        try await fixture.keep("google-token", .google)
        try await fixture.forgetEvents()
        fixture.advance(by: 5)
        try await fixture.deliver(.apple, fixture.apple(type, id: "e1"))

        #expect(try await fixture.announced() == ["identity.unlinked apple provider", "session.revoked provider"])
        for session in [apple, second] { #expect(try await !fixture.isOpen(session)) }
        #expect(try await fixture.isOpen(google))
        #expect(try await fixture.account(apple)?.identities.map(\.key.provider) == [.google])
        #expect(try await fixture.texts("SELECT provider FROM provider_grants") == ["google"])
        // The provider has ended them: there is nothing to revoke.
        #expect(try await fixture.count("outbox") == 0)
        #expect(try await fixture.statuses() == ["e1": "done"])
        let reason = type == "consent-revoked" ? "consent-revoked" : "account-deleted"
        #expect(try await fixture.audited() == ["e1 identity_unlinked provider apple \(reason)"])
        #expect(try await fixture.isRecorded("e1", of: apple))
    }

    @Test func `a password is another way in, and its session stays`() async throws {
        let password = try await fixture.register("kim@example.com")
        let apple = try await fixture.bind(.apple, to: password)
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", id: "e1"))
        #expect(try await !fixture.isOpen(apple))
        #expect(try await fixture.isOpen(password))
        #expect(try await fixture.account(apple)?.identities == [])
    }

    @Test(arguments: ["consent-revoked", "account-deleted"])
    func `the last way in is kept, marked, and lets its owner in again`(type: String) async throws {
        let apple = try await fixture.account(.apple)
        try await fixture.keep("apple-token", .apple)
        #expect(try await fixture.identity(apple)?.authorization == .active)
        fixture.advance(by: 5)
        try await fixture.deliver(.apple, fixture.apple(type, id: "e1"))
        #expect(try await !fixture.isOpen(apple))
        #expect(try await fixture.identity(apple)?.authorization == .revoked)
        #expect(try await fixture.count("provider_grants") == 0)
        #expect(try await fixture.audited() == ["e1 authorization_revoked provider apple \(type)"])
        #expect(try await fixture.isRecorded("e1", of: apple))

        fixture.advance(by: 5)
        let again = try await fixture.session(.apple)
        #expect(again.account.id == apple.account.id)
        #expect(try await fixture.isOpen(again))
        #expect(try await !fixture.isOpen(apple))
    }

    @Test(.fixture { try await ProviderEventFixture.run(consentRevoked: .keep, $0) })
    func `by the policy keep a withdrawn consent unlinks nothing, and a deleted account still does`() async throws {
        let apple = try await fixture.account(.apple)
        _ = try await fixture.bind(.google, to: apple)
        try await fixture.keep("apple-token", .apple)
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", id: "e1"))
        #expect(try await !fixture.isOpen(apple))
        #expect(try await fixture.identity(apple)?.authorization == .revoked)
        #expect(try await fixture.count("provider_grants") == 0)
        #expect(try await fixture.audited() == ["e1 authorization_revoked provider apple consent-revoked"])
        fixture.advance(by: 5)
        try await fixture.deliver(.apple, fixture.apple("account-deleted", id: "e2"))
        #expect(try await fixture.account(apple)?.identities.map(\.key.provider) == [.google])
    }

    @Test func `a token from before a withdrawn consent makes no account, one from after it does`() async throws {
        let google = try await fixture.account(.google)
        _ = try await fixture.bind(.apple, to: google)
        let before = try fixture.token(.apple)
        fixture.advance(by: 10)
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", id: "e1"))
        #expect(try await fixture.account(google)?.identities.map(\.key.provider) == [.google])
        let ticket = try await fixture.people.ticket(.apple, before)
        try await expectFailure("linkTicketExpired") { try await fixture.people.create(ticket) }
        fixture.advance(by: 10)
        _ = try await fixture.account(.apple)
    }

    @Test func `a withdrawn consent leaves the identity with an account that is disabled`() async throws {
        let apple = try await fixture.account(.apple)
        _ = try await fixture.bind(.google, to: apple)
        try await fixture.people.disable(apple)
        fixture.advance(by: 5)
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", id: "e1"))
        #expect(try await fixture.identity(apple)?.authorization == .revoked)
        fixture.advance(by: 5)
        try await expectFailure("accountDisabled") { try await fixture.session(.apple) }
    }

    @Test(.fixture { try await ProviderEventFixture.run(accountDeleted: .deleteAccount, $0) })
    func `by the policy deleteAccount a deleted Apple account deletes the account and all that is known of it`()
        async throws
    {
        let apple = try await fixture.account(.apple)
        let google = try await fixture.bind(.google, to: apple)
        try await fixture.keep("apple-token", .apple)
        try await fixture.keep("google-token", .google)
        let otherPerson = try await fixture.account(.apple, "ada")
        fixture.advance(by: 5)
        try await fixture.deliver(.google, fixture.google("account-enabled", id: "g1"))
        try await fixture.deliver(.apple, fixture.apple("email-disabled", id: "e1"))
        try await fixture.deliver(.apple, fixture.apple("email-disabled", of: "ada", id: "e2"))
        try await fixture.deliver(.apple, fixture.apple("account-deleted", id: "e3"))

        #expect(try await fixture.account(apple) == nil)
        let last = try await fixture.announced(of: apple.account.id).filter { $0.hasPrefix("account.deleted") }
        #expect(last == ["account.deleted provider provider_account_deleted"])
        #expect(try await !fixture.isOpen(google))
        #expect(try await fixture.isOpen(otherPerson))
        // Apple has ended its grant; Google knows nothing yet.
        #expect(try await fixture.texts("SELECT provider FROM provider_grants") == ["google"])
        #expect(try await fixture.texts("SELECT provider FROM outbox WHERE status = 'pending'") == ["google"])
        let audited = try await fixture.audited()
        #expect(audited.contains("e3 account_deleted provider apple account-deleted"))
        #expect(audited.filter { $0.hasPrefix("e3 revocation_requested provider") }.count == 2)
        #expect(try await fixture.isRecorded("e3", of: apple))
        // Only a person who is still here is named, or for a day whom the event itself is of.
        #expect(try await fixture.subjects() == ["e1 done", "e2 done ada", "e3 done kim", "g1 done"])
        #expect(try await fixture.count("link_tickets WHERE subject = 'kim'") == 0)
    }

    @Test(.fixture { try await ProviderEventFixture.run(accountDeleted: .deleteAccount, $0) })
    func `by the policy deleteAccount a withdrawn consent unlinks, and the last way in is kept`() async throws {
        let apple = try await fixture.account(.apple)
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", id: "e1"))
        #expect(try await fixture.identity(apple)?.authorization == .revoked)
    }

    // MARK: Apple: the relay address

    @Test func `whether mail arrives is noted with the identity, and ends nothing`() async throws {
        let apple = try await fixture.account(.apple)
        #expect(try await fixture.identity(apple)?.isEmailDeliverable == nil)
        for (type, isDeliverable) in [("email-disabled", false), ("email-enabled", true), ("email-disabled", false)] {
            fixture.advance(by: 5)
            try await fixture.deliver(.apple, fixture.apple(type, id: "e\(fixture.clock.now().seconds)"))
            #expect(try await fixture.identity(apple)?.isEmailDeliverable == isDeliverable)
            // Also in the answer to a sign-in.
            #expect(try await fixture.session(.apple).identity?.isEmailDeliverable == isDeliverable)
        }
        #expect(try await fixture.isOpen(apple))
        let start = ProviderEventFixture.start
        #expect(
            try await fixture.audited() == [
                "e\(start + 5) email_undeliverable provider apple email-disabled",
                "e\(start + 10) email_deliverable provider apple email-enabled",
                "e\(start + 15) email_undeliverable provider apple email-disabled",
            ])
    }

    // MARK: Google: sessions

    private static let hijacking = [("reason", "hijacking")]

    @Test(arguments: [("sessions-revoked", []), ("account-disabled", hijacking)])
    func `revoked sessions and a hijacked account end what the identity opened until then, and nothing else`(
        type: String, members: [(String, String)]
    ) async throws {
        let google = try await fixture.account(.google)
        let apple = try await fixture.bind(.apple, to: google)
        let otherPerson = try await fixture.account(.google, "ada")
        try await fixture.keep("google-token", .google)
        fixture.advance(by: 10)
        let atThatTime = try await fixture.session(.google)
        fixture.advance(by: 1)
        let later = try await fixture.session(.google)
        fixture.advance(by: 60)
        try await fixture.deliver(.google, fixture.google(type, members, at: 10, id: "e1"))

        for session in [google, atThatTime] { #expect(try await !fixture.isOpen(session)) }
        for session in [later, apple, otherPerson] { #expect(try await fixture.isOpen(session)) }
        #expect(try await fixture.count("provider_grants") == 1)
        #expect(try await fixture.identity(google)?.authorization == .active)
        #expect(try await fixture.audited() == ["e1 sessions_ended provider google \(type)"])
        #expect(try await fixture.isRecorded("e1", of: google))
        // The person can sign in again.
        #expect(try await fixture.isOpen(try await fixture.session(.google)))
    }

    @Test func `revoked tokens end sessions and grants, and mark the authorization`() async throws {
        let google = try await fixture.account(.google)
        let apple = try await fixture.bind(.apple, to: google)
        try await fixture.keep("google-token", .google)
        try await fixture.keep("apple-token", .apple)
        fixture.advance(by: 5)
        try await fixture.deliver(.google, fixture.google("tokens-revoked", id: "e1"))
        #expect(try await !fixture.isOpen(google))
        #expect(try await fixture.isOpen(apple))
        #expect(try await fixture.identity(google)?.authorization == .revoked)
        #expect(try await fixture.texts("SELECT provider FROM provider_grants") == ["apple"])
        #expect(try await fixture.count("outbox") == 0)
        #expect(try await fixture.audited() == ["e1 authorization_revoked provider google tokens-revoked"])
        #expect(try await fixture.isRecorded("e1", of: google))
    }

    @Test func `tokens that were revoked before the person came back take only what is older`() async throws {
        let old = try await fixture.account(.google)
        try await fixture.keep("old-token", .google)
        fixture.advance(by: 20)
        let new = try await fixture.session(.google)
        try await fixture.deliver(.google, fixture.google("tokens-revoked", at: 10, id: "e1"))
        #expect(try await !fixture.isOpen(old))
        #expect(try await fixture.isOpen(new))
        #expect(try await fixture.count("provider_grants") == 0)
        #expect(try await fixture.identity(old)?.authorization == .active)
        #expect(try await fixture.audited() == ["e1 sessions_ended provider google tokens-revoked"])
    }

    // MARK: Google: the account

    @Test(arguments: [[], [("reason", "bulk-account")]])
    func `a disabled Google account signs nobody in until it is enabled`(members: [(String, String)]) async throws {
        let google = try await fixture.account(.google)
        let apple = try await fixture.bind(.apple, to: google)
        fixture.advance(by: 5)
        try await fixture.deliver(.google, fixture.google("account-disabled", members, id: "e1"))
        try await expectFailure("identityBlocked") { try await fixture.session(.google) }
        let block = Identity.Block(
            since: Timestamp(seconds: ProviderEventFixture.start + 5), reason: members.first?.1 ?? "account-disabled")
        #expect(try await fixture.identity(google)?.block == block)
        #expect(try await fixture.identity(apple)?.block == nil)
        // What a sign-in answers shows the account's other identities too.
        let shown = try await fixture.session(.apple).account.identities
        #expect(shown.first { $0.key.provider == .google }?.block == block)
        #expect(try await fixture.isOpen(google))
        #expect(try await fixture.isOpen(try await fixture.session(.apple)))
        #expect(try await fixture.isOpen(apple))

        fixture.advance(by: 5)
        try await fixture.deliver(.google, fixture.google("account-enabled", id: "e2"))
        #expect(try await fixture.isOpen(try await fixture.session(.google)))
        #expect(try await fixture.identity(google)?.block == nil)
        let unblocked = "e2 identity_unblocked provider google account-enabled"
        #expect(try await fixture.audited() == ["e1 identity_blocked provider google account-disabled", unblocked])
        #expect(try await fixture.isRecorded("e1", of: google))
    }

    @Test func `a change of credentials is recorded, and ends nothing`() async throws {
        let google = try await fixture.account(.google)
        try await fixture.keep("google-token", .google)
        let type = "account-credential-change-required"
        try await fixture.deliver(.google, fixture.google(type, id: "e1"))
        #expect(try await fixture.isOpen(google))
        #expect(try await fixture.isOpen(try await fixture.session(.google)))
        #expect(try await fixture.count("provider_grants") == 1)
        #expect(try await fixture.audited() == ["e1 credential_change_required provider google \(type)"])
        #expect(try await fixture.isRecorded("e1", of: google))
    }

    @Test
    func `a required change of credentials shows until the person signs in by a later authentication`() async throws {
        func required(_ signedIn: SignedIn) -> Timestamp? { signedIn.identity?.credentialChangeRequiredAt }
        let type = "account-credential-change-required"
        let google = try await fixture.account(.google)
        let apple = try await fixture.bind(.apple, to: google)
        fixture.advance(by: 5)
        let earlier = try fixture.token(.google)
        fixture.advance(by: 5)
        try await fixture.deliver(.google, fixture.google(type, id: "e1"))
        let requiredAt = Timestamp(seconds: ProviderEventFixture.start + 10)
        #expect(try await fixture.identity(google)?.credentialChangeRequiredAt == requiredAt)
        #expect(try await fixture.identity(apple)?.credentialChangeRequiredAt == nil)

        // Neither a token of before it, nor another identity, says anything of the credentials.
        #expect(required(try await fixture.people.session(.google, earlier)) == requiredAt)
        fixture.advance(by: 5)
        _ = try await fixture.session(.apple)
        #expect(try await fixture.identity(google)?.credentialChangeRequiredAt == requiredAt)

        #expect(required(try await fixture.session(.google)) == nil)
        #expect(try await fixture.identity(google)?.credentialChangeRequiredAt == nil)

        // One that happened before the sign-in, and comes after it.
        try await fixture.deliver(.google, fixture.google(type, at: 12, id: "e2"))
        #expect(try await fixture.identity(google)?.credentialChangeRequiredAt == nil)
        #expect(try await fixture.statuses() == ["e1": "done", "e2": "done"])
        fixture.advance(by: 5)
        try await fixture.deliver(.google, fixture.google(type, id: "e3"))
        try await fixture.deliver(.google, fixture.google(type, at: 18, id: "e4"))
        let last = Timestamp(seconds: ProviderEventFixture.start + 20)
        #expect(try await fixture.identity(google)?.credentialChangeRequiredAt == last)
    }

    @Test func `a verification is recorded and logged with its state`() async throws {
        try await fixture.deliver(
            .google, fixture.google("verification", [("state", "set up by Kim")], of: nil, id: "e1"))
        #expect(try await fixture.audited() == ["e1 stream_verified provider google set up by Kim"])
        #expect(try await fixture.statuses() == ["e1": "done"])
        let line = try #require(fixture.log.lines.first)
        #expect(line.hasPrefix("notice ") && line.hasSuffix("state=set up by Kim"))
    }
}
