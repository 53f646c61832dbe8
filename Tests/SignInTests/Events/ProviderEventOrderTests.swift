import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// Events that come late, twice, in any order, and several at a time.
@Suite(.fixture(ProviderEventFixture.self)) struct ProviderEventOrderTests {
    var fixture: ProviderEventFixture { .current }

    // MARK: An event's time

    @Test func `an event whose time is ahead of its token's has that one`() async throws {
        let apple = try await fixture.account(.apple)
        fixture.advance(by: 10)
        // As if milliseconds were sent in another unit.
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", at: 1_000_000_000, id: "e1"))
        try await fixture.deliver(.apple, fixture.apple("email-disabled", at: 1_000_000_000, id: "e2"))
        #expect(try await !fixture.isOpen(apple))
        fixture.advance(by: 1)
        // Who has consented once more is let in, and what happens later counts.
        #expect(try await fixture.session(.apple).account.id == apple.account.id)
        try await fixture.deliver(.apple, fixture.apple("email-enabled", id: "e3"))
        #expect(try await fixture.statuses() == ["e1": "done", "e2": "done", "e3": "done"])
    }

    // MARK: What is newer than an event

    @Test(
        .fixture { try await ProviderEventFixture.run(accountDeleted: .deleteAccount, $0) },
        arguments: ["consent-revoked", "account-deleted"])
    func `an event that is older than the last sign-in changes nothing`(type: String) async throws {
        let apple = try await fixture.account(.apple)
        try await fixture.keep("apple-token", .apple)
        let google = try await fixture.bind(.google, to: apple)
        fixture.advance(by: 20)
        let back = try await fixture.session(.apple)
        try await fixture.deliver(.apple, fixture.apple(type, at: 10, id: "e1"))
        #expect(try await fixture.statuses() == ["e1": "outdated"])
        for session in [apple, google, back] { #expect(try await fixture.isOpen(session)) }
        #expect(try await fixture.identity(apple)?.authorization == .active)
        #expect(try await fixture.account(apple)?.identities.count == 2)
        #expect(try await fixture.count("provider_grants") == 1)
        #expect(try await fixture.audited() == [])
    }

    @Test func `an event that is older than the last exchanged code changes nothing`() async throws {
        let apple = try await fixture.account(.apple)
        fixture.advance(by: 20)
        try await fixture.keep("apple-token", .apple)
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", at: 10, id: "e1"))
        #expect(try await fixture.statuses() == ["e1": "outdated"])
        #expect(try await fixture.isOpen(apple))
        #expect(try await fixture.count("provider_grants") == 1)
    }

    @Test func `an event that is older than the link of somebody who came back changes nothing`() async throws {
        let google = try await fixture.account(.google)
        _ = try await fixture.bind(.apple, to: google)
        fixture.advance(by: 10)
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", id: "e1"))
        #expect(try await fixture.account(google)?.identities.count == 1)
        fixture.advance(by: 10)
        let again = try await fixture.bind(.apple, to: google)
        // The same withdrawal, in another token.
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", at: 10, id: "e2"))
        #expect(try await fixture.statuses() == ["e1": "done", "e2": "outdated"])
        #expect(try await fixture.isOpen(again))
        #expect(try await fixture.account(google)?.identities.count == 2)
    }

    /// Linking in a session leaves neither a session of the identity nor, without a code, a grant.
    @Test func `an event that is older than a link without a session changes nothing`() async throws {
        let google = try await fixture.account(.google)
        fixture.advance(by: 20)
        try await fixture.link(.apple, .init(token: try fixture.token(.apple)), to: google)
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", at: 10, id: "e1"))
        #expect(try await fixture.statuses() == ["e1": "outdated"])
        #expect(try await fixture.account(google)?.identities.count == 2)
    }

    @Test
    func `an event that is older than the last sign-in changes nothing when that session is long swept`() async throws {
        let google = try await fixture.account(.google)
        _ = try await fixture.bind(.apple, to: google)
        fixture.advance(by: 3_700)
        _ = try await fixture.session(.apple)
        _ = try await fixture.database.execute("DELETE FROM sessions WHERE 'apple' = ANY (amr)")
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", at: 10, id: "e1"))
        #expect(try await fixture.statuses() == ["e1": "outdated"])
        #expect(try await fixture.account(google)?.identities.count == 2)
    }

    @Test func `an event of the same moment as the sign-in counts`() async throws {
        let apple = try await fixture.account(.apple)
        try await fixture.keep("apple-token", .apple)
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", at: 0, id: "e1"))
        #expect(try await !fixture.isOpen(apple))
        #expect(try await fixture.count("provider_grants") == 0)
    }

    // MARK: Order

    /// The orders in which three things can arrive.
    private static let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]

    @Test(arguments: orders, [true, false])
    func `in whatever order events come, the latest decides`(order: [Int], oneByOne: Bool) async throws {
        let google = try await fixture.account(.google)
        let apple = try await fixture.bind(.apple, to: google)
        fixture.advance(by: 100)
        let relay = [("email-disabled", 10), ("email-enabled", 20), ("email-disabled", 30)]
        let blocking = [("account-enabled", 10), ("account-disabled", 20), ("account-enabled", 30)]
        for index in order {
            try await fixture.events.take(
                fixture.apple(relay[index].0, at: Int64(relay[index].1), id: "a\(index)"), from: .apple)
            try await fixture.events.take(
                fixture.google(blocking[index].0, at: Int64(blocking[index].1), id: "g\(index)"), from: .google)
            if oneByOne { try await fixture.processAll() }
        }
        try await fixture.processAll()
        #expect(try await fixture.identity(apple)?.isEmailDeliverable == false)
        #expect(try await fixture.isOpen(try await fixture.session(.google)))
        #expect(Set(try await fixture.statuses().values).isSubset(of: ["done", "outdated"]))
        #expect(try await fixture.statuses()["a2"] == "done")
        #expect(try await fixture.statuses()["g2"] == "done")
    }

    @Test func `an event from before a new link blocks nothing, however late it comes`() async throws {
        let apple = try await fixture.bind(.apple, to: try await fixture.account(.google))
        fixture.advance(by: 100)
        try await fixture.deliver(.google, fixture.google("account-enabled", at: 50, id: "e1"))
        let google = try #require(apple.account.identities.first { $0.key.provider == .google })
        try await fixture.service.accounts.unlink(google.id, of: try await fixture.opened(apple), by: fixture.call)
        fixture.advance(by: 1)
        _ = try await fixture.bind(.google, to: apple)
        try await fixture.deliver(.google, fixture.google("account-disabled", at: 20, id: "e2"))
        #expect(try await fixture.statuses() == ["e1": "done", "e2": "outdated"])
        #expect(try await fixture.isOpen(try await fixture.session(.google)))
    }

    @Test(arguments: [true, false])
    func `a hijacking that is reported after the account is enabled again still ends sessions`(late: Bool) async throws
    {
        let google = try await fixture.account(.google)
        fixture.advance(by: 100)
        let hijacked = try fixture.google("account-disabled", [("reason", "hijacking")], at: 10, id: "e1")
        let enabled = try fixture.google("account-enabled", at: 20, id: "e2")
        for token in late ? [enabled, hijacked] : [hijacked, enabled] { try await fixture.deliver(.google, token) }
        #expect(try await !fixture.isOpen(google))
        #expect(try await fixture.statuses() == ["e1": "done", "e2": "done"])
        #expect(try await fixture.isOpen(try await fixture.session(.google)))
    }

    @Test(arguments: [true, false])
    func `a hijacking lifts no earlier block, whichever is reported first`(late: Bool) async throws {
        let google = try await fixture.account(.google)
        fixture.advance(by: 100)
        let disabled = try fixture.google("account-disabled", at: 10, id: "e1")
        let hijacked = try fixture.google("account-disabled", [("reason", "hijacking")], at: 20, id: "e2")
        for token in late ? [hijacked, disabled] : [disabled, hijacked] { try await fixture.deliver(.google, token) }
        #expect(try await !fixture.isOpen(google))
        #expect(try await fixture.statuses() == ["e1": "done", "e2": "done"])
        try await expectFailure("identityBlocked") { try await fixture.session(.google) }
    }

    @Test func `what comes together is done in the order in which it happened`() async throws {
        let apple = try await fixture.account(.apple)
        fixture.advance(by: 100)
        // Delivered in the opposite order, before the worker runs.
        for (type, time) in [("consent-revoked", 30), ("email-enabled", 20), ("email-disabled", 10)] {
            try await fixture.events.take(fixture.apple(type, at: Int64(time), id: "e\(time)"), from: .apple)
        }
        #expect(try await fixture.events.processPending() == 3)
        #expect(try await fixture.statuses() == ["e10": "done", "e20": "done", "e30": "done"])
        #expect(try await fixture.identity(apple)?.isEmailDeliverable == true)
        #expect(try await fixture.identity(apple)?.authorization == .revoked)
        let kinds = fixture.log.lines.map { $0.split(separator: "kind=")[1].split(separator: " ")[0] }
        #expect(kinds == ["email-disabled", "email-enabled", "consent-revoked"])
    }

    // MARK: Repetition

    @Test func `fifty deliveries of one event at once are one event with one effect`() async throws {
        let apple = try await fixture.account(.apple)
        let token = try fixture.apple("consent-revoked", id: "e1")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...50 { group.addTask { try await fixture.events.take(token, from: .apple) } }
            for _ in 1...4 { group.addTask { try await fixture.processAll() } }
            try await group.waitForAll()
        }
        try await fixture.processAll()
        #expect(try await fixture.count("provider_events") == 1)
        #expect(try await fixture.audited() == ["e1 authorization_revoked provider apple consent-revoked"])
        #expect(try await !fixture.isOpen(apple))
    }

    @Test func `a repetition after the effect does nothing, also to who has come back`() async throws {
        _ = try await fixture.account(.apple)
        let token = try fixture.apple("consent-revoked", id: "e1")
        try await fixture.deliver(.apple, token)
        fixture.advance(by: 10)
        let back = try await fixture.session(.apple)
        try await fixture.deliver(.apple, token, token)
        #expect(try await fixture.isOpen(back))
        #expect(try await fixture.count("provider_events") == 1)
        #expect(try await fixture.audited().count == 1)
    }

    @Test func `one id at both providers, and each event of a token, are events of their own`() async throws {
        try await fixture.deliver(.apple, fixture.apple("email-disabled", id: "e1"))
        try await fixture.deliver(.google, fixture.google("account-enabled", id: "e1"))
        #expect(try await fixture.count("provider_events") == 2)
        let person = #"{"subject":{"subject_type":"iss-sub","iss":"https://accounts.google.com","sub":"kim"}}"#
        let events = ["account-enabled", "sessions-revoked"].map { "\"\(ProviderEventFixture.risc)\($0)\":\(person)" }
        let token = try TokenMint.shared.token([
            "iss": "https://accounts.google.com", "aud": .string(SignInFixture.googleClient),
            "iat": .integer(ProviderEventFixture.start), "jti": "e2",
            "events": .raw("{\(events.joined(separator: ","))}"),
        ])
        let google = try await fixture.account(.google)
        try await fixture.deliver(.google, token, token)
        let both: SQL = "SELECT position || ' ' || status FROM provider_events WHERE jti = 'e2' ORDER BY 1"
        #expect(try await fixture.texts(both) == ["0 done", "1 done"])
        #expect(try await !fixture.isOpen(google))
    }

    @Test func `two that act at once do each event once`() async throws {
        let people = (1...20).map { "person-\($0)" }
        for person in people { _ = try await fixture.account(.apple, person) }
        fixture.advance(by: 10)
        for person in people {
            for number in 1...3 {
                let type = number == 2 ? "email-enabled" : "email-disabled"
                try await fixture.events.take(
                    fixture.apple(type, of: person, at: Int64(number), id: "\(person)-\(number)"), from: .apple)
            }
        }
        let other = try ProviderEventFixture.events(fixture.people, store: fixture.storage.providerEvents)
        try await concurrently([fixture.events, other]) { events in
            while try await events.processPending() > 0 {}
        }
        #expect(try await fixture.statuses().values.allSatisfy { $0 == "done" })
        #expect(try await fixture.audited().count == 60)
        #expect(try await fixture.count("identities WHERE email_deliverable = false") == 20)
    }

    @Test func `a state of more than a month ago does not come back when its first delivery is forgotten`() async throws
    {
        let apple = try await fixture.account(.apple)
        let disabled = try fixture.apple("email-disabled", id: "e1")
        try await fixture.deliver(.apple, disabled)
        fixture.advance(by: 1)
        try await fixture.deliver(.apple, fixture.apple("email-enabled", id: "e2"))
        fixture.advance(by: Lifetimes.providerEventRetentionSeconds + 1)
        while try await fixture.sweeper.sweep() > 0 {}
        #expect(try await fixture.count("provider_events") == 0)
        try await fixture.deliver(.apple, disabled)
        #expect(try await fixture.statuses() == ["e1": "outdated"])
        #expect(try await fixture.identity(apple)?.isEmailDeliverable == true)
    }

    // MARK: Replay

    @Test func `an event that is acted on once more does nothing more`() async throws {
        let apple = try await fixture.account(.apple)
        fixture.advance(by: 10)
        try await fixture.deliver(.apple, fixture.apple("consent-revoked", id: "e1"))
        let revoked = try await fixture.account(apple)
        try await fixture.replay("e1")
        #expect(try await fixture.statuses() == ["e1": "done"])
        #expect(try await fixture.account(apple) == revoked)

        fixture.advance(by: 10)
        let back = try await fixture.session(.apple)
        try await fixture.replay("e1")
        #expect(try await fixture.statuses() == ["e1": "outdated"])
        #expect(try await fixture.isOpen(back))
    }

    @Test func `an older state that is acted on once more does not come back`() async throws {
        let apple = try await fixture.account(.apple)
        try await fixture.deliver(.apple, fixture.apple("email-disabled", at: 0, id: "e1"))
        fixture.advance(by: 10)
        try await fixture.deliver(.apple, fixture.apple("email-enabled", id: "e2"))
        try await fixture.replay("e1")
        #expect(try await fixture.statuses() == ["e1": "outdated", "e2": "done"])
        #expect(try await fixture.identity(apple)?.isEmailDeliverable == true)
    }

    @Test func `what was never stored can't be acted on once more`() async throws {
        let event = try await fixture.storage.providerEvents.records.replay(
            ProviderEventID(now: fixture.clock.now()), recording: AuditEvent(.eventReplayed, by: .operator),
            by: .at(fixture.clock.now()))
        #expect(event == nil)
    }
}

extension ProviderEventFixture {
    fileprivate func replay(_ id: String) async throws {
        let events = try await storage.providerEvents.records.page(before: nil, limit: 10)
        let event = try #require(events.items.first { $0.tokenID == id })
        let replayed = try await storage.providerEvents.records.replay(
            event.id, recording: AuditEvent(.eventReplayed, by: .operator), by: .at(people.clock.now()))
        #expect(replayed?.isPending == true)
        try await processAll()
    }
}
