import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// An attacker's registration of a person's address before that person comes (Sudhodanan & Paverd 2022).
@Suite(.fixture(SignInFixture.self)) struct PreHijackTests {
    var fixture: SignInFixture { .current }

    private static let address = "victim@example.com"

    @Test func `an account that loses its address keeps the identity it can be entered by`() async throws {
        let other = try await fixture.register(Self.address)
        _ = try await fixture.bind(.apple("a-1"), other.session.credential)
        _ = try await fixture.signUp(.google("1", SignInFixture.hosted(Self.address)))
        let signedIn = try await fixture.session(.apple("a-1"))
        #expect(signedIn.account.id == other.account.id)
        #expect(signedIn.account.email == nil)
        #expect(!signedIn.account.hasPassword)
    }

    @Test func `an identity that is bound while its address is taken back keeps the account open`() async throws {
        let other = try await fixture.register(Self.address)
        let google = try await fixture.ticket(.google("1", SignInFixture.hosted(Self.address)))
        let creating = try await fixture.interleave { transaction in
            // What a bind does: it locks the account, then adds the identity.
            try await transaction.execute("SELECT FROM accounts FOR NO KEY UPDATE")
            try await transaction.execute(
                """
                INSERT INTO identities (identity_id, account_id, provider, realm, subject, created_at)
                SELECT gen_random_uuid(), account_id, 'apple', 'main', 'a-1', now() FROM accounts
                """)
        } with: {
            try await fixture.create(google)
        }
        _ = try await creating.value
        let loser = try await fixture.storage.accounts.account(other.account.id)
        #expect(loser?.email == nil)
        #expect(loser?.status == .active)
    }

    @Test func `its own password or session still binds to an unverified account`() async throws {
        let owner = try await fixture.register(Self.address)
        let ticket = try await fixture.ticket(.google("1", SignInFixture.hosted("victim@example.org")))
        let bound = try await fixture.bind(ticket, .password(email: Self.address, password: SignInFixture.password))
        #expect(bound.account.id == owner.account.id)
        // Binding proves the person, not the mailbox.
        #expect(bound.account.emailProof == .claimed)
    }
}
