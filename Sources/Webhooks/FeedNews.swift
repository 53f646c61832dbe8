import Primitives
import Synchronization

/// That there are new events in the feed, for those of this process who wait for them.
package final class FeedNews: Sendable {
    /// How often the feed is looked at when no notification comes: PostgreSQL's may be lost with a connection, and don't come through a
    /// pooler.
    package static let longestWait = Duration.seconds(1)

    private let signal = AsyncSignal()
    private let ended = Atomic(false)

    package init() {}

    package var count: UInt64 { signal.count }
    /// Whether the wait is over for all: the process ends.
    package var isOver: Bool { ended.load(ordering: .relaxed) }

    package func announce() { signal.raise() }

    package func end() {
        ended.store(true, ordering: .relaxed)
        signal.raise()
    }

    package func wait(past count: UInt64, atMost limit: Duration) async {
        await signal.wait(past: count, atMost: limit)
    }
}
