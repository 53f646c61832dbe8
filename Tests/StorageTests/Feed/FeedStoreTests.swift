import Accounts
import Postgres
import TestSupport
import Testing

@testable import Storage

@Suite(.fixture(FeedWorld.self)) struct FeedStoreTests {
    var world: FeedWorld { .current }

    @Test func `a change that is rolled back leaves no event, one that commits leaves all of its own`() async throws {
        struct Refused: Error {}
        let id = AccountID(now: FeedWorld.start)
        await #expect(throws: Refused.self) {
            try await world.database.change(by: world.call()) { change in
                change.announce(.accountEnabled(by: .admin), of: id)
                throw Refused()
            }
        }
        #expect(try await world.feed.stamp() == 0)
        try await world.database.change(by: world.call(by: .administrator)) { change in
            change.announce(.accountDisabled(by: .admin), of: id)
            change.announce(.accountEnabled(by: .admin), of: id)
        }
        #expect(
            try await world.story(of: id) == [#"account.disabled {"by":"admin"}"#, #"account.enabled {"by":"admin"}"#])
    }

    @Test
    func `an open transaction delays its own events alone, and a late commit is behind what was read`() async throws {
        let (early, late) = (AccountID(now: FeedWorld.start), AccountID(now: FeedWorld.start))
        let gate = AsyncStream.makeStream(of: Void.self)
        let begun = AsyncStream.makeStream(of: Void.self)
        async let slow: Void = world.database.transaction { transaction in
            // It has its number in the order of arrival, and a transaction id, before the others.
            let events = AnnouncedEvents()
            events.add(AccountEvent(.accountEnabled(by: .admin), of: late))
            _ = try await events.write(at: FeedWorld.start, in: transaction)
            begun.continuation.yield()
            for await _ in gate.stream { break }
        }
        for await _ in begun.stream { break }
        try await world.announce(early)
        try await world.announce(early)
        #expect(try await world.feed.stamp() == 2)
        let first = try await world.read()
        #expect(first.map(\.accountID) == [early, early])
        gate.continuation.yield()
        try await slow
        #expect(try await world.feed.stamp() == 1)
        let position = try #require(first.last?.position)
        #expect(try await world.read(after: position).map(\.accountID) == [late])
    }

    @Test func `writers and stampers at once: each event once, each account in order, nothing before what was read`()
        async throws
    {
        let ids = (0..<5).map { _ in AccountID(now: FeedWorld.start) }
        let (writers, each) = (6, 25)
        let total = writers * each
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    for number in 0..<each {
                        try await world.database.change(by: world.call()) { change in
                            // Two accounts, named in either order.
                            change.announce(.accountEnabled(by: .admin), of: ids[(writer + number) % ids.count])
                            change.announce(.accountEnabled(by: .admin), of: ids[writer % ids.count])
                        }
                    }
                }
            }
            for _ in 0..<2 {
                group.addTask {
                    var (seen, position) = (0, FeedPosition.beginning)
                    while seen < total * 2 {
                        _ = try await world.feed.stamp(limit: 7)
                        let page = try #require(try await world.feed.page(after: position, of: [], limit: 1000))
                        #expect(page.events.allSatisfy { $0.position > position })
                        (seen, position) = (seen + page.events.count, page.next)
                        try await pollingPause()
                    }
                }
            }
            try await group.waitForAll()
        }
        let events = try await world.read(limit: 17)
        #expect(events.count == total * 2)
        #expect(Set(events.map(\.id)).count == total * 2)
        for id in ids {
            let sequences = events.filter { $0.accountID == id }.map(\.sequence)
            #expect(sequences == Array(1...Int64(sequences.count)))
        }
    }

    @Test func `a page of some types goes past the others, and says whether there is more`() async throws {
        let id = AccountID(now: FeedWorld.start)
        for _ in 0..<3 { try await world.announce(id) }
        try await world.database.change(by: world.call()) { change in
            change.announce(.accountDisabled(by: .admin), of: id)
        }
        try await world.announce(id)
        _ = try await world.feed.stamp()
        let disabled = try #require(try await world.feed.page(after: .beginning, of: [.accountDisabled], limit: 1))
        #expect(disabled.events.map(\.sequence) == [4])
        #expect(!disabled.hasMore)
        let all = try await world.read()
        #expect(disabled.next == all.last?.position)
        let two = try #require(try await world.feed.page(after: .beginning, of: [.accountEnabled], limit: 2))
        #expect(two.events.map(\.sequence) == [1, 2])
        #expect(two.hasMore)
        #expect(two.next == all[1].position)
        let none = try #require(try await world.feed.page(after: .beginning, of: [.accountMerged], limit: 2))
        #expect(none.events.isEmpty && none.next == all.last?.position && !none.hasMore)
    }

    @Test func `a day that is over is dropped as a whole, and who was before its end is not led past it`() async throws
    {
        let id = AccountID(now: FeedWorld.start)
        try await world.announce(id)
        _ = try await world.feed.stamp()
        // As if it had been stamped in a day of 2026.
        let day: Int64 = 1_767_225_600_000_000
        try await world.database.execute(
            """
            CREATE TABLE account_events_2026_01_01 PARTITION OF account_events
            FOR VALUES FROM (1767225600000000) TO (1767312000000000)
            """)
        try await world.database.execute("UPDATE account_events SET position = \(day + 5)")
        try await world.announce(id)
        _ = try await world.feed.stamp()
        let events = try await world.read()
        #expect(events.map(\.sequence) == [1, 2])
        #expect(try await world.feed.dropDays(keeping: 1) == ["account_events_2026_01_01"])
        #expect(try await world.feed.page(after: .beginning, of: [], limit: 10) == nil)
        #expect(try await world.feed.page(after: FeedPosition(day + 4), of: [], limit: 10) == nil)
        #expect(try await world.read(after: FeedPosition(day + 5)).map(\.sequence) == [2])
        // Nothing that followed the last event of it is gone.
        #expect(try await world.feed.position(of: events[0].id) == FeedPosition(day + 5))
        #expect(try await world.feed.position(of: events[1].id) == events[1].position)
        #expect(try await world.feed.dropDays(keeping: 1).isEmpty)
        try await world.feed.makeDays()
    }

    @Test func `a process leaves a day to the one that is dropping it`() async throws {
        try await world.database.execute(
            """
            CREATE TABLE account_events_2026_01_01 PARTITION OF account_events
            FOR VALUES FROM (1767225600000000) TO (1767312000000000)
            """)
        let feed = world.feed
        try await world.database.transaction { transaction in
            _ = try await transaction.query(
                "SELECT pg_advisory_xact_lock(hashtextextended('countersign feed days', 0))::text", as: String?.self)
            #expect(try await feed.dropDays(keeping: 1).isEmpty)
        }
        #expect(try await feed.dropDays(keeping: 1) == ["account_events_2026_01_01"])
    }

    @Test
    func `the deletion of an account says it all; numbers go on behind it, and are forgotten when nothing can come`()
        async throws
    {
        let id = try await world.newAccount()
        let identity = IdentityID(now: FeedWorld.start)
        try await world.database.change(by: world.call(by: .administrator)) { change in
            change.announce(.identityUnlinked(identity, .apple, by: .admin), of: id)
            change.announce(.sessionRevoked([], count: 1, by: .admin), of: id)
            _ = try await change.execute("DELETE FROM accounts WHERE account_id = \(id)")
            change.announce(.accountDeleted(by: .admin), of: id, externalID: ExternalID("crm-7"))
        }
        try await world.database.change(by: world.call(by: .service)) { change in
            change.announce(.authorizationRevoked(identity, .apple), of: id)
        }
        #expect(
            try await world.story(of: id) == [
                #"account.created {"by":"create"}"#, #"account.deleted {"by":"admin"}"#,
                #"authorization.revoked {"identityId":"\#(identity)","provider":"apple"}"#,
            ])
        #expect(try await world.read().map(\.externalID) == [nil, "crm-7", nil])
        #expect(try await world.feed.deleteSequences(endedBefore: FeedWorld.start, limit: 10) == 0)
        let later = FeedWorld.start.advanced(bySeconds: 1)
        try await world.database.execute(
            """
            INSERT INTO outbox (message_id, kind, provider, realm, subject, account_id, next_attempt_at, created_at)
            VALUES (\(RevocationID(now: later)), 'revocation', 'apple', 'main', 's', \(id), \(later), \(later))
            """)
        #expect(try await world.feed.deleteSequences(endedBefore: later, limit: 10) == 0)
        try await world.database.execute("DELETE FROM outbox")
        #expect(try await world.feed.deleteSequences(endedBefore: later, limit: 10) == 1)
    }

    @Test func `all events of one change have the id of the imported account that they are about`() async throws {
        let (id, other) = (try await world.newAccount(), AccountID(now: FeedWorld.start))
        let identity = IdentityID(now: FeedWorld.start)
        try await world.database.change(by: world.call(by: .administrator)) { change in
            change.announce(.authorizationRevoked(identity, .apple), of: id)
            change.announce(.accountEnabled(by: .admin), of: other)
            _ = try await change.execute("DELETE FROM accounts WHERE account_id = \(id)")
            change.announce(.accountDeleted(by: .admin), of: id, externalID: ExternalID("crm-7"))
        }
        _ = try await world.feed.stamp()
        let events = try await world.read().filter { $0.type != "account.created" }
        #expect(
            events.map { "\($0.type) \($0.externalID ?? "-")" } == [
                "authorization.revoked crm-7", "account.enabled -", "account.deleted crm-7",
            ])
    }

    @Test func `the sessions that one cause ends are one event, with the first hundred ids`() async throws {
        let id = AccountID(now: FeedWorld.start)
        let ids = (0..<60).map { _ in SessionID(now: FeedWorld.start) }
        try await world.database.change(by: world.call()) { change in
            change.announce(.sessionRevoked(ids, count: 60, by: .person), of: id)
            change.announce(.sessionRevoked(ids, count: 60, by: .person), of: id)
            change.announce(.sessionRevoked([ids[0]], count: 1, by: .policy), of: id)
        }
        _ = try await world.feed.stamp()
        let events = try await world.read()
        #expect(events.map { $0.members.contains(#""count":120"#) } == [true, false])
        #expect(events.map { $0.members.split(separator: "-").count > 400 } == [true, false])
    }
}
