import Accounts
import Administration
import Postgres
import SignIn
import TestSupport
import Testing

/// The order in which transactions lock rows: one for all of them, so that they don't deadlock.
@Suite(.fixture(SignInFixture.self)) struct LockOrderTests {
    var fixture: SignInFixture { .current }

    @Test func `a deletion does not wait for a transaction that spends another ticket of the identity`() async throws {
        let spent = try await fixture.ticket(.google("kim"))
        let other = try await fixture.ticket(.google("kim"))
        let kim = try await fixture.service.sessions.session(
            of: try await fixture.create(spent).session.bearer, by: fixture.call)
        let hash = OpaqueSecret.hash(ofPresented: other.linkTicket)
        try await fixture.database.transaction { transaction in
            _ = try await transaction.execute("SELECT FROM link_tickets WHERE ticket_hash = \(hash) FOR UPDATE")
            try await fixture.service.accounts.delete(accountOf: kim, by: fixture.call)
        }
        #expect(try await fixture.count("accounts") == 0)
        // It may still be spent, or expire.
        #expect(try await fixture.count("link_tickets") == 1)
    }

    @Test func `the grant of a cancelled ticket is erased when the identity is just being given one`() async throws {
        let spent = try await fixture.ticket(.google("kim"))
        let other = try await fixture.ticket(.google("kim"))
        _ = try await fixture.create(spent)
        let hash = OpaqueSecret.hash(ofPresented: other.linkTicket)
        try await Self.grant(to: "NULL, \(hash)", from: "identities", in: fixture.database)
        let cancelling = try await fixture.interleave { transaction in
            _ = try await transaction.execute("UPDATE identities SET authorization_status = 'active'")
            try await Self.grant(to: "identity_id, NULL", from: "identities", in: transaction)
        } with: {
            try await fixture.cancel(other)
        }
        try await cancelling.value
        #expect(try await fixture.count("provider_grants WHERE identity_id IS NOT NULL") == 1)
        #expect(try await fixture.count("provider_grants") == 1)
    }

    private static func grant(to holder: SQL, from source: SQL, in session: some PostgresSession) async throws {
        _ = try await session.execute(
            """
            INSERT INTO provider_grants (grant_id, provider, realm, subject, client_id, sealed_refresh_token,
                prefix_fingerprint, digest_fingerprint, created_at, identity_id, ticket_hash)
            SELECT gen_random_uuid(), provider, realm, subject, 'lamp', '', '', '', created_at, \(holder)
            FROM \(source)
            """)
    }

    @Test func `signing out everywhere waits for a change of the account`() async throws {
        let kim = try await fixture.signUp(.google("kim"))
        let phone = try await fixture.session(.google("kim"))
        let session = try await fixture.opened(kim)
        let ending = try await fixture.interleave { transaction in
            // The locks of a password change on the phone, in their order: the other sessions end last.
            _ = try await transaction.execute("SELECT FROM accounts WHERE account_id = \(kim.account.id) FOR UPDATE")
            _ = try await transaction.execute("SELECT FROM sessions WHERE session_id = \(phone.session.id) FOR SHARE")
        } with: {
            try await fixture.service.sessions.revoke(.all, of: session, by: fixture.call)
        } then: { transaction in
            _ = try await transaction.execute(
                "SELECT FROM sessions WHERE session_id = \(kim.session.id) FOR UPDATE NOWAIT")
        }
        try await ending.value
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 0)
    }

    /// No code of ours takes locks in this order; PostgreSQL itself may, among the versions of one row.
    @Test func `a sign-in that a deadlock ended is tried again`() async throws {
        let kim = try await fixture.signUp(.google("kim"))
        var session: SignedIn?
        // On a slow machine PostgreSQL ends the other transaction.
        for _ in 0..<10 where session == nil {
            do {
                session = try await fixture.interleave { transaction in
                    _ = try await transaction.execute("SET LOCAL deadlock_timeout = '5s'")
                    _ = try await transaction.execute("SELECT FROM identities FOR UPDATE")
                } with: {
                    try await fixture.session(.google("kim"))
                } then: { transaction in
                    _ = try await transaction.execute("SELECT FROM accounts FOR UPDATE")
                }.value
            } catch let error as PostgresError where error.isSerializationFailure {
                continue
            }
        }
        #expect(session?.account.id == kim.account.id)
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") >= 2)
    }

    @Test(arguments: [true, false])
    func `an identity is taken from its account sessions first, then grants`(isRevoking: Bool) async throws {
        let admin = try await fixture.administered()
        let kim = try await fixture.signUp(.google("kim"))
        let apple = try await fixture.bind(.apple("kim"), kim.session.credential)
        let id = try #require(apple.identity).id
        try await Self.grant(to: "identity_id, NULL", from: "identities", in: fixture.database)
        let taking = try await fixture.interleave { transaction in
            _ = try await transaction.execute("SELECT FROM sessions WHERE identity_id = \(id) FOR UPDATE")
        } with: {
            if isRevoking {
                _ = try await admin.revoke(id, unlinking: true, reason: "case 5")
            } else {
                try await admin.detach(id, reason: "case 5")
            }
        } then: { transaction in
            _ = try await transaction.execute("SELECT FROM provider_grants WHERE identity_id = \(id) FOR UPDATE NOWAIT")
        }
        try await taking.value
        #expect(try await fixture.count("identities") == 1)
    }

    @Test(.fixture { try await SignInFixture.withMail(strays: .merge, $0) }, arguments: [true, false])
    func `a bind that moves an identity locks both accounts in the order of their ids`(isStrayOlder: Bool) async throws
    {
        func make(_ provider: Provider, _ token: String) async throws -> SignedIn {
            // Ids begin with the time.
            fixture.clock.advance(by: 1)
            return try await fixture.create(try await fixture.ticket(provider, token))
        }
        // Issued before there was an account to move from.
        let ticket = try await fixture.ticket(.google("kim"))
        var stray: SignedIn?
        if isStrayOlder { stray = try await make(.google, try fixture.google("kim")) }
        let proven = try await make(.apple, try fixture.apple("kim"))
        if !isStrayOlder { stray = try await make(.google, try fixture.google("kim")) }
        let ids = [proven.account.id, try #require(stray).account.id]
        let (older, younger) = isStrayOlder ? (ids[1], ids[0]) : (ids[0], ids[1])
        try await Self.bind(ticket, to: proven, in: fixture, findsLocked: older, andLeaves: younger)
        #expect(try await fixture.count("accounts") == 1)
    }

    private static func bind(
        _ ticket: LinkRequired, to proven: SignedIn, in fixture: SignInFixture, findsLocked older: AccountID,
        andLeaves younger: AccountID
    ) async throws {
        let binding = try await fixture.interleave { transaction in
            _ = try await transaction.execute("SELECT FROM accounts WHERE account_id = \(older) FOR UPDATE")
        } with: {
            try await fixture.bind(ticket, proven.session.credential)
        } then: { transaction in
            _ = try await transaction.execute("SELECT FROM accounts WHERE account_id = \(younger) FOR UPDATE NOWAIT")
        }
        #expect(try await binding.value.account.id == proven.account.id)
    }

    @Test(.fixture { try await SignInFixture.withMail($0) })
    func `proving an address that another account claims locks both accounts in the order of their ids`() async throws {
        func register(_ email: String) async throws -> SignedIn {
            fixture.clock.advance(by: 1)
            return try await fixture.register(email)
        }
        let claiming = try await register("kim@example.com")
        let proving = try await register("other@example.com")
        let session = try await fixture.opened(proving)
        try await fixture.service.accounts.requestEmail("kim@example.com", of: session, by: fixture.call)
        let digits = try await fixture.digits(.verifyEmail, of: "kim@example.com")
        let verifying = try await fixture.interleave { transaction in
            _ = try await transaction.execute(
                "SELECT FROM accounts WHERE account_id = \(claiming.account.id) FOR UPDATE")
        } with: {
            try await fixture.service.emailCodes.verifyEmail(code: digits, of: session, by: fixture.call)
        } then: { transaction in
            _ = try await transaction.execute(
                "SELECT FROM accounts WHERE account_id = \(proving.account.id) FOR UPDATE NOWAIT")
        }
        try await verifying.value
        #expect(try await fixture.service.accounts.account(of: session).email?.text == "kim@example.com")
    }

    @Test func `what a provider ends while it is being linked is refused as expired`() async throws {
        let kim = try await fixture.signUp(.apple("kim"))
        let session = try await fixture.opened(kim)
        // The effect of an event that comes between the two transactions of a link.
        _ = try await fixture.database.execute(
            """
            CREATE FUNCTION end_ticket() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN NEW.consumed_at := NEW.created_at; RETURN NEW; END $$
            """)
        _ = try await fixture.database.execute(
            "CREATE TRIGGER ends BEFORE INSERT ON link_tickets FOR EACH ROW EXECUTE FUNCTION end_ticket()")
        let credential = ProviderCredential(token: try fixture.google("kim"))
        try await expectFailure("expired") {
            try await fixture.service.linking.link(.google, credential, to: session, by: fixture.call)
        }
    }
}
