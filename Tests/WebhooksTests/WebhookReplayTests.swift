import Accounts
import Postgres
import Storage
import Synchronization
import TestSupport
import Testing

@testable import Webhooks

@Suite(.timeLimit(.minutes(3))) struct WebhookReplayTests {
    @Test func `an event that was given up is sent again by itself, also when its day is gone`() async throws {
        let id = AccountID(now: Timestamp(seconds: WebhookWorld.start))
        let isDown = Atomic(true)
        try await WebhookWorld.run(
            schedule: WebhookSchedule(steps: []),
            answering: .init { _, _ in [.respond(isDown.load(ordering: .relaxed) ? 500 : 204)] }
        ) { world in
            func replay(_ event: FeedEvent, _ types: Set<AccountEvent.Kind>?) async throws -> Int? {
                try await world.store.replay(event, to: "crm", types: types, reason: "a test", by: world.call)
            }
            try await world.happen(to: [id, id])
            // As if that had been on a day of 2026.
            try await world.database.execute(
                """
                CREATE TABLE account_events_2026_01_01 PARTITION OF account_events
                FOR VALUES FROM (1767225600000000) TO (1767312000000000)
                """)
            try await world.database.execute("UPDATE account_events SET position = 1767225600000000 + sequence")
            let event = try #require(try await world.feed.page(after: .beginning, of: [], limit: 1)?.events.first)
            try await world.pushing { _ = try await world.record { $0.failures == 2 } }
            isDown.store(false, ordering: .relaxed)
            #expect(try await world.feed.dropDays(keeping: 1) == ["account_events_2026_01_01"])

            let kept = try #require(try await world.store.event(event.id, of: "crm"))
            #expect(try await world.store.event(event.id, of: "other") == nil)
            #expect(try await replay(kept, [.accountMerged]) == 0)
            #expect(try await replay(kept, nil) == 1)
            // The other one is of no replay.
            let later = world.call.now.advanced(bySeconds: 1)
            #expect(try await world.store.deleteFailures(before: later, limit: 10) == 1)
            try await world.pushing {
                while try await world.store.streams(of: "crm").count > 1 { try await pollingPause() }
            }
            let requests = world.receiver.history.requests
            #expect(requests.compactMap(WebhookDelivery.init).map(\.sequence) == [1, 2, 1])
            #expect(requests.last?.body == event.body)
        }
    }

    @Test func `an event that is replayed by itself is tried again, and given up once more`() async throws {
        let id = AccountID(now: Timestamp(seconds: WebhookWorld.start))
        let isDown = Atomic(false)
        try await WebhookWorld.run(
            schedule: WebhookSchedule(steps: [10]),
            answering: .init { _, _ in [.respond(isDown.load(ordering: .relaxed) ? 500 : 204)] }
        ) { world in
            try await world.pushing {
                try await world.happen(to: [id, id])
                _ = await world.deliveries(2)
                isDown.store(true, ordering: .relaxed)
                let event = try #require(try await world.feed.page(after: .beginning, of: [], limit: 1)?.events.first)
                let count = try await world.store.replay(
                    event, to: "crm", types: world.types, reason: "a test", by: world.call)
                #expect(count == 1)
                while try await world.database.query(
                    "SELECT attempts FROM webhook_parked WHERE next_attempt_at > \(world.clock.now())", as: Int.self)
                    != [1]
                { try await pollingPause() }
                world.clock.advance(by: 20)
                _ = try await world.record { $0.failures == 1 }
                while try await world.store.streams(of: "crm").count > 1 { try await pollingPause() }
            }
            #expect(world.receiver.history.requests.compactMap(WebhookDelivery.init).map(\.sequence) == [1, 2, 1, 1])
        }
    }

    @Test func `a replay of no event takes none of the places, and is not recorded`() async throws {
        try await WebhookWorld.run { world in
            try await world.happen(to: [AccountID(now: Timestamp(seconds: WebhookWorld.start))])
            let event = try #require(try await world.feed.page(after: .beginning, of: [], limit: 1)?.events.first)
            for _ in 0...WebhookStream.maximumReplays {
                let stretch = try await world.store.replay(
                    to: "crm", after: event.position, until: event.position, types: world.types, reason: "a test",
                    by: world.call)
                let single = try await world.store.replay(
                    event, to: "crm", types: [.accountMerged], reason: "a test", by: world.call)
                #expect(stretch == 0 && single == 0)
            }
            #expect(try await world.store.streams(of: "crm").count == 1)
            let recorded = try await world.database.query(
                "SELECT count(*) FROM audit_events WHERE type LIKE 'webhook%'", as: Int.self)
            #expect(recorded == [0])
        }
    }

    @Test func `nothing is replayed to an endpoint that was not seen`() async throws {
        try await WebhookWorld.run { world in
            try await world.happen(to: [AccountID(now: Timestamp(seconds: WebhookWorld.start))])
            let event = try #require(try await world.feed.page(after: .beginning, of: [], limit: 1)?.events.first)
            await #expect(throws: WebhookStore.Unseen.self) {
                try await world.store.replay(
                    to: "new", after: .beginning, until: event.position, types: world.types, reason: "a test",
                    by: world.call)
            }
            // Also where there is nothing to replay.
            await #expect(throws: WebhookStore.Unseen.self) {
                try await world.store.replay(
                    to: "new", after: event.position, until: event.position, types: world.types, reason: "a test",
                    by: world.call)
            }
            for types in [world.types, [.accountMerged]] as [Set<AccountEvent.Kind>] {
                await #expect(throws: WebhookStore.Unseen.self) {
                    try await world.store.replay(event, to: "new", types: types, reason: "a test", by: world.call)
                }
            }
            let recorded = try await world.database.query(
                "SELECT count(*) FROM audit_events WHERE type LIKE 'webhook%'", as: Int.self)
            #expect(recorded == [0])
        }
    }
}
