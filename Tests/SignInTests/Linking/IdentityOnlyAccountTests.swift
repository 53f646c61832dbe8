import Accounts
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// An identity that is linked to an account of its own, when its owner proves another account and wants it there.
@Suite(.fixture { try await SignInFixture.withMail(strays: .merge, $0) }) struct IdentityOnlyAccountTests {
    var fixture: SignInFixture { .current }

    /// What the stray account has besides the identity.
    enum State: String, CaseIterable, Sendable {
        case nothing, sameAddress, password, secondIdentity, otherAddress, disabled, blocked

        /// Whether the account may end for the identity to move.
        var mayEnd: Bool { self == .nothing || self == .sameAddress }
    }

    /// How the identity's owner asks.
    enum Way: String, CaseIterable, Sendable {
        /// With a ticket from before the stray account was made.
        case ticket
        /// Signed in to the other account.
        case link
    }

    private typealias Case = (member: SignedIn, stray: SignedIn, ticket: LinkRequired)

    private func arrange(_ state: State, _ fixture: SignInFixture) async throws -> Case {
        let claims = state == .sameAddress ? SignInFixture.email("stray@gmail.com") : []
        let token = try fixture.google("stray", claims)
        let ticket = try await fixture.ticket(.google, token)
        let stray = try await fixture.create(try await fixture.ticket(.google, token))
        let id = stray.account.id
        switch state {
        case .nothing, .sameAddress: break
        case .password:
            try await fixture.database.execute(
                "UPDATE accounts SET email = 'stray@example.com', password_hash = 'x' WHERE account_id = \(id)")
        case .secondIdentity: _ = try await fixture.bind(.apple("stray"), stray.session.credential)
        case .otherAddress:
            try await fixture.database.execute(
                "UPDATE accounts SET email = 'stray@example.com', email_verified = true WHERE account_id = \(id)")
        case .disabled: try await fixture.disable(stray)
        case .blocked: try await fixture.database.execute("UPDATE identities SET blocked_at = now()")
        }
        let member = try await fixture.member("kim@example.com")
        try await fixture.forgetMails()
        return (member, stray, ticket)
    }

    private func ask(_ way: Way, _ found: Case, _ fixture: SignInFixture, replacing: Bool = false) async throws {
        switch way {
        case .ticket: _ = try await fixture.bind(found.ticket, found.member.session.credential, replacing: replacing)
        case .link: try await fixture.link(.google, .init(token: try fixture.google("stray")), to: found.member)
        }
    }

    @Test(.fixture { try await SignInFixture.withMail($0) }, arguments: State.allCases, Way.allCases)
    func `refuse leaves every stray account as it is`(state: State, way: Way) async throws {
        let found = try await arrange(state, fixture)
        let accounts = try await fixture.texts("SELECT to_jsonb(a)::text FROM accounts a ORDER BY 1")
        let identities = try await fixture.texts("SELECT to_jsonb(i)::text FROM identities i ORDER BY 1")
        try await expectFailure("identityAlreadyLinked") { try await ask(way, found, fixture) }
        #expect(try await fixture.texts("SELECT to_jsonb(a)::text FROM accounts a ORDER BY 1") == accounts)
        #expect(try await fixture.texts("SELECT to_jsonb(i)::text FROM identities i ORDER BY 1") == identities)
        #expect(try await fixture.mails() == [])
    }

    @Test(arguments: State.allCases, Way.allCases)
    func `merge ends a stray account that is nothing but the identity, and no other`(
        state: State, way: Way
    ) async throws {
        let found = try await arrange(state, fixture)
        let linked = try #require(found.stray.identity)
        guard state.mayEnd else {
            try await expectFailure("identityAlreadyLinked") { try await ask(way, found, fixture) }
            _ = try await fixture.account(found.stray)
            #expect(try await fixture.account(found.member).identities.isEmpty)
            return
        }
        try await ask(way, found, fixture)
        let account = try await fixture.account(found.member)
        #expect(account.identities.map(\.id) == [linked.id])
        #expect(account.identities.first?.key == linked.key)
        #expect(try await fixture.storage.accounts.account(found.stray.account.id) == nil)
        #expect(try await !fixture.isLive(found.stray))
        #expect(try await fixture.isLive(found.member))
        #expect(try await fixture.recorded(of: found.stray).contains("account_merged"))
        #expect(try await fixture.recorded(of: found.member).contains("identity_linked"))
        // Who reads the other mailbox may be somebody else.
        let mails = try await Set(fixture.mails().map { "\($0.template) \($0.recipient)" })
        let other: Set<String> = state == .sameAddress ? ["identity_linked stray@gmail.com"] : []
        #expect(mails == other.union(["identity_linked kim@example.com"]))
        // No authorization ended: the person is the same.
        #expect(try await fixture.count("outbox WHERE kind = 'revocation'") == 0)
        #expect(try await fixture.session(.google("stray")).account.id == found.member.account.id)
        #expect(account.email?.text == "kim@example.com")
    }

    @Test func `merge asks before it replaces, and replaces in the same transaction`() async throws {
        let found = try await arrange(.nothing, fixture)
        let existing = try await fixture.bind(.google("old"), found.member.session.credential)
        try await fixture.expectRefusal("providerAlreadyLinked") { try await ask(.ticket, found, fixture) }
        try await ask(.ticket, found, fixture, replacing: true)
        #expect(try await fixture.account(found.member).identities.map(\.key.subject.text) == ["stray"])
        #expect(try await !fixture.isLive(existing))
        #expect(try await fixture.count("accounts") == 1)
        #expect(try await fixture.count("outbox WHERE kind = 'revocation'") == 1)
    }

    @Test func `a revocation that is pending at a merge ends as one of the account that is left`() async throws {
        let found = try await arrange(.nothing, fixture)
        let (key, id) = try #require(found.stray.identity.map { ($0.key, $0.id) })
        let now = fixture.call.now
        try await fixture.database.execute(
            """
            INSERT INTO outbox (message_id, kind, provider, realm, subject, identity_id, account_id, next_attempt_at,
                created_at)
            VALUES (\(RevocationID(now: now)), 'revocation', \(key.provider.rawValue), \(key.realm.text),
                \(key.subject.text), \(id), \(found.stray.account.id), \(now), \(now))
            """)
        try await ask(.ticket, found, fixture)
        let revocations = fixture.storage.revocations
        let claimed = try await revocations.claim(of: key, by: fixture.call, lease: 30).work
        try await revocations.finish(try #require(claimed.first), by: fixture.call)
        #expect(try await events(of: found.stray).last == "account.merged")
        let heirs = try await fixture.texts(
            "SELECT members::jsonb ->> 'into' FROM unstamped_events WHERE type = 'account.merged'")
        #expect(heirs == [found.member.account.id.description])
        #expect(try await events(of: found.member).suffix(2) == ["identity.linked", "authorization.revoked"])
    }

    /// The types of an account's events, in order.
    private func events(of person: SignedIn) async throws -> [String] {
        try await fixture.database.query(
            "SELECT type FROM unstamped_events WHERE account_id = \(person.account.id) ORDER BY sequence",
            as: String.self)
    }

    @Test(arguments: Way.allCases)
    func `merge moves the id that an imported account has, and leaves an account whose id would be lost`(
        way: Way
    ) async throws {
        let found = try await arrange(.nothing, fixture)
        try await fixture.database.execute(
            "UPDATE accounts SET external_id = 'old/1' WHERE account_id = \(found.stray.account.id)")
        try await fixture.database.execute(
            "UPDATE accounts SET external_id = 'old/2' WHERE account_id = \(found.member.account.id)")
        try await expectFailure("identityAlreadyLinked") { try await ask(way, found, fixture) }
        #expect(try await fixture.account(found.stray).externalID?.text == "old/1")
        try await fixture.database.execute(
            "UPDATE accounts SET external_id = NULL WHERE account_id = \(found.member.account.id)")
        try await ask(way, found, fixture)
        #expect(try await fixture.account(found.member).externalID?.text == "old/1")
        #expect(try await fixture.texts("SELECT external_id FROM accounts") == ["old/1"])
    }

    @Test func `a token that is too old to delete the stray account moves nothing`() async throws {
        let found = try await arrange(.nothing, fixture)
        let token = try fixture.google("stray")
        fixture.clock.advance(by: Lifetimes.freshAuthenticationSeconds + 1)
        let member = try await fixture.signIn("kim@example.com")
        try await expectFailure("identityAlreadyLinked") {
            try await fixture.link(.google, .init(token: token), to: member)
        }
        _ = try await fixture.account(found.stray)
        try await fixture.link(.google, .init(token: try fixture.google("stray")), to: member)
        #expect(try await fixture.account(member).identities.count == 1)
    }

    @Test func `a ticket of before the provider ended what it had opened moves nothing`() async throws {
        let found = try await arrange(.nothing, fixture)
        try await fixture.database.execute(
            "UPDATE identities SET not_before = \(fixture.clock.now().advanced(bySeconds: 1))")
        try await expectFailure("identityAlreadyLinked") { try await ask(.ticket, found, fixture) }
        _ = try await fixture.account(found.stray)
        // A sign-in after that may.
        fixture.clock.advance(by: 2)
        try await ask(.link, found, fixture)
    }

    @Test(.fixture { try await SignInFixture.withMail(policy: .automatic, strays: .merge, $0) })
    func `automatic linking ends no account`() async throws {
        let address = SignInFixture.email("kim@gmail.com")
        let member = try await fixture.member("kim@gmail.com")
        let ticket = try await fixture.ticket(.google("1"))
        let token = try fixture.google("1", address)
        let key = try #require(ticket.identity).key
        // The identity gets an account of its own while it is about to be bound by its address.
        let signingIn = try await fixture.interleave { transaction in
            try await transaction.execute("SELECT FROM accounts WHERE account_id = \(member.account.id) FOR UPDATE")
            try await transaction.execute(
                """
                WITH stray AS (
                    INSERT INTO accounts (account_id, created_at) VALUES (gen_random_uuid(), now())
                    RETURNING account_id
                )
                INSERT INTO identities (identity_id, account_id, provider, realm, subject, created_at)
                SELECT gen_random_uuid(), account_id, 'google', 'main', \(key.subject.text), now() FROM stray
                """)
        } with: {
            try await fixture.session(.google, token)
        }
        #expect(try await signingIn.value.account.id != member.account.id)
        #expect(try await fixture.count("accounts") == 2)
    }

    @Test(arguments: Way.allCases)
    func `who signs in while their stray account ends is in the account that has the identity then`(
        way: Way
    ) async throws {
        let found = try await arrange(.nothing, fixture)
        let token = try fixture.google("stray")
        let (asking, signingIn) = try await fixture.database.transaction { transaction in
            // What is announced is numbered at the end of a transaction.
            try await transaction.execute("LOCK TABLE account_sequences IN SHARE MODE")
            let asking = Task { try await ask(way, found, fixture) }
            try await transaction.awaitWaiters(1)
            let signingIn = Task { try await fixture.session(.google, token) }
            try await transaction.awaitWaiters(2)
            return (asking, signingIn)
        }
        try await asking.value
        #expect(try await signingIn.value.account.id == found.member.account.id)
        #expect(try await fixture.count("accounts") == 1)
    }

    @Test func `a stray account that gets a password while it is to end stays`() async throws {
        let found = try await arrange(.nothing, fixture)
        let asking = try await fixture.interleave { transaction in
            try await transaction.execute(
                """
                UPDATE accounts SET email = 'stray@example.com', password_hash = 'x'
                WHERE account_id = \(found.stray.account.id)
                """)
        } with: {
            try await ask(.ticket, found, fixture)
        }
        try await expectFailure("identityAlreadyLinked") { try await asking.value }
        _ = try await fixture.account(found.stray)
    }

    @Test func `of two accounts that both take the identity at once one gets it`() async throws {
        let token = try fixture.google("stray")
        let tickets = try await [fixture.ticket(.google, token), fixture.ticket(.google, token)]
        _ = try await fixture.create(try await fixture.ticket(.google, token))
        let members = try await [fixture.member("a@example.com"), fixture.member("b@example.com")]
        let outcomes = try await race(2) { number in
            try await fixture.bind(tickets[number], members[number].session.credential)
        }
        #expect(outcomes == ["won": 1, "identityAlreadyLinked": 1])
        #expect(try await fixture.count("identities") == 1)
        #expect(try await fixture.count("accounts") == 2)
    }

    @Test(
        .noFixture(SignInFixture.self),
        .fixture { try await LifeCycleFixture.run(configure: { $0.strayAccountPolicy = .merge }, $0) })
    func `what was authorized moves with the identity`() async throws {
        let fixture = LifeCycleFixture.current
        let early = try await fixture.ticket(try await fixture.consent(.google))
        let stray = try await fixture.account(.google)
        let held = try await fixture.refreshTokens(of: "provider_grants WHERE identity_id IS NOT NULL")
        let member = try await fixture.account(.apple, "ada")
        let bound = try await fixture.bind(early, to: member)
        #expect(bound.identity?.id == stray.identity?.id)
        #expect(bound.identity?.authorization == .active)
        #expect(try await fixture.refreshTokens(of: "provider_grants g WHERE g.identity_id IS NOT NULL").count == 2)
        #expect(held.count == 1)
        try await fixture.revokeDue()
        #expect(try await fixture.grants(.google).allSatisfy(\.isLive))
        #expect(try await fixture.count("accounts") == 1)
    }
}
