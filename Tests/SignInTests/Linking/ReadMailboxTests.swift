import Accounts
import Postgres
import SignIn
import TestSupport
import Testing

/// A ticket whose person has typed a code that was mailed to a stated address: from then on it proves that mailbox.
@Suite(.fixture { try await SignInFixture.withMail($0) }) struct ReadMailboxTests {
    var fixture: SignInFixture { .current }

    private static let address = StatedAddress.text

    /// The ticket of somebody at Google, who has typed the code and been shown the account.
    ///
    /// - Parameter claims: what Google says of their address; nothing, if left out.
    private func shownTicket(
        _ fixture: SignInFixture, _ claims: [(String, TokenMint.Literal?)] = []
    ) async throws -> (LinkRequired, BindCredential) {
        let ticket = try await fixture.ticket(.google("owner", claims))
        let credential = try await fixture.mailedProof(of: Self.address, for: ticket)
        let shown = try await fixture.answer(toBinding: ticket, credential).ticket
        #expect(shown.linkTicket == ticket.linkTicket)
        #expect(shown.holder?.showsIdentities == true)
        return (shown, credential)
    }

    @Test func `the ticket takes the account over alone`() async throws {
        let former = try await fixture.formerReader()
        try await fixture.bringIn(former.account.id)
        let (ticket, code) = try await shownTicket(fixture)
        try await fixture.expectUntouched(former)
        #expect(try await fixture.count("imported_rows WHERE is_touched") == 1)
        let owner = try await fixture.bind(ticket, .ticket)
        try await fixture.expectTakenOver(former, by: owner)
        #expect(try await fixture.opened(owner).methods == [.oneTimeCode, .google])
        let proven: SQL = "accounts WHERE email = \(Self.address) AND email_proof_source = 'mailed_code'"
        #expect(try await fixture.count(proven) == 1)
        #expect(try await fixture.count("mailbox_tickets") == 0)
        for proof in [.ticket, code] {
            try await expectFailure("linkTicketExpired") { try await fixture.bind(ticket, proof) }
        }
    }

    @Test func `a code that was not right, or not typed, makes the ticket no proof`() async throws {
        let former = try await fixture.formerReader()
        let ticket = try await fixture.ticket(.google("owner", SignInFixture.email(Self.address)))
        let code = try await fixture.code(.bind, for: Self.address, ticket: ticket)
        await expectFailure(.missingCredential("password")) { try await fixture.bind(ticket, .ticket) }
        try await expectFailure("invalidCredentials") {
            try await fixture.bind(ticket, .emailCode(email: Self.address, code: SignInFixture.wrong(code)))
        }
        await expectFailure(.missingCredential("password")) { try await fixture.bind(ticket, .ticket) }
        // Nor does it make one of the person's other tickets.
        let other = try await fixture.ticket(.google("owner", SignInFixture.email(Self.address)))
        _ = try await fixture.answer(toBinding: ticket, .emailCode(email: Self.address, code: code)).ticket
        await expectFailure(.missingCredential("password")) { try await fixture.bind(other, .ticket) }
        try await fixture.expectUntouched(former)
    }

    @Test func `of fifty takeovers by the ticket one wins`() async throws {
        let former = try await fixture.formerReader()
        let (ticket, code) = try await shownTicket(fixture)
        let outcomes = try await race(50) { number in
            try await fixture.bind(ticket, number % 2 == 0 ? .ticket : code)
        }
        #expect(outcomes["won"] == 1)
        #expect(Set(outcomes.keys).isSubset(of: ["won", "linkTicketExpired", "invalidCredentials"]))
        #expect(try await fixture.account(former).identities.count == 2)
        #expect(try await fixture.count("sessions WHERE ended_at IS NULL") == 1)
    }

    // MARK: Create

    @Test func `who came with the address itself takes it to an account of their own`() async throws {
        let former = try await fixture.formerReader()
        let (ticket, _) = try await shownTicket(fixture, SignInFixture.email(Self.address))
        let owner = try await fixture.create(ticket)
        #expect(owner.account.id != former.account.id)
        #expect(owner.account.email?.text == Self.address)
        #expect(owner.account.emailProof == .proven)
        try await fixture.expectOusted(former)
        // Its reader has spoken, so nobody is asked whether it was them.
        #expect(try await fixture.mails(.accountCreated).isEmpty)
    }

    @Test func `who came with another address makes their account with that one`() async throws {
        let former = try await fixture.formerReader()
        let (ticket, _) = try await shownTicket(fixture, SignInFixture.email("owner@example.org"))
        let owner = try await fixture.create(ticket)
        #expect(owner.account.email?.text == "owner@example.org")
        #expect(owner.account.emailProof == .stated)
        try await fixture.expectUntouched(former)
    }

    @Test func `a code that was typed before the owner changed the password binds no identity`() async throws {
        let former = try await fixture.formerReader()
        let (ticket, code) = try await shownTicket(fixture)
        try await fixture.verify(former)
        fixture.clock.advance(by: 1)
        try await fixture.changePassword(of: former)
        for proof in [.ticket, code] {
            try await expectFailure("invalidCredentials") { try await fixture.bind(ticket, proof) }
        }
        #expect(try await fixture.account(former).identities.map(\.key.subject.text) == ["former"])
        #expect(try await fixture.isLive(former))
        // One that is mailed now proves the mailbox once more.
        let bound = try await fixture.bind(ticket, try await fixture.mailedProof(of: Self.address, for: ticket))
        #expect(bound.account.id == former.account.id)
        #expect(bound.account.hasPassword)
        #expect(try await fixture.isLive(former))
    }

    // MARK: The ticket's end

    @Test func `the proof ends with the ticket, however that ends`() async throws {
        _ = try await fixture.formerReader()
        let (cancelled, _) = try await shownTicket(fixture)
        try await fixture.cancel(cancelled)
        let (crowded, _) = try await shownTicket(fixture)
        for _ in 0..<LinkTicket.maximumHeld {
            fixture.clock.advance(by: 1)
            _ = try await fixture.ticket(.google("owner"))
        }
        #expect(try await fixture.count("mailbox_tickets") == 0)
        let (late, _) = try await shownTicket(fixture)
        fixture.clock.advance(by: Lifetimes.linkTicketSeconds)
        for ticket in [cancelled, crowded, late] {
            try await expectFailure("linkTicketExpired") { try await fixture.bind(ticket, .ticket) }
            try await expectFailure("linkTicketExpired") { try await fixture.create(ticket) }
        }
    }

    /// Writes that a code for the ticket was read, as a bind does that shows the account.
    private static func keepRead(
        _ hash: SecretHash?, showing former: SignedIn, in transaction: Transaction
    ) async throws {
        _ = try await transaction.execute(
            """
            INSERT INTO mailbox_tickets (ticket_hash, email, shown_account_id, shown_identity_ids, auth_time,
                created_at, expires_at)
            SELECT ticket_hash, \(address), \(former.account.id), '{}', created_at, created_at, expires_at
            FROM link_tickets
            WHERE ticket_hash = \(hash)
            """)
    }

    @Test func `a code that is typed while its ticket is cancelled makes no ticket of its own`() async throws {
        let former = try await fixture.formerReader()
        let ticket = try await fixture.ticket(.google("owner"))
        let hash = OpaqueSecret.hash(ofPresented: ticket.linkTicket)
        let cancelling = try await fixture.interleave { transaction in
            // As a bind of the release before, which does not lock the person's tickets.
            _ = try await transaction.execute("SELECT FROM link_tickets WHERE ticket_hash = \(hash) FOR NO KEY UPDATE")
            try await Self.keepRead(hash, showing: former, in: transaction)
        } with: {
            try await fixture.cancel(ticket)
        }
        try await cancelling.value
        #expect(try await fixture.count("link_tickets WHERE ticket_hash = \(hash)") == 0)
        #expect(try await fixture.count("mailbox_tickets") == 0)
        try await expectFailure("linkTicketExpired") { try await fixture.bind(ticket, .ticket) }
    }

    @Test func `a code that is typed while its ticket gives way to a sixth makes no ticket of its own`() async throws {
        let former = try await fixture.formerReader()
        let ticket = try await fixture.ticket(.google("owner"))
        let code = try await fixture.mailedProof(of: Self.address, for: ticket)
        for _ in 1..<LinkTicket.maximumHeld {
            fixture.clock.advance(by: 1)
            _ = try await fixture.ticket(.google("owner"))
        }
        fixture.clock.advance(by: 1)
        let hash = OpaqueSecret.hash(ofPresented: ticket.linkTicket)
        let (binding, signingIn) = try await fixture.database.transaction { transaction in
            // The bind waits behind the ticket's row, where it writes the same.
            try await Self.keepRead(hash, showing: former, in: transaction)
            let binding = Task { try await fixture.answer(toBinding: ticket, code).ticket }
            try await transaction.awaitWaiters(1)
            let signingIn = Task { try await fixture.ticket(.google("owner")) }
            try await transaction.awaitWaiters(2)
            _ = try await transaction.execute("DELETE FROM mailbox_tickets")
            return (binding, signingIn)
        }
        _ = try await (binding.value, signingIn.value)
        #expect(try await fixture.count("link_tickets WHERE ticket_hash = \(hash)") == 0)
        #expect(try await fixture.count("mailbox_tickets") == 0)
        try await expectFailure("linkTicketExpired") { try await fixture.bind(ticket, .ticket) }
        try await fixture.expectUntouched(former)
    }

    @Test func `a ticket that goes with another account of its person lives on by its mailbox no more`() async throws {
        let former = try await fixture.formerReader()
        let other = try await fixture.ticket(.google("owner"))
        let (ticket, _) = try await shownTicket(fixture)
        let owner = try await fixture.create(other)
        #expect(try await fixture.count("mailbox_tickets") == 1)
        try await fixture.deleteAccount(owner)
        #expect(try await fixture.count("mailbox_tickets") == 0)
        try await expectFailure("linkTicketExpired") { try await fixture.bind(ticket, .ticket) }
        try await fixture.expectUntouched(former)
    }

    @Test func `a ticket that an event of the provider has ended lives on by its mailbox no more`() async throws {
        let former = try await fixture.formerReader()
        let (ticket, _) = try await shownTicket(fixture)
        try await fixture.database.execute("UPDATE link_tickets SET consumed_at = \(fixture.clock.now())")
        try await expectFailure("linkTicketExpired") { try await fixture.bind(ticket, .ticket) }
        try await expectFailure("linkTicketExpired") { try await fixture.create(ticket) }
        try await fixture.cancel(ticket)
        #expect(try await fixture.count("mailbox_tickets") == 1)
        try await fixture.expectUntouched(former)
    }
}
