import Storage

/// How fast a run goes: as fast as it can while people don't sign in. Otherwise, and until it knows, in small batches, with a
/// rest behind each that is some times as long as the batch took.
///
/// It reacts to the rows that people's sign-ins, refreshes and acts write, of which a run writes none. A service that waits
/// commits transactions too, but no such rows. PostgreSQL counts them for everybody, late by a second.
package struct ImportPace: Sendable {
    package private(set) var isGivingWay = true
    private var seen: (rows: Int64, at: ContinuousClock.Instant)?

    /// Rows a second from which on the run gives way. A sign-in writes two or three.
    private static let busy = 20.0
    private static let interval = Duration.seconds(1)

    package init() {}

    /// The rows of the next batch.
    package var batch: Int { isGivingWay ? 50 : 500 }

    /// How long to rest behind a batch that took so long.
    package func rest(after duration: Duration) -> Duration { isGivingWay ? duration * 3 : .zero }

    /// Looks around behind a batch that took so long, when it is time to, and rests.
    mutating func rest(after duration: Duration, in store: ImportStore) async throws {
        let now = ContinuousClock.now
        if seen.map({ now - $0.at >= Self.interval }) ?? true { see(try await store.rowsOfPeople(), at: .now) }
        let rest = rest(after: duration)
        if rest > .zero { try await Task.sleep(for: rest) }
    }

    /// - Parameter rows: those that were written so far.
    package mutating func see(_ rows: Int64, at now: ContinuousClock.Instant) {
        if let seen {
            let rate = Double(rows - seen.rows) / ((now - seen.at) / .seconds(1))
            // Fewer than before say nothing: a month of the trail is gone, or the statistics began again.
            isGivingWay = rate < 0 || rate > Self.busy
        }
        seen = (rows, now)
    }
}
