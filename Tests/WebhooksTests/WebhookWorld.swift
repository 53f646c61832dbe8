import Accounts
import Curl
import Foundation
import JSON
import KeyRing
import Postgres
import Primitives
import Synchronization
import TestSupport
import Testing

@testable import Storage
@testable import Webhooks

/// A feed, a receiver on a socket, and pushers between them.
struct WebhookWorld: Sendable {
    static let start: Int64 = 1_767_225_600
    static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    let database: Database
    let receiver: LoopbackServer
    let clock = ManualClock(at: start)
    let news = FeedNews()
    let schedule: WebhookSchedule
    let types: Set<AccountEvent.Kind>

    var store: WebhookStore { WebhookStore(database: database) }
    var feed: FeedStore { FeedStore(database: database) }
    var call: Call { clock.call(by: ChangeOrigin(actor: .administrator, actorName: "kim", requestID: nil)) }

    /// Of the receiver, to an event that has come so many times before.
    struct Answer: Sendable {
        let steps: @Sendable (_ event: JSONValue, _ earlier: Int) -> [LoopbackServer.Step]
    }

    static func run(
        schedule: WebhookSchedule = .standard, types: Set<AccountEvent.Kind> = Set(AccountEvent.Kind.allCases),
        answering answer: Answer = Answer { _, _ in [.respond(204)] }, _ body: (WebhookWorld) async throws -> Void
    ) async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let earlier = Mutex<[String: Int]>([:])
            let receiver = try LoopbackServer { request in
                guard let event = try? JSONValue(parsing: request.body), let id = event["id"]?.string else {
                    return [.respond(400)]
                }
                let number = earlier.withLock { earlier in
                    defer { earlier[id, default: 0] += 1 }
                    return earlier[id, default: 0]
                }
                return answer.steps(event, number)
            }
            let world = WebhookWorld(database: database, receiver: receiver, schedule: schedule, types: types)
            try await world.store.note(["crm"], forgettingAfter: 1, by: world.call)
            try await body(world)
        }
    }

    var endpoint: WebhookEndpoint {
        get throws {
            WebhookEndpoint(
                name: "crm", url: receiver.url + "/hook?key=hidden", types: types,
                secrets: [try WebhookSecret(Self.secret)])
        }
    }

    func webhooks(
        allowing networks: [String] = ["127.0.0.0/8"], fetcher: any Fetcher, timeout: Duration = WebhookSender.timeout,
        leaseSeconds: Int = Webhooks.leaseSeconds
    ) throws -> Webhooks {
        let endpoint = try endpoint
        let sender = WebhookSender(
            fetcher: fetcher, targets: try #require(WebhookTargets(allowing: networks)), clock: clock, timeout: timeout)
        return Webhooks(
            store: store, feed: feed, sender: sender, news: news, clock: clock, logger: .silent,
            leaseSeconds: leaseSeconds,
            configuration: { [schedule] in WebhookConfiguration(endpoints: [endpoint], schedule: schedule) })
    }

    /// Runs pushers while the body does.
    ///
    /// - Parameters:
    ///   - given: the fetcher of all of them; one of their own, if absent.
    ///   - timeout: of an attempt.
    func pushing(
        processes: Int = 1, allowing networks: [String] = ["127.0.0.0/8"], through given: (any Fetcher)? = nil,
        timeout: Duration = WebhookSender.timeout, leaseSeconds: Int = Webhooks.leaseSeconds,
        _ body: () async throws -> Void
    ) async throws {
        try await withFetcher { fetcher in
            let pushers = try (0..<processes).map { _ in
                try webhooks(
                    allowing: networks, fetcher: given ?? fetcher, timeout: timeout, leaseSeconds: leaseSeconds)
            }
            let running = pushers.map { pusher in Task { await pusher.run() } }
            try await closing {
                for pusher in pushers { pusher.stop() }
                for task in running { await task.value }
            } after: {
                try await body()
            }
        }
    }

    /// Events of accounts, one each time that one is named; stamped and in the news.
    @discardableResult
    func happen(to accounts: [AccountID]) async throws -> Int {
        for id in accounts {
            try await database.change(by: call) { change in change.announce(.accountEnabled(by: .admin), of: id) }
        }
        let count = try await feed.stamp()
        news.announce()
        return count
    }

    /// The deliveries once there are so many: account and sequence.
    func deliveries(_ count: Int) async -> [WebhookDelivery] {
        let history = await receiver.history { $0.requests.count >= count }
        return history.requests.compactMap(WebhookDelivery.init)
    }

    static func ids(_ count: Int) -> [AccountID] { (0..<count).map { _ in AccountID(now: Timestamp(seconds: start)) } }

    /// Waits until the endpoint is as the condition says.
    func record(when isMet: (WebhookRecord) -> Bool) async throws -> WebhookRecord {
        while true {
            if let record = try await store.record(of: "crm", types: types), isMet(record) { return record }
            try await pollingPause()
        }
    }
}
