import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

@Suite(.fixture(SignInFixture.self)) struct LinkTests {
    var fixture: SignInFixture { .current }

    @Test func `a later token without an email signs in to the same account and erases nothing`() async throws {
        let email = SignInFixture.email("zdfu7jtuus@privaterelay.appleid.com") + SignInFixture.relay
        let created = try await fixture.signUp(.apple("a-1", email))
        let later = try await fixture.session(.apple("a-1"))
        #expect(later.account.id == created.account.id)
        #expect(later.identity?.email?.text == "zdfu7jtuus@privaterelay.appleid.com")
        #expect(later.identity?.isPrivateEmail == true)
    }

    @Test func `an email that changes at the provider updates the identity and not the account`() async throws {
        _ = try await fixture.signUp(.google("1", SignInFixture.email("kim@example.com")))
        let later = try await fixture.session(.google("1", SignInFixture.email("kim@new.example")))
        #expect(later.identity?.email?.text == "kim@new.example")
        #expect(later.account.email?.text == "kim@example.com")
    }

    @Test func `binding by session needs an authentication of the last ten minutes`() async throws {
        let created = try await fixture.signUp(.apple("a-1"))
        fixture.clock.advance(by: 600)
        let onTime = try await fixture.ticket(.google("1"))
        fixture.clock.advance(by: 1)
        try await expectFailure("reauthenticationRequired") {
            try await fixture.bind(onTime, created.session.credential)
        }
        // Signing in again makes a session that is fresh; the ticket is still good.
        let fresh = try await fixture.session(.apple("a-1"))
        _ = try await fixture.bind(onTime, fresh.session.credential)
    }

    @Test func `a password proves the account and a wrong one leaves the ticket good`() async throws {
        let registered = try await fixture.register("Kim@Example.com", password: "a long enough secret")
        let ticket = try await fixture.ticket(.google("1"))
        for wrong in [("kim@example.com", "not the secret"), ("nobody@example.com", "a long enough secret")] {
            try await expectFailure("invalidCredentials") {
                try await fixture.bind(ticket, .password(email: wrong.0, password: wrong.1))
            }
        }
        let bound = try await fixture.bind(
            ticket, .password(email: "KIM@example.com", password: "a long enough secret"))
        #expect(bound.account.id == registered.account.id)
        #expect(try await fixture.opened(bound).methods == [.password, .google])
    }

    @Test func `a second identity of the provider is a conflict and changes nothing`() async throws {
        let created = try await fixture.signUp(.google("1", SignInFixture.hosted("kim@example.com")))
        let ticket = try await fixture.ticket(.google("2", SignInFixture.email("kim@example.com")))
        #expect(ticket.choices == [.bind])
        try await expectFailure("providerAlreadyLinked") { try await fixture.bind(ticket, created.session.credential) }
        #expect(try await fixture.session(.google("1")).account.id == created.account.id)
        // The ticket is good for whatever else its owner chooses.
        try await expectFailure("emailTaken") { try await fixture.create(ticket) }
        #expect(try await fixture.count("identities") == 1)
    }

    @Test(.fixture { try await SignInFixture.withMail(policy: .automatic, $0) })
    func `automatic linking binds only where the provider runs the mailbox`() async throws {
        let member = try await fixture.member("kim@gmail.com")
        let bound = try await fixture.session(.google("1", SignInFixture.email("kim@gmail.com")))
        #expect(bound.account.id == member.account.id)
        #expect(bound.account.identities.count == 1)
        // Verified once, but Google does not run example.com.
        _ = try await fixture.member("lee@example.com")
        #expect(try await fixture.ticket(.google("2", SignInFixture.email("lee@example.com"))).choices == [.bind])
    }

    @Test(.fixture { try await SignInFixture.withMail(policy: .automatic, $0) })
    func `of twenty automatic binds of one person all are signed in to one account`() async throws {
        let member = try await fixture.member("kim@gmail.com")
        let token = try fixture.google("1", SignInFixture.email("kim@gmail.com"))
        let accounts = try await concurrently(0..<20) { _ in try await fixture.session(.google, token).account.id }
        #expect(Set(accounts) == [member.account.id])
        #expect(try await fixture.count("identities") == 1)
    }

    @Test(.fixture { try await SignInFixture.withMail(policy: .automatic, $0) })
    func `an automatic bind whose ticket others have pushed out signs in to what they have bound`() async throws {
        let member = try await fixture.member("kim@gmail.com")
        let token = try fixture.google("1", SignInFixture.email("kim@gmail.com"))
        let signingIn = try await fixture.interleave { transaction in
            // As who spends a ticket of this person locks it.
            _ = try await transaction.query(
                "SELECT pg_advisory_xact_lock(hashtextextended('tickets google main 1', 0))::text", as: String?.self)
        } with: {
            try await fixture.session(.google, token)
        } then: { transaction in
            try await transaction.execute(
                """
                INSERT INTO identities (identity_id, account_id, provider, realm, subject, created_at)
                SELECT gen_random_uuid(), account_id, 'google', 'main', '1', now() FROM accounts
                """)
            #expect(try await transaction.execute("DELETE FROM link_tickets") == 1)
        }
        #expect(try await signingIn.value.account.id == member.account.id)
    }

    @Test(.fixture { try await SignInFixture.withMail(policy: .automatic, $0) })
    func `automatic linking asks when the address changes hands meanwhile`() async throws {
        _ = try await fixture.member("kim@gmail.com")
        let token = try fixture.google("1", SignInFixture.email("kim@gmail.com"))
        let signingIn = try await fixture.interleave { transaction in
            try await transaction.execute("UPDATE accounts SET email = NULL, email_verified = false")
        } with: {
            try await fixture.ticket(.google, token)
        }
        #expect(try await signingIn.value.choices == [.bind])
        #expect(try await fixture.count("identities") == 0)
    }

    @Test func `a session that ends while it binds binds nothing`() async throws {
        let created = try await fixture.signUp(.apple("a-1"))
        let ticket = try await fixture.ticket(.google("1"))
        let binding = try await fixture.interleave { transaction in
            try await transaction.execute("SELECT FROM accounts FOR NO KEY UPDATE")
            try await transaction.execute("UPDATE sessions SET ended_at = now(), end_reason = 'signed_out'")
        } with: {
            try await fixture.bind(ticket, created.session.credential)
        }
        try await expectFailure("invalidSession") { try await binding.value }
        #expect(try await fixture.count("identities") == 1)
        // The ticket is still good.
        _ = try await fixture.create(ticket)
    }

    @Test func `a relay address never changes the choices and conflicts with nobody`() async throws {
        _ = try await fixture.signUp(.google("1", SignInFixture.hosted("kim@example.com")))
        let claims = SignInFixture.email("kim@example.com") + SignInFixture.relay
        let ticket = try await fixture.ticket(.apple("a-1", claims))
        #expect(ticket.choices == [.create, .bind])
        #expect(try await fixture.create(ticket).account.email == nil)
    }

    @Test func `addresses that only Unicode folding joins lead to different accounts`() async throws {
        _ = try await fixture.signUp(.google("1", SignInFixture.email("mike@example.com")))
        let ticket = try await fixture.ticket(.google("2", SignInFixture.email("m\u{131}ke@example.com")))
        #expect(ticket.choices == [.create, .bind])
        _ = try await fixture.create(ticket)
        #expect(try await fixture.count("accounts") == 2)
    }

    @Test func `subjects that differ only by normalisation are two people`() async throws {
        let first = try await fixture.signUp(.google("caf\u{E9}"))
        let other = try await fixture.signUp(.google("cafe\u{301}"))
        #expect(first.account.id != other.account.id)
    }

    @Test func `the usual sign-in writes nothing but its session`() async throws {
        let email = SignInFixture.email("kim@example.com")
        _ = try await fixture.signUp(.apple("a-1", email))
        let version: () async throws -> String = {
            try await fixture.database.query("SELECT xmin::text || ctid::text FROM identities", as: String.self)[0]
        }
        let before = try await version()
        fixture.clock.advance(by: 3599)
        _ = try await fixture.session(.apple("a-1", email))
        #expect(try await version() == before)
        fixture.clock.advance(by: 1)
        let touched = try await fixture.session(.apple("a-1", email))
        #expect(try await version() != before)
        #expect(touched.identity?.lastSignInAt?.seconds == SignInFixture.start + 3600)
    }
}
