import Storage

/// How fast a run goes: as fast as it can while nothing else asks much of the database. Otherwise, and until it knows, in
/// small batches, with a rest behind each that is some times as long as the batch took.
///
/// It reacts to the transactions of others. They are what sign-ins make, each its own, whatever they cost; and PostgreSQL
/// counts them for everybody. The counts are late by a second.
package struct ImportPace: Sendable {
    package private(set) var isGivingWay = true
    /// What a batch commits.
    private let ownTransactions: Int64
    private var batches: Int64 = 0
    private var seen: (total: Int64, at: ContinuousClock.Instant)?

    /// Transactions of others a second from which on the run gives way.
    private static let busy = 20.0
    private static let interval = Duration.seconds(1)

    package init(ownTransactions: Int64) {
        self.ownTransactions = ownTransactions
    }

    /// The rows of the next batch.
    package var batch: Int { isGivingWay ? 50 : 500 }

    /// How long to rest behind a batch that took so long.
    package func rest(after duration: Duration) -> Duration { isGivingWay ? duration * 3 : .zero }

    /// Takes a batch into account that took so long, looks around when it is time to, and rests.
    mutating func rest(after duration: Duration, in store: ImportStore) async throws {
        note()
        let now = ContinuousClock.now
        if seen.map({ now - $0.at >= Self.interval }) ?? true { see(try await store.transactions(), at: .now) }
        let rest = rest(after: duration)
        if rest > .zero { try await Task.sleep(for: rest) }
    }

    /// Takes a batch into account.
    package mutating func note() { batches += 1 }

    /// - Parameter total: the transactions that the database has committed so far, this run's too.
    package mutating func see(_ total: Int64, at now: ContinuousClock.Instant) {
        if let seen {
            let (seconds, attoseconds) = (now - seen.at).components
            // One is the look itself.
            let others = total - seen.total - batches * ownTransactions - 1
            isGivingWay = Double(others) / (Double(seconds) + Double(attoseconds) / 1e18) > Self.busy
        }
        (seen, batches) = ((total, now), 0)
    }
}
