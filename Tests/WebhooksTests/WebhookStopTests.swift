import Accounts
import Postgres
import Storage
import Synchronization
import TestSupport
import Testing

@testable import Webhooks

/// What stops an endpoint where nothing succeeds.
@Suite(.timeLimit(.minutes(3))) struct WebhookStopTests {
    /// Has an event given up; then nothing happens for six days.
    private static func giveUp(_ id: AccountID, in world: WebhookWorld) async throws {
        try await world.happen(to: [id])
        _ = try await world.record { $0.parkedAccounts == 1 }
        world.clock.advance(by: 10)
        _ = try await world.record { $0.failures == 1 && $0.parkedAccounts == 0 }
        world.clock.advance(by: 6 * 86_400)
    }

    @Test func `five days of nothing but failures stop it, a success between begins the count again`() async throws {
        let ids = WebhookWorld.ids(4)
        let fails = Atomic(true)
        try await WebhookWorld.run(
            schedule: WebhookSchedule(steps: [5]),
            answering: .init { _, _ in [.respond(fails.load(ordering: .relaxed) ? 500 : 200)] }
        ) { world in
            try await world.pushing {
                try await world.happen(to: [ids[0]])
                _ = try await world.record { $0.parkedAccounts == 1 }
                world.clock.advance(by: 4 * 86_400)
                _ = try await world.record { $0.failures == 1 }
                fails.store(false, ordering: .relaxed)
                try await world.happen(to: [ids[1]])
                _ = try await world.record { $0.lastSuccessAt != nil }
                fails.store(true, ordering: .relaxed)
                world.clock.advance(by: 4 * 86_400)
                try await world.happen(to: [ids[2]])
                let active = try await world.record { $0.parkedAccounts == 1 }
                #expect(active.status == .active)
                // Eight days after the first failure, of a retry.
                world.clock.advance(by: 10)
                #expect(try await world.record { $0.failures == 2 }.status == .active)
                try await world.happen(to: [ids[3]])
                _ = try await world.record { $0.parkedAccounts == 1 }
                world.clock.advance(by: 5 * 86_400)
                #expect(try await world.record { $0.status == .stopped }.reason == "failing")
            }
        }
    }

    @Test func `days without an event count for nothing until one has failed twice`() async throws {
        let ids = WebhookWorld.ids(2)
        let isDown = Atomic(true)
        try await WebhookWorld.run(
            schedule: WebhookSchedule(steps: [5]),
            answering: .init { _, _ in [.respond(isDown.load(ordering: .relaxed) ? 503 : 200)] }
        ) { world in
            try await world.pushing {
                try await Self.giveUp(ids[0], in: world)
                try await world.happen(to: [ids[1]])
                #expect(try await world.record { $0.parkedAccounts == 1 }.status == .active)
                isDown.store(false, ordering: .relaxed)
                world.clock.advance(by: 10)
                let record = try await world.record { $0.lastSuccessAt != nil && $0.parkedAccounts == 0 }
                #expect(record.status == .active && record.failures == 1)
            }
        }
    }

    @Test func `at a resumption the five days begin again, also of an active endpoint`() async throws {
        let ids = WebhookWorld.ids(2)
        try await WebhookWorld.run(
            schedule: WebhookSchedule(steps: [5]), answering: .init { _, _ in [.respond(503)] }
        ) { world in
            try await world.pushing {
                try await Self.giveUp(ids[0], in: world)
                // The second one finds nothing to do.
                for _ in 1...2 { try await world.store.set(.active, of: "crm", reason: "a test", by: world.call) }
                try await world.happen(to: [ids[1]])
                _ = try await world.record { $0.parkedAccounts == 1 }
                world.clock.advance(by: 10)
                #expect(try await world.record { $0.failures == 2 }.status == .active)
            }
            let recorded = try await world.database.query(
                "SELECT reason FROM audit_events WHERE type = 'webhook_resumed'", as: String.self)
            #expect(recorded == ["crm a test"])
        }
    }
}
