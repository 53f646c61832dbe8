import Accounts
import Foundation
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// The drawings of tickets in docs/states.md: each way out of `open` is taken, and the row is what the page says of the state
/// that it leads to.
@Suite struct TicketStateTests {
    /// What ends a ticket.
    enum Way: String, CaseIterable, Sendable {
        case create, bind, cancel, event
        case time = "10 minutes"
        case newerOnes = "five newer ones of its person"
    }

    /// The ways in a drawing, with the state that each leads to.
    private static func drawn(under heading: String) throws -> [Way: String] {
        var drawn: [Way: String] = [:]
        for line in try StatesPageTests.section(heading).matches(of: /(?m)──([^─▶]+)─+▶ (\w+)$/) {
            for way in line.1.split(separator: #/, or |, /#) {
                let known = try #require(Way(rawValue: String(way).trimmingCharacters(in: .whitespaces)), "\(way)")
                drawn[known] = String(line.2)
            }
        }
        return drawn
    }

    // MARK: The ticket of an identity

    @Test func `the drawing of a link ticket has each way out, and the table each state`() throws {
        let drawn = try Self.drawn(under: "Link ticket")
        #expect(Set(drawn.keys) == Set(Way.allCases))
        #expect(try Set(StatesPageTests.rows(under: "Link ticket")) == Set(drawn.values).union(["open"]))
    }

    @Test(arguments: Way.allCases)
    func `a way out of a link ticket leads to the state that is drawn`(way: Way) async throws {
        let state = try #require(try Self.drawn(under: "Link ticket")[way])
        try await ProviderEventFixture.run { fixture in
            let people = fixture.people
            let member = try await people.signUp(.google("member"))
            let token = try people.apple("kim")
            let ticket = try await people.ticket(.apple, token)
            #expect(try await linkState(people) == "open")
            people.clock.advance(by: 1)
            switch way {
            case .create: _ = try await people.create(ticket)
            case .bind: _ = try await people.bind(ticket, member.session.credential)
            case .cancel: try await people.service.tickets.cancel(linkTicket: ticket.linkTicket, by: people.call)
            case .event: try await fixture.deliver(.apple, fixture.apple("consent-revoked", id: "e1"))
            case .time: people.clock.advance(by: 599)
            case .newerOnes: for _ in 1...5 { _ = try await people.ticket(.apple, token) }
            }
            #expect(try await linkState(people) == state)
            try await expectFailure("linkTicketExpired") { try await people.create(ticket) }
        }
    }

    /// The state of the oldest ticket, by its row and, where the row is the same, by what was recorded.
    private func linkState(_ people: SignInFixture) async throws -> String {
        let now = people.clock.now()
        let rows = try await people.database.query(
            """
            SELECT t.consumed_at IS NOT NULL, t.expires_at <= \(now)
            FROM link_tickets t
            WHERE t.created_at = \(Timestamp(seconds: SignInFixture.start)) AND t.subject = 'kim'
            """, as: Bool.self, Bool.self)
        // A cancelled one is deleted, and the oldest of six if nothing came with its code.
        guard let (isConsumed, isOver) = rows.first else {
            return try await people.count("audit_events WHERE type = 'link_cancelled'") == 1 ? "cancelled" : "expired"
        }
        guard isConsumed else { return isOver ? "expired" : "open" }
        #expect(!isOver)
        return try await people.count("identities WHERE subject = 'kim'") == 1 ? "spent" : "ended"
    }

    // MARK: The ticket of a mailbox

    @Test func `the drawing of a mailbox ticket has each way out`() throws {
        #expect(try Set(Self.drawn(under: "Mailbox ticket").keys) == [.create, .bind, .cancel, .time])
    }

    @Test(arguments: [Way.create, .bind, .cancel, .time])
    func `a way out of a mailbox ticket leads to the state that is drawn`(way: Way) async throws {
        let state = try #require(try Self.drawn(under: "Mailbox ticket")[way])
        try await SignInFixture.withMail { people in
            _ = try await people.formerReader()
            let ticket = try await people.ownersAnswer().ticket
            #expect(try await mailboxState(people) == "open")
            switch way {
            case .create: _ = try await people.create(ticket)
            case .bind: _ = try await people.bind(ticket, .ticket)
            case .cancel: try await people.service.tickets.cancel(linkTicket: ticket.linkTicket, by: people.call)
            case .time, .event, .newerOnes: people.clock.advance(by: 600)
            }
            #expect(try await mailboxState(people) == state)
            try await expectFailure("linkTicketExpired") { try await people.create(ticket) }
        }
    }

    private func mailboxState(_ people: SignInFixture) async throws -> String {
        let isOver = try await people.count("mailbox_tickets WHERE expires_at <= \(people.clock.now())") == 1
        if try await people.count("mailbox_tickets") == 1 { return isOver ? "expired" : "open" }
        return try await people.count("audit_events WHERE type = 'link_cancelled'") == 1 ? "cancelled" : "spent"
    }
}
