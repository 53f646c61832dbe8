package import Accounts
import Foundation
package import Logging
import Primitives
package import Storage
import Synchronization

/// What is pushed, as the configuration has it at the moment.
package struct WebhookConfiguration: Sendable {
    package let endpoints: [String: WebhookEndpoint]
    package let schedule: WebhookSchedule

    package static let none = WebhookConfiguration(endpoints: [], schedule: .standard)

    package init(endpoints: [WebhookEndpoint], schedule: WebhookSchedule) {
        self.endpoints = Dictionary(endpoints.map { ($0.name, $0) }) { first, _ in first }
        self.schedule = schedule
    }
}

/// How far an endpoint is, as a process saw it some seconds ago at most.
package struct WebhookStanding: Sendable {
    package let name: String
    package let isActive: Bool
    /// The age of the oldest event that is neither delivered nor given up.
    package let behindSeconds: Int64
    package let parkedAccounts: Int
}

/// Pushes the feed to all endpoints, beside other processes that do the same: one of them has an endpoint at a time.
package final class Webhooks: Sendable {
    /// After so long of nothing but failures an endpoint is stopped, in seconds.
    static let failureSeconds: Int64 = 5 * 86_400
    /// How long the state of an endpoint is kept that is in no configuration any more, in seconds.
    private static let absenceSeconds: Int64 = 7 * 86_400
    /// How long an endpoint stays with a process that does not renew its lease: longer than an attempt takes.
    package static let leaseSeconds = 25
    private static let renewal = Duration.seconds(2)

    /// The attempts of all endpoints together that a process has under way: what its fetcher has to have places for.
    package static let attempts = 512
    /// Those of one endpoint. Where there are many each has its part of all, so that none waits for another; but no fewer than
    /// an endpoint needs that answers in 20 ms and gets 500 events a second. So from the 33rd on they may wait.
    private static let attemptsOfEndpoint = 16...64

    private let store: WebhookStore
    private let feed: FeedStore
    private let sender: WebhookSender
    private let configuration: @Sendable () -> WebhookConfiguration
    private let news: FeedNews
    private let metrics = WebhookMetrics()
    private let clock: any WallClock
    private let logger: Logger
    private let leaseSeconds: Int
    private let seen = Mutex<[WebhookStanding]>([])
    /// The endpoints that are pushed to, or waited for.
    private let running = Mutex<Set<String>>([])
    /// By the endpoint that fails, or none where it is the look at all of them.
    private let reports = Mutex<[String?: FailureReports]>([:])
    private let isStopping = Atomic(false)
    private let ending = AsyncSignal()

    /// - Parameter leaseSeconds: tests have less.
    package init(
        store: WebhookStore, feed: FeedStore, sender: WebhookSender, news: FeedNews, clock: any WallClock,
        logger: Logger, leaseSeconds: Int = Webhooks.leaseSeconds,
        configuration: @escaping @Sendable () -> WebhookConfiguration
    ) {
        self.store = store
        self.feed = feed
        self.sender = sender
        self.news = news
        self.clock = clock
        self.logger = logger
        self.leaseSeconds = leaseSeconds
        self.configuration = configuration
    }

    /// Those that are configured at the moment and have been seen in the database.
    package var standings: [WebhookStanding] {
        let endpoints = configuration().endpoints
        return seen.withLock(\.self).filter { endpoints[$0.name] != nil }
    }

    /// Ends ``run()``, once the attempts that are under way are over.
    package func stop() {
        isStopping.store(true, ordering: .relaxed)
        ending.raise()
        // What pushes waits for these.
        news.announce()
    }

    private var goesOn: Bool { !isStopping.load(ordering: .relaxed) && !Task.isCancelled }

    package func run() async {
        await withDiscardingTaskGroup { group in
            var looked = ContinuousClock.now.advanced(by: .seconds(-5))
            var noted: (names: [String], at: ContinuousClock.Instant)?
            while goesOn {
                guard !store.holdsWrites else {
                    await pause(.seconds(1))
                    continue
                }
                let names = configuration().endpoints.keys.sorted()
                do {
                    if noted?.names != names || noted.map({ $0.at.duration(to: .now) > .seconds(60) }) == true {
                        try await store.note(names, forgettingAfter: Self.absenceSeconds, by: clock.call(by: .service))
                        noted = (names, .now)
                    }
                    for name in names where running.withLock({ $0.insert(name).inserted }) {
                        group.addTask { await self.push(name) }
                    }
                    if looked.duration(to: .now) >= .seconds(5) {
                        try await look(at: names)
                        looked = .now
                    }
                    noteSuccess()
                } catch {
                    warn("webhooks not looked at", error)
                }
                await pause(.seconds(1))
            }
        }
    }

    private func pause(_ duration: Duration) async { await ending.wait(past: 0, atMost: duration) }

    private func noteSuccess(of name: String? = nil) { reports.withLock { _ = $0.removeValue(forKey: name) } }

    private func warn(_ message: Logger.Message, _ error: any Error, _ name: String? = nil) {
        guard reports.withLock({ $0[name, default: FailureReports()].failed() }) else { return }
        var metadata: Logger.Metadata = ["error": "\(String(reflecting: error))"]
        if let name { metadata["endpoint"] = "\(name)" }
        logger.warning(message, metadata: metadata)
    }

    private func look(at names: [String]) async throws {
        let now = clock.now()
        var standings: [WebhookStanding] = []
        for name in names {
            guard let endpoint = configuration().endpoints[name],
                let record = try await store.record(of: name, types: endpoint.types)
            else { continue }
            standings.append(
                WebhookStanding(
                    name: name, isActive: record.status == .active,
                    behindSeconds: record.oldest.map { max(0, now.seconds - $0.seconds) } ?? 0,
                    parkedAccounts: record.parkedAccounts))
        }
        seen.withLock { [standings] in $0 = standings }
    }

    // MARK: One endpoint

    /// Pushes to an endpoint whenever this process has it, as long as it is configured.
    private func push(_ name: String) async {
        defer { _ = running.withLock { $0.remove(name) } }
        metrics.begin(name)
        let holder = UUID()
        while goesOn, configuration().endpoints[name] != nil {
            guard !store.holdsWrites else {
                await pause(.seconds(1))
                continue
            }
            do {
                if try await store.lease(name, by: holder, seconds: leaseSeconds) == .active {
                    try await pushLeased(name, WebhookLease(endpoint: name, holder: holder))
                }
                noteSuccess(of: name)
            } catch {
                warn("webhook interrupted", error, name)
            }
            await pause(.seconds(1))
        }
        try? await store.release(name, by: holder)
    }

    private func pushLeased(_ name: String, _ lease: WebhookLease) async throws {
        let leaseEnd = Mutex(ContinuousClock.now)
        let progress = AsyncSignal()
        let around = WebhookPusher.Surroundings(
            endpoint: { [configuration] in configuration().endpoints[name] }, store: store, feed: feed, sender: sender,
            schedule: { [configuration] in configuration().schedule }, lease: lease,
            places: WebhookPlaces { [configuration] in
                let part = Self.attempts / max(1, configuration().endpoints.count)
                return min(max(part, Self.attemptsOfEndpoint.lowerBound), Self.attemptsOfEndpoint.upperBound)
            },
            mayBegin: {
                leaseEnd.withLock { ContinuousClock.now.duration(to: $0) > WebhookSender.timeout + .seconds(1) }
            },
            metrics: metrics, clock: clock, logger: logger)
        try await withThrowingDiscardingTaskGroup { group in
            var pushers: [WebhookStreamID: WebhookPusher] = [:]
            while goesOn, !group.isCancelled, configuration().endpoints[name] != nil {
                let asked = ContinuousClock.now
                guard try await store.lease(name, by: lease.holder, seconds: leaseSeconds) == .active else {
                    break
                }
                leaseEnd.withLock { $0 = asked + .seconds(leaseSeconds) }
                for (id, pusher) in pushers {
                    if await pusher.hasEnded { pushers[id] = nil }
                }
                for stream in try await store.streams(of: name) where pushers[stream.id] == nil {
                    let pusher = WebhookPusher(stream, around, progress: progress)
                    pushers[stream.id] = pusher
                    group.addTask { try await pusher.run() }
                }
                // Looked for by itself too: a notification may be lost.
                let renewed = ContinuousClock.now + Self.renewal
                repeat {
                    let seen = news.count
                    for pusher in pushers.values { await pusher.notice() }
                    progress.raise()
                    let left = ContinuousClock.now.duration(to: renewed)
                    await news.wait(past: seen, atMost: min(FeedNews.longestWait, left))
                } while ContinuousClock.now < renewed && goesOn
                if !group.isCancelled { noteSuccess(of: name) }
            }
            for pusher in pushers.values { await pusher.stop() }
        }
    }
}
