import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// A mailed code as the proof of the account that an identity is bound to.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct EmailCodeBindTests {
    var fixture: SignInFixture { .current }

    private static let email = "kim@example.com"

    private func bind(
        _ fixture: SignInFixture, _ ticket: LinkRequired, _ code: String, email: String = email,
        replacing: Bool = false
    ) async throws -> SignedIn {
        try await fixture.service.tickets.bind(
            linkTicket: ticket.linkTicket, credential: .emailCode(email: email, code: code), replacing: replacing,
            by: fixture.call
        ).session
    }

    @Test func `a code that was mailed for the ticket binds its identity`() async throws {
        let member = try await fixture.member(Self.email)
        let ticket = try await fixture.ticket(.google("1"))
        let code = try await fixture.code(.bind, for: Self.email, ticket: ticket)
        let bound = try await bind(fixture, ticket, code, email: "KIM@example.com")
        #expect(bound.account.id == member.account.id)
        #expect(try await fixture.opened(bound).methods == [.oneTimeCode, .google])
        #expect(try await fixture.isLive(member))
        #expect(try await fixture.session(.google("1")).account.id == member.account.id)
        #expect(
            try await fixture.mails() == [
                QueuedMail(template: "identity_linked", recipient: Self.email, provider: "google")
            ])
        #expect(try await fixture.recorded(of: member).contains("identity_linked"))
    }

    @Test func `a code that was mailed for another ticket binds nothing, and costs no try`() async throws {
        _ = try await fixture.member(Self.email)
        let mine = try await fixture.ticket(.google("1"))
        let other = try await fixture.ticket(.google("2"))
        let code = try await fixture.code(.bind, for: Self.email, ticket: mine)
        for _ in 0..<6 {
            try await expectFailure("invalidCredentials") { try await bind(fixture, other, code) }
        }
        _ = try await bind(fixture, mine, code)
    }

    @Test func `a refused bind leaves the ticket and the code good`() async throws {
        let member = try await fixture.member(Self.email)
        _ = try await fixture.bind(.google("1"), member.session.credential)
        let ticket = try await fixture.ticket(.google("2"))
        let code = try await fixture.code(.bind, for: Self.email, ticket: ticket)
        let before = try await fixture.state()
        try await expectFailure("providerAlreadyLinked") { try await bind(fixture, ticket, code) }
        try await expectFailure("invalidCredentials") {
            try await bind(fixture, ticket, SignInFixture.wrong(code))
        }
        #expect(try await fixture.state() == before)
        // The same code, now that its owner has decided.
        let bound = try await bind(fixture, ticket, code, replacing: true)
        #expect(bound.identity?.key.subject.text == "2")
    }

    @Test func `of fifty binds with one code one wins`() async throws {
        _ = try await fixture.member(Self.email)
        let ticket = try await fixture.ticket(.google("1"))
        let code = try await fixture.code(.bind, for: Self.email, ticket: ticket)
        let outcomes = try await race(50) { _ in try await bind(fixture, ticket, code) }
        #expect(outcomes["won"] == 1)
        #expect(Set(outcomes.keys).isSubset(of: ["won", "invalidCredentials", "linkTicketExpired"]))
        #expect(try await fixture.count("identities") == 1)
    }

    @Test func `a code that is replaced while it is used is gone`() async throws {
        let member = try await fixture.member(Self.email)
        let ticket = try await fixture.ticket(.google("1"))
        let code = try await fixture.code(.bind, for: Self.email, ticket: ticket)
        let binding = try await fixture.interleave { transaction in
            try await transaction.execute("SELECT FROM accounts WHERE account_id = \(member.account.id) FOR UPDATE")
            try await transaction.execute("DELETE FROM mailed_codes")
        } with: {
            try await bind(fixture, ticket, code)
        }
        // It waits for the account first, after the try was counted.
        try await expectFailure("invalidCredentials") { try await binding.value }
        #expect(try await fixture.count("identities") == 0)
        _ = try await fixture.create(ticket)
    }

    @Test func `an address that changes hands while its code is used leads nowhere`() async throws {
        _ = try await fixture.member(Self.email)
        let ticket = try await fixture.ticket(.google("1"))
        let code = try await fixture.code(.bind, for: Self.email, ticket: ticket)
        let binding = try await fixture.interleave { transaction in
            try await transaction.execute("UPDATE accounts SET email = 'kim@new.example'")
        } with: {
            try await bind(fixture, ticket, code)
        }
        try await expectFailure("invalidCredentials") { try await binding.value }
        #expect(try await fixture.count("identities") == 0)
    }
}
