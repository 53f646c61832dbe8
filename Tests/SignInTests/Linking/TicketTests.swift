import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

@Suite(.fixture(SignInFixture.self)) struct TicketTests {
    var fixture: SignInFixture { .current }

    @Test func `a ticket is spent by one success`() async throws {
        let ticket = try await fixture.ticket(.apple("a-1"))
        let created = try await fixture.create(ticket)
        try await expectFailure("linkTicketExpired") { try await fixture.create(ticket) }
        try await expectFailure("linkTicketExpired") { try await fixture.bind(ticket, created.session.credential) }
    }

    @Test func `a ticket lives ten minutes`() async throws {
        let first = try await fixture.ticket(.apple("a-1"))
        let second = try await fixture.ticket(.apple("a-2"))
        fixture.clock.advance(by: 599)
        _ = try await fixture.create(first)
        fixture.clock.advance(by: 1)
        try await expectFailure("linkTicketExpired") { try await fixture.create(second) }
    }

    @Test func `the session that a ticket leads to has the device of the sign-in`() async throws {
        let ticket = try await fixture.ticket(.apple("a-1"))
        let nameless = Caller(requestID: "test", address: "192.0.2.1", device: nil)
        _ = try await fixture.service.tickets.create(
            linkTicket: ticket.linkTicket, name: .ofProvider, by: fixture.call(by: nameless))
        #expect(try await fixture.count("sessions WHERE device_name = 'Kim''s phone' AND device_platform = 'ios'") == 1)
    }

    @Test func `a cancelled ticket is gone and cancelling always works`() async throws {
        let ticket = try await fixture.ticket(.apple("a-1"))
        for text in [ticket.linkTicket, ticket.linkTicket, "unknown", ""] {
            try await fixture.service.tickets.cancel(linkTicket: text, by: fixture.call)
        }
        try await expectFailure("linkTicketExpired") { try await fixture.create(ticket) }
    }

    @Test func `an invented ticket is as good as an expired one`() async throws {
        let hashed = fixture.passwordHasher.finished
        for text in ["", "unknown", String(repeating: "A", count: 43), String(repeating: "A", count: 44), "A\u{E9}"] {
            try await expectFailure("linkTicketExpired") {
                try await fixture.service.tickets.create(linkTicket: text, name: .ofProvider, by: fixture.call)
            }
            // No password is hashed for it either.
            try await expectFailure("linkTicketExpired") {
                try await fixture.service.tickets.bind(
                    linkTicket: text, credential: .password(email: "a@b.example", password: "x"), by: fixture.call)
            }
        }
        #expect(fixture.passwordHasher.finished == hashed)
    }

    @Test func `the ticket is not in the database`() async throws {
        let ticket = try await fixture.ticket(.apple("a-1"))
        #expect(try await fixture.count("link_tickets t WHERE t::text LIKE '%' || \(ticket.linkTicket) || '%'") == 0)
        #expect(try await fixture.count("link_tickets") == 1)
    }

    @Test func `of fifty creates with one ticket one wins`() async throws {
        let ticket = try await fixture.ticket(.apple("a-1", SignInFixture.email("kim@example.com")))
        let outcomes = try await race(50) { _ in try await fixture.create(ticket) }
        #expect(outcomes["won"] == 1)
        #expect(outcomes["won", default: 0] + outcomes["linkTicketExpired", default: 0] == 50)
        try await expectOneAccount(fixture)
    }

    @Test func `of fifty creates for one identity, by five tickets, one wins`() async throws {
        let token = try fixture.apple("a-1", SignInFixture.email("kim@example.com"))
        var tickets: [LinkRequired] = []
        for _ in 0..<5 { tickets.append(try await fixture.ticket(.apple, token)) }
        let outcomes = try await race(50) { [tickets] in try await fixture.create(tickets[$0 % 5]) }
        #expect(outcomes == ["won": 1, "linkTicketExpired": 9, "identityAlreadyLinked": 40])
        try await expectOneAccount(fixture)
    }

    @Test func `of fifty identities of one provider bound to one account one wins`() async throws {
        let owner = try await fixture.signUp(.apple("a-1"))
        var tickets: [LinkRequired] = []
        for index in 0..<50 { tickets.append(try await fixture.ticket(.google("\(index)"))) }
        let outcomes = try await race(50) { [tickets] in
            try await fixture.bind(tickets[$0], owner.session.credential)
        }
        #expect(outcomes == ["won": 1, "providerAlreadyLinked": 49])
        #expect(try await fixture.count("identities") == 2)
    }

    @Test func `creating and binding one identity at once links it once`() async throws {
        let owner = try await fixture.signUp(.apple("a-1"))
        let token = try fixture.google("1", SignInFixture.email("lee@example.com"))
        var tickets: [LinkRequired] = []
        for _ in 0..<5 { tickets.append(try await fixture.ticket(.google, token)) }
        let outcomes = try await race(20) { [tickets] index in
            index % 2 == 0
                ? try await fixture.create(tickets[index % 5])
                : try await fixture.bind(tickets[index % 5], owner.session.credential)
        }
        #expect(outcomes == ["won": 1, "linkTicketExpired": 3, "identityAlreadyLinked": 16])
        #expect(try await fixture.count("identities") == 2)
        try await expectNoOrphans(fixture)
    }

    @Test func `a ticket that was refused creates nothing while its identity is unlinked`() async throws {
        let tickets = try await [fixture.ticket(.google("1")), fixture.ticket(.google("1"))]
        let kim = try await fixture.register("kim@example.com")
        let identity = try await fixture.bind(tickets[0], kim.session.credential).identity
        fixture.clock.advance(by: 10)
        try await fixture.signOut(.all, of: kim)
        let back = try await fixture.signIn("kim@example.com")
        let (unlinking, creating) = try await fixture.database.transaction { transaction in
            // What is announced is numbered at the end of a transaction.
            try await transaction.execute("LOCK TABLE account_sequences IN SHARE MODE")
            let unlinking = Task { try await fixture.unlink(identity, of: back) }
            try await transaction.awaitWaiters(1)
            let creating = Task { try await fixture.create(tickets[1]) }
            try await transaction.awaitWaiters(2)
            return (unlinking, creating)
        }
        try await unlinking.value
        try await expectFailure("linkTicketExpired") { try await creating.value }
        #expect(try await fixture.count("identities") == 0)
        #expect(try await fixture.count("accounts") == 1)
        #expect(try await fixture.count("refused_tokens") == 1)
    }

    // MARK: How many a person holds

    private static let open: SQL = "link_tickets WHERE consumed_at IS NULL AND subject = 'a-1'"

    @Test func `of six tickets of one person the oldest ends, and the others are good`() async throws {
        let bystander = try await fixture.ticket(.apple("a-2"))
        var tickets: [LinkRequired] = []
        for _ in 0..<6 {
            fixture.clock.advance(by: 1)
            tickets.append(try await fixture.ticket(.apple("a-1")))
        }
        #expect(try await fixture.count(Self.open) == 5)
        try await expectFailure("linkTicketExpired") { [tickets] in try await fixture.create(tickets[0]) }
        _ = try await fixture.create(tickets[1])
        for ticket in tickets.suffix(4) {
            try await expectFailure("identityAlreadyLinked") { try await fixture.create(ticket) }
        }
        _ = try await fixture.create(bystander)
    }

    @Test func `a cancelled and an expired ticket leave room for others`() async throws {
        try await fixture.cancel(try await fixture.ticket(.apple("a-1")))
        _ = try await fixture.ticket(.apple("a-1"))
        fixture.clock.advance(by: 600)
        let first = try await fixture.ticket(.apple("a-1"))
        for _ in 0..<4 { _ = try await fixture.ticket(.apple("a-1")) }
        _ = try await fixture.create(first)
    }

    @Test func `of tickets that a person asks for and cancels, again and again, none is left`() async throws {
        for _ in 0..<10 { try await fixture.cancel(try await fixture.ticket(.apple("a-1"))) }
        #expect(try await fixture.count("link_tickets") == 0)
    }

    @Test func `of fifty tickets that are asked for at once five are open`() async throws {
        let token = try fixture.apple("a-1")
        #expect(try await race(50) { _ in try await fixture.ticket(.apple, token) } == ["won": 50])
        #expect(try await fixture.count(Self.open) == 5)
    }

    /// As those of automatic binds, of which one wins.
    @Test
    func `tickets that their own requests spend end no others, and count when their person keeps them`() async throws {
        let held = try await fixture.ticket(.apple("a-1"))
        let identity = try #require(held.identity)
        for number in 1...8 {
            fixture.clock.advance(by: 1)
            let now = fixture.clock.now()
            let ticket = LinkTicket(
                identity: identity, displayName: nil, createdAt: now, expiresAt: now.advanced(bySeconds: 600))
            let hash = SecretHash([UInt8](repeating: UInt8(number), count: 32))
            try await fixture.storage.links.insert(ticket, hash: hash, grant: nil, by: .at(fixture.clock.now()))
        }
        #expect(try await fixture.count(Self.open) == 9)
        try await fixture.storage.links.endOldest(of: identity.key, by: .at(fixture.clock.now()))
        #expect(try await fixture.count(Self.open) == 5)
        try await expectFailure("linkTicketExpired") { try await fixture.create(held) }
    }

    private func expectOneAccount(_ fixture: SignInFixture) async throws {
        #expect(try await fixture.count("accounts") == 1)
        #expect(try await fixture.count("identities") == 1)
        #expect(try await fixture.count("sessions") == 1)
    }

    private func expectNoOrphans(_ fixture: SignInFixture) async throws {
        let orphans = try await fixture.count(
            "accounts a WHERE NOT EXISTS (SELECT FROM identities i WHERE i.account_id = a.account_id)")
        #expect(orphans == 0)
    }
}
