import Metrics
import Postgres
import Storage
import Synchronization

/// The commits of the service's role that wait for a synchronous standby, in all processes. While one has waited for long no
/// write succeeds, although the primary takes them: writes are refused at once then, and what only reads goes on.
final class WaitingCommits: Sendable {
    /// A standby that is slow for less than that costs no answer. With the pauses before the first look and the last, no
    /// request waits for its commit for more than two seconds.
    private static let limit = Duration.seconds(1)
    static let pause = Duration.milliseconds(500)
    /// For how long the last answer counts where the database gives none: it may be another one by now, which waits for
    /// nothing, and its own answers show.
    private static let trust = Duration.seconds(3)

    private struct Seen {
        /// When each was seen first.
        var commits: [String: ContinuousClock.Instant] = [:]
        var lastAnswer: ContinuousClock.Instant?
    }

    private let inspection: DatabaseInspection
    private let database: Database
    private let gauge = Gauge(label: "countersign_postgres_commits_waiting")
    private let seen = Mutex(Seen())

    /// - Parameters:
    ///   - inspection: of a connection of its own, since those of the requests may be the ones that wait.
    ///   - database: whose writes are held.
    init(inspection: DatabaseInspection, database: Database) {
        self.inspection = inspection
        self.database = database
    }

    /// Counts those that have waited for long, and holds writes or lets them go.
    func look() async {
        let waiting = try? await inspection.commitsWaiting()
        let now = ContinuousClock.now
        let long: Int? = seen.withLock { seen in
            guard let waiting else {
                guard let last = seen.lastAnswer, last.duration(to: now) < Self.trust else { return 0 }
                return nil
            }
            seen.lastAnswer = now
            seen.commits = Dictionary(waiting.map { ($0, seen.commits[$0] ?? now) }) { first, _ in first }
            return seen.commits.values.count { $0.duration(to: now) >= Self.limit }
        }
        guard let long else { return }
        if waiting != nil { gauge.record(long) }
        database.holdsWrites = long > 0
    }
}
