import Accounts
import Curl
import Foundation
import JSON
import Postgres
import Primitives
import Storage
import Synchronization
import TestSupport
import Testing

@testable import Webhooks

/// The end of a pusher that is asked for: by a pause, a signal, or a configuration that has the endpoint no more.
@Suite(.timeLimit(.minutes(3))) struct WebhookEndTests {
    private static func id() -> AccountID { AccountID(now: Timestamp(seconds: WebhookWorld.start)) }

    /// Holds one event of an account until it is released.
    private static func holding(_ sequence: Int64, of account: AccountID) -> WebhookWorld.Answer {
        WebhookWorld.Answer { event, _ in
            let isHeld =
                event["data"]?["accountId"]?.string == account.description
                && event["data"]?["sequence"]?.integer == sequence
            return (isHeld ? [.hold] : []) + [.respond(204)]
        }
    }

    /// The last event that is read ahead, and one before it.
    @Test(arguments: [17, 20] as [Int64], [false, true])
    func `of an account with many events each comes once`(held: Int64, isRemoved: Bool) async throws {
        let busy = Self.id()
        try await WebhookWorld.run(answering: Self.holding(held, of: busy)) { world in
            try await world.happen(to: Array(repeating: busy, count: 40))
            try await world.pushUntil(held, of: busy, isRemoved: isRemoved)
            try await world.pushing { _ = try await world.record { $0.oldest == nil } }
            let deliveries = world.receiver.history.requests.compactMap(WebhookDelivery.init)
            #expect(deliveries.map(\.sequence) == Array(1...40))
        }
    }

    @Test func `what was delivered behind another account's next event comes no second time`() async throws {
        let (first, second, third) = (Self.id(), Self.id(), Self.id())
        try await WebhookWorld.run(answering: Self.holding(1, of: second)) { world in
            // One at a time: the second one of the first account waits behind all others.
            try await world.happen(to: [first, first, second, third])
            try await world.pushUntil(1, of: second, isRemoved: false)
            #expect(world.receiver.history.requests.count == 2)
            try await world.pushing { _ = try await world.record { $0.oldest == nil } }
            let deliveries = world.receiver.history.requests.compactMap(WebhookDelivery.init)
            #expect(deliveries.count == 4 && Set(deliveries.map(\.id)).count == 4)
        }
    }

    @Test func `a pause in the middle of an account's events has none of them come again`() async throws {
        let busy = Self.id()
        try await WebhookWorld.run(answering: Self.holding(20, of: busy)) { world in
            func leaseEnd() async throws -> [Timestamp?] {
                try await world.database.query("SELECT leased_until FROM webhook_endpoints", as: Timestamp?.self)
            }
            try await world.happen(to: Array(repeating: busy, count: 40))
            try await world.pushing {
                _ = await world.deliveries(20)
                try await world.store.set(.paused, of: "crm", reason: nil, by: world.call)
                let before = try await leaseEnd()
                // The process sees it when it renews its lease.
                while try await leaseEnd() == before { try await pollingPause() }
                world.receiver.release()
                try await world.store.set(.active, of: "crm", reason: nil, by: world.call)
                _ = try await world.record { $0.oldest == nil }
            }
            let deliveries = world.receiver.history.requests.compactMap(WebhookDelivery.init)
            #expect(deliveries.map(\.sequence) == Array(1...40))
        }
    }
}

extension WebhookWorld {
    /// Pushes one event at a time, and asks for the end while the receiver holds one.
    ///
    /// - Parameter isRemoved: whether the configuration has the endpoint no more then.
    fileprivate func pushUntil(_ sequence: Int64, of account: AccountID, isRemoved: Bool) async throws {
        let lease = WebhookLease(endpoint: "crm", holder: UUID())
        #expect(try await store.lease("crm", by: lease.holder, seconds: Webhooks.leaseSeconds) == .active)
        let stream = try #require(try await store.streams(of: "crm").first)
        let targets = try #require(WebhookTargets(allowing: ["127.0.0.0/8"]))
        let endpoint = try endpoint
        let isGone = Atomic(false)
        let configured: @Sendable () -> WebhookEndpoint? = { isGone.load(ordering: .relaxed) ? nil : endpoint }
        try await withFetcher { fetcher in
            let around = WebhookPusher.Surroundings(
                endpoint: configured, store: store, feed: feed,
                sender: WebhookSender(fetcher: fetcher, targets: targets, clock: clock), schedule: { .standard },
                lease: lease, places: WebhookPlaces { 1 }, mayBegin: { true }, metrics: WebhookMetrics(), clock: clock,
                logger: .silent)
            let pusher = WebhookPusher(stream, around, progress: AsyncSignal())
            let pushing = Task { try await pusher.run() }
            await receiver.history { history in
                history.requests.compactMap(WebhookDelivery.init).contains {
                    $0.account == account.description && $0.sequence == sequence
                }
            }
            isGone.store(isRemoved, ordering: .relaxed)
            await pusher.stop()
            receiver.release()
            try await pushing.value
        }
        try await store.release("crm", by: lease.holder)
    }
}
