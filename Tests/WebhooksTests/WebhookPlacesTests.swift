import Accounts
import Curl
import Postgres
import Storage
import Synchronization
import TestSupport
import Testing

@testable import Webhooks

/// What is under way at once.
@Suite(.timeLimit(.minutes(3))) struct WebhookPlacesTests {
    /// Notes why requests had no answer.
    private final class NotingFetcher: Fetcher {
        private let fetcher: CurlFetcher
        private let codes = Mutex<[FetchError.Code]>([])

        init(_ fetcher: CurlFetcher) { self.fetcher = fetcher }

        var noted: [FetchError.Code] { codes.withLock(\.self) }

        func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
            do throws(FetchError) {
                return try await fetcher.fetch(request)
            } catch {
                codes.withLock { $0.append(error.code) }
                throw error
            }
        }
    }

    @Test func `an endpoint has its places, and replays have half of them`() {
        let places = WebhookPlaces { 5 }
        #expect((1...5).map { _ in places.take(forReplay: true) } == [true, true, true, false, false])
        #expect((1...3).map { _ in places.take(forReplay: false) } == [true, true, false])
        places.giveBack(forReplay: true)
        #expect(places.take(forReplay: false))
        #expect(!places.take(forReplay: true))
        places.giveBack(forReplay: false)
        #expect(places.take(forReplay: true))
        let one = WebhookPlaces { 1 }
        #expect(one.take(forReplay: true))
        #expect(!one.take(forReplay: false))
    }

    @Test func `no more is under way at an endpoint with replays than without`() async throws {
        let ids = (0..<100).map { _ in AccountID(now: Timestamp(seconds: WebhookWorld.start)) }
        // Each attempt has a connection, and none is closed before the end.
        var configuration = CurlFetcher.Configuration()
        configuration.maximumInFlight = 512
        configuration.maximumIdleConnections = 512
        let fetcher = try CurlFetcher(configuration: configuration)
        try await WebhookWorld.run(answering: .init { _, _ in [.hold, .respond(204)] }) { world in
            try await world.happen(to: ids)
            let end = try #require(try await world.feed.ends()).last
            for _ in 1...3 {
                let count = try await world.store.replay(
                    to: "crm", after: .beginning, until: end, types: world.types, reason: "a test", by: world.call)
                #expect(count == ids.count)
            }
            try await world.pushing(through: fetcher) {
                _ = await world.deliveries(64)
                world.receiver.release()
                _ = await world.deliveries(4 * ids.count)
                while try await world.store.streams(of: "crm").count > 1 { try await pollingPause() }
            }
            #expect(world.receiver.history.opened <= 64)
        }
        await fetcher.shutdown()
    }

    @Test func `what found no place to be sent from has not failed, and comes when there is one`() async throws {
        let dead = try LoopbackServer { _ in [.hold, .respond(204)] }
        var configuration = CurlFetcher.Configuration()
        configuration.maximumInFlight = 1
        let fetcher = NotingFetcher(try CurlFetcher(configuration: configuration))
        try await WebhookWorld.run { world in
            let held = Task { try await fetcher.fetch(FetchRequest(url: dead.url, timeout: .seconds(120))).status }
            await dead.history { $0.requests.count == 1 }
            try await world.pushing(through: fetcher, timeout: .seconds(3)) {
                try await world.happen(to: [AccountID(now: Timestamp(seconds: WebhookWorld.start))])
                while fetcher.noted.isEmpty { try await pollingPause() }
                let waiting = try await world.record { $0.oldest != nil }
                #expect(waiting.lastError == nil && waiting.parkedAccounts == 0)
                dead.release()
                _ = await world.deliveries(1)
                #expect(try await world.record { $0.lastSuccessAt != nil }.lastError == nil)
            }
            #expect(try await held.value == 204)
            #expect(Set(fetcher.noted) == [.busy])
            #expect(world.receiver.history.requests.count == 1)
        }
    }

    @Test func `no attempt begins that could outlast the lease`() async throws {
        try await WebhookWorld.run { world in
            try await world.happen(to: [AccountID(now: Timestamp(seconds: WebhookWorld.start))])
            // Less is left at once than an attempt may take, and a second.
            try await world.pushing(leaseSeconds: 16) {
                var ends: Set<Timestamp> = []
                // Renewed since the event was read.
                while ends.count < 3 {
                    ends.formUnion(
                        try await world.database.query(
                            "SELECT leased_until FROM webhook_endpoints WHERE leased_until IS NOT NULL",
                            as: Timestamp.self))
                    try await pollingPause()
                }
            }
            #expect(world.receiver.history.requests.isEmpty)
            try await world.pushing { _ = await world.deliveries(1) }
        }
    }
}
