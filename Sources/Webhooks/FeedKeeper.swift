import Accounts
package import Logging
package import Storage

/// The worker that makes the days of the feed before they come, and drops those that are over. What it deletes is old by
/// the database's time.
package struct FeedKeeper: Sendable {
    /// How long the numbers of a deleted account are remembered, in seconds: its revocations are done by then.
    private static let sequenceSeconds: Int64 = 90 * 86_400

    /// How long events stay at most for deliveries that still need them, in days.
    private static let longestDays = 35
    /// How long events that were given up are kept, in seconds.
    private static let failureSeconds: Int64 = 30 * 86_400

    private let database: ServiceDatabase
    private let logger: Logger

    package init(database: ServiceDatabase, logger: Logger) {
        self.database = database
        self.logger = logger
    }

    package func round(keeping days: Int) async throws {
        let (store, webhooks) = (database.feed, database.webhooks)
        try await store.makeDays()
        let now = try await database.databaseTime()
        for day in try await store.dropDays(keeping: max(days, try await neededDays(at: now))) {
            logger.notice("feed day dropped", metadata: ["partition": "\(day)"])
        }
        let past = now.advanced(bySeconds: -Self.failureSeconds)
        while try await webhooks.deleteFailures(before: past, limit: 1000) == 1000 {}
        let old = now.advanced(bySeconds: -Self.sequenceSeconds)
        while try await store.deleteSequences(endedBefore: old, limit: 1000) == 1000 {}
    }

    /// The days of which deliveries still need events.
    private func neededDays(at now: Timestamp) async throws -> Int {
        guard let oldest = try await database.webhooks.oldestNeeded() else { return 0 }
        let seconds = now.seconds - oldest.number / 1_000_000
        return min(Int(clamping: seconds / 86_400 + 1), Self.longestDays)
    }
}
