import Accounts
import KeyRing
import Postgres
import Storage
import Synchronization
import TestSupport
import Testing

@testable import Webhooks

/// What is kept of the feed, and of what webhooks need of it.
@Suite(.timeLimit(.minutes(3))) struct FeedKeeperTests {
    private func keeper(_ world: WebhookWorld) throws -> FeedKeeper {
        let keyRing = try KeyRing(parsing: "k1 BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\n")
        return FeedKeeper(database: ServiceDatabase(world.database, keyRing: keyRing), logger: .silent)
    }

    /// Moves all events to a day so long ago, where the feed ends then, and returns the name of its table.
    private func move(_ world: WebhookWorld, daysAgo days: Int) async throws -> String {
        let (day, start) = try await world.database.query(
            """
            SELECT 'account_events_' || to_char(d, 'YYYY_MM_DD'), (extract(epoch FROM d) * 1000000)::bigint
            FROM (SELECT (now() AT TIME ZONE 'UTC')::date - \(Int32(days)) AS d) days
            """, as: String.self, Int64.self)[0]
        let end = start + 86_400_000_000
        try await world.database.execute(
            """
            CREATE TABLE \(unsafeSQL: day) PARTITION OF account_events
            FOR VALUES FROM (\(unsafeSQL: "\(start)")) TO (\(unsafeSQL: "\(end)"))
            """)
        try await world.database.execute("UPDATE account_events SET position = \(start) + sequence")
        try await world.database.execute(
            "UPDATE feed_head SET last_position = (SELECT max(position) FROM account_events)")
        return day
    }

    @Test func `a day is dropped though an event of it was given up, which is sent again by its id`() async throws {
        let id = AccountID(now: Timestamp(seconds: WebhookWorld.start))
        let isDown = Atomic(true)
        try await WebhookWorld.run(
            schedule: WebhookSchedule(steps: []),
            answering: .init { _, _ in [.respond(isDown.load(ordering: .relaxed) ? 500 : 204)] }
        ) { world in
            let worker = try keeper(world)
            world.clock.set(
                to: try await world.database.query("SELECT clock_timestamp()", as: Timestamp.self)[0].seconds)
            try await world.happen(to: [id, id])
            let day = try await move(world, daysAgo: 10)
            let event = try #require(try await world.feed.page(after: .beginning, of: [], limit: 1)?.events.first)
            // Nobody has pushed yet, and the events are kept for that.
            try await worker.round(keeping: 3)
            #expect(try await world.feed.position(of: event.id) == event.position)

            try await world.pushing { _ = try await world.record { $0.failures == 2 } }
            isDown.store(false, ordering: .relaxed)
            try await worker.round(keeping: 3)
            let left = try await world.database.query(
                "SELECT relname::text FROM pg_class WHERE relname = \(day)", as: String.self)
            #expect(left.isEmpty)
            let kept = try #require(try await world.store.event(event.id, of: "crm"))
            #expect(try await world.store.replay(kept, to: "crm", types: nil, reason: "a test", by: world.call) == 1)
            try await world.pushing {
                while try await world.store.streams(of: "crm").count > 1 { try await pollingPause() }
            }
            let requests = world.receiver.history.requests
            #expect(requests.compactMap(WebhookDelivery.init).map(\.sequence) == [1, 2, 1])
            #expect(requests.last?.body == event.body)
        }
    }

    @Test func `what was given up goes after thirty days of the database's`() async throws {
        let id = AccountID(now: Timestamp(seconds: WebhookWorld.start))
        try await WebhookWorld.run(
            schedule: WebhookSchedule(steps: []), answering: .init { _, _ in [.respond(500)] }
        ) { world in
            try await world.happen(to: [id, id])
            try await world.pushing { _ = try await world.record { $0.failures == 2 } }
            try await world.database.execute(
                """
                UPDATE webhook_failures
                SET given_up_at = clock_timestamp() - interval '30 days'
                    + CASE sequence WHEN 1 THEN -interval '1 minute' ELSE interval '1 hour' END
                """)
            try await keeper(world).round(keeping: 30)
            let left = try await world.database.query("SELECT sequence FROM webhook_failures", as: Int64.self)
            #expect(left == [2])
        }
    }

    @Test func `a process whose clock is ahead forgets no endpoint of others`() async throws {
        let week: Int64 = 7 * 86_400
        try await WebhookWorld.run { world in
            func names() async throws -> [String] {
                try await world.database.query("SELECT name FROM webhook_endpoints ORDER BY name", as: String.self)
            }
            try await world.store.note(["erp"], forgettingAfter: week, by: world.call)
            world.clock.advance(by: 100 * 86_400)
            try await world.store.note(["crm"], forgettingAfter: week, by: world.call)
            #expect(try await names() == ["crm", "erp"])
            try await world.database.execute(
                "UPDATE webhook_endpoints SET seen_at = seen_at - interval '8 days' WHERE name = 'erp'")
            try await world.store.note(["crm"], forgettingAfter: week, by: world.call)
            #expect(try await names() == ["crm"])
        }
    }
}
