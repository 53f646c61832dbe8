package import Accounts
import Metrics
package import Primitives
package import Storage

/// The worker that gives committed events their positions, beside any number of processes that do the same.
///
/// It is woken by the changes of its own process, and looks by itself for those of others: commands, and processes that were
/// killed. Within ``pace`` it stamps once, so that many changes share a transaction.
package struct FeedStamper: Sendable {
    /// How often it looks unasked.
    package static let pause = Duration.milliseconds(250)
    /// The time from one stamping to the next.
    package static let pace = Duration.milliseconds(50)

    private let store: FeedStore
    private let written: AsyncSignal
    private let news: FeedNews
    private let clock: any WallClock
    private let behind = Gauge(label: "countersign_feed_unstamped_seconds")

    package init(store: FeedStore, written: AsyncSignal, news: FeedNews, clock: any WallClock) {
        self.store = store
        self.written = written
        self.news = news
        self.clock = clock
    }

    /// Stamps what is there, once it is there.
    package func round() async throws {
        let seen = written.count
        if try await store.stamp() > 0 {
            news.announce()
            try await Task.sleep(for: Self.pace)
        }
        await written.wait(past: seen, atMost: Self.pause)
    }

    /// Records how long the oldest event has been waiting.
    package func report() async throws {
        let oldest = try await store.oldestUnstamped()
        behind.record(oldest.map { max(0, Double(clock.now().microseconds - $0.microseconds) / 1_000_000) } ?? 0)
    }
}
