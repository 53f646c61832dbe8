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
        _ ticket: LinkRequired, _ code: String, email: String = email, replacing: Bool = false
    ) async throws -> SignedIn {
        try await fixture.bind(ticket, .emailCode(email: email, code: code), replacing: replacing)
    }

    /// A member, and a ticket with the code that was mailed to them for it.
    private func memberWithTicket() async throws -> (member: SignedIn, ticket: LinkRequired, code: String) {
        let member = try await fixture.member(Self.email)
        let ticket = try await fixture.ticket(.google("1"))
        return (member, ticket, try await fixture.code(.bind, for: Self.email, ticket: ticket))
    }

    @Test func `a code that was mailed for the ticket binds its identity`() async throws {
        let (member, ticket, code) = try await memberWithTicket()
        let bound = try await bind(ticket, code, email: "KIM@example.com")
        #expect(bound.account.id == member.account.id)
        #expect(try await fixture.opened(bound).methods == [.oneTimeCode, .google])
        #expect(try await fixture.isLive(member))
        #expect(try await fixture.session(.google("1")).account.id == member.account.id)
        let notice = QueuedMail(template: "identity_linked", recipient: Self.email, provider: "google")
        #expect(try await fixture.mails() == [notice])
        #expect(try await fixture.recorded(of: member).contains("identity_linked"))
    }

    @Test func `a code that was mailed for another ticket binds nothing, and costs no try`() async throws {
        let (_, mine, code) = try await memberWithTicket()
        let other = try await fixture.ticket(.google("2"))
        for _ in 0..<6 { try await expectFailure("invalidCredentials") { try await bind(other, code) } }
        _ = try await bind(mine, code)
    }

    @Test func `a refused bind leaves the ticket and the code good`() async throws {
        let member = try await fixture.member(Self.email)
        _ = try await fixture.bind(.google("1"), member.session.credential)
        let ticket = try await fixture.ticket(.google("2"))
        let code = try await fixture.code(.bind, for: Self.email, ticket: ticket)
        try await fixture.expectRefusal("providerAlreadyLinked") { try await bind(ticket, code) }
        try await fixture.expectRefusal("invalidCredentials") { try await bind(ticket, SignInFixture.wrong(code)) }
        // The same code, now that its owner has decided.
        #expect(try await bind(ticket, code, replacing: true).identity?.key.subject.text == "2")
    }

    @Test func `of fifty binds with one code one wins`() async throws {
        let (_, ticket, code) = try await memberWithTicket()
        let outcomes = try await race(50) { _ in try await bind(ticket, code) }
        #expect(outcomes["won"] == 1)
        #expect(Set(outcomes.keys).isSubset(of: ["won", "invalidCredentials", "linkTicketExpired"]))
        #expect(try await fixture.count("identities") == 1)
    }

    /// The code is replaced, or its address changes hands.
    @Test(arguments: ["DELETE FROM mailed_codes", "UPDATE accounts SET email = 'kim@new.example'"] as [StaticString])
    func `a code that is good no more when it gets to the account binds nothing`(_ change: StaticString) async throws {
        let (member, ticket, code) = try await memberWithTicket()
        let binding = try await fixture.interleave { transaction in
            try await transaction.execute("SELECT FROM accounts WHERE account_id = \(member.account.id) FOR UPDATE")
            try await transaction.execute(SQL(stringLiteral: change))
        } with: {
            try await bind(ticket, code)
        }
        // It waits for the account first, after the try was counted.
        try await expectFailure("invalidCredentials") { try await binding.value }
        #expect(try await fixture.count("identities") == 0)
        _ = try await fixture.create(ticket)
    }
}
